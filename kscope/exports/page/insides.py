"""What went on inside, for the pages Inside and Film: of the cycles and objects that a file follows.

    events ──▶ Cycles: when each began and ended ─┐
    state at the end ─────────────────────────────┴▶ Follow: which of them ──▶ trace of a second play

The file has no engine to play the run again, so an export does, once, and follows a bounded choice:
docs/exports.md says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.inside.steps import inside_volumes
from engine.diagnosis.inside.together import TogetherTrace
from engine.diagnosis.inside.trace import Asked
from engine.kernel.recorder import EventRow
from engine.kernel.trace import TraceEntry
from engine.kernel.view import State
from engine.scheduler.cycle.inside.answer import ENDS, STARTED, cycle_inside, number_in

MOST_CYCLES: Final = 400
# A cycle says something of every node: so many of them, in all cycles together, are followed.
_MOST_NODES: Final = 8_000
# Of each kind of object whose volumes can be followed.
MOST_OBJECTS: Final = {"claim": 24, "pod": 8, "node": 8}


@dataclass(slots=True)
class Began:
    """A scheduling cycle: the event with which it began, of which pod, its number, when it ended."""

    seq: int
    entity: str
    number: int
    ended_at: int | None = None


class Cycles:
    """The scheduling cycles of a run; it is given every event."""

    def __init__(self) -> None:
        self.all: list[Began] = []
        self._open: dict[str, Began] = {}

    def take(self, row: EventRow) -> None:
        """Go on with the next event."""
        if row.kind in ENDS and (began := self._open.pop(row.object, None)) is not None:
            began.ended_at = row.at
        if row.kind == STARTED:
            began = Began(row.seq, row.object, number_in(row.message))
            self._open[row.object] = began
            self.all.append(began)


@dataclass(frozen=True, slots=True)
class Follow:
    """What a second play follows: cycles and ids of objects, what is missed most first."""

    cycles: tuple[Began, ...]
    objects: tuple[str, ...]

    def trace(self, cluster: Cluster) -> TogetherTrace:
        """Follow them in *cluster* from now on."""
        pods = {each.entity for each in self.cycles}
        trace = TogetherTrace(cluster, pods, map(_asked, self.objects))
        cluster.loop.trace = trace
        return trace

    def cycles_told(self, trace: TogetherTrace, version: str) -> Iterator[tuple[Began, Any]]:
        """The answer about each cycle, as the resource inside/scheduler has it."""
        of_pod: dict[str, list[TraceEntry]] = {each.entity: [] for each in self.cycles}
        of_nodes: list[TraceEntry] = []
        for entry in trace.entries:
            of_pod.get(entry.entity, of_nodes).append(entry)
        for each in self.cycles:
            entries = [*_until(of_pod[each.entity], each.ended_at), *of_nodes]
            found = cycle_inside(entries, version, each.entity, each.number)
            if found is not None:
                # Nothing can be forked from a file.
                names = {"run": 0, "seq": each.seq, "cycle": each.number, "fork_seq": None}
                yield each, {**names, **asdict(found)}

    def objects_told(
        self, trace: TogetherTrace, version: str, times: Times
    ) -> Iterator[tuple[str, Any]]:
        """The answer about each object, as the resource inside/volumes has it at the newest event."""
        for entity, about in zip(self.objects, trace.about, strict=True):
            answer = asdict(inside_volumes(about, version))
            for step in answer["steps"]:
                step["seq"] = times.seq_of_step(step["seq"], step["at"])
            yield entity, {"run": 0, "seq": times.head, "from_seq": trace.since, **answer}


@dataclass(frozen=True, slots=True)
class Times:
    """When the events after event *base* were, one after the other."""

    base: int
    ats: Sequence[int]

    @property
    def head(self) -> int:
        """The number of the newest event."""
        return self.base + len(self.ats)

    def seq_of_step(self, seq: int, at: int) -> int:
        """The event that shows a step: the first one of its instant, where *seq* is the one before it."""
        place = seq - self.base - 1
        if 0 <= place < len(self.ats) - 1 and self.ats[place] < at == self.ats[place + 1]:
            return seq + 1
        return seq


def follow(cycles: Cycles, state: State, *, waiting: Sequence[str], select: str = "") -> Follow:
    """What to follow of a run that ended in *state*.

    *waiting* are the ids of what waits there, *select* that of the object that its pages select.
    """
    pods = [entity for entity in (select, *waiting) if entity.startswith("pod/")]
    nodes = sum(entity.startswith("node/") for entity in state)
    most = min(MOST_CYCLES, max(1, _MOST_NODES // max(1, nodes)))
    return Follow(
        tuple(_chosen_cycles(cycles.all, pods))[:most],
        tuple(_chosen_objects(state, waiting, pods, select)),
    )


def _chosen_cycles(cycles: Sequence[Began], pods: Sequence[str]) -> Iterable[Began]:
    """The newest of all, the newest of each of *pods*, and then the others, the newest first."""
    newest = cycles[::-1]
    of_pod: dict[str, Began] = {}
    for each in newest:
        of_pod.setdefault(each.entity, each)
    wanted = (*newest[:1], *(of_pod[pod] for pod in pods if pod in of_pod), *newest)
    return {each.seq: each for each in wanted}.values()


def _chosen_objects(
    state: State, waiting: Sequence[str], pods: Sequence[str], select: str
) -> Iterator[str]:
    """Of each kind what is selected or waits, then what belongs to it, then what there is."""
    users = [each for each in (*pods, *state) if _claims_of(state, each)]
    claims = [entity for pod in users for entity in _claims_of(state, pod)]
    nodes = [each for each in state if each.startswith("node/") and _has_volumes(state, each)]
    wanted = dict.fromkeys((select, *waiting, *users, *claims, *nodes, *state))
    for kind, most in MOST_OBJECTS.items():
        of_kind = [each for each in wanted if each.startswith(f"{kind}/") and each in state]
        yield from [each for each in of_kind if kind == "claim" or each in (*users, *nodes)][:most]


def _claims_of(state: State, entity: str) -> list[str]:
    if not entity.startswith("pod/"):
        return []
    namespace = entity.split("/")[1]
    found: Any = (state.get(entity) or {}).get("claims") or ()
    return [f"claim/{namespace}/{name}" for name in found]


def _has_volumes(state: State, node: str) -> bool:
    attributes = state[node]
    return bool(attributes.get("volumes") or attributes.get("attachments"))


def _asked(entity: str) -> Asked:
    kind, _, name = entity.partition("/")
    return Asked(**{kind: name})


def _until(entries: Iterable[TraceEntry], at: int | None) -> Iterator[TraceEntry]:
    """What came until the instant *at*: what happened to the pod later is of its next cycle."""
    return (entry for entry in entries if at is None or entry.at <= at)
