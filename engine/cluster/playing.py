"""Playing a cluster by itself, slice by slice, until a time, its end, or a budget that is used up."""

from __future__ import annotations

from collections.abc import Callable

from engine.cluster.cluster import Cluster, Slice
from engine.input.budget import Stop

_STEPS_PER_SLICE = 20_000


def play(
    cluster: Cluster,
    until: int,
    hear: Callable[[Slice], bool],
    stop_of: Callable[[], Stop | None],
) -> Stop | None:
    """Play *cluster* until *until*; *hear* gets each slice, and says whether to go on.

    *stop_of* is asked after each slice whether memory is used up. Returns what of the budget was
    used up before *until*.
    """
    while True:
        due = cluster.next_at
        done = due is None or due > until
        cluster.advance(until, max_steps=_STEPS_PER_SLICE)
        goes_on = hear(cluster.take())
        if done or cluster.failure or not goes_on:
            return None
        stop = stop_of() or cluster.budget_stop
        due = cluster.next_at
        if stop is not None and due is not None and due <= until:
            return stop
