"""The answer about one cycle: docs/inside.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from engine.framework.trace_steps.filters import Filtered, NominatedPutOn, PreFilterAnswer
from engine.framework.trace_steps.nodes import (
    Assumed,
    BindingFinished,
    Forgotten,
    NodeChanged,
    NodesOrdered,
    SnapshotTaken,
    TreeListed,
)
from engine.kernel.trace import Step, Trace, place_of
from engine.scheduler.cycle.binding.trace_steps import Bound, PointRan, RoundMade
from engine.scheduler.cycle.decision.trace_scores import HostChosen, Scored
from engine.scheduler.cycle.inside.upstream import PLACES
from engine.scheduler.preemption.trace_steps import DryRunMade, DryRunsOrdered, PostFiltered
from engine.scheduler.queue.trace_steps import EventConsidered, Moved, Popped, Requeued
from engine.storage.binding.trace_steps import VolumesAssumed, VolumesLooked, VolumesWritten

Kind = TypeVar("Kind")
PhaseState = Literal["done", "nothing to do", "not reached"]


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
class StepTold:
    """One step: what was told, when, after which event. The n-th of a kind is the n-th of its list."""

    kind: str
    at: int
    seq: int


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
class PostFilter:
    """The preemption: the order of the dry runs, each of them, and what it came to."""

    ordered: DryRunsOrdered | None
    dry_runs: tuple[DryRunMade, ...]
    outcome: PostFiltered


@dataclass(frozen=True, slots=True)
class PodAssumption:
    """The pod in the cache: assumed, its binding finished, forgotten; null for what was not."""

    assumed: Assumed
    finished: BindingFinished | None
    forgotten: Forgotten | None


@dataclass(frozen=True, slots=True)
class VolumeWork:
    """The volumes of the pod: assumed, written, and each look whether they are bound."""

    assumed: tuple[VolumesAssumed, ...]
    written: tuple[VolumesWritten, ...]
    looks: tuple[VolumesLooked, ...]


@dataclass(frozen=True, slots=True)
class QueueWork:
    """The pod in the queue: before the pop since its last attempt, and from the cycle's end on.

    `considered` are the events about which plugins were asked while it waited.
    """

    before: tuple[Moved, ...]
    considered: tuple[EventConsidered, ...]
    requeued: Requeued | None
    after: tuple[Moved, ...]


@dataclass(frozen=True, slots=True)
class Cycle:
    """One scheduling cycle of one pod. A part is None where the cycle did not come to it."""

    version: str
    pod: str
    phases: tuple[Phase, ...]
    steps: tuple[StepTold, ...]
    pop: Popped
    snapshot: Snapshot | None
    order: NodeOrder | None
    pre_filter: tuple[PreFilterAnswer, ...]
    filter: Filters | None
    post_filter: PostFilter | None
    score: Scored | None
    host: HostChosen | None
    assume: PodAssumption | None
    points: tuple[PointRan, ...]
    volumes: VolumeWork | None
    rounds: tuple[RoundMade, ...]
    bind: Bound | None
    queue: QueueWork


class _Told:
    """Steps about one pod."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps

    def each(self, kind: type[Kind]) -> Iterator[Kind]:
        return (step.told for step in self.steps if isinstance(step.told, kind))

    def last(self, kind: type[Kind]) -> Kind | None:
        return next(reversed([*self.each(kind)]), None)


def cycle_told(trace: Trace, version: str, entity: str, number: int) -> Cycle | None:
    """Cycle *number* of the pod with id *entity*; None if *trace* was not told of it."""
    before, told = _steps_of(trace.steps, entity, number)
    pop = told.last(Popped)
    if pop is None:
        return None
    return Cycle(
        version,
        entity.removeprefix("pod/"),
        _phases(told, version),
        tuple(StepTold(type(step.told).__name__, step.at, step.seq) for step in told.steps),
        pop,
        _snapshot(told, trace.steps),
        _order(told),
        _last_round(told.each(PreFilterAnswer)),
        _filters(told),
        _post_filter(told),
        told.last(Scored),
        told.last(HostChosen),
        _assumption(told),
        tuple(told.each(PointRan)),
        _volumes(told),
        tuple(told.each(RoundMade)),
        told.last(Bound),
        _queue(before, told),
    )


def _steps_of(steps: Sequence[Step], entity: str, number: int) -> tuple[_Told, _Told]:
    """Before the pop of that cycle, and from there until the pod is popped again."""
    of_pod = [step for step in steps if step.entity == entity]
    pops = [place for place, step in enumerate(of_pod) if isinstance(step.told, Popped)]
    for turn, place in enumerate(pops):
        popped = of_pod[place].told
        if isinstance(popped, Popped) and popped.scheduling_cycle == number:
            began = pops[turn - 1] + 1 if turn else 0
            ends = pops[turn + 1] if turn + 1 < len(pops) else len(of_pod)
            return _Told(of_pod[began:place]), _Told(of_pod[place:ends])
    return _Told(of_pod), _Told(())


# The point of an extension point from Reserve on, or what is told at another phase.
_OF_PHASE: dict[str, str | tuple[type, ...]] = {
    "pop": (Popped,),
    "snapshot": (SnapshotTaken,),
    "order": (NodesOrdered,),
    "pre_filter": (PreFilterAnswer,),
    "filter": (Filtered,),
    "post_filter": (PostFiltered,),
    "score": (Scored,),
    "host": (HostChosen,),
    "assume": (Assumed,),
    "reserve": "Reserve",
    "permit": "Permit",
    "pre_bind": "PreBind",
    "bind_queue": (RoundMade,),
    "bind": (Bound,),
    "post_bind": "PostBind",
}
# Before v1.18 what a pod needs besides its node is reserved first, in v1.11 in rounds.
_RESERVES_FIRST = ("v1.11", "v1.16")
# With no plugin that has work there, the pod goes on.
_MAY_BE_EMPTY = ("reserve", "permit", "pre_bind", "post_bind")


def _phases(told: _Told, version: str) -> tuple[Phase, ...]:
    names = [name for name in _OF_PHASE if name != "bind_queue"]
    if version in _RESERVES_FIRST:
        names.remove("reserve")
        first = ["bind_queue", "reserve"] if version == "v1.11" else ["reserve"]
        place = names.index("assume")
        names[place:place] = first
    is_bound = told.last(Bound) is not None
    return tuple(_phase(name, told, version, is_bound=is_bound) for name in names)


def _phase(name: str, told: _Told, version: str, *, is_bound: bool) -> Phase:
    marks, place = _OF_PHASE[name], place_of(PLACES, name, version)
    file = f"pkg/scheduler/{place.file}"
    for step in told.steps:
        if isinstance(marks, str):
            found = isinstance(step.told, PointRan) and step.told.point == marks
        else:
            found = isinstance(step.told, marks)
        if found:
            return Phase(name, "done", step.at, step.seq, file, place.function)
    empty = is_bound and name in _MAY_BE_EMPTY
    state: PhaseState = "nothing to do" if empty else "not reached"
    return Phase(name, state, None, None, file, place.function)


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


def _post_filter(told: _Told) -> PostFilter | None:
    outcome = told.last(PostFiltered)
    if outcome is None:
        return None
    return PostFilter(told.last(DryRunsOrdered), tuple(told.each(DryRunMade)), outcome)


def _assumption(told: _Told) -> PodAssumption | None:
    assumed = told.last(Assumed)
    if assumed is None:
        return None
    return PodAssumption(assumed, told.last(BindingFinished), told.last(Forgotten))


def _volumes(told: _Told) -> VolumeWork | None:
    work = VolumeWork(
        tuple(told.each(VolumesAssumed)),
        tuple(told.each(VolumesWritten)),
        tuple(told.each(VolumesLooked)),
    )
    return work if work.assumed or work.written else None


def _queue(before: _Told, told: _Told) -> QueueWork:
    return QueueWork(
        tuple(each for each in before.each(Moved) if each.place != "in_flight"),
        tuple(before.each(EventConsidered)),
        told.last(Requeued),
        tuple(each for each in told.each(Moved) if each.place != "in_flight"),
    )
