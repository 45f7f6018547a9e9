"""What of an API object the pages draw: its attributes in the view state (docs/events.md)."""

from collections.abc import Callable
from typing import Any

from kscope.sim.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    resource_units,
)
from kscope.sim.units import nanoseconds_of
from kscope.sim.view import Attributes


def attributes(obj: ApiObject) -> Attributes:
    """The view attributes that follow from the manifest of *obj* alone; empty ones are left out."""
    project = _PROJECTIONS.get(obj.kind)
    shown = project(obj) if project else {}
    shown["created"] = _time(obj.creation_timestamp)
    if obj.deletion_timestamp:
        shown["deleting"] = _time(obj.deletion_timestamp)
    # 0 is a fact (a priority, a time); "", [], {}, None and False say nothing.
    return {name: value for name, value in shown.items() if value or type(value) is int}


def _time(text: str) -> int | None:
    try:
        return nanoseconds_of(text) if text else None
    except ValueError:
        return None


def pod_attributes(pod: Pod) -> Attributes:
    """As `attributes`, for a pod."""
    fixed = pod.template.get("view")
    if fixed is None:
        fixed = pod.template["view"] = {
            "requests": _pod_requests(pod),
            "claims": list(pod.claim_names),
            "scheduler": "" if pod.scheduler_name == "default-scheduler" else pod.scheduler_name,
            "priority": pod.priority,
            "gates": list(pod.scheduling_gates),
            "owner": next((ref.get("name", "") for ref in pod.owner_references), ""),
        }
    return {
        **fixed,
        "phase": pod.phase,
        "node": pod.node_name,
        "nominated": pod.nominated_node_name,
        "reason": pod.status.get("reason"),
    }


def _pod_requests(pod: Pod) -> dict[str, int]:
    """Summed container requests, raised to the largest init container's, plus the overhead."""
    total: dict[str, int] = {}
    for container in pod.containers:
        for name, amount in _container_requests(container).items():
            total[name] = total.get(name, 0) + amount
    for container in pod.spec.get("initContainers") or ():
        for name, amount in _container_requests(container).items():
            total[name] = max(total.get(name, 0), amount)
    for name, amount in resource_units(pod.spec.get("overhead") or {}).items():
        total[name] = total.get(name, 0) + amount
    return total


def _container_requests(container: dict[str, Any]) -> dict[str, int]:
    resources: Manifest = container.get("resources") or {}
    limits: Manifest = resources.get("limits") or {}
    requests: Manifest = resources.get("requests") or {}
    return resource_units({**limits, **requests})


def _node_attributes(node: Node) -> Attributes:
    return {
        "zone": node.zone,
        "region": node.region,
        "ready": node.is_ready,
        "unschedulable": node.unschedulable,
        "taints": node.taints,
        "labels": dict(node.labels),
        "allocatable": node.allocatable_units,
    }


def _claim_attributes(claim: PersistentVolumeClaim) -> Attributes:
    return {
        "phase": claim.phase,
        "class": claim.storage_class_name,
        "request": claim.request_bytes,
        "modes": list(claim.access_modes),
        "volume": claim.volume_name,
        "selected_node": claim.selected_node,
        "completed": claim.is_bind_completed,
    }


def _volume_attributes(volume: PersistentVolume) -> Attributes:
    return {
        "phase": volume.phase,
        "class": volume.storage_class_name,
        "capacity": volume.capacity_bytes,
        "modes": list(volume.access_modes),
        "claim": volume.claim_key,
        "bound_by_controller": "pv.kubernetes.io/bound-by-controller" in volume.annotations,
        "affinity": _affinity_text(volume),
        "reclaim": volume.reclaim_policy,
    }


def _affinity_text(volume: PersistentVolume) -> str:
    """ "zone In za/zb, disk Exists or …": the terms of the required node affinity, in short."""
    affinity: Manifest = volume.spec.get("nodeAffinity") or {}
    required: Manifest = affinity.get("required") or {}
    terms: list[Manifest] = required.get("nodeSelectorTerms") or []
    return " or ".join(", ".join(map(_requirement_text, _requirements(term))) for term in terms)


def _requirements(term: Manifest) -> list[Manifest]:
    expressions: list[Manifest] = term.get("matchExpressions") or []
    fields: list[Manifest] = term.get("matchFields") or []
    return [*expressions, *fields]


def _requirement_text(requirement: Manifest) -> str:
    key = str(requirement.get("key") or "").rsplit("/", 1)[-1]
    values: list[str] = requirement.get("values") or []
    parts = (key, str(requirement.get("operator") or ""), "/".join(values))
    return " ".join(part for part in parts if part)


def _class_attributes(storage_class: StorageClass) -> Attributes:
    return {
        "provisioner": storage_class.provisioner,
        "binding_mode": storage_class.binding_mode,
        "reclaim": storage_class.reclaim_policy,
        "default": storage_class.is_default,
    }


_PROJECTIONS: dict[str, Callable[[Any], Attributes]] = {
    "Pod": pod_attributes,
    "Node": _node_attributes,
    "PersistentVolume": _volume_attributes,
    "PersistentVolumeClaim": _claim_attributes,
    "StorageClass": _class_attributes,
}
