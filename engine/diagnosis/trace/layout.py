"""Which rows a timeline has, in their order; none of them is drawn yet."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.diagnosis.trace.answer import RowKind
from engine.diagnosis.trace.chosen import Chosen
from engine.diagnosis.trace.lane import Lane
from engine.diagnosis.trace.trace import Group, Trace

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rows are wanted.

    `text` is a part of the names wanted, small and capital letters alike; `open_rows` are keys of
    rows that show what is in them; `least_wait` leaves out pods that waited less, in nanoseconds.
    """

    by_components: bool = False
    text: str = ""
    open_rows: frozenset[str] = frozenset()
    least_wait: int = 0
    only_events: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A row that is to be drawn: `count` and `of` as in Row; `members` are kinds of a component."""

    kind: RowKind
    key: str
    count: int = 0
    of: int = 0
    in_path: bool = False
    members: tuple[str, ...] = ()


@dataclass(slots=True)
class Layout:
    """The rows of *trace* as seen after event *seq*, at *at*: what comes later has no row yet."""

    trace: Trace
    asked: Asked
    seq: int
    at: int
    chosen: Chosen | None = None
    places: list[Place] = field(default_factory=list[Place])

    def lay_out(self) -> list[Place]:
        """The rows from top to bottom."""
        if self.asked.by_components:
            self.places.extend(self._components())
            return self.places
        if self.chosen is not None and not self.asked.text:
            self.places.extend(self._chosen(self.chosen))
        self.places.extend(self._pods())
        trace = self.trace
        self.places.extend(self._section("claims", "claim", trace.claims, _natural))
        self.places.extend(self._section("operations", "operation", trace.operations, _by_volume))
        self.places.extend(self._section("nodes", "node", trace.nodes, _natural))
        return self.places

    def _is_there(self, lane: Lane) -> bool:
        return bool(lane.seqs) and lane.seqs[0] <= self.seq

    def _matches(self, name: str) -> bool:
        return not self.asked.text or self.asked.text.lower() in name.lower()

    def _chosen(self, chosen: Chosen) -> Iterator[Place]:
        yield Place("section", "section:path", len(chosen.rows))
        yield Place("path", "path")
        yield Place("pod", chosen.pod, in_path=True)
        for key in chosen.rows:
            yield Place(kind_of(key), key, in_path=True)
        attempts = [each for each in chosen.stages if each.name == "attempt"]
        failed = sum(bool(each.decided and not each.node) for each in attempts)
        yield Place("stages", "stages", len(attempts), of=failed)
        if "stages" not in self.asked.open_rows:
            return
        for stage in chosen.stages:
            key = f"stage:{stage.first}"
            told = chosen.events(stage) if key in self.asked.open_rows else []
            yield Place("stage", key)
            for event in told:
                if not self.asked.only_events or chosen.is_kubernetes(event.seq):
                    yield Place("event", f"event:{event.seq}")

    def _pods(self) -> Iterator[Place]:
        groups = [(name, self._members(group)) for name, group in self._groups()]
        count = sum(len(members) for _, members in groups)
        if count or not self.asked.text:
            there = sum(self._is_there(lane) for lane in self.trace.pods.values())
            yield Place("section", "section:pods", count, of=there)
        for name, members in groups:
            key = f"group:{name}"
            if members:
                yield Place("group", key, len(members))
            if key in self.asked.open_rows or self.asked.text:
                yield from (Place("pod", pod) for pod in sorted(members, key=_natural))

    def _groups(self) -> list[tuple[str, Group]]:
        """The workloads; those whose pods waited longest come first."""
        ats = self.trace.ats
        waits = {
            name: group.tally.waited(self.seq, self.at, ats)
            for name, group in self.trace.groups.items()
        }
        return sorted(self.trace.groups.items(), key=lambda each: (-waits[each[0]], each[0]))

    def _members(self, group: Group) -> list[str]:
        lanes, ats = self.trace.pods, self.trace.ats
        pods = [
            pod
            for pod in group.pods
            if self._matches(pod.removeprefix("pod/")) and self._is_there(lanes[pod])
        ]
        if least := self.asked.least_wait:
            pods = [pod for pod in pods if lanes[pod].waited(self.seq, self.at, ats) >= least]
        return pods

    def _section(
        self, name: str, kind: RowKind, lanes: Mapping[str, Lane], order: Callable[[str], Any]
    ) -> Iterator[Place]:
        known = [key for key, lane in lanes.items() if self._is_there(lane)]
        shown = [key for key in known if self._matches(key.partition("/")[2])]
        if shown:
            yield Place("section", f"section:{name}", len(shown), of=len(known))
        yield from (Place(kind, key) for key in sorted(shown, key=order))

    def _components(self) -> Iterator[Place]:
        kinds: dict[str, dict[str, int]] = {}
        for (component, kind, is_event), seqs in sorted(self.trace.kinds.items()):
            if (is_event or not self.asked.only_events) and seqs[0] <= self.seq:
                counts = kinds.setdefault(component, {})
                counts[kind] = counts.get(kind, 0) + bisect_right(seqs, self.seq)
        for component, counts in kinds.items():
            in_name = self._matches(component)
            named = sorted(counts, key=lambda kind: (-counts[kind], kind))
            shown = tuple(kind for kind in named if in_name or self._matches(kind))
            if not shown:
                continue
            key = f"component:{component}"
            yield Place("component", key, len(shown), of=len(named), members=shown)
            if key in self.asked.open_rows or self.asked.text:
                yield from (Place("kind", f"kind:{component}/{kind}") for kind in shown)


def kind_of(key: str) -> RowKind:
    """The kind of the row of an entity or an operation."""
    kind = key.partition("/")[0]
    return kind if kind in ("pod", "claim", "node") else "operation"


def _by_volume(key: str) -> Any:
    """The order of operations: by volume, then by node, attach before mount."""
    kind, node, volume = key.split("/", 2)
    return _natural(volume), _natural(node), kind


def _natural(key: str) -> list[tuple[int, str]]:
    """The natural order of names: web-2 before web-10."""
    return [
        (int(part) if part.isdigit() else -1, "" if part.isdigit() else part)
        for part in _DIGITS.split(key)
    ]
