"""The answer about one cycle: docs/inside.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from engine.framework.telling.filters import Filtered, NominatedPutOn, PreFilterAnswer
from engine.framework.telling.nodes import (
    NodeChanged,
    NodesOrdered,
    SnapshotTaken,
    TreeListed,
)
from engine.kernel.trace import Step, Trace, place_of
from engine.scheduler.cycle.inside.upstream import PLACES
from engine.scheduler.queue.telling import Popped

Kind = TypeVar("Kind")
PhaseState = Literal["done", "not reached"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the cycle: its time in ns and the newest event then, and who does it upstream."""

    name: str
    state: PhaseState
    at: int | None
    seq: int | None
    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The snapshot, and why each entry changed since the one before, in order."""

    taken: SnapshotTaken
    changes: tuple[NodeChanged, ...]


@dataclass(frozen=True, slots=True)
class NodeOrder:
    """The node tree, and the order of the search."""

    tree: TreeListed
    searched: NodesOrdered


@dataclass(frozen=True, slots=True)
class Filters:
    """The searches, in order: a nominated or hinted node alone, then all; and the second passes."""

    searches: tuple[Filtered, ...]
    with_nominated: tuple[NominatedPutOn, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """One scheduling cycle of one pod. A part is None where the cycle did not come to it."""

    version: str
    pod: str
    phases: tuple[Phase, ...]
    pop: Popped
    snapshot: Snapshot | None
    order: NodeOrder | None
    pre_filter: tuple[PreFilterAnswer, ...]
    filter: Filters | None


@dataclass(slots=True)
class _Told:
    """The steps of one cycle."""

    steps: list[Step] = field(default_factory=list[Step])

    def each(self, kind: type[Kind]) -> Iterator[Kind]:
        return (step.told for step in self.steps if isinstance(step.told, kind))

    def last(self, kind: type[Kind]) -> Kind | None:
        return next((each for each in reversed(list(self.each(kind)))), None)

    def first_step(self, *kinds: type) -> Step | None:
        return next((step for step in self.steps if isinstance(step.told, kinds)), None)


_OF_PHASE: dict[str, tuple[type, ...]] = {
    "pop": (Popped,),
    "snapshot": (SnapshotTaken,),
    "order": (NodesOrdered,),
    "pre_filter": (PreFilterAnswer,),
    "filter": (Filtered,),
}


def cycle_told(trace: Trace, version: str, entity: str, number: int) -> Cycle | None:
    """Cycle *number* of the pod with id *entity*; None if *trace* was not told of it."""
    told = _steps_of(trace.steps, entity, number)
    pop = told.last(Popped)
    if pop is None:
        return None
    return Cycle(
        version,
        entity.removeprefix("pod/"),
        tuple(_phase(name, told, version) for name in _OF_PHASE),
        pop,
        _snapshot(told, trace.steps),
        _order(told),
        _last_round(told.each(PreFilterAnswer)),
        _filters(told),
    )


def _steps_of(steps: Sequence[Step], entity: str, number: int) -> _Told:
    """From the pop of that cycle until the pod is popped again."""
    told, is_within = _Told(), False
    for step in steps:
        if step.entity != entity:
            continue
        if isinstance(step.told, Popped):
            is_within = step.told.scheduling_cycle == number
        if is_within:
            told.steps.append(step)
    return told


def _phase(name: str, told: _Told, version: str) -> Phase:
    step, place = told.first_step(*_OF_PHASE[name]), place_of(PLACES, name, version)
    file = f"pkg/scheduler/{place.file}"
    if step is None:
        return Phase(name, "not reached", None, None, file, place.function)
    return Phase(name, "done", step.at, step.seq, file, place.function)


def _snapshot(told: _Told, steps: Sequence[Step]) -> Snapshot | None:
    taken = told.last(SnapshotTaken)
    if taken is None:
        return None
    changes = (step.told for step in steps if isinstance(step.told, NodeChanged))
    return Snapshot(
        taken,
        tuple(
            each
            for each in changes
            if each.scheduler == taken.scheduler and taken.before < each.generation <= taken.after
        ),
    )


def _order(told: _Told) -> NodeOrder | None:
    tree, searched = told.last(TreeListed), told.last(NodesOrdered)
    return None if tree is None or searched is None else NodeOrder(tree, searched)


def _last_round(answers: Iterator[PreFilterAnswer]) -> tuple[PreFilterAnswer, ...]:
    """Each plugin's answer; a nominated node that is tried first asks all of them twice."""
    return tuple({answer.plugin: answer for answer in answers}.values())


def _filters(told: _Told) -> Filters | None:
    searches = tuple(told.each(Filtered))
    return Filters(searches, tuple(told.each(NominatedPutOn))) if searches else None
