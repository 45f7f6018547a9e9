"""The node tree against the real ones: orders of v1.16's iterator, upstream's tests of v1.20."""

from typing import Any

import pytest

from engine.framework.nodes.node_tree import NodeTree, NodeTreeError, zone_key
from engine.objects.objects import Node
from tests.conformance.scheduler.scheduler_vectors import named, v1_16
from tests.conformance.vectors import Json, obj, parametrised, upstream

_ORDERS = v1_16("facts.json")["nodeTree"]


@pytest.mark.parametrize("bulk", [False, True], ids=["one by one", "all at once"])
@pytest.mark.parametrize(
    "order", [pytest.param(o, id=o["name"]) for o in _ORDERS if "nodesInAddOrder" in o]
)
def test_v1_16_iterator_gives_the_recorded_order(order: Json, bulk: bool) -> None:
    tree = NodeTree()
    for node in order["nodesInAddOrder"]:
        assert _labelled_zone(node["region"], node["zone"]) == node["zoneKey"]
        tree.add(node["node"], node["zoneKey"])
    assert tree.num_nodes == order["numNodes"]
    assert list(tree.zones()) == order["zonesInOrder"]
    wanted = order["next"]
    assert (tree.take(len(wanted)) if bulk else [tree.next() for _ in wanted]) == wanted


def _labelled_zone(region: str, zone: str) -> str:
    labels = {
        "failure-domain.beta.kubernetes.io/region": region,
        "failure-domain.beta.kubernetes.io/zone": zone,
    }
    return zone_key({key: value for key, value in labels.items() if value}, beta_only=True)


@pytest.mark.parametrize("bulk", [False, True], ids=["one by one", "all at once"])
@pytest.mark.parametrize("order", [pytest.param(o, id=o["name"]) for o in _ORDERS if "steps" in o])
def test_v1_16_iterator_keeps_its_turn_through_changes(order: Json, bulk: bool) -> None:
    tree = NodeTree()
    for name in order["start"].split():
        tree.add(name, f"r:\x00:{name[0]}")
    for step in order["steps"]:
        match step["op"]:
            case "Next":
                count = step["n"]
                names = tree.take(count) if bulk else [tree.next() for _ in range(count)]
                assert names == step["result"]
                continue
            case "AddNode":
                tree.add(step["node"], step["zoneKey"])
            case "RemoveNode":
                assert _error_of(tree, step["node"], step["zoneKey"]) == step["error"]
            case "UpdateNode":
                tree.update(step["node"], step["oldZoneKey"], step["node"], step["zoneKey"])
            case op:
                raise NotImplementedError(op)
        assert (tree.num_nodes, list(tree.zones())) == (step["numNodes"], step["zones"])


def _error_of(tree: NodeTree, name: str, zone: str) -> str:
    try:
        tree.remove(name, zone)
    except NodeTreeError as error:
        return str(error)
    return ""


def _cases() -> Any:
    tests = upstream("scheduler_node_tree_test.json")
    if tests is None:
        return None
    return [entry for entry in named(tests) if entry[0] != "TestNodeTree_List_Exhausted"]


@pytest.mark.parametrize("case", parametrised(_cases()))
def test_v1_20_tree_passes_the_upstream_test(case: Json) -> None:
    tree = NodeTree()
    # The recording leaves out the nodes that a test begins with.
    table = case["table"]
    only_lists = {step["call"] for step in case["steps"]} == {"nodeTree.list"}
    before = table.get("nodesToAdd") if only_lists else table.get("existingNodes")
    for manifest in before or ():
        tree.add(*_place(manifest))
    for step in case["steps"]:
        results = [_apply(tree, step["call"], step.get("args") or {})]
        if step["call"] == "nodeTree.list":
            assert [results[0] or None, None] == step["results"]
        elif "results" in step:
            assert bool(results[0]) == bool(step["results"][0])
            if results[0]:
                assert {"error": results[0]} == step["results"][0]
        if state := step.get("stateAfter"):
            assert (tree.num_nodes, tree.zones()) == (state["numNodes"], state["tree"])
            assert list(tree.zones()) == (state["zones"] or [])


def _apply(tree: NodeTree, call: str, args: Json) -> Any:
    match call:
        case "nodeTree.addNode":
            tree.add(*_place(args["n"]))
        case "nodeTree.removeNode":
            return _error_of(tree, *_place(args["n"]))
        case "nodeTree.updateNode":
            tree.update(*_place(args["old"]), *_place(args["new"]))
        case "nodeTree.list":
            return tree.list()
        case _:
            raise NotImplementedError(call)
    return None


def _place(manifest: Json) -> tuple[str, str]:
    node = obj(Node, manifest)
    return node.name, zone_key(node.labels)


def test_listing_a_miscounted_tree_is_an_error() -> None:
    tests = upstream("scheduler_node_tree_test.json")
    if tests is None:
        pytest.skip("no reference vectors")
    test = next(t for t in tests["tests"] if t["upstreamTest"] == "TestNodeTree_List_Exhausted")
    tree = NodeTree()
    for name in test["steps"][0]["results"][0]:
        tree.add(name, "")
    tree.num_nodes += 1
    with pytest.raises(NodeTreeError) as raised:
        tree.list()
    assert {"error": str(raised.value)} == test["steps"][0]["results"][1]
