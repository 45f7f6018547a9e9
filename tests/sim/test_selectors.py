import pytest

from kscope.sim.selectors import LabelSelector, NodeSelector, SelectorError


def test_an_empty_selector_matches_everything_and_an_absent_one_nothing() -> None:
    assert LabelSelector.parse({}).matches({})
    assert not LabelSelector.parse(None).matches({})


@pytest.mark.parametrize(
    ("operator", "holds"), [("NotIn", True), ("DoesNotExist", True), ("In", False)]
)
def test_a_missing_key(operator: str, holds: bool) -> None:
    values = [] if operator == "DoesNotExist" else ["x"]
    term = {"key": "a", "operator": operator, "values": values}
    assert LabelSelector.parse({"matchExpressions": [term]}).matches({}) is holds


def test_a_node_term_without_requirements_matches_nothing() -> None:
    assert not NodeSelector.parse({"nodeSelectorTerms": [{}]}).matches({}, "n")


def test_an_unknown_operator_is_named_with_its_path() -> None:
    with pytest.raises(SelectorError) as raised:
        LabelSelector.parse({"matchExpressions": [{"key": "a", "operator": "Inn"}]})
    assert raised.value.path == "matchExpressions[0].operator"
