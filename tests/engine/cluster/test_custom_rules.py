"""Rules of a CustomResourceDefinition: refused where they do not compile, and applied to objects.

Upstream: apiextensions-apiserver pkg/apiserver/schema/cel/validation_test.go.
"""

from collections.abc import Sequence
from time import process_time
from typing import Any

import pytest

from engine.api_server.custom.kinds import formed
from engine.api_server.validation.custom.definitions import custom_definition, not_done
from engine.api_server.validation.report import Report
from engine.cluster.cluster import Cluster
from engine.objects.custom.definition import CustomDefinition
from engine.objects.objects import Manifest
from tests.builders import node, scene
from tests.engine.cluster.test_custom_kinds import definition, told, widget

NUMBER: Manifest = {"type": "integer"}
TEXT: Manifest = {"type": "string"}
OBJECTS: Manifest = {
    "type": "array",
    "items": {"type": "object", "properties": {"key": TEXT, "n": NUMBER}},
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["key"],
}
SPEC = "spec.versions[0].schema.openAPIV3Schema.properties.spec"


def ruled(*rules: Any, root: Sequence[str] = (), **properties: Any) -> Manifest:
    """A definition with rules of its spec, and others of the whole object."""
    schema: Manifest = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"min": NUMBER, "max": NUMBER, "name": TEXT, **properties},
                "x-kubernetes-validations": [
                    {"rule": one} if isinstance(one, str) else one for one in rules
                ],
            }
        },
        "x-kubernetes-validations": [{"rule": one} for one in root],
    }
    made = definition()
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = schema
    return made


def faults(made: Manifest) -> list[str]:
    report = Report()
    custom_definition(made, (), report)
    return report.answers()


def errors(made: Manifest, spec: Manifest, old: Manifest | None = None) -> list[str]:
    assert faults(made) == []
    given = {**widget(), "spec": spec}
    before = None if old is None else {**widget(), "spec": old}
    return formed(CustomDefinition(made), given, before)[1]


def test_object_against_a_rule_is_refused() -> None:
    made = ruled(
        "self.min <= self.max",
        {"rule": "has(self.name)", "messageExpression": "'no name for %d'.format([self.min])"},
        {"rule": "self.min > 0", "message": " too small ", "fieldPath": ".min"},
        {"rule": "self.max < 9", "reason": "FieldValueForbidden"},
        root=["self.metadata.name.startsWith('o')", "self.kind != 'Widget'"],
    )
    assert errors(made, {"min": 1, "max": 3, "name": "a"}) == [
        "<nil>: Invalid value: failed rule: self.kind != 'Widget'"
    ]
    assert errors(made, {"min": -1, "max": -2})[1:] == [
        "spec: Invalid value: failed rule: self.min <= self.max",
        "spec: Invalid value: no name for -1",
        "spec.min: Invalid value: too small",
    ]
    assert errors(made, {"min": 1, "max": 9, "name": "a"})[1:] == [
        "spec: Forbidden: failed rule: self.max < 9"
    ]


def test_rule_that_cannot_be_evaluated_refuses() -> None:
    port = {"x-kubernetes-int-or-string": True}
    made = ruled("self.max > 1", "self.port > 80", port=port)
    assert errors(made, {"port": "http"}) == [
        'spec: Invalid value: "object": no such key: max evaluating rule: self.max > 1',
        "spec: Invalid value: \"object\": 'no such overload': call arguments did not match a "
        "supported operator, function or macro signature for rule: self.port > 80",
    ]


def test_wrong_type_leaves_rules_unchecked() -> None:
    last = errors(ruled("self.min > 1"), {"min": "one"})[-1]
    assert last == (
        '<nil>: Invalid value: "null": some validation rules were not checked because the object '
        "was invalid; correct the existing errors to complete validation"
    )


def test_transition_rule_looks_at_the_old_object() -> None:
    made = ruled({"rule": "self.min == oldSelf.min", "message": "min is immutable"})
    assert errors(made, {"min": 1}) == []
    assert errors(made, {"min": 1}, {"min": 1}) == []
    assert errors(made, {"min": 1}, {"min": 2}) == ["spec: Invalid value: min is immutable"]


def test_items_of_a_map_have_their_older_form() -> None:
    rule = {"rule": "self.n >= oldSelf.n", "message": "never less"}
    items = {**OBJECTS["items"], "x-kubernetes-validations": [rule]}
    made = ruled(parts={**OBJECTS, "items": items})
    before = {"parts": [{"key": "b", "n": 5}, {"key": "a", "n": 1}]}
    after = {"parts": [{"key": "a", "n": 1}, {"key": "b", "n": 4}, {"key": "c", "n": 0}]}
    assert errors(made, after, before) == ["spec.parts[1]: Invalid value: never less"]
    plain = ruled(parts={"type": "array", "items": items})
    (fault,) = faults(plain)
    assert fault.endswith(
        f"oldSelf cannot be used on the uncorrelatable portion of the schema within {SPEC}.properties.parts"
    )


def test_optional_old_self_is_there_at_creation() -> None:
    rule = {"rule": "oldSelf.hasValue() || self.min == 1", "optionalOldSelf": True}
    made = ruled(rule)
    assert errors(made, {"min": 1}) == []
    assert errors(made, {"min": 2}, {"min": 5}) == []
    assert len(errors(made, {"min": 2})) == 1
    (fault,) = faults(ruled({"rule": "self.min > 1", "optionalOldSelf": True}))
    assert fault.endswith("true: may not be set if oldSelf is not used in rule")


def test_unchanged_value_may_break_a_newer_rule() -> None:
    made = ruled(low={**NUMBER, "x-kubernetes-validations": [{"rule": "self > 3"}]})
    assert errors(made, {"low": 1, "max": 1}, {"low": 1, "max": 2}) == []
    assert errors(made, {"low": 1}, {"low": 2}) == [
        "spec.low: Invalid value: 1: failed rule: self > 3"
    ]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("self.mn <= 3", "ERROR: <input>:1:5: undefined field 'mn'\n | self.mn <= 3\n | ....^"),
        ("has(self.metadata.labels)", "undefined field 'metadata'"),
        ("self.name.x == 1", "type 'string' does not support field selection"),
        ("self.parts.all(p, p.nn > 1)", "ERROR: <input>:1:20: undefined field 'nn'"),
        ("other == 1", "ERROR: <input>:1:1: undeclared reference to 'other' (in container '')"),
        ("self.fakeFunction('a')", "undeclared reference to 'fakeFunction' (in container '')"),
        ("self.min <", "ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>'"),
        ("self.min", "cel expression must evaluate to a bool"),
        ("self.min + self.max", "cel expression must evaluate to a bool"),
    ],
)
def test_rule_that_does_not_compile_is_refused(rule: str, said: str) -> None:
    (fault,) = faults(ruled(rule, parts=OBJECTS))
    shown = rule.replace("<", "\\u003c").replace(">", "\\u003e")
    assert fault.startswith(f"{SPEC}.x-kubernetes-validations[0].rule: Invalid value: ")
    assert f'{{"Rule":"{shown}","Message":"","MessageExpression":"","Reason":null' in fault
    assert said in fault


def test_fields_of_a_rule_are_checked() -> None:
    wrong = {"rule": "self.min > 1", "reason": "Other", "fieldPath": ".other"}
    found = faults(ruled(wrong, {"rule": " "}, {"rule": "self.min\n> 1"}))
    assert [fault.partition("]")[2].partition("]")[2] for fault in found] == [
        '.reason: Unsupported value: "Other": supported values: "FieldValueDuplicate", '
        '"FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        '.fieldPath: Invalid value: ".other": must be a valid path',
        ".rule: Required value: rule is not specified",
        ".message: Required value: message must be specified if rule contains line breaks",
    ]
    (fault,) = faults(ruled({"rule": "self.min > 1", "messageExpression": "self.nam"}))
    assert "messageExpression compilation failed: ERROR: <input>:1:5: undefined field" in fault


def test_no_rule_runs_for_long() -> None:
    rule = "self.parts.all(a, self.parts.all(b, self.parts.all(c, a.n + b.n >= c.n)))"
    made = ruled(rule, parts=OBJECTS)
    few, many = ([{"key": f"k{n}", "n": 1} for n in range(count)] for count in (10, 500))
    assert errors(made, {"parts": few}) == []
    begin = process_time()
    (error,) = errors(made, {"parts": many})
    assert process_time() - begin < 1
    assert "'operation cancelled: actual cost limit exceeded'" in error
    twice = "self.parts.all(a, self.parts.exists_one(b, a.key == b.key))"
    (error,) = errors(ruled(*[twice] * 40, parts=OBJECTS), {"parts": many[:150]})
    assert error.endswith("running out of cost budget, no further validation rules will be run")


def test_values_have_the_types_of_their_schema() -> None:
    made = ruled(
        "self.share / 2.0 == 1.0",
        "self.raw == b'AB'",
        "self.wait > duration('1h')",
        "self.at.getFullYear() == 2026",
        "self.__namespace__ == 'a' && self.with__dash__sign == 1",
        "self.?none.?there.orValue(3) == 3 && self.map[?'k'].orValue('x') == 'v'",
        "!('unknown' in self.map) && self.map.all(k, self.map[k] == 'v')",
        share={"type": "number"},
        raw={"type": "string", "format": "byte"},
        wait={"type": "string", "format": "duration"},
        at={"type": "string", "format": "date-time"},
        namespace=TEXT,
        none={"type": "object", "properties": {"there": NUMBER}},
        map={"type": "object", "additionalProperties": TEXT},
        **{"with-sign": NUMBER},
    )
    spec = {"share": 2, "raw": "QUI=", "wait": "1h1s", "at": "2026-01-01T00:00:00Z"}
    spec |= {"namespace": "a", "with-sign": 1, "map": {"k": "v"}}
    assert errors(made, spec) == []


def test_rules_hold_for_writes_of_a_run() -> None:
    cluster = Cluster.create(scene(node("n"), ruled("self.min <= oldSelf.min", "self.min < 9")))
    assert "failed rule: self.min < 9" in told(
        cluster, verb="create", manifest={**widget(), "spec": {"min": 9}}
    )
    created = {**widget(), "spec": {"min": 3}}
    assert told(cluster, verb="create", manifest=created) == ""
    name = "widget.example.com/default/one"
    assert "failed rule: self.min <= oldSelf.min" in told(
        cluster, verb="patch", object=name, patch={"spec": {"min": 4}}
    )
    assert told(cluster, verb="patch", object=name, patch={"spec": {"min": 2}}) == ""


def test_author_is_told_what_is_not_done() -> None:
    made = ruled("self.name.find('[0-9]+') == '1'")
    made["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://a.b"}, "conversionReviewVersions": ["v1"]},
    }
    assert errors(made, {"name": "a"}) == []
    webhook, rule = not_done(made)
    assert webhook.startswith("spec.conversion.strategy: kscope calls no webhook")
    assert rule.endswith("kscope never evaluates this rule: it has no find")
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}
    assert [fault.partition(":")[0] for fault in faults(made)] == [
        "spec.conversion.webhook.clientConfig",
        "spec.conversion.webhook.conversionReviewVersions",
    ]
