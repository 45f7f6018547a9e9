"""How long "why is it pending" takes on a large cluster: the causes, the first fix, everything.

20,000 pods fill 5,000 nodes, and all of them refuse the pods that are asked about. The baseline is
one decision on the pod with every verdict of every node, which the causes need at the least.
"""

import gc
import time
from itertools import pairwise

from bench.shapes import Manifest, node, pod, scenario
from bench.table import Row, seconds
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import Pod
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.diagnosis.fork import collector_paused
from scheduling.engine.diagnosis.inquiry import diagnose_in_steps
from scheduling.engine.diagnosis.world import World
from scheduling.process_forks import forks_of

NODES, PODS_EACH = 5_000, 4
ASKED = ("too-large", "no-such-label")


def bench(full: bool = False) -> list[Row]:
    """Seconds until each part of the answer, for each pod of `ASKED`."""
    cluster = _cluster()
    gc.collect()
    return [row for name in ASKED for row in _rows(cluster, name)]


def _cluster() -> Cluster:
    objects: list[Manifest] = [node(index) for index in range(NODES)]
    for index in range(NODES * PODS_EACH):
        objects.append(pod(f"placed-{index}", cpu="900m", node=f"node-{index % NODES}"))
    objects.append(pod("too-large", cpu="3"))
    objects.append(pod("no-such-label", nodeSelector={"disk": "ssd"}))
    cluster = Cluster.create(scenario("why", objects))
    cluster.advance(5 * SECOND)
    cluster.take()
    return cluster


def _rows(cluster: Cluster, name: str) -> list[Row]:
    asked = cluster.store.get("Pod", f"default/{name}")
    assert isinstance(asked, Pod)
    world = World(cluster.scheduler.algorithm, asked)
    baseline = seconds(world.decide)
    moments = [time.perf_counter()]
    counts = [0]
    with collector_paused():
        for found in diagnose_in_steps(cluster, f"default/{name}", forks_of(cluster)):
            moments.append(time.perf_counter())
            counts.append(len(found.fixes))
    began, causes, end = moments[0], moments[1], moments[-1]
    first = next(
        moment
        for moment, (before, after) in zip(moments[1:], pairwise(counts), strict=True)
        if after > before
    )
    parts = (("causes", causes, 0.3), ("first fix", first, 1.0), ("all fixes", end, 3.0))
    return [
        Row(
            name=f"{name}: {what}",
            figure=moment - began,
            unit="s",
            baseline=baseline,
            against="one decision",
            aim=aim,
            at_least=False,
        )
        for what, moment, aim in parts
    ]
