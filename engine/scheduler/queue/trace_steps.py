"""The steps of the queue; see `engine.kernel.trace`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine.scheduler.queue.queued_pod import QueuedPodInfo

JudgedBy = Literal["in-flight events", "moveRequestCycle"]


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod in a queue, since when, and in backoffQ when its backoff ends; times in ns."""

    pod: str
    priority: int
    timestamp: int
    attempts: int
    backoff_until: int | None = None


@dataclass(frozen=True, slots=True)
class Popped:
    """A pod was popped. The queues are as they are then, without it, in their order.

    `backed_off_until` is when its backoff would have ended, for a pod that was taken early.
    A failure of the cycle is judged by the events it missed in flight ("in-flight events"), or, in
    versions without hints, by whether `move_request_cycle` has reached `scheduling_cycle`.
    """

    scheduling_cycle: int
    move_request_cycle: int
    attempt: int
    event: str
    priority: int
    timestamp: int
    backed_off_until: int | None
    judged_by: JudgedBy
    active: tuple[WaitingPod, ...]
    backoff: tuple[WaitingPod, ...]
    unschedulable: tuple[WaitingPod, ...]
    in_flight: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HintAsked:
    """A plugin that rejected the pod, and whether it finds an event worth a new attempt."""

    plugin: str
    queues: bool


@dataclass(frozen=True, slots=True)
class EventConsidered:
    """An event of the cluster, the plugins that were asked about it, and what that comes to.

    `strategy` is that of isPodWorthRequeuing(): "SKIP", "AFTER_BACKOFF" or "IMMEDIATELY".
    """

    event: str
    asked: tuple[HintAsked, ...]
    strategy: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The pod went from one place of the queue to another ("" is outside), and which event did it."""

    event: str
    place_from: str
    place: str
    flushed: bool


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a pod backs off: `duration` = `initial` doubled `failures` − 1 times, at most `maximum`.

    It counts from `since` and ends at `ends`, in versions with windows cut down to `window`; the pod
    may be tried from `over_at` on, at the flush that follows. All in ns.
    """

    failures: int
    initial: int
    maximum: int
    duration: int
    since: int
    window: int
    ends: int
    over_at: int


@dataclass(frozen=True, slots=True)
class Requeued:
    """A pod that was tried came back, and why to `place`.

    In versions with hints the events that it `missed` in flight decide, else whether
    `move_request_cycle` has reached `pod_scheduling_cycle`. `next_backoff_flush` and
    `next_leftover_flush` are the next ticks at which these timers have something to do.
    """

    place: str
    judged_by: JudgedBy
    pod_scheduling_cycle: int
    move_request_cycle: int
    rejected_by: tuple[str, ...]
    pending: tuple[str, ...]
    missed: tuple[EventConsidered, ...]
    backoff: Backoff | None
    next_backoff_flush: int | None
    next_leftover_flush: int | None


@dataclass(frozen=True, slots=True)
class InFlightPod:
    """A pod that is being tried, and the events that it has missed so far."""

    pod: str
    missed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueueHeld:
    """The queue at an instant: its counters, its pods in order, and the next ticks of its flushes."""

    scheduling_cycle: int
    move_request_cycle: int
    judged_by: JudgedBy
    active: tuple[WaitingPod, ...]
    backoff: tuple[WaitingPod, ...]
    unschedulable: tuple[WaitingPod, ...]
    in_flight: tuple[InFlightPod, ...]
    next_backoff_flush: int | None
    next_leftover_flush: int | None


def waiting(infos: Iterable[QueuedPodInfo], *, backing_off: bool = False) -> tuple[WaitingPod, ...]:
    """*infos*, as a step has them.

    Only of those *backing_off* the end is always worked out: for others it depends on who asked.
    """
    return tuple(
        WaitingPod(
            info.key,
            info.pod_info.priority,
            info.timestamp,
            info.attempts,
            info.backoff_expiration if backing_off else None,
        )
        for info in infos
    )
