"""Webhooks that pods have to pass: which one a pod meets, and whether anybody serves it.

Upstream: k8s.io/apiserver/pkg/admission/plugin/webhook, generic/webhook.go, ShouldCallHook().
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.stuck.controllers import served_by
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.selectors import LabelSelector

_KINDS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_ANY: Final = "*"


def hook_named(evidence: Evidence, name: str) -> tuple[Manifest | None, Manifest | None]:
    """The configuration that has a webhook called *name*, and the webhook."""
    for configuration, hook in _hooks(evidence):
        if hook.get("name") == name:
            return configuration, hook
    return None, None


def unanswered_webhook(evidence: Evidence, namespace: str, labels: Manifest) -> str:
    """What the API server says of a pod that has to pass a webhook which nobody serves; "" for none."""
    for _, hook in _hooks(evidence):
        service = section(hook, "clientConfig", "service")
        if hook.get("failurePolicy") == "Ignore" or not service:
            continue
        if _is_called(evidence, hook, namespace, labels) and (why := _unserved(evidence, service)):
            where = (
                f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port', 443)}"
            )
            return (
                f'Internal error occurred: failed calling webhook "{hook.get("name")}": failed to '
                f'call webhook: Post "https://{where}{service.get("path", "/")}": {why}'
            )
    return ""


def _hooks(evidence: Evidence) -> Iterator[tuple[Manifest, Manifest]]:
    for kind in _KINDS:
        for each in evidence.all(kind):
            for hook in items(each, "webhooks"):
                yield each, hook


def _is_called(evidence: Evidence, hook: Manifest, namespace: str, labels: Manifest) -> bool:
    """Whether a pod that is created in the namespace has to pass the webhook."""
    if not any(map(_covers_pods, items(hook, "rules"))):
        return False
    found = evidence.find("Namespace", namespace)
    of_namespace = {_NAME_LABEL: namespace, **section(found or {}, "metadata", "labels")}
    wanted = (("namespaceSelector", of_namespace), ("objectSelector", labels))
    return all(LabelSelector.parse(section(hook, name)).matches(each) for name, each in wanted)


def _covers_pods(rule: Manifest) -> bool:
    named = (("operations", "CREATE"), ("apiGroups", ""), ("resources", "pods"))
    return all({_ANY, name} & {*(rule.get(field) or ())} for field, name in named)


def _unserved(evidence: Evidence, service: Manifest) -> str:
    """Why the Service answers nobody, as far as the files show it."""
    namespace, name = str(service.get("namespace")), str(service.get("name"))
    if evidence.in_namespace("Service", namespace) and not evidence.find(
        "Service", f"{namespace}/{name}"
    ):
        return f'service "{name}" not found'
    owner = served_by(evidence, namespace, name)
    if owner is None or owner.is_running:
        return ""
    return f'no endpoints available for service "{name}"'
