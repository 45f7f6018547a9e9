"""The fields of a scenario that tell it: topic, tags, select, answer and proof."""

from typing import Any

import pytest
import yaml

from engine.input.loader import load_files
from engine.input.scenario import Scenario

TOLD = {
    "topic": "Queue",
    "tags": ["priority", "eviction"],
    "select": "pod/default/web",
    "answer": "web waits for cpu.",
    "proof": {"event": "FailedScheduling", "object": "pod/default/web", "message": "cpu"},
}


def loaded(**spec: Any) -> Any:
    """What is read of a scenario with this spec, all in one file."""
    header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "metadata": {"name": "told"}}
    return load_files([("told.yaml", yaml.safe_dump({**header, "spec": spec}).encode())])


def test_what_tells_a_scenario_is_kept_with_it() -> None:
    scenario = Scenario.from_load(loaded(question="Why?", **TOLD), name="told")
    assert Scenario.from_dict(scenario.to_dict()).told == TOLD


def test_scenario_that_tells_nothing_stays_as_it_was() -> None:
    assert "told" not in Scenario.from_load(loaded(question="Why?"), name="told").to_dict()


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"topic": 3}, "spec.topic", "expected a text, found 3"),
        ({"topic": "x" * 41}, "spec.topic", "has 41 characters; at most 40 are kept"),
        ({"tags": "queue"}, "spec.tags", "expected a list"),
        ({"tags": ["queue", 7]}, "spec.tags[1]", "expected a text, found 7"),
        ({"tags": ["one"] * 21}, "spec.tags", "has 21 entries; at most 20 are read"),
        ({"select": "web"}, "spec.select", "is no object that a page selects"),
        ({"select": "pod/web"}, "spec.select", "is no object that a page selects"),
        ({"select": "volume/default/disk"}, "spec.select", "is no object that a page selects"),
        ({"select": ["pod/default/web"]}, "spec.select", "is no object that a page selects"),
        ({"answer": " "}, "spec.answer", "expected a text"),
        ({"answer": "x" * 1001}, "spec.answer", "has 1,001 characters"),
        ({"proof": {"event": "PodBound"}}, "spec.proof", "there is no answer"),
        ({"answer": "Yes.", "proof": "PodBound"}, "spec.proof", "expected a mapping"),
        ({"answer": "Yes.", "proof": {"object": "pod/default/web"}}, "spec.proof.event", "missing"),
        ({"answer": "Yes.", "proof": {"event": "PodBound", "at": 3}}, "spec.proof.at", "unknown"),
        ({"answer": "Yes.", "proof": {"event": 3}}, "spec.proof.event", "expected a text, found 3"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    spec: dict[str, Any], field: str, message: str
) -> None:
    result = loaded(**spec)
    assert not result.ok
    told = str(result.problems[0])
    assert "told.yaml, document 1, line " in told
    assert f", {field}: " in told
    assert message in told
