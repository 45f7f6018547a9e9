"""What is attached when the controller starts, read from the API server.

Upstream: attach_detach_controller.go, populateActualStateOfWorld().
"""

from typing import cast

from engine.controllers.attach_detach.actual_state import ActualStateOfWorld
from engine.controllers.attach_detach.context import Context
from engine.objects.objects import ApiObject, Manifest
from engine.storage.plugins.spec import VolumeSpec, unique_volume_name


def populate_actual_state(
    context: Context, actual: ActualStateOfWorld, *, recovers_attachments: bool
) -> None:
    """Mark what the nodes' status reports as attached.

    With *recovers_attachments* also what VolumeAttachments name (since 1.21).
    """
    store, recovery = context.store, _Recovery(context, actual)
    context.loop.tried_each(recovery.note_volume, store.objects("PersistentVolume"))
    context.loop.tried_each(recovery.mark_reported, store.objects("Node"))
    if recovers_attachments:
        context.loop.tried_each(recovery.mark_uncertain, store.objects("VolumeAttachment"))


class _Recovery:
    """One look at the objects of the API server, each by itself."""

    def __init__(self, context: Context, actual: ActualStateOfWorld) -> None:
        self._store, self._plugins = context.store, context.plugins
        self._actual = actual
        # By unique name.
        self._specs: dict[str, VolumeSpec] = {}

    def note_volume(self, volume: ApiObject) -> None:
        """Note by which name the status of nodes would report a PersistentVolume."""
        spec = VolumeSpec(persistent_volume=volume.raw)
        plugin = self._plugins.find_by_spec(spec)
        if plugin is not None and plugin.is_attachable(spec):
            self._specs[unique_volume_name(plugin, spec)] = spec

    def mark_reported(self, node: ApiObject) -> None:
        """Mark what the status of a node reports."""
        for attached in cast("list[Manifest]", node.status.get("volumesAttached") or ()):
            spec = self._specs.get(attached["name"])
            if spec is not None:
                path = attached.get("devicePath", "")
                self._actual.mark_volume_as_attached(attached["name"], node.name, spec, path)

    def mark_uncertain(self, attachment: ApiObject) -> None:
        """Mark as uncertain what no node reports: an attach or a detach was under way."""
        wanted = attachment.spec
        name, node = wanted["source"].get("persistentVolumeName", ""), wanted["nodeName"]
        volume = self._store.find("PersistentVolume", name)
        if volume is None:
            return
        spec = VolumeSpec(persistent_volume=volume.raw)
        plugin = self._plugins.find_by_spec(spec)
        if plugin is None:
            return
        unique = unique_volume_name(plugin, spec)
        if self._actual.find(unique, node) is None:
            self._actual.mark_volume_as_uncertain(unique, node, spec)
