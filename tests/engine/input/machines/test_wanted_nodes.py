"""Nodes that people ask for: instance types of a catalogue, or nodes like one of the files."""

from typing import Any

import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.machines.wanted import WantedNodes, parse_wanted
from engine.input.options import IntakeOptions, OptionFault

POD = b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"
NODE = b"""---
apiVersion: v1
kind: Node
metadata: {name: big, uid: u, labels: {kubernetes.io/hostname: big, pool: x, topology.kubernetes.io/zone: a}}
spec: {unschedulable: true, providerID: p, taints: [{key: t, effect: NoSchedule}, {key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}
status: {allocatable: {cpu: '3', pods: '7'}, conditions: [{type: Ready, status: 'False'}]}
"""


def load(nodes: str, data: bytes = POD) -> LoadResult:
    return load_files([("a.yaml", data)], options=IntakeOptions.read({"nodes": nodes}))


def nodes_of(loaded: LoadResult) -> list[dict[str, Any]]:
    assert loaded.ok, loaded.problems
    return [each for each in loaded.manifests if each["kind"] == "Node"]


def test_a_list_names_types_numbers_and_zones() -> None:
    assert parse_wanted("10xm5.large,3xn2-standard-8:zone=a,b,c,1xkind") == [
        WantedNodes(10, "m5.large"),
        WantedNodes(3, "n2-standard-8", ("a", "b", "c")),
        WantedNodes(1, "kind"),
    ]


@pytest.mark.parametrize(
    "text", ["m5.large", "0xm5.large", "99999xm5.large", "1xa:zone=", "1xa:disk=b", "1xa:zone=-"]
)
def test_a_list_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(OptionFault) as fault:
        IntakeOptions.read({"nodes": text})
    assert (fault.value.option, bool(str(fault.value))) == ("nodes", True)


def test_zones_are_taken_in_turn() -> None:
    found = nodes_of(load("4xe2-standard-2:zone=a,b"))
    zones = [each["metadata"]["labels"]["topology.kubernetes.io/zone"] for each in found]
    assert zones == ["a", "b", "a", "b"]


def test_a_given_node_makes_nodes_like_it() -> None:
    loaded = load("2xbig:zone=b", POD + NODE)
    one = nodes_of(loaded)[1]
    assert one["metadata"]["name"] == "big-1"
    assert one["metadata"]["labels"] == {
        "kubernetes.io/hostname": "big-1",
        "pool": "x",
        "topology.kubernetes.io/zone": "b",
    }
    assert one["spec"] == {"taints": [{"key": "t", "effect": "NoSchedule"}]}
    assert one["status"]["allocatable"] == {"cpu": "3", "pods": "7"}


def test_an_unknown_type_is_refused_with_the_nearest() -> None:
    (problem,) = load("1xm5.larg").problems
    assert "do you mean m5.large" in problem.message


def test_drivers_are_registered_where_no_node_says_otherwise() -> None:
    kinds = [each["kind"] for each in load("1xm5.large").manifests]
    assert kinds == ["Pod", "Node", "CSINode"]
    kinds = [each["kind"] for each in load("1xm5.large", POD + NODE).manifests]
    assert kinds == ["Pod", "Node", "Node"]
