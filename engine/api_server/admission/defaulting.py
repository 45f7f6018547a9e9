"""API defaulting that decisions depend on. Upstream: pkg/apis/core/v1/defaults.go and the like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.api_server.validation.workloads import DEFAULTS_SELECTOR
from engine.kernel.units import timestamp
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.pod_resources import HUGE_PAGES, aggregated

Manifest = dict[str, Any]

# Upstream: core/v1 LabelMetadataName.
NAMESPACE_NAME = "kubernetes.io/metadata.name"


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


def with_name_label(namespace: ApiObject) -> ApiObject:
    """A namespace bears its name as a label, since v1.21. Upstream: SetDefaults_Namespace()."""
    if namespace.labels.get(NAMESPACE_NAME) == namespace.name:
        return namespace
    return namespace.patched({"metadata": {"labels": {NAMESPACE_NAME: namespace.name}}})


def with_default_requests(pod: Pod) -> Pod:
    """*pod* with what SetDefaults_Pod() would fill in: requests from limits, host ports.

    Pod-level requests are filled in, too, though versions before v1.34 do not read them.
    """
    spec = pod.spec
    containers = _defaulted(spec.get("containers") or [], host=bool(spec.get("hostNetwork")))
    init = _defaulted(spec.get("initContainers") or [], host=bool(spec.get("hostNetwork")))
    patch: Manifest = {}
    if containers is not None:
        patch["containers"] = containers
    if init is not None:
        patch["initContainers"] = init
    if spec.get("resources"):
        patch["resources"] = _of_pod(spec["resources"], {**spec, **patch})
    return pod.patched({"spec": patch}) if patch else pod


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


def _of_pod(resources: Manifest, spec: Mapping[str, Any]) -> Manifest:
    """Upstream: defaultHugePagePodLimits(), defaultPodRequests()."""
    limits: Manifest = dict(resources.get("limits") or {})
    requests: Manifest = dict(resources.get("requests") or {})
    if limits or requests:
        for name, amount in aggregated(spec, "limits").items():
            if name.startswith(HUGE_PAGES) and name not in requests:
                limits.setdefault(name, amount)
    if limits:
        for name, amount in aggregated(spec, "requests").items():
            if name in ("cpu", "memory"):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if name in ("cpu", "memory") or name.startswith(HUGE_PAGES):
                requests.setdefault(name, amount)
    filled = {"limits": limits, "requests": requests}
    return {**resources, **{name: amounts for name, amounts in filled.items() if amounts}}


def with_time_added(rule: ApiObject, old: ApiObject | None, clock: int) -> ApiObject:
    """A DeviceTaintRule that says since when its taint has its effect.

    Upstream: apis/resource SetDefaults_DeviceTaint(), registry/resource/devicetaintrule strategy.go.
    """
    taint = section(rule.spec, "taint")
    before = {} if old is None else section(old.spec, "taint")
    added = taint.get("timeAdded")
    has_changed = old is not None and taint.get("effect") != before.get("effect")
    if added and not (has_changed and added == before.get("timeAdded")):
        return rule
    return rule.patched({"spec": {"taint": {"timeAdded": timestamp(clock)}}})
