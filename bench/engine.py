"""The whole engine path, pods per second: queue, cache, filters, scores, assume, bind, events.

Timed from the scheduler's hearing of the pods until the last one is bound, with every latency of the
control plane at zero. Every node is examined. Events are recorded in memory; encoding and digesting
them (`Cluster.take`) is timed apart.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from bench.shapes import SHAPES, Manifest, Shape, claim, node, scenario
from bench.table import Row, median, seconds
from kscope.sim.units import SECOND
from scheduling.engine.algorithm import ScheduleResult, SchedulingAlgorithm
from scheduling.engine.cluster import Cluster
from scheduling.engine.commands import Command

PATIENCE = 120 * SECOND
PILOT = 10


class Recomputing(SchedulingAlgorithm):
    """Works every node out anew for every pod: the baseline."""

    def schedule(self, pod: Any, order: Any = None, *, explain: bool = True) -> ScheduleResult:
        """As the base class, never from what it kept."""
        return super().schedule(pod, order, explain=True)


class Explaining(Recomputing):
    """Keeps of every attempt each node's verdict and each plugin's raw and normalised score."""

    kept: ClassVar[list[ScheduleResult]] = []

    def schedule(self, pod: Any, order: Any = None, *, explain: bool = True) -> ScheduleResult:
        """As the base class."""
        result = super().schedule(pod, order, explain=True)
        self.kept.append(result)
        return result


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of engine time, and of encoding what it recorded."""

    pods: int
    engine_s: float
    take_s: float
    events: int

    @property
    def rate(self) -> float:
        """Pods per second of engine time."""
        return self.pods / self.engine_s


def prepared(shape: Shape) -> Cluster:
    """The cluster of *shape* after its warm-up."""
    objects: list[Manifest] = [node(index) for index in range(shape.nodes)]
    objects.extend(shape.objects(shape))
    cluster = Cluster.create(scenario(shape.name, objects))
    algorithm = cluster.scheduler.algorithm
    algorithm.profile = replace(algorithm.profile, percentage=100)
    cluster.advance(SECOND)
    place(cluster, shape, "warm", shape.warm_up)
    cluster.take()
    return cluster


def place(cluster: Cluster, shape: Shape, prefix: str, count: int) -> Measured:
    """Create *count* pods, untimed, then let the engine work until all are bound."""
    names = [f"{prefix}-{index}" for index in range(count)]
    for index, name in enumerate(names):
        if shape.has_claims:
            create(cluster, claim(name))
        create(cluster, shape.make(name, index))
    bound = Bound(cluster, names)
    engine_s = seconds(bound.wait)
    events = len(cluster.recorder.pending)
    return Measured(count, engine_s, seconds(cluster.take), events)


class Bound:
    """Waits, in virtual time, until all the pods have their node."""

    def __init__(self, cluster: Cluster, names: list[str]) -> None:
        self._cluster = cluster
        self._names = names

    def wait(self) -> None:
        """Raises AssertionError with what the first waiting pod says."""
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


def create(cluster: Cluster, manifest: Manifest) -> None:
    """Create the object at this instant. Raises AssertionError when it is refused."""
    outcome = cluster.apply(Command(verb="create", manifest=manifest))
    assert outcome.applied, outcome.reason


def measure(
    cluster: Cluster, shape: Shape, name: str, *, budget_s: float, most: int
) -> list[Measured]:
    """Up to three rounds of at most *most* pods, on a cluster that is the fuller each time.

    A short round first says how many pods a round can have.
    """
    pilot = min(PILOT, most)
    rate = place(cluster, shape, f"{name}-pilot", pilot).rate
    count = max(1, min(most, int(rate * budget_s / 3)))
    turns = 3 if rate * budget_s > 3 else 1
    return [place(cluster, shape, f"{name}-{turn}", count) for turn in range(turns)]


_NUMBERS = re.compile(r"[\d,]+")


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def bench(full: bool = False, only: Callable[[Shape], bool] = lambda _shape: True) -> list[Row]:
    """Two rows per shape: without explanations, and with every node's verdict and score kept."""
    rows: list[Row] = []
    for shape in filter(only, SHAPES):
        cluster = prepared(shape)
        fast = measure(cluster, shape, "fast", budget_s=60 if full else 4, most=shape.pods)
        few = shape.pods // 10
        cluster.scheduler.algorithm.__class__ = Explaining
        told = measure(cluster, shape, "told", budget_s=20 if full else 2, most=few)
        Explaining.kept.clear()
        cluster.scheduler.algorithm.__class__ = Recomputing
        slow = measure(cluster, shape, "slow", budget_s=30 if full else 2, most=few)
        encoded = median(each.pods / (each.engine_s + each.take_s) for each in fast)
        rows.append(
            Row(
                name=shape.name,
                figure=median(each.rate for each in fast),
                unit="pods/s",
                baseline=median(each.rate for each in slow),
                against="nothing kept between pods",
                given=" / ".join(filter(None, shape.real)),
                aim=shape.aim,
                note=f"{encoded:,.0f} pods/s with events encoded and digested; "
                f"{fast[0].events / fast[0].pods:.1f} events per pod; "
                f"median of {len(fast)} rounds of {fast[0].pods} pods",
            )
        )
        if any(shape.real):
            rows.append(
                Row(
                    name="  explanation of every attempt kept",
                    figure=median(each.rate for each in told),
                    unit="pods/s",
                    given=" / ".join(filter(None, shape.real)),
                    aim=max(map(_number, _NUMBERS.findall(" ".join(shape.real)))),
                )
            )
    return rows
