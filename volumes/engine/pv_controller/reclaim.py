"""Reclaim: what becomes of a volume whose claim is gone.

Retain does nothing; Delete destroys the storage and the volume; Recycle scrubs it and makes it
available again. Upstream: pv_writer.go, deleteVolumeOperation() and recycleVolumeOperation().
"""

from kscope.sim.errors import ApiError
from kscope.sim.objects.objects import PersistentVolume
from volumes.engine.phases import VOLUME_FAILED
from volumes.engine.ports import NORMAL, WARNING, Told
from volumes.engine.pv_controller.provisioner import (
    PluginError,
    Recycler,
    VolumeInUse,
    VolumePlugin,
)
from volumes.engine.pv_controller.writer import IN_TREE_FINALIZER, VolumeWriter


class Deletion:
    """Delete a released volume and its storage. Upstream: deleteVolumeOperation()."""

    def __init__(self, writer: VolumeWriter, volume: PersistentVolume) -> None:
        self._writer = writer
        self._volume = volume
        self._plugin: VolumePlugin | None = None

    def step(self) -> int | None:
        """See Operation."""
        if self._plugin is None:
            return self._prepare()
        return self._delete(self._plugin)

    def _prepare(self) -> int | None:
        writer, volume = self._writer, self._volume
        # It may have changed since; a previous operation may just have saved it.
        try:
            newest = writer.api.get_volume(volume.name)
        except ApiError:
            return None
        if newest.deletion_timestamp or not writer.is_volume_released(newest):
            return None
        try:
            self._plugin = writer.find_deletable_plugin(volume)
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
        writer, volume = self._writer, self._volume
        try:
            plugin.delete(volume)
        except PluginError as error:
            self._plugin_failed(error)
            raise
        try:
            if writer.rules.honors_reclaim_policy:
                self._remove_finalizer()
            writer.api.delete_volume(volume.name, Told("", f"its storage is gone ({plugin.name})"))
        except ApiError:
            # Deleted once more at the next sync.
            return None
        return None

    def _remove_finalizer(self) -> None:
        # The storage is gone; the volume need not be kept for it any longer.
        newest = self._writer.api.get_volume(self._volume.name)
        if IN_TREE_FINALIZER not in newest.finalizers:
            return
        left = [name for name in newest.finalizers if name != IN_TREE_FINALIZER]
        patched = newest.patched({"metadata": {"finalizers": left or None}})
        stored = self._writer.api.update_volume(patched, Told("VolumeDeletionFinished"))
        self._writer.store_volume_update(stored)

    def _plugin_failed(self, error: PluginError) -> None:
        # Though Failed, the deletion is tried again in every sync.
        if isinstance(error, VolumeInUse):
            self._writer.events.event(self._volume, NORMAL, "VolumeDelete", str(error))
        else:
            self._writer.update_volume_phase_with_event(
                self._volume, VOLUME_FAILED, WARNING, "VolumeFailedDelete", str(error)
            )


class Recycling:
    """Scrub a released volume and make it available again. Upstream: recycleVolumeOperation().

    Its errors do not make the name back off.
    """

    def __init__(self, writer: VolumeWriter, volume: PersistentVolume) -> None:
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
            # Recycled once more at the next sync.
            return None

    def _prepare(self) -> bool:
        writer = self._writer
        newest = writer.api.get_volume(self._volume.name)
        if not writer.is_volume_released(newest):
            return False
        pods = writer.pods_using(newest)
        # A claim of that name that is there now is another one, bound to another volume.
        if pods and newest.claim_key not in writer.claims:
            message = f"Volume is used by pods: {','.join(pods)}"
            writer.events.event(newest, NORMAL, "VolumeFailedRecycle", message)
            return False
        self._volume = newest
        try:
            plugin = writer.plugins.recyclable_by_spec(newest)
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
        writer, volume = self._writer, self._volume
        try:
            assert self._recycler is not None
            delay, news = self._recycler.step()
        except PluginError as error:
            self._failed(f"Recycle failed: {error}")
            return None
        for event_type, message in news:
            writer.events.event(volume, event_type, "RecyclerPod", f"Recycler pod: {message}")
        if delay is not None:
            return delay
        writer.events.event(volume, NORMAL, "VolumeRecycled", "Volume recycled")
        writer.unbind_volume(volume)
        return None

    def _failed(self, message: str) -> None:
        self._writer.update_volume_phase_with_event(
            self._volume, VOLUME_FAILED, WARNING, "VolumeFailedRecycle", message
        )


def delete_volume_storage(writer: VolumeWriter, volume: PersistentVolume) -> bool:
    """Delete what lies behind *volume* now; False when an external deleter has to.

    Raises PluginError. Upstream: doDeleteVolume().
    """
    plugin = writer.find_deletable_plugin(volume)
    if plugin is None:
        return False
    _check_delete(plugin, volume)
    plugin.delete(volume)
    return True


def _check_delete(plugin: VolumePlugin, volume: PersistentVolume) -> None:
    try:
        plugin.check_delete(volume)
    except PluginError as error:
        raise PluginError(
            f'Failed to create deleter for volume "{volume.name}": {error}'
        ) from error
