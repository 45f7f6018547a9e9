"""The image summaries of the snapshot against upstream's tests of v1.20."""

from typing import Any

import pytest

from engine.framework.nodes.node_table import NodeTable
from engine.objects.objects import Node
from tests.conformance.scheduler.scheduler_vectors import named
from tests.conformance.vectors import Json, obj, parametrised, upstream


def _cases(test: str) -> Any:
    tests = upstream("scheduler_snapshot_test.json")
    if tests is None:
        return None
    return [entry for entry in named(tests) if entry[0].startswith(test)]


@pytest.mark.parametrize("case", parametrised(_cases("TestGetNodeImageStates")))
def test_v1_20_node_image_states(case: Json) -> None:
    wanted = case["table"]
    node, table = obj(Node, wanted["node"]), NodeTable()
    others = {name for nodes in wanted["imageExistenceMap"].values() for name in nodes}
    row = table.add_node(node)
    for name in sorted(others - {node.name}):
        table.add_node(_node_with_images(name, wanted["imageExistenceMap"]))
    table.images.take_snapshot()
    held = {name: table.images.states[name] for name in table.images.held[row]}
    ours = {name: {"Size": one.size, "NumNodes": one.rows[row]} for name, one in held.items()}
    assert ours == wanted["expected"]


def _node_with_images(name: str, existence: Json) -> Node:
    images = [
        {"names": [image], "sizeBytes": 0} for image, nodes in existence.items() if name in nodes
    ]
    return Node({"metadata": {"name": name}, "status": {"images": images}})


@pytest.mark.parametrize("case", parametrised(_cases("TestCreateImageExistenceMap")))
def test_v1_20_image_existence_map(case: Json) -> None:
    wanted, table = case["table"], NodeTable()
    for manifest in wanted["nodes"]:
        table.add_node(obj(Node, manifest))
    ours = {
        image: {table.name(row): {} for row in state.rows}
        for image, state in table.images.states.items()
    }
    assert ours == wanted["expected"]
