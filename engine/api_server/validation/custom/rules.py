"""What the rules of a schema (`x-kubernetes-validations`) have to be.

Types are not checked but for the fields that a rule names: what is of a wrong type fails for an
object. Upstream: pkg/apis/apiextensions/validation/validation.go,
ValidateCustomResourceDefinitionOpenAPISchema(), and pkg/apiserver/schema/cel/compilation.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.validation.report import invalid_value, unsupported
from engine.objects.cel.programs import CelError, Program, compiled, place_of, placed
from engine.objects.custom.expressions import name_fault, type_of, with_root_fields
from engine.objects.custom.field_paths import written_path
from engine.objects.documents import Path, show_path
from engine.objects.manifest_parts import items, section

Schema = Mapping[str, Any]
Fault = tuple[Path, str]

RULES: Final = "x-kubernetes-validations"
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_LINES: Final = re.compile(r"[\n\r]")
_VARIABLES: Final = frozenset(("self", "oldSelf"))


def form_faults(schema: Schema, path: Path) -> Iterator[Fault]:
    """What is wrong with the fields of the rules of one schema."""
    for place, rule in enumerate(items(schema, RULES)):
        where = (*path, RULES, place)
        text, message = (str(rule.get(name) or "") for name in ("rule", "message"))
        if not text.strip():
            yield (*where, "rule"), "Required value: rule is not specified"
        elif message and not message.strip():
            yield (*where, "message"), invalid_value(message, "must be non-empty if specified")
        elif _LINES.search(message.strip()):
            yield (*where, "message"), invalid_value(message, "must not contain line breaks")
        elif _LINES.search(text.strip()) and not message.strip():
            why = "Required value: message must be specified if rule contains line breaks"
            yield (*where, "message"), why
        yield from _other_fields(rule, schema, where)


def _other_fields(rule: Mapping[str, Any], schema: Schema, where: Path) -> Iterator[Fault]:
    expression, reason = str(rule.get("messageExpression") or ""), rule.get("reason")
    if expression and not expression.strip():
        why = "Required value: messageExpression must be non-empty if specified"
        yield (*where, "messageExpression"), why
    if reason is not None and reason not in _REASONS:
        yield (*where, "reason"), unsupported(reason, _REASONS)
    below = str(rule.get("fieldPath") or "")
    if below and not below.strip():
        yield (*where, "fieldPath"), invalid_value(below, "must be non-empty if specified")
    if _LINES.search(below):
        yield (*where, "fieldPath"), invalid_value(below, "must not contain line breaks")
    if below and written_path(below, schema) is None:
        yield (*where, "fieldPath"), invalid_value(below, "must be a valid path")


def expression_faults(schema: Schema, path: Path) -> Iterator[Fault]:
    """What of the rules of a whole schema does not compile."""
    yield from _of_schema(with_root_fields(schema), path, None)


def lacking_functions(schema: Schema, path: Path) -> Iterator[tuple[Path, list[str]]]:
    """Where a schema has a rule that is never evaluated, and the functions that it would need."""
    for place, rule in enumerate(items(schema, RULES)):
        try:
            lacking = compiled(str(rule.get("rule") or "")).lacking
        except CelError:
            continue
        if lacking:
            yield (*path, RULES, place), lacking
    for name, inner in section(schema, "properties").items():
        yield from lacking_functions(inner, (*path, "properties", name))
    for name in ("additionalProperties", "items"):
        if isinstance(schema.get(name), dict):
            yield from lacking_functions(schema[name], (*path, name))


def _of_schema(schema: Schema, path: Path, no_old: Path | None) -> Iterator[Fault]:
    """*no_old* is the place of the list or map whose parts have no older form that is known."""
    for place, rule in enumerate(items(schema, RULES)):
        yield from _of_rule(rule, schema, (*path, RULES, place), no_old)
    is_atomic = schema.get("x-kubernetes-map-type") not in (None, "granular", "atomic")
    for name, inner in section(schema, "properties").items():
        where = (*path, "properties", name)
        yield from _of_schema(inner, where, no_old or (path if is_atomic else None))
    others, inner = schema.get("additionalProperties"), schema.get("items")
    if isinstance(others, dict):
        yield from _of_schema(cast("Schema", others), (*path, "additionalProperties"), no_old)
    if isinstance(inner, dict):
        is_map = schema.get("x-kubernetes-list-type") == "map"
        where = (*path, "items")
        yield from _of_schema(cast("Schema", inner), where, no_old or (None if is_map else path))


def _of_rule(
    rule: Mapping[str, Any], schema: Schema, where: Path, no_old: Path | None
) -> Iterator[Fault]:
    text, expression = (str(rule.get(name) or "") for name in ("rule", "messageExpression"))
    fault = _fault(text, schema, rule, "boolean")
    if fault is not None:
        yield (*where, "rule"), _invalid(rule, fault)
        return
    if expression and (fault := _fault(expression, schema, rule, "string")):
        yield (*where, "messageExpression"), _invalid(rule, f"messageExpression {fault}")
    uses_old = "oldSelf" in compiled(text).variables
    if uses_old and no_old is not None:
        why = "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        yield (*where, "rule"), invalid_value(text, f"{why}{show_path(no_old)}")
    elif not uses_old and rule.get("optionalOldSelf") is not None:
        why = "may not be set if oldSelf is not used in rule"
        yield (*where, "optionalOldSelf"), invalid_value(rule["optionalOldSelf"], why)


def _fault(text: str, schema: Schema, rule: Mapping[str, Any], wanted: str) -> str | None:
    """Why an expression is no rule or message. Upstream: compileRule()."""
    try:
        program = compiled(text)
    except CelError as error:
        return f"compilation failed: {error}"
    fault = _undeclared(program) or name_fault(text, schema, _typed(rule))
    if fault is not None:
        return f"compilation failed: {fault}"
    kind = type_of(text, schema)
    if kind is None or kind == wanted or (kind == "number" and wanted == "string"):
        return None
    is_rule = wanted == "boolean"
    return "cel expression must evaluate to a bool" if is_rule else "must evaluate to a string"


def _undeclared(program: Program) -> str | None:
    name = program.unknown_name(_VARIABLES)
    if name is None:
        return None
    why = f"undeclared reference to '{name}' (in container '')"
    return placed(program.text, place_of(program.text, name), why)


def _typed(rule: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables of the schema's type: `oldSelf` may be one that is optional."""
    return ("self",) if rule.get("optionalOldSelf") else ("self", "oldSelf")


def _invalid(rule: Mapping[str, Any], why: str) -> str:
    """Upstream: field.Invalid() of a ValidationRule, whose fields have their names of Go."""
    names = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    empty = {"reason": None, "optionalOldSelf": None}
    shown = {name[0].upper() + name[1:]: rule.get(name, empty.get(name, "")) for name in names}
    text = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f"Invalid value: {text}: {why}"
