"""Selectors match as upstream's do, and what the API server would refuse is refused by path."""

import pickle
from typing import Any

import pytest

from engine.objects.selectors import LabelSelector, NodeSelector, SelectorError


def labels_match(operator: str, values: list[str], labels: dict[str, str]) -> bool:
    expression: dict[str, Any] = {"key": "a", "operator": operator, "values": values}
    return LabelSelector.parse({"matchExpressions": [expression]}).matches(labels)


def node_matches(term: dict[str, Any], labels: dict[str, str], name: str = "n1") -> bool:
    return NodeSelector.parse({"nodeSelectorTerms": [term]}).matches(labels, name)


def test_an_empty_selector_matches_everything_absent_none() -> None:
    assert LabelSelector.parse({}).matches({})
    assert not LabelSelector.parse(None).matches({})


@pytest.mark.parametrize(
    ("operator", "values", "on_x", "on_y", "on_nothing"),
    [
        ("In", ["x", "z"], True, False, False),
        ("NotIn", ["x", "z"], False, True, True),
        ("Exists", [], True, True, False),
        ("DoesNotExist", [], False, False, True),
    ],
)
def test_operators_on_present_and_missing_keys(
    operator: str, values: list[str], on_x: bool, on_y: bool, on_nothing: bool
) -> None:
    assert labels_match(operator, values, {"a": "x"}) is on_x
    assert labels_match(operator, values, {"a": "y"}) is on_y
    assert labels_match(operator, values, {"b": "x"}) is on_nothing


def test_labels_and_expressions_must_all_hold() -> None:
    selector = LabelSelector.parse(
        {"matchLabels": {"a": "x"}, "matchExpressions": [{"key": "b", "operator": "Exists"}]}
    )
    assert selector.matches({"a": "x", "b": ""})
    assert not selector.matches({"a": "x"})
    assert not selector.matches({"b": ""})


@pytest.mark.parametrize(
    ("operator", "label", "holds"),
    [
        ("Gt", "6", True),
        ("Gt", "5", False),
        ("Lt", "-7", True),
        ("Lt", "5", False),
        ("Gt", "many", False),
        ("Gt", "1_0", False),
        ("Gt", "9" * 30, False),
    ],
)
def test_numbers_are_compared_as_numbers(operator: str, label: str, holds: bool) -> None:
    term = {"matchExpressions": [{"key": "a", "operator": operator, "values": ["5"]}]}
    assert node_matches(term, {"a": label}) is holds


@pytest.mark.parametrize("bound", ["many", "", "1.5", "9" * 30])
def test_a_bound_that_is_no_number_holds_nowhere(bound: str) -> None:
    odd = {"matchExpressions": [{"key": "a", "operator": "Gt", "values": [bound]}]}
    assert not node_matches(odd, {"a": "6"})
    fine = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert NodeSelector.parse({"nodeSelectorTerms": [odd, fine]}).matches({"a": "6"}, "n")


def test_any_term_or_name_selects_a_node() -> None:
    by_name = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    by_label = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    assert node_matches(by_name, {})
    assert not node_matches(by_name, {}, "n2")
    both = NodeSelector.parse({"nodeSelectorTerms": [by_name, by_label]})
    assert both.matches({"a": ""}, "n2")
    assert not both.matches({}, "n2")


def test_a_nameless_node_matches_no_fields() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    label = {"key": "a", "operator": "Exists"}
    assert node_matches({"matchFields": [field]}, {}, "")
    both = {"matchFields": [field], "matchExpressions": [label]}
    assert node_matches(both, {"a": ""}, "")
    assert not node_matches(both, {}, "")


def test_a_node_term_without_requirements_matches_nothing() -> None:
    assert not node_matches({}, {})
    assert not NodeSelector.parse(None).matches({}, "n1")


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ({"key": "a", "operator": "Inn"}, "operator"),
        ({"key": "a", "operator": "Gt", "values": ["1"]}, "operator"),
        ({"key": "a", "operator": "In", "values": []}, "values"),
        ({"key": "a", "operator": "Exists", "values": ["x"]}, "values"),
        ({"key": "a", "operator": "In", "values": [1]}, "values[0]"),
        ({"key": "a", "operator": "In", "values": "x"}, "values"),
        ({"key": "-a", "operator": "Exists"}, "key"),
        ({"key": "A.b/c", "operator": "Exists"}, "key"),
        ({"key": "x" * 64, "operator": "Exists"}, "key"),
        ({"operator": "Exists"}, "key"),
    ],
)
def test_invalid_selectors_are_reported_with_their_path(
    expression: dict[str, Any], path: str
) -> None:
    fine = {"key": "a", "operator": "Exists"}
    with pytest.raises(SelectorError) as raised:
        LabelSelector.parse({"matchExpressions": [fine, expression]})
    assert raised.value.path == f"matchExpressions[1].{path}"
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ({"key": "metadata.uid", "operator": "In", "values": ["x"]}, "key"),
        ({"key": "metadata.name", "operator": "In", "values": ["x", "y"]}, "values"),
        ({"key": "metadata.name", "operator": "Exists"}, "operator"),
    ],
)
def test_a_node_is_selected_by_no_other_field(field: dict[str, Any], path: str) -> None:
    with pytest.raises(SelectorError) as raised:
        NodeSelector.parse({"nodeSelectorTerms": [{"matchFields": [field]}]})
    assert raised.value.path == f"nodeSelectorTerms[0].matchFields[0].{path}"


def test_equal_selectors_are_equal_however_they_were_written() -> None:
    one = LabelSelector.parse({"matchLabels": {"a": "1", "b": "2"}})
    other = LabelSelector.parse({"matchLabels": {"b": "2", "a": "1"}})
    assert one == other
    assert hash(one) == hash(other)
    assert str(one) == "a in (1),b in (2)"


@pytest.mark.parametrize(
    ("operator", "values"),
    [("Gt", ["-1"]), ("NotIn", ["no label"]), ("In", ["5", "no/label"])],
)
def test_an_invalid_label_value_matches_no_node(operator: str, values: list[str]) -> None:
    """Upstream: labels.NewRequirement(), which also checks the values of Gt and Lt."""
    expression = {"key": "a", "operator": operator, "values": values}
    assert not node_matches({"matchExpressions": [expression]}, {"a": "5"})


def test_an_empty_term_selects_no_node() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}]
    assert str(NodeSelector.parse({"nodeSelectorTerms": terms})) == "a || <none>"
