"""The answer about one cycle: docs/inside.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

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
from engine.kernel.trace import TraceEntry, place_of
from engine.scheduler.cycle.binding.trace_steps import Bound, PointRan, RoundMade
from engine.scheduler.cycle.decision.trace_scores import HostChosen, Scored
from engine.scheduler.cycle.inside.upstream import PLACES, callers
from engine.scheduler.preemption.trace_steps import DryRunMade, DryRunsOrdered, PostFiltered
from engine.scheduler.queue.trace_steps import EventConsidered, Moved, Popped, Requeued
from engine.storage.binding.trace_steps import VolumesAssumed, VolumesLooked, VolumesWritten

# The event with which a cycle begins, and those that end it: its pod is bound, or comes back to the
# queue, or leaves it.
STARTED: Final = "AttemptStarted"
ENDS: Final = (
    *("PodBound", "PodBackedOff", "PodParked", "PodQueued", "PodGated", "PodDequeued"),
    STARTED,
)
_NUMBER: Final = re.compile(r"cycle (\d+), attempt")
Kind = TypeVar("Kind")
PhaseState = Literal["done", "nothing to do", "not reached"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A function of upstream that has called the one of a phase."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the cycle: its time in ns and the newest event then, and who does it upstream.

    `callers` lead to that function, the outermost first.
    """

    name: str
    state: PhaseState
    at: int | None
    seq: int | None
    file: str
    function: str
    callers: tuple[Caller, ...]


@dataclass(frozen=True, slots=True)
class TimedStep:
    """The kind of a step, and when it was. The n-th of a kind is the n-th of its list."""

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
    steps: tuple[TimedStep, ...]
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


class _Steps:
    """The steps about one pod."""

    def __init__(self, entries: Sequence[TraceEntry]) -> None:
        self.entries = entries

    def each(self, kind: type[Kind]) -> Iterator[Kind]:
        return (entry.step for entry in self.entries if isinstance(entry.step, kind))

    def last(self, kind: type[Kind]) -> Kind | None:
        return next(reversed([*self.each(kind)]), None)


def number_in(message: str) -> int:
    """The number of the cycle that an event STARTED with this *message* begins."""
    found = _NUMBER.match(message)
    assert found is not None, message
    return int(found[1])


def cycle_inside(
    entries: Sequence[TraceEntry], version: str, entity: str, number: int
) -> Cycle | None:
    """Cycle *number* of the pod with id *entity*; None if a trace with *entries* has no step of it."""
    before, steps = _steps_of(entries, entity, number)
    pop = steps.last(Popped)
    if pop is None:
        return None
    return Cycle(
        version,
        entity.removeprefix("pod/"),
        _phases(steps, version),
        tuple(TimedStep(type(one.step).__name__, one.at, one.seq) for one in steps.entries),
        pop,
        _snapshot(steps, entries),
        _order(steps),
        _last_round(steps.each(PreFilterAnswer)),
        _filters(steps),
        _post_filter(steps),
        steps.last(Scored),
        steps.last(HostChosen),
        _assumption(steps),
        tuple(steps.each(PointRan)),
        _volumes(steps),
        tuple(steps.each(RoundMade)),
        steps.last(Bound),
        _queue(before, steps),
    )


def _steps_of(entries: Sequence[TraceEntry], entity: str, number: int) -> tuple[_Steps, _Steps]:
    """Before the pop of that cycle, and from there until the pod is popped again."""
    of_pod = [entry for entry in entries if entry.entity == entity]
    pops = [place for place, entry in enumerate(of_pod) if isinstance(entry.step, Popped)]
    for turn, place in enumerate(pops):
        popped = of_pod[place].step
        if isinstance(popped, Popped) and popped.scheduling_cycle == number:
            began = pops[turn - 1] + 1 if turn else 0
            ends = pops[turn + 1] if turn + 1 < len(pops) else len(of_pod)
            return _Steps(of_pod[began:place]), _Steps(of_pod[place:ends])
    return _Steps(of_pod), _Steps(())


# The point of an extension point from Reserve on, or the steps at another phase.
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
_FOLDER = "pkg/scheduler/"
# Before v1.18 what a pod needs besides its node is reserved first, in v1.11 in rounds.
_RESERVES_FIRST = ("v1.11", "v1.16")
# With no plugin that has work there, the pod goes on.
_MAY_BE_EMPTY = ("reserve", "permit", "pre_bind", "post_bind")


def _phases(steps: _Steps, version: str) -> tuple[Phase, ...]:
    names = [name for name in _OF_PHASE if name != "bind_queue"]
    if version in _RESERVES_FIRST:
        names.remove("reserve")
        first = ["bind_queue", "reserve"] if version == "v1.11" else ["reserve"]
        place = names.index("assume")
        names[place:place] = first
    is_bound = steps.last(Bound) is not None
    return tuple(_phase(name, steps, version, is_bound=is_bound) for name in names)


def _phase(name: str, steps: _Steps, version: str, *, is_bound: bool) -> Phase:
    marks, place = _OF_PHASE[name], place_of(PLACES, name, version)
    file = f"{_FOLDER}{place.file}"
    calls = tuple(Caller(f"{_FOLDER}{path}", function) for path, function in callers(name, version))
    for entry in steps.entries:
        step = entry.step
        if isinstance(marks, str):
            found = isinstance(step, PointRan) and step.point == marks
        else:
            found = isinstance(step, marks)
        if found:
            return Phase(name, "done", entry.at, entry.seq, file, place.function, calls)
    empty = is_bound and name in _MAY_BE_EMPTY
    state: PhaseState = "nothing to do" if empty else "not reached"
    return Phase(name, state, None, None, file, place.function, calls)


def _snapshot(steps: _Steps, entries: Sequence[TraceEntry]) -> Snapshot | None:
    taken = steps.last(SnapshotTaken)
    if taken is None:
        return None
    changes = (entry.step for entry in entries if isinstance(entry.step, NodeChanged))
    return Snapshot(
        taken,
        tuple(
            each
            for each in changes
            if each.scheduler == taken.scheduler and taken.before < each.generation <= taken.after
        ),
    )


def _order(steps: _Steps) -> NodeOrder | None:
    tree, searched = steps.last(TreeListed), steps.last(NodesOrdered)
    return None if tree is None or searched is None else NodeOrder(tree, searched)


def _last_round(answers: Iterator[PreFilterAnswer]) -> tuple[PreFilterAnswer, ...]:
    """Each plugin's answer; a nominated node that is tried first asks all of them twice."""
    return tuple({answer.plugin: answer for answer in answers}.values())


def _filters(steps: _Steps) -> Filters | None:
    searches = tuple(steps.each(Filtered))
    return Filters(searches, tuple(steps.each(NominatedPutOn))) if searches else None


def _post_filter(steps: _Steps) -> PostFilter | None:
    outcome = steps.last(PostFiltered)
    if outcome is None:
        return None
    return PostFilter(steps.last(DryRunsOrdered), tuple(steps.each(DryRunMade)), outcome)


def _assumption(steps: _Steps) -> PodAssumption | None:
    assumed = steps.last(Assumed)
    if assumed is None:
        return None
    return PodAssumption(assumed, steps.last(BindingFinished), steps.last(Forgotten))


def _volumes(steps: _Steps) -> VolumeWork | None:
    work = VolumeWork(
        tuple(steps.each(VolumesAssumed)),
        tuple(steps.each(VolumesWritten)),
        tuple(steps.each(VolumesLooked)),
    )
    return work if work.assumed or work.written else None


def _queue(before: _Steps, steps: _Steps) -> QueueWork:
    return QueueWork(
        tuple(each for each in before.each(Moved) if each.place != "in_flight"),
        tuple(before.each(EventConsidered)),
        steps.last(Requeued),
        tuple(each for each in steps.each(Moved) if each.place != "in_flight"),
    )
