"""Reclaim: what happens to a volume whose claim was deleted.

Retain does nothing; Delete destroys the storage and the volume; Recycle scrubs it and makes it
available again. Upstream: pv_writer.go, deleteVolumeOperation() and recycleVolumeOperation().
"""

from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.in_tree.plugin import (
    PluginError,
    Recycler,
    VolumeInUse,
    VolumePlugin,
    is_in_tree,
)
from engine.controllers.persistent_volumes.migration_annotations import IN_TREE_FINALIZER
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.errors import ApiError
from engine.objects.objects import PersistentVolume
from engine.objects.phases import MIGRATED_TO, PROVISIONED_BY, VOLUME_FAILED
from engine.storage.ports import NORMAL, WARNING, Listers, WriteEvent


class Deletion:
    """Delete a released volume and its storage. Upstream: deleteVolumeOperation()."""

    def __init__(self, writer: VolumeWriter, volume: PersistentVolume) -> None:
        self._context = writer.context
        self._writer = writer
        self._volume = volume
        self._plugin: VolumePlugin | None = None

    def step(self) -> int | None:
        """See Operation."""
        if self._plugin is None:
            return self._prepare()
        return self._delete(self._plugin)

    def _prepare(self) -> int | None:
        volume = self._volume
        # It may have changed since; a previous operation may just have saved it.
        try:
            newest = self._context.api.get_volume(volume.name)
        except ApiError:
            return None
        if newest.deletion_timestamp or not self._writer.caches.is_volume_released(newest):
            return None
        try:
            self._plugin = find_deletable_plugin(volume, self._context)
            if self._plugin is None:
                # It waits for an external deleter.
                return None
            _check_delete(self._plugin, volume)
        except PluginError as error:
            self._plugin_failed(error)
            raise
        delay = self._plugin.delete_delay(volume)
        return delay if delay else self._delete(self._plugin)

    def _delete(self, plugin: VolumePlugin) -> int | None:
        context, volume = self._context, self._volume
        try:
            plugin.delete(volume)
        except PluginError as error:
            self._plugin_failed(error)
            raise
        try:
            if context.rules.honors_reclaim_policy:
                self._remove_finalizer()
            record_as = WriteEvent("", f"its storage is gone ({plugin.name})")
            context.api.delete_volume(volume.name, record_as)
        except ApiError:
            # The next sync tries again.
            return None
        return None

    def _remove_finalizer(self) -> None:
        # The storage is deleted, so the volume need not be kept any longer.
        newest = self._context.api.get_volume(self._volume.name)
        if IN_TREE_FINALIZER not in newest.finalizers:
            return
        left = [name for name in newest.finalizers if name != IN_TREE_FINALIZER]
        patched = newest.patched({"metadata": {"finalizers": left or None}})
        self._writer.update_volume(patched, WriteEvent("VolumeDeletionFinished"))

    def _plugin_failed(self, error: PluginError) -> None:
        # The volume becomes Failed, but every sync tries the deletion again.
        if isinstance(error, VolumeInUse):
            self._context.events.event(self._volume, NORMAL, "VolumeDelete", str(error))
        else:
            self._writer.update_volume_phase_with_event(
                self._volume, VOLUME_FAILED, WARNING, "VolumeFailedDelete", str(error)
            )


class Recycling:
    """Scrub a released volume and make it available again. Upstream: recycleVolumeOperation().

    An error does not delay the next recycling of the volume.
    """

    def __init__(self, writer: VolumeWriter, volume: PersistentVolume) -> None:
        self._context = writer.context
        self._writer = writer
        self._volume = volume
        self._recycler: Recycler | None = None

    def step(self) -> int | None:
        """See Operation."""
        try:
            if self._recycler is None and not self._prepare():
                return None
            return self._recycle()
        except ApiError:
            # The next sync tries again.
            return None

    def _prepare(self) -> bool:
        context, caches = self._context, self._writer.caches
        newest = context.api.get_volume(self._volume.name)
        if not caches.is_volume_released(newest):
            return False
        pods = _pods_using(newest, context.listers)
        # If a claim of that name exists now, it is another one, bound to another volume.
        if pods and newest.claim_key not in caches.claims:
            message = f"Volume is used by pods: {','.join(pods)}"
            context.events.event(newest, NORMAL, "VolumeFailedRecycle", message)
            return False
        self._volume = newest
        try:
            plugin = context.plugins.recyclable_by_spec(newest)
        except PluginError:
            self._failed("No recycler plugin found for the volume!")
            return False
        try:
            self._recycler = plugin.recycler(newest)
        except PluginError as error:
            self._failed(f"Recycle failed: {error}")
            return False
        return True

    def _recycle(self) -> int | None:
        events, volume = self._context.events, self._volume
        try:
            assert self._recycler is not None
            delay, messages = self._recycler.step()
        except PluginError as error:
            self._failed(f"Recycle failed: {error}")
            return None
        for event_type, message in messages:
            events.event(volume, event_type, "RecyclerPod", f"Recycler pod: {message}")
        if delay is not None:
            return delay
        events.event(volume, NORMAL, "VolumeRecycled", "Volume recycled")
        self._writer.unbind_volume(volume)
        return None

    def _failed(self, message: str) -> None:
        self._writer.update_volume_phase_with_event(
            self._volume, VOLUME_FAILED, WARNING, "VolumeFailedRecycle", message
        )


def delete_volume_storage(volume: PersistentVolume, context: ControllerContext) -> bool:
    """Delete the storage of *volume* now; False if an external deleter has to do it.

    Raises PluginError. Upstream: doDeleteVolume().
    """
    plugin = find_deletable_plugin(volume, context)
    if plugin is None:
        return False
    _check_delete(plugin, volume)
    plugin.delete(volume)
    return True


def find_deletable_plugin(
    volume: PersistentVolume, context: ControllerContext
) -> VolumePlugin | None:
    """The in-tree plugin that deletes *volume*, None if an external deleter does.

    Raises PluginError. Upstream: findDeletablePlugin().
    """
    # First the plugin that provisioned it.
    provisioner = volume.annotations.get(PROVISIONED_BY)
    if provisioner:
        if volume.annotations.get(MIGRATED_TO) or context.migration.is_enabled(provisioner):
            return None
        try:
            return context.plugins.deletable_by_name(provisioner)
        except PluginError:
            if not is_in_tree(provisioner):
                return None
            raise
    try:
        return context.plugins.deletable_by_spec(volume)
    except PluginError as error:
        raise PluginError(
            f'Error getting deleter volume plugin for volume "{volume.name}": {error}'
        ) from error


def _pods_using(volume: PersistentVolume, listers: Listers) -> list[str]:
    """Keys of the pods that use the volume's claim and have not ended, sorted."""
    if volume.claim_ref is None:
        return []
    pods = listers.pods_of_claim(volume.claim_key)
    return sorted(pod.key for pod in pods if not pod.is_terminated)


def _check_delete(plugin: VolumePlugin, volume: PersistentVolume) -> None:
    try:
        plugin.check_delete(volume)
    except PluginError as error:
        raise PluginError(
            f'Failed to create deleter for volume "{volume.name}": {error}'
        ) from error
