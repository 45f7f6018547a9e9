"""The subresource `resize` of a pod: new cpu and memory for containers that go on running.

Upstream: pkg/registry/core/pod/strategy.go podResizeStrategy, pkg/apis/core/validation
ValidatePodResize(), plugin/pkg/admission/podresize.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.admission.refusals import forbidden
from engine.api_server.admission.rules import AdmissionRules
from engine.kernel.errors import Invalid, NotFound
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.pod_resources import ResourceRules, pod_resources
from engine.objects.pods.qos import qos_class
from engine.objects.values.quantity import parse

_RESIZABLE: Final = ("cpu", "memory")
_LISTS: Final = ("containers", "initContainers")


def resized(pod: Pod, patch: Manifest, rules: AdmissionRules) -> Pod:
    """*pod* with the resources and resize policies of *patch*, whose other fields are left out.

    Lists of containers are merged by name, as in `kubectl patch --subresource resize`. What the
    containers had is written to the status, where a kubelet would have put it, for what a node has
    given to a pod is no longer what its spec says. Raises NotFound when the version has no such
    subresource, and Invalid when a container is unknown. The rest is for `check` to see, once the
    manifest is known to be well formed.
    """
    if not rules.resizes_pods:
        raise NotFound(
            "the server could not find the requested resource: pods can be resized in place since v1.33"
        )
    spec = section(patch, "spec")
    new_spec = dict(pod.spec)
    for name in _LISTS:
        if name in spec:
            new_spec[name] = _merged_containers(pod, name, spec[name])
    if rules.resizes_whole_pods and "resources" in spec:
        new_spec["resources"] = _merged_resources(section(pod.spec, "resources"), spec["resources"])
    status = {"status": _reported(pod)} if pod.status.get("containerStatuses") else {}
    new = Pod({**pod.raw, "spec": new_spec}).patched(status)
    version = section(patch, "metadata").get("resourceVersion")
    return new.with_metadata(
        generation=pod.generation + (new_spec != pod.spec),
        **({"resourceVersion": version} if version else {}),
    )


def resize_text(old: Pod, new: Pod) -> str:
    """What a resize changes, for the event: "main: cpu 1 → 3"."""
    changes: list[str] = []
    for _, before, after in _changed(old.spec, new.spec):
        amounts = section(before, "resources", "requests"), section(after, "resources", "requests")
        texts = [
            f"{name} {amounts[0].get(name, 'none')} → {amounts[1].get(name, 'none')}"
            for name in _RESIZABLE
            if amounts[0].get(name) != amounts[1].get(name)
        ]
        changes.append(f"{after.get('name', 'the pod')}: {', '.join(texts) or 'other limits'}")
    return "; ".join(changes) or "nothing changes"


def check_node(pod: Pod, node: Node | None, rules: ResourceRules) -> None:
    """Raises Forbidden when *pod* asks for more than its node could ever give, since v1.36."""
    if node is None:
        raise forbidden(pod, f'node "{pod.node_name}" not found')
    requests = pod_resources(pod.raw, rules).fit
    faults = [
        f"{name}, requested: {requests.get(name)}, allocatable: {node.allocatable_units.get(name, 0)}"
        for name in _RESIZABLE
        if requests.get(name) > node.allocatable_units.get(name, 0)
    ]
    if faults:
        lack = f"Node didn't have enough allocatable resources: {'; '.join(faults)}"
        raise forbidden(pod, lack)


def _merged_containers(pod: Pod, name: str, wanted: Any) -> list[Manifest]:
    """The containers in list *name* with the resources of those in *wanted*, found by name."""
    path = f"spec.{name}"
    old = items(pod.spec, name)
    if not isinstance(wanted, list):
        raise _invalid(pod, f"{path}: expected a list of containers")
    changes: dict[str, Manifest] = {}
    for index, each in enumerate(cast("list[Any]", wanted)):
        known = cast("Manifest", each).get("name") if isinstance(each, dict) else None
        if not any(known == container.get("name") for container in old):
            moved = "Forbidden: containers may not be renamed or reordered on resize"
            raise _invalid(pod, f"{path}[{index}].name: {moved}")
        changes[cast("str", known)] = each
    return [_merged(container, changes.get(container.get("name", ""), {})) for container in old]


def _merged(container: Manifest, change: Manifest) -> Manifest:
    merged = dict(container)
    if "resources" in change:
        merged["resources"] = _merged_resources(
            section(container, "resources"), change["resources"]
        )
    if "resizePolicy" in change:
        merged["resizePolicy"] = change["resizePolicy"]
    return merged


def _merged_resources(old: Manifest, change: Any) -> Manifest:
    """Requests and limits after a merge patch; a null takes an amount, or all of them, away."""
    if not isinstance(change, dict):
        return {} if change is None else {"requests": change}
    merged = dict(old)
    for kind, amounts in cast("Manifest", change).items():
        if not isinstance(amounts, dict):
            merged[kind] = amounts or {}
            continue
        both = {**section(old, kind), **cast("Manifest", amounts)}
        merged[kind] = {name: amount for name, amount in both.items() if amount is not None}
    return merged


def check(pod: Pod, new: Pod, rules: AdmissionRules) -> None:
    """Raises Invalid, in upstream's words, when the resize of *pod* to *new* is not allowed."""
    spec = new.spec
    if pod.is_terminated:
        raise _invalid(pod, "spec: Forbidden: Pod running on node without support for resize")
    for path, old, wanted in _changed(pod.spec, spec):
        is_whole = path == "spec"
        is_init = path.startswith("spec.initContainers") and old.get("restartPolicy") != "Always"
        if is_init and not rules.resizes_whole_pods:
            raise _invalid(
                pod,
                f"{path}.resources: Forbidden: resources for non-sidecar init containers are immutable",
            )
        for kind in ("requests", "limits"):
            before, after = section(old, "resources", kind), section(wanted, "resources", kind)
            if _others(before) != _others(after):
                raise _invalid(pod, "spec: Forbidden: only cpu and memory resources are mutable")
            if not is_whole and any(name in before and name not in after for name in _RESIZABLE):
                raise _invalid(
                    pod,
                    f"{path}.resources.{kind}: Forbidden: resource {kind} cannot be removed",
                )
        _check_limits(pod, path, section(wanted, "resources"))
    before, after = qos_class(pod.spec), qos_class(spec)
    if before != after:
        raise _invalid(
            pod,
            f'spec: Invalid value: "{after}": Pod QOS Class may not change as a result of resizing',
        )


def _changed(
    old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, Manifest, Manifest]]:
    """What holds resources in both specs and differs, with its path."""
    if old.get("resources") != new.get("resources"):
        yield "spec", {"resources": old.get("resources")}, {"resources": new.get("resources")}
    for name in _LISTS:
        pairs = zip(items(old, name), items(new, name), strict=True)
        for index, (before, after) in enumerate(pairs):
            if before.get("resources") != after.get("resources"):
                yield f"spec.{name}[{index}]", before, after


def _check_limits(pod: Pod, path: str, resources: Manifest) -> None:
    requests, limits = section(resources, "requests"), section(resources, "limits")
    for name in _RESIZABLE:
        if name not in requests or name not in limits:
            continue
        if parse(requests[name]).nanos > parse(limits[name]).nanos:
            raise _invalid(
                pod,
                f'{path}.resources.requests: Invalid value: "{requests[name]}": must be less than or '
                f"equal to {name} limit of {limits[name]}",
            )


def _others(amounts: Manifest) -> Manifest:
    return {name: amount for name, amount in amounts.items() if name not in _RESIZABLE}


def _reported(pod: Pod) -> Manifest:
    """The statuses of the containers with what the kubelet gives them, as it reports since v1.33."""
    reported: Manifest = {}
    for name, statuses in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        resources = {each.get("name"): section(each, "resources") for each in items(pod.spec, name)}
        if statuses in pod.status:
            reported[statuses] = [
                _with_resources(each, resources.get(each.get("name"), {}))
                for each in items(pod.status, statuses)
            ]
    return reported


def _with_resources(status: Manifest, resources: Manifest) -> Manifest:
    if "resources" in status or not resources:
        return status
    allocated = {"allocatedResources": resources["requests"]} if "requests" in resources else {}
    return {**status, **allocated, "resources": resources}


def _invalid(pod: Pod, why: str) -> Invalid:
    return Invalid(f'Pod "{pod.name}" is invalid: {why}')
