"""Whether the pod that a user waits for has been decided on.

waits ──bound, deleted──▶ decided
  ├──refused, by an attempt that began after the newest command, not before `at`──▶ decided
  └──`by` has passed──▶ given up
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Max

from engine.kernel.recorder import Event
from kscope.runs.models import Command, RunEvent


@dataclass(frozen=True, slots=True)
class Wait:
    """Waits for what becomes of *pod*, an entity id, after the command of event *since*.

    An attempt that began before that decides about things as they were. With a promise, that the
    pod is bound at *at*, no refusal before that is the answer. The wait ends at *by* in any case.
    """

    pod: str
    since: int = 0
    at: int = 0
    by: int | None = None

    def is_over(self, events: Sequence[Event], began: int, now: int) -> bool:
        """Whether the *events* of a step, that ended at *now*, decide.

        *began* is the event with which the newest attempt before them began.
        """
        if not pod_is_decided(events, self.pod):
            return False
        for event in events:
            if event.object != self.pod:
                continue
            if event.kind in _ENDS:
                return True
            if event.kind == ATTEMPT_STARTED:
                began = event.seq
            elif _is_refusal(event) and began > self.since and now >= self.at:
                return True
        return False

    def newest_attempt(self, events: Sequence[Event]) -> int | None:
        """The event with which the newest attempt in *events* began; None without one."""
        began = [
            event.seq
            for event in events
            if event.object == self.pod and event.kind == ATTEMPT_STARTED
        ]
        return began[-1] if began else None


class Attempts:
    """Knows when the newest attempt of each pod that a user waits for in a run began."""

    def __init__(self, run_id: int) -> None:
        self._run_id = run_id
        # By pod, the event with which its newest attempt began; 0 without one.
        self._began: dict[str, int] = {}

    def wait(self, pod: str, at: int, by: int | None) -> Wait:
        """What is waited for, since the newest command that was carried out."""
        done = Command.objects.filter(run_id=self._run_id, status=Command.Status.APPLIED)
        since = done.aggregate(newest=Max("outcome_seq"))["newest"] or 0
        if pod not in self._began:
            began = RunEvent.objects.filter(run_id=self._run_id, object=pod, kind=ATTEMPT_STARTED)
            self._began[pod] = began.aggregate(newest=Max("seq"))["newest"] or 0
        return Wait(pod, since, at, by)

    def decide(self, wait: Wait, events: Sequence[Event], now: int) -> bool:
        """Whether the *events* of a step, that ended at *now*, decide what is waited for."""
        over = wait.is_over(events, self._began[wait.pod], now)
        self._began[wait.pod] = wait.newest_attempt(events) or self._began[wait.pod]
        return over


ATTEMPT_STARTED = "AttemptStarted"
_ENDS = ("PodBound", "PodDeleted")


def pod_is_decided(events: Sequence[Event], pod: str) -> bool:
    """Whether the events of one step bind, refuse or delete the pod of this entity id.

    A pod that others make room for is not refused: it has a nominated node, and waits for them.
    """
    about = [event for event in events if event.object == pod]
    if any(event.kind in _ENDS for event in about):
        return True
    nominated = any(event.kind == "PodNominated" for event in about)
    return not nominated and any(_is_refusal(event) for event in about)


def _is_refusal(event: Event) -> bool:
    return event.kind == "FailedScheduling" and (event.data or {}).get("type") == "Warning"
