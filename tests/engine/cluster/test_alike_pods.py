"""Pods that are made alike: what was found for one holds for the next, and for no other."""

from copy import deepcopy
from itertools import permutations
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.objects.objects import Pod
from kscope.runs.contents import sharing

Manifest = dict[str, Any]
NODES = ("a", "b", "c")
CONTAINER = {"name": "c", "image": "c", "resources": {"limits": {"cpu": "1"}}}
CLASS = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 7,
    "preemptionPolicy": "Never",
}
RUNTIME: Manifest = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "vm"},
    "handler": "vm",
    "overhead": {"podFixed": {"cpu": "100m"}},
    "scheduling": {"nodeSelector": {"vm": "yes"}},
}
# Specs that admission treats in different ways; each differs from another in little.
SPECS: dict[str, Manifest] = {
    "plain": {},
    "host": {"hostNetwork": True, "containers": [{**CONTAINER, "ports": [{"containerPort": 1}]}]},
    "class": {"priorityClassName": "high"},
    "lost class": {"priorityClassName": "gone"},
    "priority": {"priority": 1},
    "other priority": {"priority": 2},
    "tolerates": {"tolerations": [{"operator": "Exists"}]},
    "runtime": {"runtimeClassName": "vm"},
    "nodes": {"nodeSelector": {"vm": "no"}},
    "unknown": {"resourceClaims": [], "fieldOfTomorrow": {"x": 1}},
    "whole": {"resources": {"limits": {"cpu": "2"}}},
}


def pods(*names: str, each: int = 4) -> list[Manifest]:
    """*each* pods with the specs of these names, on the nodes in turn; the last one has no phase."""
    found: list[Manifest] = []
    for name in names:
        for number in range(each):
            spec = {"containers": [CONTAINER], **SPECS[name], "nodeName": NODES[number % 3]}
            metadata = {"name": f"{name.replace(' ', '-')}-{number}", "namespace": "default"}
            pod: Manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            pod["status"] = {"phase": "Running"}
            found.append(deepcopy(pod))
    if found:
        del found[-1]["status"]["phase"]
        del found[-2]["spec"]["nodeName"]
    return found


def cluster_of(objects: list[Manifest], *, alike: bool, profile: str = "v1.34") -> Cluster:
    """A cluster of these objects; where they are not *alike*, no part of them is shared."""
    first = deepcopy([CLASS, RUNTIME])
    made = [*sharing(objects)] if alike else objects
    scenario = Scenario(name="s", title="s", objects=(*first, *made), steps=(), until=1)
    return Cluster.create(scenario, profile=profile)


@pytest.mark.parametrize("profile", ["v1.34", "v1.36"])
@pytest.mark.parametrize("names", [*permutations(SPECS, 2)])
def test_alike_pods_become_what_others_become(names: tuple[str, str], profile: str) -> None:
    objects = pods(*names)
    alike = cluster_of(deepcopy(objects), alike=True, profile=profile)
    others = cluster_of(objects, alike=False, profile=profile)
    left, right = alike.take(), others.take()
    assert left.rows == right.rows
    assert {name: list(part.items()) for name, part in left.touched.items() if part} == {
        name: list(part.items()) for name, part in right.touched.items() if part
    }
    specs = [
        [*(one.touched[name] or {})["spec"]]
        for one in (left, right)
        for name in left.touched
        if name.startswith("pod/")
    ]
    assert specs[: len(specs) // 2] == specs[len(specs) // 2 :]
    assert alike.digest() == others.digest()


def test_alike_pods_are_admitted_once() -> None:
    cluster = cluster_of(pods("plain", each=40)[:-2], alike=True)
    found = [pod for pod in cluster.store.objects("Pod") if isinstance(pod, Pod)]
    assert len({id(pod.spec["tolerations"]) for pod in found}) == 1
    assert len({id(pod.spec["containers"]) for pod in found}) == 1


def test_templates_are_shared_by_node() -> None:
    cluster = cluster_of(pods("plain", each=12)[:-2], alike=True)
    found = [pod for pod in cluster.store.objects("Pod") if isinstance(pod, Pod)]
    templates = {(pod.node_name, id(pod.template)) for pod in found}
    assert {node for node, _ in templates} == {*NODES}
    assert len(templates) == len(NODES)
    # What follows from the rest of the spec is the same object on all nodes.
    assert len({id(pod.template.facts) for pod in found}) == 1
