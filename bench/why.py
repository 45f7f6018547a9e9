"""How long "why is it pending" takes on a large cluster: the causes, the first fix, everything.

20,000 pods fill 5,000 nodes, and all of them refuse the pods that are asked about. The baseline is
one decision on the pod with every verdict of every node: the causes need at least that.
"""

import gc
import time
from itertools import pairwise

from bench.shapes import (
    NO_LATENCY,
    ZONE,
    Manifest,
    claim,
    hard_spread,
    local_class,
    local_volume,
    node,
    pod,
    required_anti_affinity,
    scenario,
    volume,
)
from bench.size import usual
from bench.table import Row, seconds
from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import collector_paused
from engine.diagnosis.inquiry import diagnose_in_steps
from engine.diagnosis.world import World
from engine.kernel.latency import DEFAULT_LATENCIES, Latency
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from scheduling.process_forks import forks_of

NODES, PODS_EACH = usual(5_000, least=9), 4
# Volumes are provisioned as they usually are, so that a fix that leads to a volume is seen to help.
LATENCIES = {**NO_LATENCY, "provision": Latency("fixed", DEFAULT_LATENCIES["provision"])}
ASKED = (
    "too-large",
    "no-such-label",
    "local-volume",
    "no-capacity",
    "one-zone-volume",
    "spread",
    "anti-affinity",
)


def bench(full: bool = False) -> list[Row]:
    """Seconds until each part of the answer, for each pod of `ASKED`."""
    cluster = _cluster()
    gc.collect()
    return [row for name in ASKED for row in _rows(cluster, name)]


def _cluster() -> Cluster:
    objects: list[Manifest] = [node(index) for index in range(NODES)]
    for index in range(NODES * PODS_EACH):
        at = index % NODES
        # One pod of each node is green; two thirds of the nodes have a blue one.
        color = {0: "green", 1: "blue" if at % 3 else ""}.get(index // NODES, "")
        labels = {"color": color} if color else {}
        objects.append(pod(f"placed-{index}", cpu="900m", node=f"node-{at}", labels=labels))
    objects.append(pod("too-large", cpu="3"))
    objects.append(pod("no-such-label", nodeSelector={"disk": "ssd"}))
    objects.extend(_with_volumes())
    # Zone 0 has no blue pod, and no node has room for one more of this size.
    constraints = hard_spread("spread", 0)["spec"]["topologySpreadConstraints"]
    blue = {"color": "blue"}
    objects.append(pod("spread", cpu="500m", labels=blue, topologySpreadConstraints=constraints))
    objects.append(required_anti_affinity("anti-affinity", 0))
    cluster = Cluster.create(scenario("why", objects, latencies=LATENCIES))
    cluster.advance(5 * SECOND)
    cluster.take()
    return cluster


def _with_volumes() -> list[Manifest]:
    """Pods whose volumes keep them off every node, or leave one node that has no room."""
    bound = claim("on-zonal", storage_class="zonal")
    bound["spec"]["volumeName"] = "zonal"
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    bound["status"] = {"phase": "Bound"}
    zonal = volume(
        "zonal",
        storageClassName="zonal",
        nodeAffinity=_within("zone-0"),
        claimRef={"namespace": "default", "name": "on-zonal"},
    )
    waits = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "provisioned"},
        "provisioner": "disk.csi.example.com",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "disk.csi.example.com"},
        "spec": {"storageCapacity": True},
    }
    return [
        local_class(),
        waits,
        driver,
        local_volume(NODES),  # Of a node that is gone.
        {**zonal, "status": {"phase": "Bound"}},
        claim("on-local"),
        claim("to-provision", storage_class="provisioned"),
        bound,
        _using("local-volume", "on-local"),
        _using("no-capacity", "to-provision"),
        _using("one-zone-volume", "on-zonal", cpu="3"),
    ]


def _within(zone: str) -> Manifest:
    wanted = {"key": ZONE, "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}}


def _using(name: str, claim_name: str, cpu: str = "100m") -> Manifest:
    source = {"persistentVolumeClaim": {"claimName": claim_name}}
    return pod(name, cpu=cpu, volumes=[{"name": "data", **source}])


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
