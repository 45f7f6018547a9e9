"""Changes for an object, carried out in forks until its goal is reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate
from engine.diagnosis.fork import Forks
from engine.diagnosis.report import Fix
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.trials import seconds
from engine.kernel.sentences import Sentence, say
from engine.kernel.units import MINUTE

# How many changes are offered, tried, and how long in virtual time and in steps each is given.
_OFFERED: Final = 4
_TRIED: Final = 8
_PATIENCE: Final = 6 * MINUTE
_STEPS: Final = 40_000
_STEPS_PER_LOOK: Final = 50


@dataclass(frozen=True, slots=True)
class Reached:
    """When a goal was reached in a fork, and what was reached."""

    at: int
    outcome: Sentence


def fixes_for(
    cluster: Cluster, goal: Goal, changes: Iterator[Candidate], forks: Forks
) -> Iterator[Fix]:
    """The changes after which *goal* is reached sooner than without any, each shown in a fork."""
    if cluster.asks_extenders or goal.outcome(cluster):
        return iter(())
    return islice(_helpful(goal, islice(changes, _TRIED), forks), _OFFERED)


def _helpful(goal: Goal, changes: Iterator[Candidate], forks: Forks) -> Iterator[Fix]:
    untouched = _tried(forks, goal)
    for candidate in changes:
        reached = _tried(forks, goal, candidate.commands)
        if reached is None or (untouched is not None and reached.at >= untouched.at):
            continue
        rest = [each.to_dict() for each in candidate.more]
        yield Fix(
            kind=candidate.kind,
            text=say(
                "{change}: {outcome} at {time}.",
                change=candidate.text,
                outcome=reached.outcome,
                time=seconds(reached.at),
            ),
            command=candidate.command.to_dict(),
            then=rest[0] if rest else None,
            more=tuple(rest[1:]),
            node="",
            at=reached.at,
            shown="fork",
            note=candidate.note,
        )


def _tried(forks: Forks, goal: Goal, commands: Sequence[Command] = ()) -> Reached | None:
    return forks.run(partial(_reached, goal=goal, commands=commands))


def _reached(fork: Cluster, goal: Goal, commands: Sequence[Command] = ()) -> Reached | None:
    """When *goal* is reached after *commands* in *fork*, which is used up by this; None for never."""
    fork.limit(None)
    if not all(fork.apply(command).applied for command in commands):
        return None
    until, steps = fork.now + _PATIENCE, fork.steps
    while (due := fork.next_at) is not None and due <= until:
        if fork.steps - steps > _STEPS:
            return None
        fork.advance(due, max_steps=_STEPS_PER_LOOK)
        outcome = goal.outcome(fork)
        if outcome:
            return Reached(fork.now, outcome)
    # Where nothing is due any more, time alone may have done it.
    if fork.now < until:
        fork.advance(until, max_steps=_STEPS)
    outcome = goal.outcome(fork)
    return Reached(fork.now, outcome) if outcome else None
