"""What of an API object the pages draw: its attributes in the view state (docs/events.md)."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from engine.kernel.units import nanoseconds_of
from engine.kernel.view import Attributes, diff
from engine.objects.objects import (
    BETA_CLASS,
    VIEW,
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.objects.pods.pod_resources import NEWEST, ResourceRules, pod_resources
from engine.objects.pods.resource_claims import all_claims_named

# The field of a pod's status that names the claim made for its extended resources.
_EXTENDED = "extendedResourceClaimStatus"


def attributes(obj: ApiObject, rules: ResourceRules | None = None, ahead: int = 0) -> Attributes:
    """The view attributes that follow from the manifest of *obj* alone; empty ones are left out.

    *rules* say how a pod's requests are added up, those of the newest version by default. Times are
    shown as virtual time, which clocks are *ahead* of; see EventLoop.
    """
    shown = _projected(obj, rules or NEWEST)
    shown["created"] = _time(obj.creation_timestamp, ahead)
    if obj.deletion_timestamp:
        shown["deleting"] = _time(obj.deletion_timestamp, ahead)
        # What delays its deletion; says nothing about an object that is not being deleted.
        shown["finalizers"] = list(obj.finalizers)
    return _telling(shown)


def _telling(shown: Attributes) -> Attributes:
    # 0 is a fact (a priority, a time); "", [], {}, None and False say nothing.
    return {name: value for name, value in shown.items() if value or type(value) is int}


def _projected(obj: ApiObject, rules: ResourceRules) -> Attributes:
    if isinstance(obj, Pod):
        return _pod_attributes(obj, rules)
    project = _PROJECTIONS.get(obj.kind)
    return project(obj) if project else {}


def advanced(
    shown: Attributes | None,
    old: ApiObject | None,
    new: ApiObject,
    rules: ResourceRules | None = None,
    ahead: int = 0,
) -> tuple[Attributes, Attributes]:
    """The attributes of *new*, and the patch that makes them of *shown*, those of *old*.

    Most writes change a status and what binds the object; only these are looked at then.
    """
    if shown is None:
        shows = attributes(new, rules, ahead)
        return shows, shows
    changing = None if old is None else _changes_of(old, new)
    if changing is None:
        shows = attributes(new, rules, ahead)
        return shows, diff(shown, shows)
    patch: Attributes = {}
    shows = shown
    for name, value in changing.items():
        before = shown.get(name)
        if before == value or not (value or before):
            continue
        if not patch:
            shows = dict(shown)
        if value:
            shows[name] = patch[name] = value
        else:
            patch[name] = None
            del shows[name]
    return shows, patch


def bound(shown: Attributes, pod: Pod) -> tuple[Attributes, Attributes]:
    """As `advanced`, for a pod that has got its node, and may have lost its nomination by that."""
    patch: Attributes = {"node": pod.node_name}
    shows = {**shown, **patch}
    if "nominated" in shown and not pod.nominated_node_name:
        del shows["nominated"]
        patch["nominated"] = None
    return shows, patch


def _changes_of(old: ApiObject, new: ApiObject) -> Attributes | None:
    """What may differ between two versions in a row; None when that is anything."""
    changing = _CHANGING.get(new.kind)
    if changing is None:
        return None
    before, after = old.raw["metadata"], new.raw["metadata"]
    if before.get("deletionTimestamp") != after.get("deletionTimestamp"):
        return None
    if before.get("creationTimestamp") != after.get("creationTimestamp"):
        return None
    if after.get("deletionTimestamp") and before.get("finalizers") != after.get("finalizers"):
        return None
    return changing(old, new)


def _time(text: str, ahead: int) -> int | None:
    try:
        return nanoseconds_of(text) - ahead if text else None
    except ValueError:
        return None


def _pod_attributes(pod: Pod, rules: ResourceRules) -> Attributes:
    fixed = pod.template.get(VIEW)
    if fixed is None:
        fixed = {
            "requests": pod_resources(pod.raw, rules).fit.amounts(),
            "claims": list(pod.claim_names),
            "scheduler": "" if pod.scheduler_name == "default-scheduler" else pod.scheduler_name,
            "priority": pod.priority,
            "gates": list(pod.scheduling_gates),
            "owner": next((ref.get("name", "") for ref in pod.owner_references), ""),
        }
        fixed = pod.template[VIEW] = _telling(fixed)
    return {**fixed, **_pod_progress(pod)}


def _pod_changes(old: Pod, new: Pod) -> Attributes | None:
    if new.template is not old.template or VIEW not in new.template:
        return None
    if new.raw.get("spec") is not old.raw.get("spec"):
        return _pod_progress(new)
    before, after = old.status, new.status
    changes = {
        name: after.get(field)
        for name, field in _SHOWN_OF_STATUS.items()
        if before.get(field) != after.get(field)
    }
    if "phase" in changes:
        changes["phase"] = new.phase
    if after.get(_EXTENDED) != before.get(_EXTENDED) or old.spec.get("resourceClaims"):
        changes["resource_claims"] = [*all_claims_named(new)]
    return changes


# What pages call these fields of a pod's status.
_SHOWN_OF_STATUS = {"phase": "phase", "nominated": "nominatedNodeName", "reason": "reason"}


def _pod_progress(pod: Pod) -> Attributes:
    """What of a pod may change while its template stays."""
    return {
        "phase": pod.phase,
        "node": pod.node_name,
        "nominated": pod.nominated_node_name,
        "reason": pod.status.get("reason"),
        "resource_claims": [*all_claims_named(pod)],
    }


def _node_attributes(node: Node) -> Attributes:
    return {
        "zone": node.zone,
        "region": node.region,
        "ready": node.is_ready,
        "unschedulable": node.unschedulable,
        "taints": node.taints,
        "labels": dict(node.labels),
        "allocatable": node.allocatable_units,
        "volumes_in_use": node.status.get("volumesInUse"),
        "volumes_attached": [each["name"] for each in node.status.get("volumesAttached") or ()],
    }


def _claim_attributes(claim: PersistentVolumeClaim) -> Attributes:
    return {
        "class": claim.storage_class_name,
        "request": claim.request_bytes,
        "modes": list(claim.access_modes),
        **_claim_progress(claim),
    }


def _claim_changes(old: PersistentVolumeClaim, new: PersistentVolumeClaim) -> Attributes | None:
    """The attributes of a claim's progress whose parts were rewritten; None if its request grew."""
    changes: Attributes = {}
    before, after = old.raw, new.raw
    if before.get("status") is not after.get("status"):
        changes["phase"] = new.phase
    if before.get("spec") is not after.get("spec"):
        if not _agree(old.spec, new.spec, _CLAIM_WISH):
            return None
        changes["volume"] = new.volume_name
    if before["metadata"].get("annotations") is not after["metadata"].get("annotations"):
        if old.annotations.get(BETA_CLASS) != new.annotations.get(BETA_CLASS):
            return None
        changes["selected_node"] = new.selected_node
        changes["completed"] = new.is_bind_completed
    return changes


_CLAIM_WISH = ("resources", "accessModes", "storageClassName")


def _claim_progress(claim: PersistentVolumeClaim) -> Attributes:
    """What of a claim may change while what it asks for stays."""
    return {
        "phase": claim.phase,
        "volume": claim.volume_name,
        "selected_node": claim.selected_node,
        "completed": claim.is_bind_completed,
    }


def _agree(before: Mapping[str, Any], after: Mapping[str, Any], names: tuple[str, ...]) -> bool:
    """Whether the fields of these *names* are the same; mostly they are the very same objects."""
    for name in names:
        one, other = before.get(name), after.get(name)
        if one is not other and one != other:
            return False
    return True


def _volume_attributes(volume: PersistentVolume) -> Attributes:
    return {
        "class": volume.storage_class_name,
        "capacity": volume.capacity_bytes,
        "modes": list(volume.access_modes),
        "affinity": _affinity_text(volume),
        "reclaim": volume.reclaim_policy,
        **_volume_progress(volume),
    }


def _volume_changes(old: PersistentVolume, new: PersistentVolume) -> Attributes | None:
    """The attributes of a volume's progress whose parts were rewritten; None if its capacity grew."""
    changes: Attributes = {}
    before, after = old.raw, new.raw
    if before.get("status") is not after.get("status"):
        changes["phase"] = new.phase
    if before.get("spec") is not after.get("spec"):
        if not _agree(old.spec, new.spec, _VOLUME_OFFER):
            return None
        changes["claim"] = new.claim_key
    if before["metadata"].get("annotations") is not after["metadata"].get("annotations"):
        if old.annotations.get(BETA_CLASS) != new.annotations.get(BETA_CLASS):
            return None
        changes["bound_by_controller"] = _is_bound_by_controller(new)
    return changes


_VOLUME_OFFER = (
    "capacity",
    "accessModes",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
)


def _volume_progress(volume: PersistentVolume) -> Attributes:
    """What of a volume may change while what it offers stays."""
    return {
        "phase": volume.phase,
        "claim": volume.claim_key,
        "bound_by_controller": _is_bound_by_controller(volume),
    }


def _is_bound_by_controller(volume: PersistentVolume) -> bool:
    return "pv.kubernetes.io/bound-by-controller" in volume.annotations


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


def _csi_node_attributes(node: ApiObject) -> Attributes:
    """How many volumes of each driver may be attached, where it sets a limit."""
    drivers: list[Manifest] = node.spec.get("drivers") or []
    counts: dict[str, int | None] = {
        each["name"]: cast("Manifest", each.get("allocatable") or {}).get("count")
        for each in drivers
    }
    return {"drivers": {name: count for name, count in counts.items() if count is not None}}


def _quota_attributes(quota: ApiObject) -> Attributes:
    """What a quota allows and what is used of it, as its status says, and the scopes it is for."""
    hard: Manifest = quota.status.get("hard") or quota.spec.get("hard") or {}
    used: Manifest = quota.status.get("used") or {}
    selector: Manifest = quota.spec.get("scopeSelector") or {}
    expressions: list[Manifest] = selector.get("matchExpressions") or []
    selected = [_scope_text(each) for each in expressions]
    return {
        "hard": dict(hard),
        "used": dict(used),
        "scopes": [*(quota.spec.get("scopes") or ()), *selected],
    }


def _scope_text(expression: Manifest) -> str:
    values: list[str] = expression.get("values") or []
    parts = (expression.get("scopeName"), expression.get("operator"), "/".join(values))
    return " ".join(str(part) for part in parts if part)


def _limit_range_attributes(limit_range: ApiObject) -> Attributes:
    """The bounds and defaults that a LimitRange sets, item by item."""
    return {"limits": list(limit_range.spec.get("limits") or ())}


def _slice_attributes(published: ApiObject) -> Attributes:
    """The devices that a driver publishes, and the node that can reach them, if it is one."""
    spec = published.spec
    pool: Manifest = spec.get("pool") or {}
    devices: list[Manifest] = spec.get("devices") or []
    return {
        "driver": spec.get("driver"),
        "pool": pool.get("name"),
        "generation": pool.get("generation"),
        "node": spec.get("nodeName"),
        "all_nodes": bool(spec.get("allNodes")),
        "devices": [_device(each) for each in devices],
    }


def _device(manifest: Manifest) -> Attributes:
    """A device with plain values, as far as it has them."""
    # v1beta1 has everything but the name in `basic`.
    device: Manifest = {**manifest, **(manifest.get("basic") or {})}
    attributes: dict[str, Manifest] = device.get("attributes") or {}
    capacity: dict[str, Manifest] = device.get("capacity") or {}
    shown: Attributes = {
        "name": device.get("name"),
        "attributes": {name: next(iter(each.values()), "") for name, each in attributes.items()},
        "capacity": {name: each.get("value") for name, each in capacity.items()},
        "taints": device.get("taints"),
        "shared": device.get("allowMultipleAllocations"),
    }
    return {name: value for name, value in shown.items() if value}


def _resource_claim_attributes(claim: ApiObject) -> Attributes:
    """What a claim asks for, the devices that it has got, and the pods that use it."""
    asked: Manifest = claim.spec.get("devices") or {}
    allocation: Manifest = claim.status.get("allocation") or {}
    given: Manifest = allocation.get("devices") or {}
    requests: list[Manifest] = asked.get("requests") or []
    results: list[Manifest] = given.get("results") or []
    users: list[Manifest] = claim.status.get("reservedFor") or []
    return {
        "requests": [each.get("name") for each in requests],
        "devices": [
            {name: each[name] for name in ("request", "driver", "pool", "device") if name in each}
            for each in results
        ],
        "users": [each.get("name") for each in users],
    }


_PROJECTIONS: dict[str, Callable[[Any], Attributes]] = {
    "Node": _node_attributes,
    "PersistentVolume": _volume_attributes,
    "PersistentVolumeClaim": _claim_attributes,
    "StorageClass": _class_attributes,
    "CSINode": _csi_node_attributes,
    "ResourceQuota": _quota_attributes,
    "LimitRange": _limit_range_attributes,
    "ResourceSlice": _slice_attributes,
    "ResourceClaim": _resource_claim_attributes,
}

# What may differ when only the progress of such an object is shown; None for anything.
_CHANGING: dict[str, Callable[[Any, Any], Attributes | None]] = {
    "Pod": _pod_changes,
    "PersistentVolume": _volume_changes,
    "PersistentVolumeClaim": _claim_changes,
}
