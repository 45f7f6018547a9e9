"""Label and field selectors. Upstream: labels/selector_test.go, fields/selector_test.go."""

from typing import Any

import pytest

from kube.resources import found
from kube.selecting import Selection, fields_selected, labels_selected
from kube.status import ApiError
from tests.kube.served import of_kind


def _selects(text: str, **labels: str) -> bool:
    return all(one.matches(labels) for one in labels_selected(text))


def _refusal(text: str) -> str:
    with pytest.raises(ApiError) as refused:
        labels_selected(text)
    assert refused.value.code == 400
    return refused.value.message


def _field_refusal(kind: str, text: str) -> str:
    with pytest.raises(ApiError) as refused:
        fields_selected(text, of_kind(kind))
    return refused.value.message


def _matches(kind: str, fields: str, **manifest: Any) -> bool:
    one = {"metadata": {"name": "a", "namespace": "default"}, **manifest}
    return Selection.parse(of_kind(kind), "", fields).matches(one)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x=a,y=b,z=c",
        "x = a , y == b",
        "x!=b",
        "x",
        "!w",
        "x in (a,b)",
        "x in (a,,c)",
        "w notin (a)",
        "w notin ()",
        "x notin (in,notin)",
        "n > 1,n<3",
        "z,x=a",
    ],
)
def test_selector_matches_the_labels(text: str) -> None:
    assert _selects(text, x="a", y="b", z="c", n="2")


@pytest.mark.parametrize(
    "text", ["x=b", "x!=a", "w", "!x", "x in (b,c)", "x in ()", "x notin (a)", "n>2", "w=", "x>1"]
)
def test_selector_does_not_match_the_labels(text: str) -> None:
    assert not _selects(text, x="a", y="b", z="c", n="2")


def test_empty_value_is_selected_by_equals() -> None:
    assert _selects("x=,y", x="", y="b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=a||y=b", "unable to parse requirement: values[0][x]: Invalid value: "),
        ("x,", "found '', expected: identifier after ','"),
        ("x,,y", "found ',', expected: identifier after ','"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a==!", "unable to parse requirement: found '!', expected: identifier"),
        ("a/b/c", 'unable to parse requirement: <nil>: Invalid value: "a/b/c": a qualified name'),
        ("/b", 'unable to parse requirement: <nil>: Invalid value: "/b": prefix part must be non-'),
        (
            "n>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
            "the value must be an integer",
        ),
    ],
)
def test_unreadable_selector_is_refused_as_upstream(text: str, message: str) -> None:
    assert _refusal(text).startswith(message)


def test_pods_are_selected_by_their_fields() -> None:
    pod: dict[str, Any] = {"spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    assert _matches("Pod", "spec.nodeName=n1,status.phase!=Failed,metadata.name==a", **pod)
    assert _matches("Pod", "spec.hostNetwork=false,status.podIP=", **pod)
    assert _matches("Pod", "spec.host=n1", **pod)
    assert not _matches("Pod", "spec.nodeName=n2", **pod)


def test_fields_that_are_absent_have_their_zero() -> None:
    assert _matches("Node", "spec.unschedulable=false")
    assert _matches("ReplicaSet", "status.replicas=0")
    assert _matches("Job", "status.successful=2", status={"succeeded": 2})


def test_events_are_selected_by_their_object() -> None:
    event: dict[str, Any] = {
        "involvedObject": {"kind": "Pod", "name": "web"},
        "reportingComponent": "kubelet",
    }
    selector = "involvedObject.name=web,involvedObject.namespace=,source=kubelet"
    assert _matches("Event", selector, **event)
    newer = found("events.k8s.io", "v1", "events")
    assert newer is not None
    by_regarding = Selection.parse(newer, "", "regarding.name=web")
    assert by_regarding.matches({"metadata": {"name": "a"}, "regarding": {"name": "web"}})


def test_unknown_fields_are_refused_as_upstream() -> None:
    assert _field_refusal("Pod", "spec.x=1") == "field label not supported: spec.x"
    assert _field_refusal("Node", "metadata.namespace=a").startswith("field label not supported")
    assert _field_refusal("Job", "spec.x=1") == 'field label "spec.x" not supported for batchv1.Job'
    assert _field_refusal("Deployment", "spec.x=1") == (
        '"spec.x" is not a known field selector: only "metadata.name", "metadata.namespace"'
    )
    assert _field_refusal("Pod", "nonsense") == (
        "invalid selector: 'nonsense'; can't understand 'nonsense'"
    )


def test_values_of_fields_are_unescaped() -> None:
    [term] = fields_selected(r"metadata.name=a\,b\=c\\", of_kind("Pod"))
    assert term.wanted == "a,b=c\\"
    first, second = fields_selected(r"metadata.name=a\\,metadata.namespace=b", of_kind("Pod"))
    assert (first.wanted, second.wanted) == ("a\\", "b")
    assert "unescaped character" in _field_refusal("Pod", "metadata.name=a=b")
    assert "invalid escape sequence" in _field_refusal("Pod", r"metadata.name=a\b")


def test_selection_names_its_only_object() -> None:
    assert Selection.parse(of_kind("Pod"), "", "metadata.name=a").name == "a"
    assert Selection.parse(of_kind("Pod"), "", "metadata.name!=a").name == ""
    assert Selection.parse(of_kind("Pod"), "", "").is_all
