"""Counts what the metrics say, event by event."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from engine.kernel.view import Attributes, merge
from kscope.exports.encoder import parsed
from kscope.exports.metrics import families
from kscope.exports.metrics.families import Family, Labels, Sample, Value
from kscope.exports.states import Attempts

_DEFAULT: Final = "default-scheduler"
_SCHEDULER: Final = "scheduler"
_KEPT: Final = {
    "pod": (
        "queue",
        "mover",
        "cache",
        "attempts",
        "first_queued",
        "scheduler",
        "blocker",
        "created",
    ),
    "claim": ("phase", "class"),
    "volume": ("phase", "class"),
    "node": ("created",),
}
_QUEUES: Final = ("active", "backoff", "unschedulable", "gated")
# From so many attempts on they are one label. Upstream: getAttemptsLabel().
_MANY: Final = 15


@dataclass(slots=True)
class _Started:
    at: int
    victims: int = 0
    result_at: int | None = None


class Counts:
    """Counters and histograms grow; gauges are counted anew from what is there when they are asked for."""

    def __init__(self) -> None:
        self._counters: Counter[tuple[str, Labels]] = Counter()
        self._histograms: dict[tuple[str, Labels], tuple[list[int], float]] = {}
        self._known: dict[str, dict[str, Attributes]] = {kind: {} for kind in _KEPT}
        self._attempts: dict[str, _Started] = {}
        self._origins = Attempts()

    def take(self, row: EventRow) -> None:
        """Go on with an event."""
        for entity, patch in parsed(row.changes).items():
            self._fold(entity, patch)
        if row.component == _SCHEDULER:
            self._of_scheduler(row)

    def sample(self) -> Sample:
        """All values now."""
        found: dict[tuple[str, Labels], Value] = dict(self._counters)
        found |= {key: (tuple(counts), total) for key, (counts, total) in self._histograms.items()}
        found.update(self._gauges())
        return found

    # -- what is there --------------------------------------------------------------------------------

    def _fold(self, entity: str, patch: Any) -> None:
        kind = entity.partition("/")[0]
        known = self._known.get(kind)
        if known is None or "/" not in entity:
            return
        if patch is None:
            known.pop(entity, None)
            self._attempts.pop(entity, None)
            return
        kept = {key: patch[key] for key in _KEPT[kind] if key in patch}
        if kind == "pod" and patch.get("queue") in _QUEUES:
            event = str(kept.get("mover") or "")
            self._counters[families.INCOMING.name, (patch["queue"], event)] += 1
        known[entity] = merge(known.get(entity), kept)

    def _gauges(self) -> Iterator[tuple[tuple[str, Labels], int]]:
        pods = self._known["pod"].values()
        queues = Counter(pod.get("queue") for pod in pods)
        for queue in _QUEUES:
            yield (families.PENDING.name, (queue,)), queues[queue]
        cached = Counter(pod.get("cache") for pod in pods)
        sizes = (len(self._known["node"]), cached["added"] + cached["assumed"], cached["assumed"])
        for name, size in zip(("nodes", "pods", "assumed_pods"), sizes, strict=True):
            yield (families.CACHE_SIZE.name, (name,)), size
        blocked = Counter(
            (str(pod["blocker"].get("plugin") or ""), _profile(pod))
            for pod in pods
            if pod.get("blocker") and pod.get("queue") in _QUEUES
        )
        yield from (((families.UNSCHEDULABLE.name, labels), n) for labels, n in blocked.items())
        yield from self._storage()

    def _storage(self) -> Iterator[tuple[tuple[str, Labels], int]]:
        found: Counter[tuple[str, Labels]] = Counter()
        for volume in self._known["volume"].values():
            family = families.BOUND_PV if volume.get("phase") == "Bound" else families.UNBOUND_PV
            found[family.name, (str(volume.get("class") or ""),)] += 1
        for entity, claim in self._known["claim"].items():
            family = families.BOUND_PVC if claim.get("phase") == "Bound" else families.UNBOUND_PVC
            labels = entity.split("/")[1], str(claim.get("class") or "")
            found[family.name, labels] += 1
        yield from found.items()

    # -- attempts ---------------------------------------------------------------------------------------

    def _of_scheduler(self, row: EventRow) -> None:
        pod = self._origins.take(row.seq, row.kind, row.object, row.cause)
        if row.kind == "PodEvicted" and pod in self._attempts:
            self._attempts[pod].victims += 1
        if row.kind == "AttemptStarted":
            self._attempts[row.object] = _Started(row.at)
            return
        started = self._attempts.get(row.object)
        if started is None:
            return
        if row.kind == "FailedScheduling":
            self._failed(row, started)
        elif row.kind == "PodAssumed":
            started.result_at = row.at
            self._observe(families.ALGORITHM_SECONDS, (), _seconds(started.at, row.at))
        elif row.kind == "PodBound":
            self._bound(row, started)

    def _failed(self, row: EventRow, started: _Started) -> None:
        labels = "unschedulable", _profile(self._pod(row.object))
        self._counters[families.ATTEMPTS.name, labels] += 1
        self._observe(families.ATTEMPT_SECONDS, labels, _seconds(started.at, row.at))
        self._observe(families.ALGORITHM_SECONDS, (), _seconds(started.at, row.at))
        if started.victims:
            self._observe(families.VICTIMS, (), started.victims)
        del self._attempts[row.object]

    def _bound(self, row: EventRow, started: _Started) -> None:
        pod = self._pod(row.object)
        labels = "scheduled", _profile(pod)
        self._counters[families.ATTEMPTS.name, labels] += 1
        self._observe(families.ATTEMPT_SECONDS, labels, _seconds(started.at, row.at))
        tries = int(pod.get("attempts") or 1)
        self._observe(families.POD_ATTEMPTS, (), tries)
        since = pod.get("first_queued")
        label = f"{tries}" if tries < _MANY else f"{_MANY}+"
        if isinstance(since, int):
            self._observe(families.POD_SECONDS, (label,), _seconds(since, row.at))
        del self._attempts[row.object]

    def _pod(self, entity: str) -> Attributes:
        return self._known["pod"].get(entity) or {}

    def _observe(self, family: Family, labels: Labels, value: float) -> None:
        key = family.name, labels
        counts, total = self._histograms.get(key) or ([0] * (len(family.buckets) + 1), 0.0)
        counts[bisect_left(family.buckets, value)] += 1
        self._histograms[key] = counts, total + value


def _profile(pod: Attributes) -> str:
    return str(pod.get("scheduler") or _DEFAULT)


def _seconds(start: int, end: int) -> float:
    return (end - start) / SECOND
