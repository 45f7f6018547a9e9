"""The rules of a schema, `x-kubernetes-validations`, for an object and the one that it replaces.

Upstream: apiextensions-apiserver pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, cast

from engine.api_server.validation.custom.rules import RULES
from engine.objects.cel.programs import (
    MOST_STEPS_OF_CALL,
    MOST_STEPS_OF_OBJECT,
    OUT_OF_BUDGET,
    CelError,
    Program,
    compiled,
    message_of,
)
from engine.objects.custom.definition import CustomVersion
from engine.objects.custom.expressions import most_elements_of, shown_value, with_root_fields
from engine.objects.custom.field_paths import written_path
from engine.objects.manifest_parts import section

Schema = Mapping[str, Any]
Rule = Mapping[str, Any]

_NOT_CHECKED: Final = (
    '<nil>: Invalid value: "null": some validation rules were not checked because the object was '
    "invalid; correct the existing errors to complete validation"
)
_BLOCKING: Final = ("Required value", "Unsupported value", "Too long", "Too many")


def rule_errors(
    version: CustomVersion, new: Mapping[str, Any], old: Mapping[str, Any] | None, errors: list[str]
) -> list[str]:
    """What the rules say of an object, each as "field: message"; *errors* are those of its schema."""
    node = _rules_of(version)
    if node is None:
        return []
    if any(_blocks(error) for error in errors):
        return [_NOT_CHECKED]
    check = _Check()
    check.look(node, "", new, old, is_same=old is not None and old == new)
    return check.errors


def _blocks(error: str) -> bool:
    said = error.partition(": ")[2]
    return said.startswith(_BLOCKING) or "in body must be of type" in said


@dataclass(frozen=True, slots=True)
class _Node:
    """A schema with its rules, and what below it has rules."""

    schema: Schema
    rules: tuple[Rule, ...] = ()
    items: _Node | None = None
    others: _Node | None = None
    properties: Mapping[str, _Node] = field(default_factory=dict[str, "_Node"])
    all_of: tuple[_Node, ...] = ()


@lru_cache(maxsize=256)
def _rules_of(version: CustomVersion) -> _Node | None:
    return _node(version.schema, with_root_fields(version.schema)) if version.schema else None


def _node(rules: Schema, schema: Schema) -> _Node | None:
    """The rules of *rules*, which is *schema* itself or a part of its allOf."""
    properties: dict[str, _Node] = {}
    known = section(schema, "properties")
    for name, inner in section(rules, "properties").items():
        below: Any = known.get(name)
        if isinstance(below, dict) and (found := _node(inner, cast("Schema", below))):
            properties[name] = found
    items, others = (_below(rules, schema, name) for name in ("items", "additionalProperties"))
    all_of = tuple(found for one in rules.get("allOf") or () if (found := _node(one, schema)))
    own = tuple(cast("list[Rule]", rules.get(RULES) or ()))
    if not (own or items or others or properties or all_of):
        return None
    return _Node(schema, own, items, others, properties, all_of)


def _below(rules: Schema, schema: Schema, name: str) -> _Node | None:
    inner, below = rules.get(name), schema.get(name)
    if not isinstance(inner, dict) or not isinstance(below, dict):
        return None
    return _node(cast("Schema", inner), cast("Schema", below))


class _Check:
    """Goes through an object, as long as steps are left."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._left = MOST_STEPS_OF_OBJECT

    def look(self, node: _Node, path: str, new: Any, old: Any, *, is_same: bool) -> None:
        """Apply the rules of *node* and below; *old* is None where nothing stands for *new*."""
        if new is None or self._left < 0:
            return
        is_same = is_same or (old is not None and old == new)
        if node.rules:
            self._apply(node, path, new, old, is_same=is_same)
        for inner in node.all_of:
            self.look(inner, path, new, old, is_same=is_same)
        if isinstance(new, list):
            self._look_at_items(node, path, cast("list[Any]", new), old, is_same=is_same)
        elif isinstance(new, dict):
            before: dict[str, Any] = cast("dict[str, Any]", old) if isinstance(old, dict) else {}
            for name, part in cast("dict[str, Any]", new).items():
                inner, where = node.properties.get(name), f"{path}.{name}" if path else name
                if inner is None and node.others is not None:
                    inner, where = node.others, f"{path}[{name}]"
                if inner is not None:
                    self.look(inner, where, part, before.get(name), is_same=is_same)

    def _look_at_items(
        self, node: _Node, path: str, new: list[Any], old: Any, *, is_same: bool
    ) -> None:
        if node.items is None:
            return
        before = _by_keys(node.schema, old)
        for place, item in enumerate(new):
            key = _key(node.schema, item)
            was = before.get(key) if key is not None else None
            self.look(node.items, f"{path}[{place}]", item, was, is_same=is_same)

    def _apply(self, node: _Node, path: str, new: Any, old: Any, *, is_same: bool) -> None:
        kind = str(node.schema.get("type") or "")
        values = _Values(node.schema, new, old)
        for rule in node.rules:
            if self._left < 0:
                return
            text = str(rule.get("rule") or "")
            if not text.strip():
                continue
            said = _said(rule)
            try:
                program = compiled(text)
            except CelError as error:
                self._add(path, kind, f"rule compile error: compilation failed: {error}")
                continue
            if program.lacking:
                # Whoever stored the definition was told so.
                continue
            uses_old = "oldSelf" in program.variables
            if uses_old and old is None and not rule.get("optionalOldSelf"):
                continue
            try:
                if not self._may_run(program, values, path, kind, said):
                    return
                answer = program.evaluated(values.variables(rule))
            except CelError as error:
                self._add(path, kind, _failure(str(error), said))
                continue
            if answer is not True and (uses_old or not is_same):
                self._refuse(rule, node, path, new, values)

    def _may_run(self, program: Program, values: _Values, path: str, kind: str, said: str) -> bool:
        steps = program.steps(values.elements)
        if steps > MOST_STEPS_OF_CALL:
            why = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: "
            self._add(path, kind, f"{why}{said}")
            self._left = -1
            return False
        self._left -= steps
        if self._left < 0:
            self._add(path, kind, OUT_OF_BUDGET)
        return self._left >= 0

    def _add(self, path: str, value: Any, why: str) -> None:
        self.errors.append(f"{path or '<nil>'}: Invalid value: {json.dumps(value)}: {why}")

    def _refuse(self, rule: Rule, node: _Node, path: str, new: Any, values: _Values) -> None:
        """Add what a rule says of what it refuses. Upstream: fieldErrorForReason()."""
        below = rule.get("fieldPath")
        if below:
            found = written_path(str(below), node.schema)
            path = f"{path}.{found}" if path and found else found or path
        detail = self._message(rule, values)
        is_scalar = node.schema.get("type") not in ("object", "array")
        shown = f": {json.dumps(new, ensure_ascii=False)}" if is_scalar else ""
        match rule.get("reason"):
            case "FieldValueForbidden":
                answer = f"Forbidden: {detail}"
            case "FieldValueRequired":
                answer = f"Required value: {detail}"
            case "FieldValueDuplicate":
                answer = f"Duplicate value{shown}"
            case _:
                answer = f"Invalid value{shown}: {detail}"
        self.errors.append(f"{path or '<nil>'}: {answer}")

    def _message(self, rule: Rule, values: _Values) -> str:
        """Upstream: evalMessageExpression(); one that fails leaves the message."""
        usual = f"failed rule: {_said(rule)}" if not rule.get("message") else _said(rule)
        expression = str(rule.get("messageExpression") or "")
        if not expression.strip():
            return usual
        try:
            program = compiled(expression)
            if program.lacking:
                return usual
            steps = program.steps(values.elements)
            if steps > min(MOST_STEPS_OF_CALL, self._left):
                self._left = -1
                return OUT_OF_BUDGET.replace("validation", "messageExpression evaluation", 1)
            self._left -= steps
            return message_of(program.evaluated(values.variables(rule)), usual)
        except CelError:
            return usual


class _Values:
    """The variables of the rules of one place in an object."""

    def __init__(self, schema: Schema, new: Any, old: Any) -> None:
        self._new = shown_value(schema, new)
        self._old = None if old is None else shown_value(schema, old)
        self.elements = max(most_elements_of(self._new), most_elements_of(self._old))

    def variables(self, rule: Rule) -> dict[str, Any]:
        """`self` and `oldSelf` as this rule sees them."""
        if not rule.get("optionalOldSelf"):
            return {"self": self._new, "oldSelf": self._old}
        from cel import OptionalValue

        old = self._old
        is_there = old is not None
        return {
            "self": self._new,
            "oldSelf": OptionalValue.of(old) if is_there else OptionalValue.none(),
        }


def _failure(error: str, said: str) -> str:
    if error.startswith("no such overload"):
        why = "call arguments did not match a supported operator, function or macro signature"
        return f"'{error}': {why} for rule: {said}"
    return f"{error} evaluating rule: {said}"


def _said(rule: Rule) -> str:
    """Upstream: ruleErrorString()."""
    return str(rule.get("message") or rule.get("rule") or "").strip()


def _by_keys(schema: Schema, old: Any) -> dict[str, Any]:
    """The items of a list that is a map, by their keys. Upstream: MakeMapList()."""
    found: dict[str, Any] = {}
    for item in cast("list[Any]", old) if isinstance(old, list) else ():
        key = _key(schema, item)
        if key is not None:
            found.setdefault(key, item)
    return found


def _key(schema: Schema, item: Any) -> str | None:
    keys: Any = schema.get("x-kubernetes-list-map-keys") or ()
    if schema.get("x-kubernetes-list-type") != "map" or not keys or not isinstance(item, dict):
        return None
    mapping = cast("dict[str, Any]", item)
    return json.dumps([mapping.get(key) for key in keys])
