"""What admission policies and their bindings have to be.

Upstream: validateValidatingAdmissionPolicySpec(), validateMutatingAdmissionPolicySpec(),
validateValidatingAdmissionPolicyBindingSpec().
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from engine.api_server.validation.policies.expressions import OF_POLICIES
from engine.api_server.validation.policies.matching import (
    check_conditions,
    check_expression,
    check_match,
    check_supported,
)
from engine.api_server.validation.report import Report, invalid_value, unsupported
from engine.api_server.validation.rules import label_selector, subdomain_problems
from engine.objects.cel.object_literals import with_plain_objects
from engine.objects.documents import Path
from engine.objects.manifest_parts import items, section
from engine.objects.values.cel_text import ExpressionError

Manifest = Mapping[str, Any]

_ACTIONS: Final = ("Audit", "Deny", "Warn")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge", "Unauthorized")
_NOT_FOUND: Final = ("Allow", "Deny")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*", re.ASCII)
_SPEC: Final[Path] = ("spec",)
# Of a policy without parameters an expression cannot name any.
_WITHOUT_PARAMETERS: Final = OF_POLICIES - {"params"}


def validating_policy(value: Any, path: Path, report: Report) -> None:
    """Report what is wrong with a ValidatingAdmissionPolicy whose fields are of the right types."""
    spec = section(value, "spec")
    variables = _check_policy(spec, report)
    validations, annotations = items(spec, "validations"), items(spec, "auditAnnotations")
    if not validations and not annotations:
        why = "Required value: validations or auditAnnotations must contain at least one item"
        for name in ("validations", "auditAnnotations"):
            report.add((*_SPEC, name), None, "is missing", why)
    for place, one in enumerate(validations):
        _check_validation(one, (*_SPEC, "validations", place), variables, report)
    for place, one in enumerate(annotations):
        where = (*_SPEC, "auditAnnotations", place)
        if not one.get("key"):
            report.add((*where, "key"), None, "is missing", "Required value")
        why = "valueExpression is not specified"
        check_expression(one, "valueExpression", where, variables, report, why)


def mutating_policy(value: Any, path: Path, report: Report) -> None:
    """Report what is wrong with a MutatingAdmissionPolicy whose fields are of the right types."""
    spec = section(value, "spec")
    variables = _check_policy(spec, report)
    check_supported(spec, _SPEC, report, reinvocationPolicy=("IfNeeded", "Never"))
    if not spec.get("reinvocationPolicy"):
        report.add((*_SPEC, "reinvocationPolicy"), None, "is missing", "Required value")
    if not items(spec, "mutations"):
        why = "Required value: mutations must contain at least one item"
        report.add((*_SPEC, "mutations"), None, "is missing", why)
    for place, one in enumerate(items(spec, "mutations")):
        where = (*_SPEC, "mutations", place)
        kinds = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
        if one.get("patchType") not in kinds:
            answer = unsupported(one.get("patchType"), kinds)
            report.add((*where, "patchType"), one.get("patchType"), answer, answer)
            continue
        name = kinds[str(one["patchType"])]
        text = str(section(one, name).get("expression") or "")
        try:
            plain = {"expression": with_plain_objects(text)}
        except ExpressionError as error:
            report.add((*where, name, "expression"), text, str(error))
            continue
        why = "expression is not specified"
        check_expression(plain, "expression", (*where, name), variables, report, why)


def policy_binding(value: Any, path: Path, report: Report) -> None:
    """Report what is wrong with a binding of either kind of policy."""
    spec = section(value, "spec")
    name = str(spec.get("policyName") or "")
    if not name:
        report.add((*_SPEC, "policyName"), None, "is missing", "Required value")
    elif problems := subdomain_problems(name):
        report.add((*_SPEC, "policyName"), name, problems[0], invalid_value(name, problems[0]))
    _check_reference(spec, report)
    check_match(section(spec, "matchResources"), (*_SPEC, "matchResources"), report)
    if str(value.get("kind")).startswith("Validating"):
        _check_actions(list(spec.get("validationActions") or ()), report)


def _check_policy(spec: Manifest, report: Report) -> frozenset[str]:
    """Report what is wrong with what both kinds have; returns what their expressions may name."""
    check_supported(spec, _SPEC, report)
    match = section(spec, "matchConstraints")
    if not spec.get("matchConstraints"):
        report.add((*_SPEC, "matchConstraints"), None, "is missing", "Required value")
    elif not items(match, "resourceRules"):
        where = (*_SPEC, "matchConstraints", "resourceRules")
        report.add(where, None, "is missing", "Required value")
    check_match(match, (*_SPEC, "matchConstraints"), report)
    parameters = section(spec, "paramKind")
    for name in ("apiVersion", "kind") if spec.get("paramKind") is not None else ():
        if not parameters.get(name):
            report.add((*_SPEC, "paramKind", name), None, "is missing", "Required value")
    variables = OF_POLICIES if parameters else _WITHOUT_PARAMETERS
    check_conditions(spec, _SPEC, variables - {"variables"}, report)
    for place, one in enumerate(items(spec, "variables")):
        where = (*_SPEC, "variables", place)
        name = str(one.get("name") or "")
        if not name:
            why = "Required value: name is not specified"
            report.add((*where, "name"), None, "is missing", why)
        elif not _IDENTIFIER.fullmatch(name):
            why = "must be a valid CEL identifier"
            report.add((*where, "name"), name, why, invalid_value(name, why))
        why = "expression is not specified"
        check_expression(one, "expression", where, variables, report, why)
    return variables


def _check_validation(one: Manifest, path: Path, variables: frozenset[str], report: Report) -> None:
    """Upstream: validateValidation()."""
    why = "expression is not specified"
    check_expression(one, "expression", path, variables, report, why)
    message, expression = (str(one.get(name) or "") for name in ("message", "messageExpression"))
    if expression and not expression.strip():
        why = "must be non-empty if specified"
        report.add((*path, "messageExpression"), expression, why, invalid_value(expression, why))
    elif expression:
        check_expression(one, "messageExpression", path, variables, report)
    if message and not message.strip():
        why = "must be non-empty if specified"
        report.add((*path, "message"), message, why, invalid_value(message, why))
    elif "\n" in message.strip():
        why = "must not contain line breaks"
        report.add((*path, "message"), message, why, invalid_value(message, why))
    elif "\n" in str(one.get("expression") or "").strip() and not message:
        why = "Required value: message must be specified if expression contains line breaks"
        report.add((*path, "message"), None, "is missing", why)
    if one.get("reason") is not None and one["reason"] not in _REASONS:
        answer = unsupported(one["reason"], _REASONS)
        report.add((*path, "reason"), one["reason"], answer, answer)


def _check_actions(actions: list[Any], report: Report) -> None:
    """Upstream: validateValidationActions()."""
    path: Path = (*_SPEC, "validationActions")
    for place, action in enumerate(actions):
        if action not in _ACTIONS:
            answer = unsupported(action, _ACTIONS)
            report.add((*path, place), action, answer, answer)
        if action in actions[:place]:
            report.add((*path, place), action, "is there twice", f'Duplicate value: "{action}"')
    if "Deny" in actions and "Warn" in actions:
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure "
            "information in the API response and headers serves no purpose)"
        )
        report.add(path, actions, why, invalid_value(actions, why))
    if not actions:
        why = "Required value: at least one validation action is required"
        report.add(path, None, "is missing", why)


def _check_reference(spec: Manifest, report: Report) -> None:
    """Upstream: validateParamRef()."""
    reference, path = section(spec, "paramRef"), (*_SPEC, "paramRef")
    if spec.get("paramRef") is None:
        return
    label_selector(section(reference, "selector"), (*path, "selector"), report)
    if reference.get("name") and reference.get("selector") is not None:
        answer = "Forbidden: name and selector are mutually exclusive"
        for name in ("name", "selector"):
            report.add((*path, name), reference[name], answer, answer)
    elif not reference.get("name") and reference.get("selector") is None:
        why = "Required value: one of name or selector must be specified"
        report.add(path, None, "is missing", why)
    if not reference.get("parameterNotFoundAction"):
        report.add((*path, "parameterNotFoundAction"), None, "is missing", "Required value")
    check_supported(reference, path, report, parameterNotFoundAction=_NOT_FOUND)
