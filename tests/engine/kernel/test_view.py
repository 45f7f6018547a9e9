"""Merge patches on the view state: fold, compose and diff."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kernel.view import NotComposable, compose, diff, fold, merge

names = st.sampled_from("abc")
scalars = st.integers(0, 3) | st.booleans() | st.just([1, 2])
attributes = st.recursive(scalars, lambda inner: st.dictionaries(names, inner, max_size=3))
documents = st.dictionaries(names, attributes, max_size=3)
patches = st.dictionaries(
    names,
    st.recursive(scalars | st.none(), lambda inner: st.dictionaries(names, inner, max_size=3)),
    max_size=3,
)


def test_a_patch_sets_removes_and_keeps_attributes() -> None:
    state = {"pod/a": {"phase": "Pending", "queue": "active"}}
    fold(state, {"pod/a": {"queue": None, "node": "n1"}})
    assert state == {"pod/a": {"phase": "Pending", "node": "n1"}}


def test_null_removes_the_entity() -> None:
    state = {"pod/a": {"phase": "Pending"}}
    fold(state, {"pod/a": None})
    assert state == {}


def test_folding_leaves_the_old_attributes_as_they_were() -> None:
    old = {"labels": {"a": "1"}}
    state = {"node/n": old}
    fold(state, {"node/n": {"labels": {"b": "2"}}})
    assert old == {"labels": {"a": "1"}}


def test_removal_then_attributes_cannot_be_one_patch() -> None:
    with pytest.raises(NotComposable):
        compose({"pod/a": None}, {"pod/a": {"phase": "Pending"}})


@given(documents, patches, patches)
def test_a_composed_patch_does_the_work_of_both(document: dict, first: dict, second: dict) -> None:
    try:
        both = compose(first, second)
    except NotComposable:
        return
    assert merge(document, both) == merge(merge(document, first), second)


@given(documents, documents)
def test_a_difference_turns_one_document_into_another(old: dict, new: dict) -> None:
    assert merge(old, diff(old, new)) == new
