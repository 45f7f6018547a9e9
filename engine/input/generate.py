"""Clusters of any size in the shape of upstream's scheduler_perf, for benchmarks and tests."""

from __future__ import annotations

from engine.input.scenario import Scenario
from engine.objects.objects import Manifest

ZONES = ("zone-1", "zone-2", "zone-3")


def synthetic(nodes: int = 5000, pods: int = 10000, seed: int = 0) -> Scenario:
    """*nodes* nodes of 4 cpu, 32Gi and 110 pods in three zones, *pods* pods of 100m and 500Mi.

    Upstream: test/integration/scheduler_perf, SchedulingBasic. *seed* is the run's.
    """
    objects = [_node(index) for index in range(nodes)] + [_pod(index) for index in range(pods)]
    name = f"synthetic-{nodes}-{pods}"
    return Scenario(
        name=name, title=f"{nodes} nodes, {pods} pods", objects=tuple(objects), seed=seed
    )


def base_node() -> Manifest:
    """The node that scheduler_perf makes without a template. Upstream: util.go, baseNode."""
    resources = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "scheduler-perf"},
        "spec": {},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def base_pod() -> Manifest:
    """The pod that it makes without a template. Upstream: util.go, makeBasePod()."""
    requests = {"cpu": "100m", "memory": "500Mi"}
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.9"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod-", "namespace": "default"},
        "spec": {"containers": [{**container, "resources": {"requests": requests}}]},
    }


def _node(index: int) -> Manifest:
    name = f"node-{index:05d}"
    labels = {
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/region": "region-1",
        "topology.kubernetes.io/zone": ZONES[index % len(ZONES)],
    }
    return {**base_node(), "metadata": {"name": name, "labels": labels}}


def _pod(index: int) -> Manifest:
    return {**base_pod(), "metadata": {"name": f"pod-{index:05d}", "namespace": "default"}}
