"""Pods that stop, and the volumes that are unmounted for them."""

from engine.kubelet.volume_manager.disk import MountsOnDisk
from engine.kubelet.volume_manager.state import NodeState, PodWorkers, VolumeManagerOptions


class Removals:
    """Reports when the last volume of a stopping pod is unmounted, and knows which volumes may go."""

    __slots__ = ("_disk", "_options", "_state", "_stopping", "_workers")

    def __init__(
        self,
        state: NodeState,
        disk: MountsOnDisk,
        workers: PodWorkers,
        options: VolumeManagerOptions,
    ) -> None:
        self._state = state
        self._disk = disk
        self._workers = workers
        self._options = options
        self._stopping: dict[str, None] = {}

    def stop_pod(self, uid: str) -> bool:
        """A pod stops. True if nothing is mounted for it, else its unmount will be reported."""
        if not self._volumes_exist(uid):
            return True
        self._stopping[uid] = None
        return False

    def forget_pod(self, uid: str) -> None:
        """The pod object is deleted; nothing is reported any more."""
        self._stopping.pop(uid, None)

    def clear(self) -> None:
        """The kubelet stops."""
        self._stopping.clear()

    def report_unmounted(self) -> None:
        """Report each stopping pod for which nothing is mounted any more."""
        for uid in [*self._stopping]:
            if not self._volumes_exist(uid):
                del self._stopping[uid]
                self._workers.volumes_unmounted(uid)

    def has_removable(self) -> bool:
        """Whether the populator may remove a volume once the runtime confirms that its pod ended."""
        volumes = self._state.desired.volumes()
        return any(self._may_be_removed(uid) for volume in volumes for uid in volume.pods)

    def _may_be_removed(self, uid: str) -> bool:
        pod = self._state.pods.get(uid)
        if pod is None:
            return True
        if not (pod.is_terminated or pod.deletion_timestamp):
            return False
        # A volume is not removed before it is mounted; the end of that mount runs the loops.
        actual = self._state.actual
        if self._options.reconstructs_all:
            return bool(actual.get_possibly_mounted_volumes_for_pod(uid))
        return bool(actual.get_mounted_volumes_for_pod(uid))

    def _volumes_exist(self, uid: str) -> bool:
        """Whether something is mounted for the pod. Upstream: podVolumesExist()."""
        mounted = self._state.actual.get_possibly_mounted_volumes_for_pod(uid)
        return bool(mounted) or self._disk.has_pod(uid)
