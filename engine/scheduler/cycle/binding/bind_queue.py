"""v1.11: a worker binds the volumes of a pod before the pod is assumed, in rounds.

    cycle ── all claims bound ──────────────────▶ assume the pod, bind it (as v1.16)
          ── volumes to write ──▶ BindQueue ──▶ worker writes them ──┐
          ── written already, the PV controller has not answered ────┴──▶ back to the queue

The pod is not assumed while its volumes are being bound: other pods may take its room on the node,
and its next attempt may choose another node. Upstream: v1.11 pkg/scheduler/scheduler.go
assumeAndBindVolumes(), bindVolumesWorker().
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.framework import names
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.errors import SimError
from engine.scheduler.cycle.attempt import Attempt
from engine.scheduler.cycle.binding.trace_steps import RoundMade
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.decision.result import ERROR
from engine.scheduler.cycle.failure.failures import FailureHandler
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.storage.binding.binder import PodVolumes

STARTED = "Volume binding started, waiting for completion"
WAITING = "VolumeBindingWaiting"
FAILED = "VolumeBindingFailed"


@dataclass(slots=True)
class Round:
    """A pod in the BindQueue: the volumes to write, and the event that put it there."""

    queued: QueuedPodInfo
    info: PodInfo
    volumes: PodVolumes
    seq: int

    @property
    def writes(self) -> int:
        """How many objects are written."""
        bindings, provisions = self.volumes.static_bindings, self.volumes.dynamic_provisions
        return len(bindings or ()) + len(provisions or ())


class BindQueue:
    """The pods whose volumes are bound next, one after the other."""

    def __init__(
        self, state: SchedulerState, failures: FailureHandler, wake: Callable[[], None]
    ) -> None:
        self._state = state
        self._loop = state.loop
        self._store = state.store
        self._latencies = state.latencies
        self._known = state.known
        self._chronicle = state.chronicle
        self._queue = state.queue
        self._volume_work = state.volume_work
        self._failures = failures
        self._wake = wake
        # The worker binds the volumes of the first.
        self._rounds: list[Round] = []

    def clear(self) -> None:
        """The process dies, and the queue with it; what was written stays."""
        self._rounds.clear()

    def take(self, attempt: Attempt, node: str) -> bool:
        """End the attempt if the pod's volumes must be bound first; False if they need not."""
        queued = attempt.queued
        if not queued.pod.claim_names:
            return False
        info = queued.pod_info.assigned_to(node)
        try:
            plan = self._state.volume_plan(attempt.decision)
            volumes = self._volume_work.assume_round(info, node, plan)
        except SimError as conflict:
            # The Event says a little more than the condition.
            text = f"AssumePodVolumes failed: {conflict}"
            attempt.fail(ERROR, text)
            self._state.keep_attempt(
                attempt, self._chronicle.record_event(queued.pod, *_failed(text))
            )
            self._back_to_queue(queued, "SchedulerError", str(conflict))
            return True
        if volumes is None:
            return False
        self._begin_round(attempt, node, info, volumes)
        return True

    def _begin_round(self, attempt: Attempt, node: str, info: PodInfo, volumes: PodVolumes) -> None:
        queued = attempt.queued
        data = {"node": node, **volumes.to_dict(node)}
        # No node yet: for the scheduling cycle this is an error.
        attempt.fail(ERROR, STARTED)
        if attempt.evidence is not None:
            attempt.evidence["volume_binding"] = data
        self._chronicle.show_pod(queued.key, blocker=_blocker(node, queued.attempts))
        if not volumes.has_work:
            # An earlier round wrote everything; the PV controller has not answered yet.
            seq = self._chronicle.record_event(queued.pod, "FailedScheduling", "Normal", STARTED)
            self._state.keep_attempt(attempt, seq)
            self._write_step(info, RoundMade("nothing to write", node, ()))
            self._back_to_queue(queued, WAITING)
            return
        seq = self._chronicle.record("VolumeBindingQueued", info.pod.id, f"for {node}", data)
        self._state.keep_attempt(attempt, seq)
        ahead = tuple(each.queued.key for each in self._rounds)
        self._write_step(info, RoundMade("queued", node, ahead))
        self._rounds.append(Round(queued, info, volumes, seq))
        if len(self._rounds) == 1:
            self._loop.call_after(0, self._bind_next)

    def _bind_next(self) -> None:
        """Upstream: bindVolumesWorker()."""
        one = self._rounds[0]
        self._loop.cause = one.seq
        error = ""
        try:
            self._volume_work.bind_round(one.info, one.volumes)
        except SimError as refusal:
            error = str(refusal)
        taken = sum(self._latencies.draw("api_write") for _ in range(one.writes))
        answered = max(self._loop.now + taken, self._store.answers.answered_at(COMPONENT))
        self._loop.call_at(answered, self._end_round, one, error)

    def _end_round(self, one: Round, error: str) -> None:
        """Return the pod to the queue, whether its volumes were written or not."""
        self._rounds.remove(one)
        self._write_step(one.info, RoundMade("ended", one.info.node_name, (), error))
        if error:
            self._chronicle.record_event(one.queued.pod, *_failed(error))
        else:
            self._chronicle.record_event(one.queued.pod, "FailedScheduling", "Normal", STARTED)
        self._back_to_queue(one.queued, FAILED if error else WAITING)
        if self._rounds:
            self._loop.call_after(0, self._bind_next)

    def _write_step(self, info: PodInfo, step: RoundMade) -> None:
        trace = self._loop.trace
        if trace is not None and trace.follows(info.pod.id):
            trace.add(info.pod.id, step)

    def _back_to_queue(self, queued: QueuedPodInfo, reason: str, message: str = "") -> None:
        """Requeue a pod that still needs a node. Upstream: MakeDefaultErrorFunc()."""
        known = self._known.get(queued.key)
        if known is None or known.uid != queued.pod_info.uid or known.node_name:
            self._queue.skip(queued.pod_info.uid)
        else:
            self._failures.requeue_with_condition(queued, reason, message)
        self._wake()


def _failed(text: str) -> tuple[str, str, str]:
    return "FailedScheduling", "Warning", text


def _blocker(node: str, attempt: int) -> dict[str, Any]:
    return {
        "sentence": f"Waits for its volumes to be bound for {node}.",
        "short": "Volumes are being bound",
        "plugin": names.CHECK_VOLUME_BINDING,
        "node": node,
        "value": None,
        "unit": None,
        "fixes": [],
        "attempt": attempt,
    }
