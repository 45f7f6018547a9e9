"""Managers and objects after several writes, as in upstream's cases: merge/*_test.go."""

from typing import Any

import pytest

from kube.apply.fields import in_order, shown
from kube.apply.managers import APPLY, UPDATE, Manager, Managers
from kube.apply.merging import merged
from kube.apply.updater import Conflicts, Updater
from tests.kube.apply.shapes import NESTED

Operation = tuple[str, str, dict[str, Any]]

UPDATER = Updater(NESTED, "v1", lambda path: True)
A, B, C, D = ({"name": name} for name in "abcd")


class History:
    """An object and its managers while clients write to it."""

    def __init__(self) -> None:
        self.object: dict[str, Any] = {}
        self.managers: Managers = {}

    def apply(self, manager: str, config: dict[str, Any], *, force: bool = False) -> None:
        role = Manager(manager, APPLY, "", "")
        self.object, self.managers = UPDATER.apply(
            self.object, config, self.managers, role, force=force
        )

    def update(self, manager: str, changed: dict[str, Any]) -> None:
        role = Manager(manager, UPDATE, "v1", "")
        self.managers = UPDATER.update(self.object, changed, self.managers, role, "")
        self.object = changed

    @property
    def fields(self) -> dict[str, list[str]]:
        return {
            manager.name: [shown(path) for path in in_order(managed.fields)]
            for manager, managed in self.managers.items()
        }


def played(*operations: Operation) -> History:
    history = History()
    for verb, manager, content in operations:
        if verb == "update":
            history.update(manager, content)
        else:
            history.apply(manager, content, force=verb == "force")
    return history


CASES: dict[str, tuple[list[Operation], dict[str, Any], dict[str, list[str]]]] = {
    "remove_one": (
        [
            ("apply", "one", {"list": [A, B]}),
            ("apply", "two", {"list": [C]}),
            ("apply", "one", {"list": [A]}),
        ],
        {"list": [A, C]},
        {
            "one": ['.list[name="a"]', '.list[name="a"].name'],
            "two": ['.list[name="c"]', '.list[name="c"].name'],
        },
    ),
    "remove_one_keep_one": (
        [
            ("apply", "one", {"list": [A, B, C]}),
            ("apply", "two", {"list": [C, D]}),
            ("apply", "one", {"list": [A]}),
        ],
        {"list": [A, C, D]},
        {
            "one": ['.list[name="a"]', '.list[name="a"].name'],
            "two": [
                '.list[name="c"]',
                '.list[name="d"]',
                '.list[name="c"].name',
                '.list[name="d"].name',
            ],
        },
    ),
    "same_value_no_conflict": (
        [
            ("apply", "one", {"list": [{**A, "value": 0}]}),
            ("apply", "two", {"list": [{**A, "value": 0}]}),
        ],
        {"list": [{**A, "value": 0}]},
        dict.fromkeys(
            ("one", "two"), ['.list[name="a"]', '.list[name="a"].name', '.list[name="a"].value']
        ),
    ),
    "listOfLists_change_value": (
        [
            ("apply", "one", {"listOfLists": [{**A, "value": ["b", "c"]}]}),
            ("apply", "one", {"listOfLists": [{**A, "value": ["a", "c"]}]}),
        ],
        {"listOfLists": [{**A, "value": ["a", "c"]}]},
        {
            "one": [
                '.listOfLists[name="a"]',
                '.listOfLists[name="a"].name',
                '.listOfLists[name="a"].value[="a"]',
                '.listOfLists[name="a"].value[="c"]',
            ]
        },
    ),
    "mapOfMaps_change_key_and_value": (
        [
            ("apply", "one", {"mapOfMaps": {"a": {"b": "x", "c": "y"}}}),
            ("apply", "one", {"mapOfMaps": {"b": {"a": "x", "c": "z"}}}),
        ],
        {"mapOfMaps": {"b": {"a": "x", "c": "z"}}},
        {"one": [".mapOfMaps.b", ".mapOfMaps.b.a", ".mapOfMaps.b.c"]},
    ),
    "apply_update_apply_with_overlap": (
        [
            ("apply", "one", {"set": ["a", "c"]}),
            ("update", "two", {"set": ["a", "b", "c", "d"]}),
            ("apply", "one", {"set": ["a", "b", "c"]}),
        ],
        {"set": ["a", "b", "c", "d"]},
        {"one": ['.set[="a"]', '.set[="b"]', '.set[="c"]'], "two": ['.set[="b"]', '.set[="d"]']},
    ),
    "apply_update_apply_reorder": (
        [
            ("apply", "one", {"set": ["a", "b", "c", "d"]}),
            ("update", "two", {"set": ["a", "d", "c", "b"]}),
            ("apply", "one", {"set": ["a", "b", "c", "d"]}),
        ],
        {"set": ["a", "b", "c", "d"]},
        {"one": ['.set[="a"]', '.set[="b"]', '.set[="c"]', '.set[="d"]']},
    ),
    "struct_apply_remove_all": (
        [("apply", "one", {"struct": {"name": "a", "value": 1}}), ("apply", "one", {})],
        {},
        {},
    ),
    "struct_apply_remove_dangling": (
        [("apply", "one", {"struct": {"name": "a"}}), ("apply", "one", {"struct": None})],
        {"struct": None},
        {"one": [".struct"]},
    ),
    "struct_apply_update_remove_all": (
        [
            ("apply", "one", {"struct": {"name": "a"}}),
            ("update", "two", {"struct": {"name": "a", "value": 1}}),
            ("apply", "one", {}),
        ],
        {"struct": {"value": 1}},
        {"two": [".struct.value"]},
    ),
    "struct_apply_update_dict_dangling": (
        [
            ("apply", "one", {"struct": {"name": "a"}}),
            ("update", "two", {"struct": {"name": "a", "value": 1}}),
            ("apply", "one", {"struct": {}}),
        ],
        {"struct": {"value": 1}},
        {"one": [".struct"], "two": [".struct.value"]},
    ),
    "struct_apply_update_took_over": (
        [
            ("apply", "one", {"struct": {"name": "a"}}),
            ("update", "two", {"struct": {"name": "b", "value": 1}}),
            ("apply", "one", {"struct": None}),
        ],
        {"struct": {"name": "b", "value": 1}},
        {"one": [".struct"], "two": [".struct.name", ".struct.value"]},
    ),
    "atomic list taken over": (
        [("apply", "one", {"whole": ["a"]}), ("force", "two", {"whole": ["b"]})],
        {"whole": ["b"]},
        {"two": [".whole"]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_objects_and_managers_are_as_upstream(name: str) -> None:
    operations, expected, fields = CASES[name]
    history = played(*operations)
    assert history.object == expected
    assert history.fields == fields


def test_a_changed_value_is_a_conflict() -> None:
    history = played(("apply", "one", {"list": [{**A, "value": 0}]}))
    with pytest.raises(Conflicts) as refused:
        history.apply("two", {"list": [{**A, "value": 1}]})
    assert [(one.name, shown(path)) for one, path in refused.value.found] == [
        ("one", '.list[name="a"].value')
    ]


def test_merging_alone_removes_nothing() -> None:
    assert merged(NESTED, {"list": [A, B]}, {"list": [A]}) == {"list": [A, B]}
