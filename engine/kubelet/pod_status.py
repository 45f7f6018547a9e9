"""Writes the status of pods, and deletes them. Upstream: pkg/kubelet/status/status_manager.go."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import ApiError
from engine.kernel.loop import EventLoop
from engine.kernel.units import SECOND, nanoseconds_of
from engine.kubelet.context import COMPONENT
from engine.kubelet.pod_admission import Rejection
from engine.kubelet.worker import Worker
from engine.objects.objects import Manifest, Pod
from engine.objects.outside import ToldFailure
from engine.objects.pods.conditions import conditions_of_others
from engine.objects.pods.told_containers import STARTING
from engine.objects.scripts.script import TERMINATED

# How soon a refused write is repeated. Upstream: status_manager.go, syncPeriod.
SYNC_PERIOD: Final = 10 * SECOND
# Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, ErrCreateContainerConfig.
CONFIG_ERROR: Final = "CreateContainerConfigError"


class PodStatusWriter:
    """Writes the status of pods to the API server, and repeats writes that are refused."""

    __slots__ = ("_loop", "_store")

    def __init__(self, loop: EventLoop, store: ObjectStore) -> None:
        self._loop = loop
        self._store = store

    def write(self, worker: Worker, status: Manifest, event: str, message: str) -> None:
        """Write *status*, with what was refused before, recorded as *event*."""
        if not self._is_stored(worker):
            return
        worker.unsent = {**worker.unsent, **status}
        if worker.sending is not None:
            worker.sending.cancel()
            worker.sending = None
        try:
            written = self._store.patch(
                "Pod",
                worker.pod.key,
                {"status": worker.unsent},
                by=COMPONENT,
                event=event,
                message=message,
            )
        except ApiError:
            # Upstream: syncBatch() sends every 10 s what has not been sent.
            nothing_new: Manifest = {}
            worker.sending = self._loop.call_after(
                SYNC_PERIOD, self.write, worker, nothing_new, event, message
            )
            return
        worker.unsent = {}
        worker.pod = cast("Pod", written)

    def reject(self, worker: Worker, refusal: Rejection, started: str) -> None:
        """Write that the pod has failed before it began. Upstream: kubelet.rejectPod()."""
        status: Manifest = {
            "phase": "Failed",
            "reason": refusal.reason,
            "message": f"{refusal.begin}{refusal.message}",
            "startTime": started,
        }
        self.write(worker, status, "PodRejected", refusal.message)

    def stopped(self, worker: Worker, now: str) -> None:
        """The containers of a pod that is to go have stopped, of which no script says how.

        Where others hold the object it outlives its containers, and they are told how these ended.
        """
        if worker.pod.finalizers and not worker.pod.is_terminated:
            status: Manifest = {"phase": "Failed", **ended_status(worker.pod, TERMINATED, now)}
            self.write(worker, status, "PodFailed", "its containers were stopped")

    def delete(self, worker: Worker) -> None:
        """Delete the pod object. Upstream: syncPod(), once PodResourcesAreReclaimed()."""
        if not self._is_stored(worker):
            return
        try:
            self._store.delete("Pod", worker.pod.key, by=COMPONENT, event="PodDeleted")
        except ApiError:
            worker.timer = self._loop.call_after(SYNC_PERIOD, self.delete, worker)

    def _is_stored(self, worker: Worker) -> bool:
        """Whether the API server still has this very pod, and not another one of its name."""
        stored = self._store.find("Pod", worker.pod.key)
        return stored is not None and stored.uid == worker.pod.uid


def _condition(kind: str, status: str, now: str, reason: str = "") -> Manifest:
    made = {"type": kind, "status": status, "lastTransitionTime": now}
    return {**made, "reason": reason} if reason else made


def _scheduled_condition(pod: Pod, now: str) -> Manifest:
    for condition in cast("list[Manifest]", pod.status.get("conditions") or ()):
        if condition["type"] == "PodScheduled":
            return condition
    return _condition("PodScheduled", "True", now)


def running_conditions(pod: Pod, now: str) -> list[Manifest]:
    """The conditions of a pod whose containers run."""
    return [
        _condition("Initialized", "True", now),
        _condition("Ready", "True", now),
        _condition("ContainersReady", "True", now),
        _scheduled_condition(pod, now),
        *conditions_of_others(pod),
    ]


def finished_conditions(pod: Pod, now: str) -> list[Manifest]:
    """The conditions of a pod whose containers have ended."""
    return [
        _condition("Initialized", "True", now, "PodCompleted"),
        _condition("Ready", "False", now, "PodCompleted"),
        _condition("ContainersReady", "False", now, "PodCompleted"),
        _scheduled_condition(pod, now),
        *conditions_of_others(pod),
    ]


def ended_status(pod: Pod, code: int, now: str) -> Manifest:
    """What the status of *pod* says once all of its containers have ended with *code*."""
    reason = "Error" if code else "Completed"
    ended = {"terminated": {"exitCode": code, "finishedAt": now, "reason": reason}}
    return {
        "conditions": finished_conditions(pod, now),
        "containerStatuses": container_statuses(pod, ended),
    }


def observed_failure(pod: Pod) -> str:
    """Why a container of the pod does not run, by the status that its files gave it; "" for none.

    Images, sandboxes and processes are outside the model, which can neither repair nor repeat this.
    """
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in cast("list[Manifest]", pod.status.get(field) or ()):
            state: Manifest = status.get("state") or {}
            waiting: Manifest = state.get("waiting") or {}
            reason = str(waiting.get("reason") or "")
            if reason not in STARTING and not _lacks_object(waiting):
                return reason
    return ""


def told_failure(pod: Pod, told: ToldFailure | None) -> str:
    """Why a pod does not start, by an Event that is newer than its status; "" for none."""
    if told is None or pod.phase == "Running" or told.uid not in ("", pod.uid):
        return ""
    return told.reason if told.at >= max(_times_in(pod.status), default=0) else ""


def _times_in(status: Mapping[str, Any]) -> Iterator[int]:
    """When its parts were written, in ns since EPOCH, as far as they say it."""
    texts = [status.get("startTime")]
    texts += [each.get("lastTransitionTime") for each in status.get("conditions") or ()]
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in cast("list[Manifest]", status.get(field) or ()):
            for state in cast("dict[str, Manifest]", each.get("state") or {}).values():
                texts += [state.get("startedAt"), state.get("finishedAt")]
    return (nanoseconds_of(each) for each in texts if isinstance(each, str) and each)


def _lacks_object(waiting: Manifest) -> bool:
    """Whether a Secret or ConfigMap is missing, which the model looks up itself."""
    text = str(waiting.get("message") or "")
    return waiting.get("reason") == CONFIG_ERROR and text.endswith("not found")


def container_statuses(pod: Pod, state: Manifest) -> list[Manifest]:
    """The status of every container, all in the same *state*."""
    running = "running" in state
    return [
        {
            "name": container.get("name", ""),
            "image": container.get("image", ""),
            "ready": running,
            "started": running,
            "restartCount": 0,
            "state": state,
        }
        for container in pod.containers
    ]
