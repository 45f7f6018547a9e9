"""The in-tree volume plugins that a PV controller knows. Upstream: pkg/volume/plugins.go."""

from engine.controllers.persistent_volumes.in_tree.plugin import PluginError, VolumePlugin
from engine.objects.objects import PersistentVolume


class PluginRegistry:
    """The plugins that a controller knows. Upstream: VolumePluginMgr, with its error texts."""

    __slots__ = ("_plugins",)

    def __init__(self, plugins: list[VolumePlugin] | None = None) -> None:
        self._plugins: dict[str, VolumePlugin] = {plugin.name: plugin for plugin in plugins or ()}

    def provisionable_by_name(self, name: str) -> VolumePlugin:
        """The plugin of that name, which can provision. Raises PluginError."""
        return self._by_name(name, "provision", "provisionable")

    def deletable_by_name(self, name: str) -> VolumePlugin:
        """The plugin of that name, which can delete. Raises PluginError."""
        return self._by_name(name, "delete", "deletable")

    def deletable_by_spec(self, volume: PersistentVolume) -> VolumePlugin:
        """The plugin that can delete *volume*. Raises PluginError."""
        return self._by_spec(volume, "delete", "deletable")

    def recyclable_by_spec(self, volume: PersistentVolume) -> VolumePlugin:
        """The plugin that can recycle *volume*. Raises PluginError."""
        return self._by_spec(volume, "recycle", "recyclable")

    def _by_name(self, name: str, ability: str, adjective: str) -> VolumePlugin:
        plugin = self._plugins.get(name)
        if plugin is None:
            raise PluginError(f"no volume plugin matched name: {name}")
        if ability not in plugin.can:
            raise PluginError(f"no {adjective} volume plugin matched")
        return plugin

    def _by_spec(self, volume: PersistentVolume, ability: str, adjective: str) -> VolumePlugin:
        matches = [plugin for plugin in self._plugins.values() if plugin.supports(volume)]
        if not matches:
            raise PluginError("no volume plugin matched")
        if len(matches) > 1:
            names = ",".join(sorted(plugin.name for plugin in matches))
            raise PluginError(f"multiple volume plugins matched: {names}")
        if ability not in matches[0].can:
            raise PluginError(f"no {adjective} volume plugin matched")
        return matches[0]
