"""Allocations as a claim's status has them. Upstream: resource.k8s.io/v1 AllocationResult."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod, from_manifest
from engine.objects.pods.resource_claims import FINALIZER, RESOURCE_CLAIM
from engine.plugins.dynamic_resources.allocation.claims import (
    EXTENDED_CLAIM,
    is_reserved_for,
    results_of,
)
from engine.plugins.dynamic_resources.allocation.devices import DeviceClass
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import AllocatedDevice
from engine.plugins.dynamic_resources.prepared import Prepared
from engine.plugins.dynamic_resources.protocol import AllocatesDevices

Manifest = dict[str, Any]


def allocation(
    claim: ClaimRequests,
    devices: Sequence[AllocatedDevice],
    classes: Callable[[str], DeviceClass | None],
    node: str,
    claim_uid: str,
) -> Manifest:
    """The allocation of *devices* to a claim, for a pod that goes to *node*."""
    results = [_result(each, f"{claim_uid}-share-{place}") for place, each in enumerate(devices)]
    given: Manifest = {"results": results}
    config = [*_config_of_classes(devices, classes), *_config_of_claim(claim, devices)]
    if config:
        given["config"] = config
    found: Manifest = {"devices": given}
    selector = _node_selector(devices, node)
    if selector is not None:
        found["nodeSelector"] = selector
    return found


def allocated_claims(
    plugin: AllocatesDevices, prepared: Prepared, pod: Pod, node: str, *, name: str, uid: str
) -> dict[str, ApiObject]:
    """The claims that get devices if *pod* goes to *node*, with their allocations, by key.

    A claim that has to be made for extended resources gets *name* and *uid*.
    """
    given = prepared.by_node.get(node)
    if given is None:
        return {}
    by_key = {claim.key: claim for claim in prepared.claims}
    found: dict[str, ApiObject] = {}
    for requests, devices in zip(given.claims, given.devices, strict=True):
        claim = by_key.get(requests.key) or extended_claim(pod, requests, name, uid)
        manifest = allocation(requests, devices, plugin.device_class, node, claim.uid)
        found[requests.key] = allocated(claim, manifest)
    return found


def _result(one: AllocatedDevice, share_id: str) -> Manifest:
    driver, pool, device = one.device.id
    result: Manifest = {
        "request": one.request.full_name,
        "driver": driver,
        "pool": pool,
        "device": device,
    }
    if one.request.admin_access:
        result["adminAccess"] = True
    if one.request.written_tolerations:
        result["tolerations"] = list(one.request.written_tolerations)
    if one.device.is_shared:
        result["shareID"] = share_id
    if one.consumed:
        result["consumedCapacity"] = {name: str(each) for name, each in one.consumed.items()}
    if one.device.binding_conditions:
        result["bindingConditions"] = list(one.device.binding_conditions)
    if one.device.binding_failure_conditions:
        result["bindingFailureConditions"] = list(one.device.binding_failure_conditions)
    return result


def _config_of_classes(
    devices: Iterable[AllocatedDevice], classes: Callable[[str], DeviceClass | None]
) -> list[Manifest]:
    """The parameters of each class once, for all the requests that chose it."""
    requests: dict[str, list[str]] = {}
    for each in devices:
        names = requests.setdefault(each.request.class_name, [])
        if each.request.full_name not in names:
            names.append(each.request.full_name)
    return [
        {**config, "source": "FromClass", "requests": names}
        for class_name, names in requests.items()
        if (chosen := classes(class_name)) is not None
        for config in chosen.config
    ]


def _config_of_claim(
    claim: ClaimRequests, devices: Sequence[AllocatedDevice]
) -> Iterator[Manifest]:
    """The claim's parameters that are for all requests, and those for requests with devices.

    Upstream repeats them for each of the requests.
    """
    chosen = list({each.request.full_name: each.request for each in devices}.values())
    for config in claim.config:
        names = config.get("requests") or ()
        written = {**config, "source": "FromClaim"}
        if not names:
            yield written
            continue
        for request in chosen:
            if request.full_name in names or request.parent in names:
                yield written


def _node_selector(devices: Iterable[AllocatedDevice], node: str) -> Manifest | None:
    """Where all the devices can be reached from. Upstream: createNodeSelector()."""
    term: dict[str, list[Mapping[str, Any]]] = {"matchFields": [], "matchExpressions": []}
    for each in devices:
        choice = each.nodes
        if choice.node_name or each.device.binds_to_node:
            local = {"key": "metadata.name", "operator": "In", "values": [node]}
            return {"nodeSelectorTerms": [{"matchFields": [local]}]}
        terms = items(choice.manifest or {}, "nodeSelectorTerms")
        for part in ("matchFields", "matchExpressions"):
            for requirement in items(terms[0], part) if terms else ():
                if not any(_is_same(requirement, known) for known in term[part]):
                    term[part].append(requirement)
    written = {part: requirements for part, requirements in term.items() if requirements}
    return {"nodeSelectorTerms": [written]} if written else None


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one.get("key"), one.get("operator")) == (other.get("key"), other.get("operator")) and (
        frozenset(one.get("values") or ()) == frozenset(other.get("values") or ())
    )


def allocated(claim: ApiObject, given: Manifest) -> ApiObject:
    """The claim with an allocation, and the finalizer that goes with it."""
    finalizers = [*claim.finalizers]
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)
    return claim.patched({"metadata": {"finalizers": finalizers}, "status": {"allocation": given}})


def with_user(claim: ApiObject, pod: Pod) -> list[Mapping[str, Any]]:
    """The users of the claim, the pod among them."""
    user = {"resource": "pods", "name": pod.name, "uid": pod.uid}
    return [*without_user(claim, pod), user]


def without_user(claim: ApiObject, pod: Pod) -> list[Mapping[str, Any]]:
    """The users of the claim but for the pod."""
    users = items(claim.status, "reservedFor")
    return [each for each in users if each.get("uid") != pod.uid]


def reserved(claim: ApiObject, pod: Pod) -> ApiObject:
    """The claim with the pod among its users."""
    if is_reserved_for(claim, pod):
        return claim
    return claim.patched({"status": {"reservedFor": with_user(claim, pod)}})


def released(claim: ApiObject, pod: Pod) -> ApiObject:
    """The claim without the pod; without users it is not allocated any more."""
    users = without_user(claim, pod)
    if users:
        return claim.patched({"status": {"reservedFor": users}})
    return deallocated(claim)


def deallocated(claim: ApiObject) -> ApiObject:
    """The claim without devices and users."""
    return claim.patched({"status": {"allocation": None, "reservedFor": None, "devices": None}})


def extended_claim(pod: Pod, requests: ClaimRequests, name: str, uid: str) -> ApiObject:
    """The claim for the extended resources of a pod, to be created before it is bound."""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
    }
    return from_manifest(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": RESOURCE_CLAIM,
            "metadata": {
                "name": name,
                "namespace": pod.namespace,
                "uid": uid,
                "annotations": {EXTENDED_CLAIM: "true"},
                "ownerReferences": [owner],
            },
            "spec": {
                "devices": {
                    "requests": [
                        {
                            "name": each.name,
                            "exactly": {
                                "deviceClassName": each.class_name,
                                "allocationMode": each.mode,
                                "count": each.count,
                            },
                        }
                        for (each,) in requests.requests
                    ]
                }
            },
        }
    )


def written(claim: ApiObject) -> list[str]:
    """The devices of a claim for people: "request=driver/pool/device", in the order they were given."""
    return [_written(each) for each in results_of(claim)]


def _written(result: Mapping[str, Any]) -> str:
    text = f"{result['request']}={result['driver']}/{result['pool']}/{result['device']}"
    if result.get("adminAccess"):
        text += " (admin)"
    consumed = section(result, "consumedCapacity")
    return text + "".join(f" {name}:{consumed[name]}" for name in sorted(consumed))
