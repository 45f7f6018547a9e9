"""The whole engine path, pods per second: queue, cache, filters, scores, assume, bind, events.

The time runs from the scheduler's receipt of the pods until the last one is bound. Every latency of
the control plane is zero, and every node is examined. The scheduler runs alone on the API's objects,
as the real one did for the figures beside ours. A whole cluster, where kubelets and controllers
react to every step, is measured too. Events are recorded in memory; encoding and digesting them
(`take`) is timed separately.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bench.alone import SchedulerAlone
from bench.shapes import SHAPES, Manifest, Shape, node, scenario
from bench.size import is_least, usual
from bench.table import Row, cpu_seconds, median, seconds
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.framework.columns.explanation import Explanation
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.decision.result import ScheduleResult

PATIENCE = 120 * SECOND
PILOT = usual(10, least=1)
# The version of the figures beside ours, and the newest, which is measured beside it in turns.
VERSION, NEWEST = "v1.34", "v1.36"
# How much of the rate under VERSION the newest should keep.
NEWEST_KEEPS = 0.9
# The two take turns so short that whatever slows the machine down slows both of them.
TURN = usual(20, least=2)


class Recomputing(SchedulingAlgorithm):
    """The baseline: it computes every node again for every pod."""

    def schedule(
        self, pod: PodInfo, order: IntArray | None = None, **options: Any
    ) -> ScheduleResult:
        """Like the base class, but with nothing kept from earlier pods."""
        self.room_verdicts.forget()
        return super().schedule(pod, order, **{**options, "explain": True, "by_columns": False})


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of the engine's CPU, and of encoding what it recorded; the explanations, where kept."""

    pods: int
    engine_s: float
    take_s: float
    events: int
    explanations: tuple[Explanation, ...] = ()

    @property
    def rate(self) -> float:
        """Pods per second of engine time."""
        return self.pods / self.engine_s


Simulated = Cluster | SchedulerAlone


def prepared(shape: Shape, *, alone: bool = False, profile: str = "") -> Simulated:
    """The cluster of *shape*, or as much of it as the scheduler needs, after its warm-up.

    It follows *profile*, by default that of the shape.
    """
    profile = profile or shape.profile
    objects: list[Manifest] = [node(index) for index in range(shape.nodes)]
    objects.extend(shape.objects(shape))
    given = scenario(shape.name, objects)
    cluster: Simulated = (
        SchedulerAlone(given, with_storage=shape.has_volumes, profile=profile)
        if alone
        else Cluster.create(given, profile=profile)
    )
    algorithm = cluster.scheduler.algorithm
    algorithm.profile = replace(algorithm.profile, percentage=100)
    cluster.advance(SECOND)
    place(cluster, shape, "warm", shape.warm_up)
    cluster.take()
    return cluster


def place(cluster: Simulated, shape: Shape, prefix: str, count: int) -> Measured:
    """Create *count* pods, untimed, then let the engine work until all are bound."""
    names = [f"{prefix}-{index}" for index in range(count)]
    for index, name in enumerate(names):
        if shape.own is not None:
            create(cluster, shape.own(name))
        create(cluster, shape.make(name, index))
    bound = Bound(cluster, names)
    engine_s = cpu_seconds(bound.wait)
    events = len(cluster.recorder.pending)
    attempts = Attempts(cluster)
    take_s = cpu_seconds(attempts.take)
    return Measured(count, engine_s, take_s, events, attempts.explanations)


class Attempts:
    """The attempts of one round, as they are taken from the cluster."""

    def __init__(self, cluster: Simulated) -> None:
        self._cluster = cluster
        self._taken: list[SchedulingAttempt] = []

    def take(self) -> None:
        """Encode what was recorded."""
        self._taken = self._cluster.take().attempts

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """The explanations that the scheduler has kept."""
        return tuple(one.explanation for one in self._taken if one.explanation is not None)


class Bound:
    """Advances virtual time until every pod has a node."""

    def __init__(self, cluster: Simulated, names: list[str]) -> None:
        self._cluster = cluster
        self._names = names

    def wait(self) -> None:
        """Raises AssertionError with the status of a pod that still waits after `PATIENCE`."""
        cluster = self._cluster
        deadline = cluster.now + PATIENCE
        cluster.advance(cluster.now)
        while waiting := self._waiting():
            assert cluster.now < deadline, waiting.raw.get("status")
            cluster.advance(min(cluster.loop.next_at or deadline, deadline))

    def _waiting(self) -> Any:
        get = self._cluster.store.get
        while self._names:
            found: Any = get("Pod", f"default/{self._names[-1]}")
            if not found.node_name:
                return found
            self._names.pop()
        return None


def create(cluster: Simulated, manifest: Manifest) -> None:
    """Create the object at this instant. Raises AssertionError when it is refused."""
    if isinstance(cluster, SchedulerAlone):
        cluster.create(manifest)
        return
    outcome = cluster.apply(Command(verb="create", manifest=manifest))
    assert outcome.applied, outcome.reason


def measure(
    cluster: Simulated, shape: Shape, name: str, *, budget_s: float, most: int
) -> list[Measured]:
    """Up to three rounds of at most *most* pods, on a cluster that fills up more each time.

    A short pilot round first measures the rate, from which the size of a round follows.
    """
    pilot = min(PILOT, most)
    rate = place(cluster, shape, f"{name}-pilot", pilot).rate
    count = max(1, min(most, int(rate * budget_s / 3)))
    turns = 3 if rate * budget_s > 3 and not is_least() else 1
    return [place(cluster, shape, f"{name}-{turn}", count) for turn in range(turns)]


_NUMBERS = re.compile(r"[\d,]+")


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def bench(full: bool = False, only: Callable[[Shape], bool] = lambda _shape: True) -> list[Row]:
    """Per shape: the scheduler alone, a whole cluster, every explanation kept, the newest version."""
    rows: list[Row] = []
    for shape in filter(only, SHAPES):
        rows.extend(_alone(shape, full))
        whole = measure(
            prepared(shape), shape, "whole", budget_s=30 if full else 2, most=shape.pods
        )
        row = Row(name="  in a whole cluster", figure=_rate(whole), unit="pods/s")
        rows.insert(-1 if any(shape.real) else len(rows), row)
        if shape.profile != NEWEST:
            rows.append(_newest(shape, full))
    return rows


def _alone(shape: Shape, full: bool) -> Iterator[Row]:
    cluster = prepared(shape, alone=True)
    fast = measure(cluster, shape, "fast", budget_s=60 if full else 4, most=shape.pods)
    few = shape.pods // 10
    cluster.scheduler.keep_explanations = True
    explained = measure(cluster, shape, "explained", budget_s=20 if full else 2, most=few)
    cluster.scheduler.keep_explanations = False
    cluster.scheduler.algorithm.__class__ = Recomputing
    slow = measure(cluster, shape, "slow", budget_s=30 if full else 2, most=few)
    encoded = median(each.pods / (each.engine_s + each.take_s) for each in fast)
    rates = sorted(each.rate for each in fast)
    given = " / ".join(filter(None, shape.real))
    yield Row(
        name=shape.name,
        figure=_rate(fast),
        unit="pods/s",
        baseline=_rate(slow),
        against="nothing kept between pods",
        given=given,
        aim=shape.aim,
        note=f"{encoded:,.0f} pods/s with events encoded and digested; "
        f"{fast[0].events / fast[0].pods:.1f} events per pod; "
        f"median of {len(fast)} rounds of {fast[0].pods} pods, "
        f"from {rates[0]:,.0f} to {rates[-1]:,.0f}"
        + (f"; scheduler_perf's threshold: {shape.threshold}" if shape.threshold else ""),
    )
    if given:
        yield Row(
            name="  explanation of every attempt kept",
            figure=_rate(explained),
            unit="pods/s",
            given=given,
            aim=max(map(_number, _NUMBERS.findall(given))),
            note=_kept([one for each in explained for one in each.explanations]),
        )


def _newest(shape: Shape, full: bool) -> Row:
    """The scheduler alone under the newest version, in turns with the other."""
    clusters = {
        profile: prepared(shape, alone=True, profile=profile) for profile in (VERSION, NEWEST)
    }
    rate = min(place(each, shape, "pilot", PILOT).rate for each in clusters.values())
    budget_s, room = (20 if full else 2), shape.room - shape.warm_up - PILOT
    turns = max(1, int(min(rate * budget_s, shape.pods, room)) // TURN)
    rates: dict[str, list[float]] = {profile: [] for profile in clusters}
    for turn in range(turns):
        for profile, cluster in clusters.items():
            rates[profile].append(place(cluster, shape, f"turn-{turn}", TURN).rate)
    before, now = (median(each) for each in rates.values())
    return Row(
        name=f"  under {NEWEST}",
        figure=now,
        unit="pods/s",
        baseline=before,
        against=f"{VERSION}, in turns with it",
        aim=NEWEST_KEEPS * before,
        note=f"median of {turns} turns of {TURN} pods each",
    )


def _rate(rounds: list[Measured]) -> float:
    return median(each.rate for each in rounds)


def _kept(explanations: list[Explanation]) -> str:
    """A note: the memory per kept explanation, and the time to read the oldest one."""
    ledgers = {id(one.ledger): one.ledger for one in explanations if one.ledger is not None}
    weight = sum(ledger.weight for ledger in ledgers.values()) / len(explanations)
    read_s = seconds(explanations[0].verdicts) + seconds(explanations[0].scores)
    return (
        f"{weight:,.0f} bytes of columns and notes per attempt, of {len(explanations)}; "
        f"all verdicts and scores of the first one read in {1000 * read_s:.1f} ms"
    )
