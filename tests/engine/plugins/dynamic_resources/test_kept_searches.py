"""What is kept of searches from pod to pod, beside a scheduler that keeps nothing."""

from __future__ import annotations

from random import Random

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import ApiObject, Node, Pod, from_manifest
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.plugins.dynamic_resources import allocation_results
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from engine.versions.registry import VERSIONS
from tests.builders import (
    claims_in_pod,
    device,
    device_class,
    device_request,
    node,
    pod,
    resource_claim,
    resource_slice,
    selectors,
)
from tests.engine.plugins.dynamic_resources.upstream_allocator import Manifest

STEPS = 40
MODEL = 'device.attributes["gpu.example.com"].model == "{}"'


class Scene:
    """A cluster whose pods, claims, slices and labels change at random."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.handle = Handle()
        self.algorithm = SchedulingAlgorithm(PROFILES["v1.36"], self.handle)
        self.placed: list[tuple[PodInfo, str, str]] = []
        self.put(device_class("gpu", 'device.driver == "gpu.example.com"'))
        for place in range(6):
            name = f"n{place}"
            self.put_node(name, {"zone": name})
            self.put(self.slice_of(name))
        if self.random.random() < 0.6:
            shared = [device("net-0"), device("net-1", allowMultipleAllocations=True)]
            where = {"key": "zone", "operator": "In", "values": ["n1", "n2"]}
            selector = {"nodeSelectorTerms": [{"matchExpressions": [where]}]}
            self.put(resource_slice("", shared, pool="net", nodeSelector=selector))

    def put(self, manifest: Manifest) -> ApiObject:
        obj = from_manifest(manifest)
        self.handle.listers.put(obj)
        return obj

    def put_node(self, name: str, labels: dict[str, str]) -> None:
        made = from_manifest(node(name, labels=labels))
        assert isinstance(made, Node)
        self.handle.table.add_node(made)

    def slice_of(self, name: str) -> Manifest:
        models = self.random.choices("ab", k=self.random.randint(0, 3))
        devices = [
            device(f"gpu-{place}", attributes={"model": model, "memory": place})
            for place, model in enumerate(models)
        ]
        if devices and self.random.random() < 0.1:
            devices.append(devices[0])
        return resource_slice(name, devices, slices=1 + (self.random.random() < 0.1))

    def claim(self, name: str) -> Manifest:
        kind = self.random.randrange(5)
        if kind == 0:
            several = [
                {
                    "name": model,
                    "deviceClassName": "gpu",
                    "selectors": selectors(MODEL.format(model)),
                }
                for model in "ab"
            ]
            return resource_claim(name, {"name": "r", "firstAvailable": several})
        fields: Manifest = {}
        if kind == 1:
            fields["selectors"] = selectors(MODEL.format("a"))
        elif kind == 2:
            fields["count"] = 2
        elif kind == 3 and self.random.random() < 0.3:
            fields["allocationMode"] = "All"
        return resource_claim(name, device_request("r", "gpu", **fields))

    def change(self) -> None:
        kind = self.random.randrange(6)
        name = f"n{self.random.randrange(6)}"
        if kind == 0:
            self.put(self.slice_of(name))
        elif kind == 1:
            self.put_node(name, {"zone": f"n{self.random.randrange(6)}"})
        elif kind < 5 and self.placed:
            info, node_name, claim = self.placed.pop(self.random.randrange(len(self.placed)))
            self.handle.table.remove_pod(self.handle.table.rows[node_name], info.key)
            self.handle.listers.remove(RESOURCE_CLAIM, claim)

    def pod(self, step: int) -> PodInfo:
        """The next pod; some use a claim that another pod has, too."""
        claims = [f"c{step}"]
        self.put(self.claim(claims[0]))
        if self.placed and self.random.random() < 0.2:
            claims.append(self.random.choice(self.placed)[2].partition("/")[2])
        return pod_info(f"p{step}", *claims)

    def place(self, info: PodInfo, result: ScheduleResult) -> None:
        made = hold(self.algorithm, result)
        plugin, node_name = self.algorithm.devices, result.node
        assert plugin is not None
        assert node_name is not None
        for key, claim in made.items():
            self.handle.listers.put(allocation_results.reserved(claim, info.pod))
            plugin.allocated.let_go(key)
        self.handle.table.add_pod(self.handle.table.rows[node_name], info)
        self.placed.append((info, node_name, next(iter(made))))

    def afresh(self, info: PodInfo) -> ScheduleResult:
        """The decision of a scheduler that has kept nothing."""
        known = self.handle
        handle = Handle(known.table, known.listers, known.templates)
        return SchedulingAlgorithm(PROFILES["v1.36"], handle).schedule(info, explain=True)


def pod_info(name: str, *claims: str) -> PodInfo:
    made = from_manifest(pod(name, **claims_in_pod(*claims)))
    assert isinstance(made, Pod)
    return PodInfo(made, VERSIONS["v1.36"].resources)


def hold(algorithm: SchedulingAlgorithm, result: ScheduleResult) -> dict[str, ApiObject]:
    """Reserve what the decision gives to the pod; the claims by key."""
    plugin, search = algorithm.devices, result.search
    assert plugin is not None
    assert search is not None
    assert result.node is not None
    prepared = plugin.prepared(search.state)
    assert prepared is not None
    made = allocation_results.allocated_claims(
        plugin, prepared, result.pod.pod, result.node, name="none", uid="none"
    )
    plugin.allocated.hold(made)
    return made


def outcome(result: ScheduleResult) -> tuple[object, ...]:
    search = result.search
    devices = None
    if result.node is not None and search is not None:
        devices = search.state.data["DynamicResources"].by_node[result.node].devices
    return (result.result, result.node, result.feasible, result.message, devices)


@pytest.mark.parametrize("seed", range(10))
def test_kept_searches_change_no_decision(seed: int) -> None:
    scene = Scene(seed)
    for step in range(STEPS):
        scene.change()
        info = scene.pod(step)
        expected = outcome(scene.afresh(info))
        result = scene.algorithm.schedule(info, explain=False)
        assert outcome(result) == expected, f"step {step}"
        if result.result == SCHEDULED:
            scene.place(info, result)


def test_profiles_share_devices_that_are_held() -> None:
    """What one profile has reserved but not written yet, the other does not give away."""
    handle = Handle()
    node_object = from_manifest(node("n1"))
    assert isinstance(node_object, Node)
    handle.table.add_node(node_object)
    only_one = resource_slice("n1", [device("gpu-0")])
    claims = [resource_claim(name, device_request("r", "gpu")) for name in "pq"]
    for manifest in (device_class("gpu"), only_one, *claims):
        handle.listers.put(from_manifest(manifest))
    one, other = (SchedulingAlgorithm(PROFILES["v1.36"], handle) for _ in range(2))
    first, second = (pod_info(name, name) for name in "pq")
    assert one.schedule(first).result == SCHEDULED
    assert other.schedule(second).result == SCHEDULED
    hold(one, one.schedule(first))
    assert other.schedule(second).message.endswith("cannot allocate all claims.")
