"""The subresource `scale` of a workload: its replicas, as an object of their own."""

from typing import Any

from engine.objects.objects import Manifest
from kube.addresses import Target
from kube.server.writes.bodies import part_of
from kube.status import bad_request, invalid


def scale_of(one: Manifest) -> Manifest:
    """The subresource scale of a workload."""
    metadata = one["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = (one.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": (one.get("spec") or {}).get("replicas", 0)},
        "status": {
            "replicas": (one.get("status") or {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def with_scale(target: Target, old: Manifest, scale: Any) -> Manifest:
    """The workload *old* with the replicas of *scale*. Raises ApiError."""
    wanted = part_of(scale, "spec").get("replicas", 0)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 0:
        raise invalid(
            target.resource,
            target.name,
            [("FieldValueInvalid", "must be greater than or equal to 0", "spec.replicas")],
            "Scale",
        )
    # The fields of a Scale's metadata that name its object.
    given = part_of(scale, "metadata")
    named = {name: given.get(name) for name in ("name", "uid", "resourceVersion")}
    return {
        **old,
        "metadata": {**old["metadata"], **named},
        "spec": {**part_of(old, "spec"), "replicas": wanted},
    }


def scale_configuration(target: Target, given: Any) -> Manifest:
    """The configuration of a workload that one of its subresource scale amounts to."""
    kind = (part_of({"": given}, "").get("apiVersion"), given.get("kind"))
    if kind != ("autoscaling/v1", "Scale"):
        raise bad_request(f"invalid object type: {kind[0]}, Kind={kind[1]}")
    spec = part_of(given, "spec")
    resource = target.resource
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": target.name},
        "spec": {"replicas": spec["replicas"]} if "replicas" in spec else {},
    }
