"""Changes for an object, carried out in forks until its goal is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kscope.sim.kernel.units import MINUTE
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.diagnosis.candidates import Candidate
from scheduling.engine.diagnosis.fork import Original
from scheduling.engine.diagnosis.report import Fix
from scheduling.engine.diagnosis.subjects.goals import Goal
from scheduling.engine.diagnosis.trials import seconds

# How many changes are offered, tried, and how long in virtual time and in steps each is given.
_OFFERED: Final = 4
_TRIED: Final = 8
_PATIENCE: Final = 6 * MINUTE
_STEPS: Final = 40_000
_STEPS_PER_LOOK: Final = 50


def fixes_for(cluster: Cluster, goal: Goal, changes: Iterator[Candidate]) -> list[Fix]:
    """The changes after which *goal* is reached sooner than without any, each shown in a fork."""
    if cluster.asks_extenders or goal.outcome(cluster):
        return []
    original = Original(cluster)
    untouched = _reached_at(original.copy(), goal)
    fixes: list[Fix] = []
    for tried, candidate in enumerate(changes):
        if tried == _TRIED or len(fixes) == _OFFERED:
            break
        fork = original.copy()
        fork.limit(None)
        if not all(fork.apply(command).applied for command in candidate.commands):
            continue
        at = _reached_at(fork, goal)
        if at is None or (untouched is not None and at >= untouched):
            continue
        rest = [each.to_dict() for each in candidate.more]
        fixes.append(
            Fix(
                kind=candidate.kind,
                text=f"{candidate.text}: {goal.outcome(fork)} at {seconds(at)}.",
                command=candidate.command.to_dict(),
                then=rest[0] if rest else None,
                more=tuple(rest[1:]),
                node="",
                at=at,
                shown="fork",
                note=candidate.note,
            )
        )
    return fixes


def _reached_at(fork: Cluster, goal: Goal) -> int | None:
    """When *goal* is reached in *fork*, which is used up by this; None for never."""
    fork.limit(None)
    until, steps = fork.now + _PATIENCE, fork.steps
    while (due := fork.next_at) is not None and due <= until:
        if fork.steps - steps > _STEPS:
            return None
        fork.advance(due, max_steps=_STEPS_PER_LOOK)
        if goal.outcome(fork):
            return fork.now
    return None
