"""Field selectors: "spec.nodeName=n1,status.phase!=Failed", and the fields that each kind offers.

Upstream: apimachinery/pkg/fields/selector.go; the field labels in pkg/apis/*/v1/conversion.go; the
values in ToSelectableFields() of each registry.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from kube.resources import Resource
from kube.status import bad_request

Manifest = Mapping[str, Any]
# The value of a field of an object, as text.
Getter = Callable[[Manifest], str]

NAME, NAMESPACE = "metadata.name", "metadata.namespace"
# What stands between commas; a backslash takes the meaning from the character after it.
_TERM = re.compile(r"(?:[^,\\]|\\.|\\$)+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field: it is *wanted*, or, where `is_equal` is False, it is not."""

    field: str
    wanted: str
    is_equal: bool = True


def fields_selected(text: str, resource: Resource) -> tuple[FieldTerm, ...]:
    """The conditions of a field selector. Raises ApiError for anything else."""
    offered = fields_of(resource)
    found: list[FieldTerm] = []
    for term in _TERM.findall(text):
        if not term.strip():
            continue
        match = re.match(r"(.*?)(!=|==|=)(.*)", term.strip(), re.DOTALL)
        if match is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        field = _SYNONYMS.get((resource.kind, match[1]), match[1])
        if field not in offered:
            raise bad_request(_unsupported(resource, field))
        found.append(FieldTerm(field, _unescaped(match[3]), match[2] != "!="))
    return tuple(found)


def _unescaped(value: str) -> str:
    """Upstream: UnescapeValue()."""
    for match in re.finditer(r"\\(.?)|[,=]", value, re.DOTALL):
        if match[0] in (",", "="):
            raise bad_request(f"invalid field selector: unescaped character in value: {match[0]}")
        if match[1] not in (",", "=", "\\"):
            raise bad_request(f"invalid field selector: invalid escape sequence: {match[0]}")
    return re.sub(r"\\(.)", r"\1", value)


# Upstream: for clients from before v1.
_SYNONYMS = {("Pod", "spec.host"): "spec.nodeName"}


def _unsupported(resource: Resource, field: str) -> str:
    if resource.kind == "Job":
        return f'field label "{field}" not supported for batchv1.Job'
    if resource.kind == "ResourceSlice":
        kind = f"{resource.api_version}, Kind={resource.kind}"
        return f"field label not supported for {kind}: {field}"
    if resource.kind in _OWN or resource.group == "events.k8s.io":
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "{NAME}", "{NAMESPACE}"'


def fields_of(resource: Resource) -> Mapping[str, Getter]:
    """The fields by which objects of the resource can be selected."""
    if resource.custom is None:
        return _usual_fields_of(resource)
    named = _METADATA if resource.namespaced else _ONLY_NAME
    return {**named, **{path: _at(path) for path in resource.custom.selectable_fields}}


def _at(path: str) -> Getter:
    """What is at "spec.color", as text. Upstream: pkg/registry/customresource/strategy.go."""

    def get(one: Manifest) -> str:
        found: Any = one
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
        return (
            "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)
        )

    return get


@cache
def _usual_fields_of(resource: Resource) -> Mapping[str, Getter]:
    if resource.group == "events.k8s.io":
        return {**_METADATA, **_OF_EVENTS_V1}
    named = _METADATA if resource.namespaced or resource.kind not in _OWN else _ONLY_NAME
    return {**named, **_OWN.get(resource.kind, {})}


def _value_at(path: str, manifest: Manifest) -> Any:
    found: Any = manifest
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _text(path: str) -> Getter:
    def value(manifest: Manifest) -> str:
        found = _value_at(path, manifest)
        return "" if found is None else str(found)

    return value


def _flag(path: str) -> Getter:
    return lambda manifest: "true" if _value_at(path, manifest) else "false"


def _number(path: str) -> Getter:
    return lambda manifest: str(_value_at(path, manifest) or 0)


def _pod_ip(manifest: Manifest) -> str:
    ips = _value_at("status.podIPs", manifest) or [{}]
    return str(ips[0].get("ip") or _value_at("status.podIP", manifest) or "")


def _source(manifest: Manifest) -> str:
    component = _value_at("source.component", manifest)
    return str(component or manifest.get("reportingComponent") or "")


def _texts(*paths: str) -> dict[str, Getter]:
    return {path: _text(path) for path in paths}


_ONLY_NAME = _texts(NAME)
_METADATA = _texts(NAME, NAMESPACE)
_OBJECT_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
_OBJECT_REFERENCE += ("fieldPath",)
_OWN: dict[str, dict[str, Getter]] = {
    "Pod": {
        **_texts("spec.nodeName", "spec.restartPolicy", "spec.schedulerName"),
        **_texts("spec.serviceAccountName", "status.phase", "status.nominatedNodeName"),
        "spec.hostNetwork": _flag("spec.hostNetwork"),
        "status.podIP": _pod_ip,
        "status.podIPs": _pod_ip,
    },
    "Node": {"spec.unschedulable": _flag("spec.unschedulable")},
    "Namespace": _texts("status.phase"),
    "Secret": _texts("type"),
    "ReplicaSet": {"status.replicas": _number("status.replicas")},
    "ReplicationController": {"status.replicas": _number("status.replicas")},
    "Job": {"status.successful": _number("status.succeeded")},
    "Service": _texts("spec.clusterIP", "spec.type"),
    "ResourceSlice": _texts("spec.nodeName", "spec.driver"),
    "Event": {
        **_texts(*(f"involvedObject.{part}" for part in _OBJECT_REFERENCE)),
        **_texts("reason", "type", "reportingComponent"),
        "source": _source,
    },
}
_OF_EVENTS_V1 = {
    **_texts(*(f"regarding.{part}" for part in _OBJECT_REFERENCE)),
    **_texts("reason", "type", "reportingController"),
}
