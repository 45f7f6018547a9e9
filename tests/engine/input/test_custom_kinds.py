"""Files that hold a CustomResourceDefinition with its objects bring both into the run."""

import json
from typing import NoReturn

import pytest

from engine.api_server.custom import imported
from engine.cluster.cluster import Cluster
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from tests.builders import node, played
from tests.engine.cluster.test_custom_kinds import definition, widget


def test_definition_and_its_objects_are_held() -> None:
    items = [widget(unknown=1), widget("broken", size=99), definition(), node("n")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    result = load_files([("a.json", text.encode())])
    assert result.ok, result.problems
    assert [one["metadata"]["name"] for one in result.custom.values()] == [
        "one",
        "widgets.example.com",
    ]
    assert [one for one in result.warnings if "does not allow it" in one] == [
        "1 Widget left out: the CustomResourceDefinition in the files does not allow it, as in "
        "broken: spec.size: Invalid value: 99: spec.size in body should be less than or equal to 10"
    ]
    assert "Widget" in str(result.left_out)
    cluster = played(Cluster.create(Scenario.from_load(result, name="a")))
    stored = cluster.store.get("Widget.example.com", "default/one")
    assert stored.raw["spec"] == {"size": 3, "color": "red"}


def test_objects_without_their_definition_stay_aside() -> None:
    items = [widget(), node("n")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    result = load_files([("a.json", text.encode())])
    assert (result.ok, result.custom, len(result.kept_aside)) == (True, {}, 1)


def test_schema_too_deep_to_apply_ends_no_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflows(*_: object) -> NoReturn:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr(imported, "formed", overflows)
    items = [widget(), definition(), node("n")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    result = load_files([("a.json", text.encode())])
    assert result.ok, result.problems
    assert [one["metadata"]["name"] for one in result.custom.values()] == ["widgets.example.com"]
    (note,) = (one for one in result.warnings if "does not allow it" in one)
    assert (
        "as in one: CustomResourceDefinition widgets.example.com: spec.versions[0].schema" in note
    )
