"""Small pods and nodes for the engine's tests."""

from dataclasses import dataclass
from typing import Any

from engine.objects.objects import ApiObject, Node, Pod, from_manifest


@dataclass
class ManualClock:
    """Virtual time that stands still until it is told."""

    now: int = 0
    trace: None = None


def make_pod(
    name: str,
    *,
    node: str = "",
    cpu: str = "",
    memory: str = "",
    priority: int = 0,
    labels: dict[str, str] | None = None,
    uid: str = "",
    version: str = "1",
    spec: dict[str, Any] | None = None,
    status: dict[str, Any] | None = None,
) -> Pod:
    """A pod of one container in namespace default; its uid is its name unless given."""
    requests = {key: amount for key, amount in (("cpu", cpu), ("memory", memory)) if amount}
    body: dict[str, Any] = {
        "containers": [{"name": "main", "resources": {"requests": requests}}],
        "priority": priority,
        **(spec or {}),
    }
    if node:
        body["nodeName"] = node
    metadata = {
        "name": name,
        "namespace": "default",
        "uid": uid or name,
        "resourceVersion": version,
        "labels": labels or {},
    }
    return Pod({"kind": "Pod", "metadata": metadata, "spec": body, "status": status or {}})


def make_node(
    name: str,
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    taints: list[dict[str, str]] | None = None,
    unschedulable: bool = False,
    images: list[dict[str, Any]] | None = None,
) -> Node:
    """A node; allocatable only."""
    status: dict[str, Any] = {"allocatable": {"cpu": cpu, "memory": memory, "pods": pods}}
    if images:
        status["images"] = images
    spec: dict[str, Any] = {"taints": taints or []}
    if unschedulable:
        spec["unschedulable"] = True
    metadata = {"name": name, "labels": labels or {}, "resourceVersion": "1"}
    return Node({"kind": "Node", "metadata": metadata, "spec": spec, "status": status})


def make_budget(allowed: int) -> ApiObject:
    """A disruption budget of the pods of app db, of whom so many may be evicted."""
    return from_manifest(
        {
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "keep", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "db"}}},
            "status": {"disruptionsAllowed": allowed},
        }
    )
