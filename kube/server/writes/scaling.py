"""The subresource `scale` of a workload: its replicas, as an object of their own."""

from collections.abc import Mapping
from typing import Any

from engine.objects.objects import Manifest
from kube.addresses import Target
from kube.resources import Resource
from kube.server.writes.bodies import part_of
from kube.status import bad_request, invalid


def scale_of(one: Manifest, resource: Resource) -> Manifest:
    """The subresource scale of a workload, or of an object of a custom kind."""
    metadata = one["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": _at(one, _path_of(resource, "specReplicasPath")) or 0},
        "status": {
            "replicas": _at(one, _path_of(resource, "statusReplicasPath")) or 0,
            **_selector_of(one, resource),
        },
    }


def _selector_of(one: Manifest, resource: Resource) -> Manifest:
    if resource.custom is None:
        selector = (one.get("spec") or {}).get("selector") or {}
        labels = selector.get("matchLabels", selector)
        return {"selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items()))}
    path = _path_of(resource, "labelSelectorPath")
    found = _at(one, path) if path else None
    return {"selector": found} if isinstance(found, str) else {}


_PATHS = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


def _path_of(resource: Resource, name: str) -> tuple[str, ...]:
    """Where a number of a scale is in its object: ("spec", "replicas")."""
    path = resource.custom.scale.get(name, "") if resource.custom else _PATHS.get(name, "")
    return tuple(part for part in path.split(".") if part)


def _at(one: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        one = one.get(name) if isinstance(one, Mapping) else None
    return one


def _with(one: Any, path: tuple[str, ...], value: Any) -> Manifest:
    """*one* with a value at *path*, of which it need not have all parts."""
    parts = dict(one) if isinstance(one, Mapping) else {}
    name, *rest = path
    parts[name] = _with(parts.get(name), tuple(rest), value) if rest else value
    return parts


def with_scale(target: Target, old: Manifest, scale: Any) -> Manifest:
    """The object *old* with the replicas of *scale*. Raises ApiError."""
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
    new = {**old, "metadata": {**old["metadata"], **named}}
    return _with(new, _path_of(target.resource, "specReplicasPath"), wanted)


def scale_configuration(target: Target, given: Any) -> Manifest:
    """The configuration of a workload that one of its subresource scale amounts to."""
    kind = (part_of({"": given}, "").get("apiVersion"), given.get("kind"))
    if kind != ("autoscaling/v1", "Scale"):
        raise bad_request(f"invalid object type: {kind[0]}, Kind={kind[1]}")
    spec = part_of(given, "spec")
    resource = target.resource
    found: Manifest = {
        "apiVersion": resource.api_version,
        "kind": resource.written_kind,
        "metadata": {"name": target.name},
    }
    path = _path_of(resource, "specReplicasPath")
    return _with(found, path, spec["replicas"]) if "replicas" in spec else {**found, "spec": {}}
