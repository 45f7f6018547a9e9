"""Sick clusters as an expert sees them: every group is found and pure, and its best change is first.

`expected.json` of the set `triage` says what has to be found; its README has the rule of judging.
"""

import json
from functools import cache
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Triage
from engine.diagnosis.triage.triage import triage
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from tests.engine.diagnosis.triage.carried_out import placed_by_commands
from tests.vectors import vector_set

_FOLDER = vector_set("triage")
_EXPECTED: dict[str, Any] = json.loads((_FOLDER / "expected.json").read_text())
_GROUPS = [
    pytest.param(name, group, id=group["id"])
    for name, cluster in _EXPECTED.items()
    for group in cluster["groups"]
]
_ENOUGH = 0.8
# How many groups have a best change that commands can carry out: no run can start a scheduler.
_CARRIED_OUT = {"02-juniper": 3, "04-lumen": 3}


@cache
def _asked(name: str) -> tuple[Cluster, Triage]:
    expected = _EXPECTED[name]
    loaded = load_paths([_FOLDER / expected["file"]])
    scenario = Scenario.from_load(loaded, name=name)
    cluster = Cluster.create(scenario, profile=expected["version"].rpartition(".")[0])
    return cluster, triage(cluster, Evidence(loaded.everything))


@cache
def _found(name: str) -> dict[str, Any]:
    return _asked(name)[1].to_dict()


def _wanted(group: dict[str, Any]) -> set[str]:
    workloads = [each.replace(" ", "/", 1) for each in group["holds"]["workloads"]]
    listed = [each for kind in ("pods", "claims", "nodes") for each in group["objects"][kind]]
    return {*listed, *workloads, *group.get("namespaces", ())}


def _held(group: dict[str, Any]) -> set[str]:
    kinds = ("pods", "claims", "nodes", "workloads", "namespaces")
    return {each for kind in kinds for each in group[kind]}


def _likeness(group: dict[str, Any], wanted: set[str]) -> float:
    held = _held(group)
    return len(held & wanted) / len(held | wanted)


def _answer(name: str, group: dict[str, Any]) -> dict[str, Any]:
    return max(_found(name)["groups"], key=lambda each: _likeness(each, _wanted(group)))


@pytest.mark.parametrize(("name", "group"), _GROUPS)
def test_each_group_is_found_and_explained(name: str, group: dict[str, Any]) -> None:
    answer = _answer(name, group)
    assert _likeness(answer, _wanted(group)) >= _ENOUGH
    text = orjson.dumps({**answer, "changes": []}).decode().lower()
    missing = [
        words
        for words in group["must_name"]
        if not any(word.strip().lower() in text for word in words.split("|"))
    ]
    assert (missing, answer["pods_missing"]) == ([], group["holds"].get("pods_missing", 0))
    assert (answer["kind"], answer["contradicts"]) == (group["kind"], group["contradicts_model"])


@pytest.mark.parametrize(("name", "group"), _GROUPS)
def test_best_change_comes_first_with_its_count(name: str, group: dict[str, Any]) -> None:
    first = _answer(name, group)["changes"][0]
    places = None if first["places"] is None else f"{first['places']} of {first['of']}"
    assert (places, first["shared"], first["loses"]) == (group["places"], "", "")


@pytest.mark.parametrize("name", _EXPECTED)
def test_commands_place_as_many_as_was_said(name: str) -> None:
    cluster, found = _asked(name)
    first = [(each, each.changes[0]) for each in found.groups if each.changes[0].places]
    carried_out = [(group, best) for group, best in first if best.commands]
    assert len(carried_out) == _CARRIED_OUT[name]
    for group, best in carried_out:
        assert placed_by_commands(cluster, group, best) == best.places


@pytest.mark.parametrize("name", _EXPECTED)
def test_nothing_else_is_counted_as_stuck(name: str) -> None:
    found, expected = _found(name), _EXPECTED[name]
    assert found["headline"].startswith(f"{expected['causes']} causes hold {expected['pods_held']}")
    assert len(found["groups"]) == expected["causes"]


@pytest.mark.parametrize("name", _EXPECTED)
def test_drawn_counts_add_up_to_what_is_held(name: str) -> None:
    nodes = _found(name)["looked_at"]["node"]
    for group in _found(name)["groups"]:
        counts = group["workload_counts"]
        held = len(group["pods"]) + group["pods_missing"]
        assert sum(each["waiting"] for each in counts) == held
        assert all(each["waiting"] + each["running"] <= each["of"] for each in counts)
        assert {each["workload"] for each in counts} == {*group["workloads"]}
        assert 2 <= len(group["short"].split()) <= 5
        if group["kind"] == "pending":
            by_reason = group["nodes_by_reason"]
            assert sum(each["count"] for each in by_reason) == nodes
            assert len({node for each in by_reason for node in each["nodes"]}) == nodes
            assert sum(each["is_closest"] for each in by_reason) <= 1
