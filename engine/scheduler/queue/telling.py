"""What the queue tells a trace; see `engine.kernel.trace`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from engine.scheduler.queue.queued_pod import QueuedPodInfo


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod in a queue, since when, and when its backoff ends; times in ns."""

    pod: str
    priority: int
    timestamp: int
    attempts: int
    backoff_until: int | None = None


@dataclass(frozen=True, slots=True)
class Popped:
    """A pod was popped. The queues are as they are then, without it, in their order.

    A failure of the cycle is judged by the events it missed in flight ("in-flight events"), or, in
    versions without hints, by whether `move_request_cycle` has reached `scheduling_cycle`.
    """

    scheduling_cycle: int
    move_request_cycle: int
    attempt: int
    event: str
    priority: int
    timestamp: int
    judged_by: Literal["in-flight events", "moveRequestCycle"]
    active: tuple[WaitingPod, ...]
    backoff: tuple[WaitingPod, ...]
    unschedulable: tuple[WaitingPod, ...]
    in_flight: tuple[str, ...]


def waiting(infos: Iterable[QueuedPodInfo]) -> tuple[WaitingPod, ...]:
    """*infos* as they are told."""
    return tuple(
        WaitingPod(
            info.key,
            info.pod_info.priority,
            info.timestamp,
            info.attempts,
            info.backoff_expiration,
        )
        for info in infos
    )
