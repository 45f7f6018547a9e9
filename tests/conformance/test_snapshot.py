"""The image summaries of the snapshot against upstream's tests of v1.20."""

from typing import Any

import pytest

from kscope.sim.objects.objects import Node
from scheduling.engine.nodes.snapshot import create_image_existence_map, get_node_image_states
from tests.conformance.scheduler_vectors import named
from tests.conformance.vectors import Json, obj, parametrised, upstream


def _cases(test: str) -> Any:
    tests = upstream("scheduler_snapshot_test.json")
    if tests is None:
        return None
    return [entry for entry in named(tests) if entry[0].startswith(test)]


@pytest.mark.parametrize("case", parametrised(_cases("TestGetNodeImageStates")))
def test_v1_20_node_image_states(case: Json) -> None:
    table = case["table"]
    states = get_node_image_states(obj(Node, table["node"]), table["imageExistenceMap"])
    ours = {name: {"Size": size, "NumNodes": count} for name, (size, count) in states.items()}
    assert ours == table["expected"]


@pytest.mark.parametrize("case", parametrised(_cases("TestCreateImageExistenceMap")))
def test_v1_20_image_existence_map(case: Json) -> None:
    table = case["table"]
    existence = create_image_existence_map(obj(Node, manifest) for manifest in table["nodes"])
    ours = {name: dict.fromkeys(nodes, {}) for name, nodes in existence.items()}
    assert ours == table["expected"]
