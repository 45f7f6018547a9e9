"""The columns of webhooks and admission policies.

Upstream: printMutatingWebhook(), printValidatingAdmissionPolicy() and their like.
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


WEBHOOKS: dict[str, Columns] = {
    "MutatingAdmissionPolicy": _policy("Mutations"),
    "MutatingAdmissionPolicyBinding": _BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingAdmissionPolicy": _policy("Validations"),
    "ValidatingAdmissionPolicyBinding": _BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
