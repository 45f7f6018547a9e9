"""Scenarios of a few objects, for tests that run a whole cluster."""

from typing import Any

from kscope.sim.input.scenario import Scenario, Step
from kscope.sim.kernel.units import SECOND
from scheduling.engine.cluster.cluster import Cluster

Manifest = dict[str, Any]


def node(name: str, *, cpu: str = "4", labels: dict[str, str] | None = None) -> Manifest:
    """A ready node."""
    allocatable = {"cpu": cpu, "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}},
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(name: str, *, cpu: str = "1", **spec: Any) -> Manifest:
    """A pod of one container."""
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


def scene(*objects: Manifest, **fields: Any) -> Scenario:
    """A scenario of *objects*; `steps` are (seconds, verb, further fields of the step)."""
    steps = [Step(at=at * SECOND, verb=verb, **more) for at, verb, more in fields.pop("steps", ())]
    return Scenario(name="test", objects=objects, steps=tuple(steps), **fields)


def played(cluster: Cluster, seconds: int = 60) -> Cluster:
    """*cluster* after some time."""
    cluster.advance(cluster.now + seconds * SECOND)
    return cluster


def node_of(cluster: Cluster, name: str) -> str:
    """The node of a pod in namespace default; "" while it has none."""
    found = cluster.store.get("Pod", f"default/{name}")
    return found.spec.get("nodeName") or ""
