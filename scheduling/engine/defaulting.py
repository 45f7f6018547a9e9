"""API defaulting that decisions depend on. Upstream: pkg/apis/core/v1/defaults.go and the like."""

from __future__ import annotations

from typing import Any

from kscope.sim.objects import ApiObject, Pod
from kscope.sim.validation import DEFAULTS_SELECTOR
from scheduling.engine.pod_info import container_requests

Manifest = dict[str, Any]


def with_default_selector(obj: ApiObject) -> ApiObject:
    """A workload of an old version, or a ReplicationController, selects what it makes.

    Upstream: SetDefaults_ReplicationController(), pkg/apis/apps/v1beta1/defaults.go.
    """
    is_controller = obj.kind == "ReplicationController"
    if obj.spec.get("selector") or not (
        is_controller or obj.raw.get("apiVersion") in DEFAULTS_SELECTOR
    ):
        return obj
    template: Manifest = obj.spec.get("template") or {}
    metadata: Manifest = template.get("metadata") or {}
    labels: Manifest = metadata.get("labels") or {}
    if not labels:
        return obj
    return obj.patched({"spec": {"selector": labels if is_controller else {"matchLabels": labels}}})


def with_default_requests(pod: Pod) -> Pod:
    """*pod* with what SetDefaults_Pod() would fill in: requests from limits, host ports."""
    spec = pod.spec
    containers = _defaulted(spec.get("containers") or [], host=bool(spec.get("hostNetwork")))
    init = _defaulted(spec.get("initContainers") or [], host=bool(spec.get("hostNetwork")))
    patch: Manifest = {}
    if containers is not None:
        patch["containers"] = containers
    if init is not None:
        patch["initContainers"] = init
    resources: Manifest = spec.get("resources") or {}
    if resources.get("limits"):
        requests = _pod_level_requests({**spec, **patch}, resources)
        if requests != (resources.get("requests") or {}):
            patch["resources"] = {"requests": requests}
    return pod.patched({"spec": patch}) if patch else pod


def _pod_level_requests(spec: Manifest, resources: Manifest) -> Manifest:
    """What a pod with limits of its own requests: what its containers do, else as much as it may.

    Of huge pages it requests as much as it may. Upstream: defaultPodRequests().
    """
    requests: Manifest = dict(resources.get("requests") or {})
    asked = container_requests(spec)
    for name in ("cpu", "memory"):
        if name in asked:
            requests.setdefault(name, asked[name])
    for name, limit in resources["limits"].items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, limit)
    return requests


def _defaulted(containers: list[Manifest], *, host: bool) -> list[Manifest] | None:
    """The containers with defaults, or None when there is nothing to fill in."""
    changed = [_with_defaults(container, host=host) for container in containers]
    if all(new is old for new, old in zip(changed, containers, strict=True)):
        return None
    return changed


def _with_defaults(container: Manifest, *, host: bool) -> Manifest:
    resources: Manifest = container.get("resources") or {}
    limits: Manifest = resources.get("limits") or {}
    requests: Manifest = resources.get("requests") or {}
    missing = {name: amount for name, amount in limits.items() if name not in requests}
    if missing:
        resources = {**resources, "requests": {**requests, **missing}}
        container = {**container, "resources": resources}
    if host and any(not port.get("hostPort") for port in container.get("ports") or ()):
        # In the host's network every container port is a host port.
        ports = [
            {**port, "hostPort": port.get("hostPort") or port.get("containerPort")}
            for port in container["ports"]
        ]
        container = {**container, "ports": ports}
    return container
