"""What the rules by which policies and webhooks match a write have to be.

Upstream: validateRuleWithOperations(), validateMatchResources(), validateMatchConditions().
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.api_server.validation.policies.expressions import expression_fault
from engine.api_server.validation.report import Report, invalid_value, unsupported
from engine.api_server.validation.rules import label_selector
from engine.objects.documents import Path
from engine.objects.manifest_parts import items, section

Manifest = Mapping[str, Any]

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS: Final = 64
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
}


def check_supported(value: Manifest, path: Path, report: Report, **choices: Iterable[str]) -> None:
    """Report fields that have another value than one of theirs; usual ones without *choices*."""
    for name, known in (choices or _CHOICES).items():
        found = value.get(name)
        if found is not None and found not in known:
            answer = unsupported(found, known)
            report.add((*path, name), found, answer, answer)


def check_rules(rules: Iterable[Manifest], path: Path, report: Report) -> None:
    """Report what is wrong with the rules of resources and operations."""
    for place, rule in enumerate(rules):
        where = (*path, place)
        for name in ("operations", "apiGroups", "apiVersions", "resources"):
            found: list[Any] = list(rule.get(name) or ())
            if not found:
                report.add((*where, name), None, "is missing", "Required value")
            elif "*" in found and len(found) > 1 and name != "resources":
                what = {"apiGroups": "API groups", "apiVersions": "API versions"}.get(name, name)
                why = f"if '*' is present, must not specify other {what}"
                report.add((*where, name), found, why, invalid_value(found, why))
        for index, operation in enumerate(rule.get("operations") or ()):
            if operation not in _OPERATIONS:
                answer = unsupported(operation, _OPERATIONS)
                report.add((*where, "operations", index), operation, answer, answer)
        check_supported(rule, where, report, scope=_SCOPES)


def check_match(match: Manifest, path: Path, report: Report) -> None:
    """Report what is wrong with the match of a policy or a binding."""
    check_supported(match, path, report, matchPolicy=_CHOICES["matchPolicy"])
    for name in ("namespaceSelector", "objectSelector"):
        label_selector(section(match, name), (*path, name), report)
    for name in ("resourceRules", "excludeResourceRules"):
        check_rules(items(match, name), (*path, name), report)


def check_conditions(
    value: Manifest, path: Path, variables: frozenset[str], report: Report
) -> None:
    """Report what is wrong with the match conditions of a webhook or a policy."""
    conditions, names = items(value, "matchConditions"), set[str]()
    if len(conditions) > _MOST_CONDITIONS:
        why = f"must have at most {_MOST_CONDITIONS} items"
        answer = f"Too many: {len(conditions)}: {why}"
        report.add((*path, "matchConditions"), None, why, answer)
    for place, condition in enumerate(conditions):
        where = (*path, "matchConditions", place)
        check_expression(condition, "expression", where, variables, report)
        name = str(condition.get("name") or "")
        if not name:
            report.add((*where, "name"), None, "is missing", "Required value")
        elif name in names:
            report.add((*where, "name"), name, "is there twice", f'Duplicate value: "{name}"')
        names.add(name)


def check_expression(
    value: Manifest, name: str, path: Path, variables: frozenset[str], report: Report, why: str = ""
) -> None:
    """Report what is wrong with the expression at *name*; *why* is said where there is none."""
    text = str(value.get(name) or "")
    if not text.strip():
        answer = f"Required value: {why}" if why else "Required value"
        report.add((*path, name), None, "is missing", answer)
        return
    fault = expression_fault(text.strip(), variables)
    if fault is not None:
        report.add((*path, name), text, fault, invalid_value(text, fault))
