"""Pods whose containers wait for their volumes. Upstream: WaitForAttachAndMount()."""

from typing import Final

from engine.kernel.loop import Timer
from engine.kernel.units import SECOND
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.volume_manager.operations.pod_volume import FAILED_MOUNT
from engine.kubelet.volume_manager.state import NodeState, VolumeManagerOptions
from engine.objects.objects import Pod
from engine.storage.plugins.spec import pod_volume_names
from engine.storage.ports import WARNING

# How long a pod's sync waits for its volumes. Upstream: podAttachAndMountTimeout.
POD_ATTACH_AND_MOUNT_TIMEOUT: Final = 2 * 60 * SECOND + 3 * SECOND


class WaitingPods:
    """Waits for the volumes of pods, and emits FailedMount on those that get an error instead."""

    __slots__ = ("_context", "_last_errors", "_names_unprocessed", "_state", "_timeouts")

    def __init__(
        self, context: KubeletContext, state: NodeState, options: VolumeManagerOptions
    ) -> None:
        self._context = context
        self._state = state
        self._names_unprocessed = options.names_unprocessed
        # By the uid of the pod.
        self._timeouts: dict[str, Timer] = {}
        self._last_errors: dict[str, str] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._timeouts

    def add(self, pod: Pod) -> None:
        """Begin to wait, as every sync of a pod does that is not about to end."""
        timeout = self._context.loop.call_after(
            POD_ATTACH_AND_MOUNT_TIMEOUT, self._timed_out, pod.uid
        )
        self._timeouts[pod.uid] = timeout

    def stop(self, uid: str) -> None:
        """Stop waiting for the volumes of a pod."""
        timer = self._timeouts.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def stop_all(self) -> None:
        """The kubelet ends."""
        for timer in self._timeouts.values():
            timer.cancel()
        self._timeouts.clear()

    def forget(self, uid: str) -> None:
        """The pod object is gone."""
        self.stop(uid)
        self._last_errors.pop(uid, None)

    def take_mounted(self, uid: str) -> bool:
        """Whether a waiting pod has all its volumes; it then waits no longer."""
        pod, actual = self._state.pods[uid], self._state.actual
        if not actual.is_mounted_for_pod(uid, expected_volumes(pod)):
            return False
        self.stop(uid)
        names = [mounted.outer_name for mounted in actual.get_mounted_volumes_for_pod(uid)]
        self._context.recorder.record(
            "VolumesMounted", pod.id, COMPONENT, f"on {self._state.node}", {"volumes": names}
        )
        return True

    def report_errors(self) -> None:
        """Emit the populator's errors, which end a wait at once; the same one only once."""
        desired = self._state.desired
        for uid in desired.get_pods_with_errors():
            errors = "; ".join(desired.pod_errors(uid))
            if uid in self._timeouts and self._last_errors.get(uid) != errors:
                self._last_errors[uid] = errors
                self._emit(self._state.pods[uid], errors)
            desired.pop_pod_errors(uid)

    def _timed_out(self, uid: str) -> None:
        self._timeouts[uid].cancel()
        if self._names_unprocessed:
            # Upstream: SyncPod() emits nothing for an error that is wait.Interrupted().
            return
        # Upstream repeats this with every sync of the pod; here it is emitted once.
        self._emit(self._state.pods[uid], "timed out waiting for the condition")

    def _emit(self, pod: Pod, error: str) -> None:
        lists = self._lists(pod) if self._names_unprocessed else self._old_lists(pod)
        said = ", ".join(f"{what}=[{' '.join(names)}]" for what, names in lists)
        message = f"Unable to attach or mount volumes: {said}: {error}"
        self._context.emit(pod, WARNING, FAILED_MOUNT, message)

    def _lists(self, pod: Pod) -> list[tuple[str, list[str]]]:
        """Upstream: getUnmountedVolumes(), getUnattachedVolumes() and getVolumesNotInDSW()."""
        actual = self._state.actual
        wanted = self._state.desired.volumes_of_pod(pod.uid)
        unattached = [
            one.outer_name
            for one in wanted
            if one.is_attachable and not actual.volume_exists(one.volume_name)
        ]
        processed = {one.outer_name: None for one in wanted}
        unprocessed = [name for name in expected_volumes(pod) if name not in processed]
        return [
            ("unmounted volumes", sorted(self._unmounted(pod))),
            ("unattached volumes", sorted(unattached)),
            ("failed to process volumes", sorted(unprocessed)),
        ]

    def _old_lists(self, pod: Pod) -> list[tuple[str, list[str]]]:
        """Upstream looks for attached volumes by the wrong name, so that none of them is found."""
        expected = expected_volumes(pod)
        return [("unmounted volumes", self._unmounted(pod)), ("unattached volumes", expected)]

    def _unmounted(self, pod: Pod) -> list[str]:
        mounted = {
            each.outer_name: None
            for each in self._state.actual.get_mounted_volumes_for_pod(pod.uid)
        }
        return [name for name in expected_volumes(pod) if name not in mounted]


def expected_volumes(pod: Pod) -> list[str]:
    """Names of the pod's volumes that its containers use. Upstream: getExpectedVolumes()."""
    if not pod.volumes:
        return []
    names: list[str] | None = pod.template.get("expected_volumes")
    if names is None:
        mounts, devices = pod_volume_names(pod)
        every = [volume["name"] for volume in pod.volumes]
        names = [name for name in every if name in mounts or name in devices]
        pod.template["expected_volumes"] = names
    return names
