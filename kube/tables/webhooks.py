"""The columns of webhooks and admission policies, and of other API servers.

Upstream: printMutatingWebhook(), printValidatingAdmissionPolicy() and their like;
kube-aggregator/pkg/registry/apiservice/etcd/etcd.go, ConvertToTable().
"""

from collections.abc import Mapping
from typing import Any

from kube.tables.columns import (
    AGE,
    NAME,
    Columns,
    Object,
    in_spec,
    number,
    selector_text,
    spec_of,
    status_of,
    text,
)

_UNSET = "<unset>"


def _kind_of_parameters(one: Object) -> str:
    kind: Mapping[str, Any] | None = spec_of(one).get("paramKind")
    return _UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _parameters(one: Object) -> str:
    reference: Mapping[str, Any] = spec_of(one).get("paramRef") or {}
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector_text(reference["selector"]) if reference.get("selector") else _UNSET


_BINDING: Columns = (
    NAME,
    text("PolicyName", in_spec("policyName")),
    text("ParamRef", _parameters),
    AGE,
)
_WEBHOOKS: Columns = (NAME, number("Webhooks", lambda one: len(one.get("webhooks") or ())), AGE)


def _policy(name: str) -> Columns:
    return (
        NAME,
        number(name, lambda one: len(spec_of(one).get(name.lower()) or ())),
        text("ParamKind", _kind_of_parameters),
        AGE,
    )


def _service(one: Object) -> str:
    service: Mapping[str, Any] | None = spec_of(one).get("service")
    return f"{service.get('namespace')}/{service.get('name')}" if service else "Local"


def _available(one: Object) -> str:
    conditions: list[Mapping[str, Any]] = status_of(one).get("conditions") or []
    found = next((each for each in conditions if each.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    is_plain = found.get("status") == "True" or not found.get("reason")
    return str(found.get("status")) if is_plain else f"{found.get('status')} ({found['reason']})"


WEBHOOKS: dict[str, Columns] = {
    "APIService": (NAME, text("Service", _service), text("Available", _available), AGE),
    "MutatingAdmissionPolicy": _policy("Mutations"),
    "MutatingAdmissionPolicyBinding": _BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": _policy("Validations"),
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
