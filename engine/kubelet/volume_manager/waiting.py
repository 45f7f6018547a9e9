"""Pods whose containers wait for their volumes. Upstream: WaitForAttachAndMount()."""

from typing import Final

from engine.kernel.loop import Timer
from engine.kernel.units import SECOND
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.volume_manager.operations.pod_volume import FAILED_MOUNT
from engine.kubelet.volume_manager.state import NodeState, PodWorkers, VolumeManagerOptions
from engine.objects.objects import Pod
from engine.storage.plugins.attach_limits import is_exhausted, update_period
from engine.storage.plugins.spec import pod_volume_names, text_at
from engine.storage.ports import WARNING

# How long a pod's sync waits for its volumes. Upstream: podAttachAndMountTimeout.
POD_ATTACH_AND_MOUNT_TIMEOUT: Final = 2 * 60 * SECOND + 3 * SECOND
# How long after a sync that failed the next one begins. Upstream: kubelet.go, backOffPeriod.
SYNC_BACKOFF: Final = 10 * SECOND
_OVER_LIMIT: Final = "Node has reached its volume attachment limit, rejecting pod."


class WaitingPods:
    """Waits for the volumes of pods, and emits FailedMount on those that get an error instead."""

    __slots__ = (
        "_context",
        "_last_errors",
        "_names_unprocessed",
        "_state",
        "_timeouts",
        "_workers",
    )

    def __init__(
        self,
        context: KubeletContext,
        state: NodeState,
        workers: PodWorkers,
        options: VolumeManagerOptions,
    ) -> None:
        self._context = context
        self._state = state
        # Who refuses pods whose volumes a full node cannot attach; None where nobody does.
        self._workers = workers if options.updates_limits else None
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
        if self._workers is not None:
            drivers = self._asked_drivers(uid)
            full = [driver for driver, volume in drivers if self._is_exhausted(volume)]
            if full:
                self._refuse(self._state.pods[uid], full, self._workers)
                return
            if drivers:
                self._timeouts[uid] = self._context.loop.call_after(
                    SYNC_BACKOFF + POD_ATTACH_AND_MOUNT_TIMEOUT, self._timed_out, uid
                )
        if self._names_unprocessed:
            # Upstream: SyncPod() emits nothing for an error that is wait.Interrupted().
            return
        # Upstream repeats this with every sync of the pod; here it is emitted once.
        self._emit(self._state.pods[uid], "timed out waiting for the condition")

    def _asked_drivers(self, uid: str) -> list[tuple[str, str]]:
        """The drivers and volumes that are not attached, of drivers that are asked for their limits."""
        found: list[tuple[str, str]] = []
        for one in self._state.desired.volumes_of_pod(uid):
            driver = text_at(one.spec.source, "csi", "driver") or ""
            is_missing = one.is_attachable and not self._state.actual.volume_exists(one.volume_name)
            if is_missing and update_period(self._context.store, driver):
                found.append((driver, one.spec.name))
        return found

    def _is_exhausted(self, volume: str) -> bool:
        return is_exhausted(self._context.store, volume, self._state.node)

    def _refuse(self, pod: Pod, drivers: list[str], workers: PodWorkers) -> None:
        """Upstream: VolumeAttachLimitExceededError."""
        self.stop(pod.uid)
        lists = _said(self._lists(pod))
        message = f"{_OVER_LIMIT} {lists}: context deadline exceeded"
        workers.volumes_over_limit(pod, drivers, message)

    def _emit(self, pod: Pod, error: str) -> None:
        lists = self._lists(pod) if self._names_unprocessed else self._old_lists(pod)
        message = f"Unable to attach or mount volumes: {_said(lists)}: {error}"
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


def _said(lists: list[tuple[str, list[str]]]) -> str:
    return ", ".join(f"{what}=[{' '.join(names)}]" for what, names in lists)


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
