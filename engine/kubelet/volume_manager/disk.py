"""What a kubelet finds on disk when it starts: the mounts of the kubelet before it."""

from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    MarkVolumeOpts,
)
from engine.kubelet.volume_manager.state import NodeState, VolumeManagerOptions


class MountsOnDisk:
    """The mounts that outlive a kubelet, until the next one knows them.

    With the option `reconstructs_all` the next one takes them all into its actual state, else only
    those that no pod needs.
    """

    __slots__ = ("_found", "_options", "_overlooked", "_state")

    def __init__(self, state: NodeState, options: VolumeManagerOptions) -> None:
        self._state = state
        self._options = options
        self._found: ActualStateOfWorld | None = None
        # Mounts that the actual state does not have, by pod and volume.
        self._overlooked: dict[tuple[str, str], AttachedVolume] = {}

    @property
    def has_overlooked(self) -> bool:
        """Whether there are mounts that the actual state does not have."""
        return bool(self._overlooked)

    def keep(self) -> None:
        """The kubelet ends; what it has mounted stays."""
        for volume in self._overlooked.values():
            _mark_reconstructed(self._state.actual, volume)
        self._overlooked.clear()
        if self._found is None:
            self._found = self._state.actual

    def read(self) -> ActualStateOfWorld | None:
        """The mounts, for the first pass after a start; None in every later one."""
        found, self._found = self._found, None
        return found

    def reconstruct(self, found: ActualStateOfWorld) -> None:
        """Add everything that may be mounted to the actual state, if this version does so.

        Volumes that are needed are mounted again, which does no harm; the others are unmounted.
        Upstream: reconstructVolumes() (1.34).
        """
        if self._options.reconstructs_all:
            for volume in _mounted_on(found):
                _mark_reconstructed(self._state.actual, volume)

    def sync_states(self, found: ActualStateOfWorld) -> None:
        """Mark what no pod needs, to unmount it. Upstream: reconciler.syncStates() (before 1.25).

        A volume that a pod needs enters the actual state when it is mounted again, if that succeeds.
        """
        desired, in_use = self._state.desired, list[str]()
        for volume in _mounted_on(found):
            if not desired.volume_exists(volume.name):
                _mark_reconstructed(self._state.actual, volume)
                continue
            in_use += [volume.name] * volume.is_attachable
            if not self._options.reconstructs_all:
                for pod in volume.pods:
                    self._overlooked[pod, volume.name] = volume
        # The kubelet before this one has reported them.
        desired.mark_volumes_reported_in_use(in_use)

    def note_mounted(self, uid: str, volume: str) -> None:
        """The actual state has this mount now."""
        self._overlooked.pop((uid, volume), None)

    def has_pod(self, uid: str) -> bool:
        """Whether the pod has a mount that is not in the actual state, or not yet read."""
        if self._found is not None and self._found.get_possibly_mounted_volumes_for_pod(uid):
            return True
        return any(pod == uid for pod, _ in self._overlooked)


def _mounted_on(found: ActualStateOfWorld) -> list[AttachedVolume]:
    return [one for one in found.get_attached_volumes() if one.pods or one.device_may_be_mounted]


def _mark_reconstructed(actual: ActualStateOfWorld, volume: AttachedVolume) -> None:
    """Add the mounts of *volume* that the previous kubelet left on disk to *actual*, as uncertain.

    Upstream: MarkVolumeAsUncertain.. ViaReconstruction() of reconstruct.go (1.34).
    """
    actual.mark_volume_as_attached(volume.name, volume.spec, volume.device_path)
    marked = actual.volume(volume.name)
    if volume.device_may_be_mounted:
        path, mount_path = volume.device_path, volume.device_mount_path
        actual.mark_device_as_uncertain(volume.name, path, mount_path)
        if marked is not None:
            marked.device_reconstructed = True
    for pod in volume.pods.values():
        actual.mark_volume_mount_as_uncertain(
            MarkVolumeOpts(
                pod_name=pod.pod_name,
                pod_uid=pod.pod_uid,
                volume_name=volume.name,
                spec=pod.spec,
                # The volume's name in the pod's spec cannot be read from disk.
                outer_name=pod.spec.name,
                gid=pod.gid,
            )
        )
        if marked is not None:
            marked.pods[pod.pod_name].reconstructed = True
