"""Devices and the claims for them (resource.k8s.io/v1)."""

from collections.abc import Mapping, Sequence
from typing import Any

Manifest = dict[str, Any]

DRIVER = "gpu.example.com"


def device(name: str, *, memory: str = "", **fields: Any) -> Manifest:
    """A device; *attributes* among the fields are plain values, or {"version": text}."""
    attributes = {key: _attribute(value) for key, value in fields.pop("attributes", {}).items()}
    capacity = {"memory": {"value": memory}} if memory else {}
    return {"name": name, "attributes": attributes, "capacity": capacity, **fields}


def resource_slice(
    node: str, devices: Sequence[Manifest] = (), *, name: str = "", pool: str = "", **spec: Any
) -> Manifest:
    """One slice of the pool of a node, or of *pool* on any node that the spec names."""
    generation, count = spec.pop("generation", 1), spec.pop("slices", 1)
    where = {} if pool else {"nodeName": node}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name or f"{node or pool}-slice"},
        "spec": {
            "driver": DRIVER,
            "pool": {
                "name": pool or node,
                "generation": generation,
                "resourceSliceCount": count,
            },
            "devices": list(devices),
            **where,
            **spec,
        },
    }


def device_class(name: str, *expressions: str, **spec: Any) -> Manifest:
    """A class of the devices that all the CEL expressions select."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors(*expressions), **spec},
    }


def selectors(*expressions: str) -> list[Manifest]:
    """CEL expressions, as classes and requests have them."""
    return [{"cel": {"expression": each}} for each in expressions]


def device_request(name: str, device_class: str, **fields: Any) -> Manifest:
    """A request for devices of one class."""
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


def resource_claim(name: str, *requests: Manifest, **devices: Any) -> Manifest:
    """A claim for devices; *devices* are other fields beside the requests."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def left_over(pod: Manifest, device_class: str = "gpu") -> Manifest:
    """The claim that an earlier attempt made for an extended resource of *pod*."""
    claim = resource_claim("left-over", device_request("container-0-request-0", device_class))
    pod["metadata"]["uid"] = "uid-of-pod"
    owner = {"kind": "Pod", "name": pod["metadata"]["name"], "uid": "uid-of-pod"}
    claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim["metadata"]["ownerReferences"] = [{"apiVersion": "v1", **owner, "controller": True}]
    return claim


def claims_in_pod(*claims: str) -> Mapping[str, Any]:
    """The field of a pod's spec that names its resource claims."""
    return {
        "resourceClaims": [{"name": name, "resourceClaimName": name} for name in claims],
    }


def _attribute(value: Any) -> Manifest:
    if isinstance(value, dict):
        return {**value}
    kinds = {bool: "bool", int: "int", str: "string"}
    return {kinds[type(value)]: value}
