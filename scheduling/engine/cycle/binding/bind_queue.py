"""v1.11: volumes are bound before the pod is, by a worker of their own, in rounds.

    cycle ── all claims bound ──────────────────▶ assume the pod, bind it (as v1.16)
          ── volumes to write ──▶ BindQueue ──▶ worker writes them ──┐
          ── written already, the PV controller has not answered ────┴──▶ back to the queue

The pod is not assumed while its volumes are being bound: its room on the node is anybody's, and
the next round may find another node. Upstream: v1.11 pkg/scheduler/scheduler.go
assumeAndBindVolumes(), bindVolumesWorker().
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kscope.sim.errors import SimError
from scheduling.engine import names
from scheduling.engine.cycle.attempt import Attempt
from scheduling.engine.cycle.binding.binding_cycle import BindingCycle
from scheduling.engine.cycle.chronicle import COMPONENT
from scheduling.engine.cycle.failure.failures import FailureHandler
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue.queued_pod import QueuedPodInfo
from volumes.engine.binding.binder import PodVolumes

STARTED = "Volume binding started, waiting for completion"
WAITING = "VolumeBindingWaiting"
FAILED = "VolumeBindingFailed"


@dataclass(slots=True)
class Round:
    """A pod in the BindQueue: what is to be written for it, and the event that put it there."""

    queued: QueuedPodInfo
    info: PodInfo
    volumes: PodVolumes
    seq: int

    @property
    def writes(self) -> int:
        """How many objects are written."""
        bindings, provisions = self.volumes.static_bindings, self.volumes.dynamic_provisions
        return len(bindings or ()) + len(provisions or ())


class RoundsBindingCycle(BindingCycle):
    """The binding cycle of v1.11."""

    def __init__(
        self, state: SchedulerState, failures: FailureHandler, wake: Callable[[], None]
    ) -> None:
        super().__init__(state, failures, wake)
        # The worker is at the first.
        self._bind_queue: list[Round] = []

    def stop(self) -> None:
        """The process dies, and the BindQueue with it; what was written stays."""
        self._bind_queue.clear()
        super().stop()

    def begin(self, attempt: Attempt, node: str) -> None:
        queued, decision = attempt.queued, attempt.decision
        if not queued.pod.claim_names:
            super().begin(attempt, node)
            return
        info = queued.pod_info.assigned_to(node)
        try:
            volumes = self._volume_work.assume_round(info, node, self.volume_plan(decision))
        except SimError as moved_on:
            # The Event says a little more than the condition.
            text = f"AssumePodVolumes failed: {moved_on}"
            self._end_attempt(attempt, text)
            self._state.keep_attempt(
                attempt, self._chronicle.record_event(queued.pod, *_failed(text))
            )
            self._back_to_queue(queued, "SchedulerError", str(moved_on))
            return
        if volumes is None:
            super().begin(attempt, node)
        else:
            self._begin_round(attempt, node, info, volumes)

    def _begin_round(self, attempt: Attempt, node: str, info: PodInfo, volumes: PodVolumes) -> None:
        queued = attempt.queued
        told = {"node": node, **volumes.to_dict(node)}
        self._end_attempt(attempt, STARTED)
        if attempt.evidence is not None:
            attempt.evidence["volume_binding"] = told
        self._chronicle.show_pod(queued.key, blocker=_blocker(node, queued.attempts))
        if not volumes.has_work:
            # The PV controller is not done with what an earlier round has written.
            seq = self._chronicle.record_event(queued.pod, "FailedScheduling", "Normal", STARTED)
            self._state.keep_attempt(attempt, seq)
            self._back_to_queue(queued, WAITING)
            return
        seq = self._chronicle.record("VolumeBindingQueued", info.pod.id, f"for {node}", told)
        self._state.keep_attempt(attempt, seq)
        self._bind_queue.append(Round(queued, info, volumes, seq))
        if len(self._bind_queue) == 1:
            self._loop.call_after(0, self._bind_next)

    def _end_attempt(self, attempt: Attempt, message: str) -> None:
        """No node yet: to the cycle this is an error, whatever comes of it."""
        decision = attempt.decision
        decision.result, decision.message, decision.node = "error", message, None
        if attempt.evidence is not None:
            attempt.evidence |= {"result": "error", "message": message, "node": None}

    def _bind_next(self) -> None:
        """Upstream: bindVolumesWorker()."""
        one = self._bind_queue[0]
        self._loop.cause = one.seq
        error = ""
        try:
            self._volume_work.bind_round(one.info, one.volumes)
        except SimError as refusal:
            error = str(refusal)
        taken = sum(self._latencies.draw("api_write") for _ in range(one.writes))
        answered = max(self._loop.now + taken, self._store.answered_at(COMPONENT))
        self._loop.call_at(answered, self._end_round, one, error)

    def _end_round(self, one: Round, error: str) -> None:
        """The pod always goes round again: to try anew, or to be bound once its volumes are."""
        self._bind_queue.remove(one)
        if error:
            self._chronicle.record_event(one.queued.pod, *_failed(error))
        else:
            self._chronicle.record_event(one.queued.pod, "FailedScheduling", "Normal", STARTED)
        self._back_to_queue(one.queued, FAILED if error else WAITING)
        if self._bind_queue:
            self._loop.call_after(0, self._bind_next)

    def _back_to_queue(self, queued: QueuedPodInfo, reason: str, message: str = "") -> None:
        """Upstream: MakeDefaultErrorFunc(), which looks whether the pod still needs a node."""
        known = self._known.get(queued.key)
        if known is None or known.uid != queued.pod_info.uid or known.node_name:
            self._queue.done(queued.pod_info.uid)
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
