"""What the configuration of webhooks has to be.

Upstream: validateValidatingWebhookConfiguration(), validateMutatingWebhookConfiguration().
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.api_server.validation.policies.expressions import OF_CONDITIONS
from engine.api_server.validation.policies.matching import (
    check_conditions,
    check_rules,
    check_supported,
)
from engine.api_server.validation.report import Report, invalid_value
from engine.objects.documents import Path
from engine.objects.manifest_parts import items, section

Manifest = Mapping[str, Any]

_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_LONGEST: Final = 30


def webhook_configuration(value: Any, path: Path, report: Report) -> None:
    """Report what is wrong with a configuration whose fields are of the right types."""
    names: set[str] = set()
    for place, hook in enumerate(items(value, "webhooks")):
        where = (*path, "webhooks", place)
        name = str(hook.get("name") or "")
        if name.count(".") < 2:
            why = "should be a domain with at least three segments separated by dots"
            report.add((*where, "name"), name, why, invalid_value(name, why))
        if name in names:
            report.add((*where, "name"), name, "is there twice", f'Duplicate value: "{name}"')
        names.add(name)
        _check(hook, where, report)


def _check(hook: Manifest, path: Path, report: Report) -> None:
    check_rules(items(hook, "rules"), (*path, "rules"), report)
    check_supported(hook, path, report)
    check_supported(hook, path, report, reinvocationPolicy=("IfNeeded", "Never"))
    if not hook.get("sideEffects"):
        why = f"Required value: must specify one of {', '.join(_SIDE_EFFECTS)}"
        report.add((*path, "sideEffects"), None, "is missing", why)
    check_supported(hook, path, report, sideEffects=_SIDE_EFFECTS)
    if not hook.get("admissionReviewVersions"):
        why = "Required value: must specify one of v1, v1beta1"
        report.add((*path, "admissionReviewVersions"), None, "is missing", why)
    seconds: Any = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _LONGEST:
        why = "the timeout value must be between 1 and 30 seconds"
        report.add((*path, "timeoutSeconds"), seconds, why, invalid_value(seconds, why))
    client = section(hook, "clientConfig")
    if bool(client.get("url")) == bool(client.get("service")):
        why = "Required value: exactly one of url or service is required"
        report.add((*path, "clientConfig"), None, "is missing", why)
    check_conditions(hook, path, OF_CONDITIONS, report)
