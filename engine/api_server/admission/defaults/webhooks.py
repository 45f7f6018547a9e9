"""The defaults of webhooks and admission policies, of which a run only keeps the data.

Upstream: pkg/apis/admissionregistration/v1/defaults.go.
"""

from engine.api_server.admission.defaults.sections import (
    Fill,
    Manifest,
    each,
    present_section,
    section,
)


def _matching(found: Manifest) -> None:
    """Fill in what a webhook and the match of a policy have alike."""
    found.setdefault("matchPolicy", "Equivalent")
    found.setdefault("namespaceSelector", {})
    found.setdefault("objectSelector", {})


def _scoped(found: Manifest, name: str) -> None:
    for rule in each(found, name):
        rule.setdefault("scope", "*")


def _webhooks(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)
    for webhook in each(found, "webhooks"):
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("timeoutSeconds", 10)
        _matching(webhook)
        _scoped(webhook, "rules")
        client = section(webhook, "clientConfig")
        present_section(client, "service", port=443)
        if found["kind"].startswith("Mutating"):
            webhook.setdefault("reinvocationPolicy", "Never")


def _match_of(spec: Manifest, name: str) -> None:
    match = present_section(spec, name)
    if match is not None:
        _matching(match)
        _scoped(match, "resourceRules")
        _scoped(match, "excludeResourceRules")


def _policy(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)
    spec = section(found, "spec", failurePolicy="Fail")
    _match_of(spec, "matchConstraints")
    if found["kind"].startswith("Validating"):
        section(found, "status")


def _binding(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)
    _match_of(section(found, "spec"), "matchResources")


WEBHOOKS: dict[str, Fill] = {
    "MutatingAdmissionPolicy": _policy,
    "MutatingAdmissionPolicyBinding": _binding,
    "MutatingWebhookConfiguration": _webhooks,
    "ValidatingAdmissionPolicy": _policy,
    "ValidatingAdmissionPolicyBinding": _binding,
    "ValidatingWebhookConfiguration": _webhooks,
}
