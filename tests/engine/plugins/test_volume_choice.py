"""Pods with claims: what is kept of volumes decides as the full path does, from pod to pod."""

import random
from dataclasses import replace
from typing import Any

import pytest

from engine.framework.columns.fast_path import FastPath
from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import PersistentVolume, from_manifest
from engine.objects.phases import BIND_COMPLETED, SELECTED_NODE
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from tests.builders import reachable_from
from tests.engine.scheduler_builders import make_node, make_pod
from tests.engine.storage_world import make_claim, make_class, make_csi_node, make_volume
from tests.samples import sample

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PROFILE = "v1.34"
WAITS = "WaitForFirstConsumer"
CLASSES = ("local", "local", "local", "csi", "zonal", "counted")
MODES = (("ReadWriteOnce",), ("ReadWriteOnce", "ReadWriteMany"))
NODES, VOLUMES, PODS = 40, 60, 120


def _node(draw: random.Random, number: int) -> Any:
    labels = {HOST: f"node-{number:02d}", ZONE: draw.choice("abc")}
    cpu = draw.choice(["1", "2", "4"])
    return make_node(f"node-{number:02d}", cpu=cpu, pods="8", labels=labels)


def _volume(draw: random.Random, number: int) -> Any:
    """Reachable from a node, from a zone or from everywhere."""
    spec: dict[str, Any] = {"storageClassName": draw.choice(CLASSES)}
    kind = draw.random()
    if kind < 0.6:
        spec["nodeAffinity"] = reachable_from(HOST, f"node-{draw.randrange(NODES):02d}")
    elif kind < 0.9:
        spec["nodeAffinity"] = reachable_from(ZONE, draw.choice("abc"))
    if draw.random() < 0.05:
        spec["claimRef"] = {"namespace": "default", "name": f"c-{draw.randrange(PODS)}-0"}
    size, modes = f"{draw.choice([1, 2, 5])}Gi", draw.choice(MODES)
    raw = make_volume(f"pv-{number:03d}", size, modes=modes, **spec)
    if draw.random() < 0.2:
        raw["metadata"]["labels"] = {ZONE: draw.choice("abc")}
    return from_manifest({**raw, "status": {"phase": "Available"}})


def _claim(draw: random.Random, name: str, free: list[str]) -> Any:
    modes = ("ReadWriteOncePod",) if draw.random() < 0.1 else ("ReadWriteOnce",)
    size, of_class = f"{draw.choice([1, 1, 2])}Gi", draw.choice(CLASSES)
    raw = make_claim(name, size, modes=modes, storageClassName=of_class)
    raw["metadata"]["uid"] = f"uid-{name}"
    chance = draw.random()
    if chance < 0.05:
        raw["metadata"]["annotations"] = {SELECTED_NODE: f"node-{draw.randrange(NODES):02d}"}
    elif chance < 0.15 and free:
        # Bound before its pod came.
        raw["metadata"]["annotations"] = {BIND_COMPLETED: "yes"}
        raw["spec"]["volumeName"] = draw.choice(free)
    return from_manifest(raw)


def _fixed_objects(draw: random.Random) -> list[Any]:
    """Classes, a driver that counts its room, and attach limits on some nodes."""
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a", "b"]}]}]
    raws: list[dict[str, Any]] = [
        make_class("local", "kubernetes.io/no-provisioner", WAITS),
        make_class("csi", "csi.example.com", WAITS),
        make_class("zonal", "csi.example.com", WAITS, allowedTopologies=allowed),
        make_class("counted", "counting.example.com", WAITS),
        {
            "kind": "CSIDriver",
            "metadata": {"name": "counting.example.com"},
            "spec": {"storageCapacity": True},
        },
        *(_capacity(draw, zone) for zone in "ab"),
    ]
    for number in draw.sample(range(NODES), 5):
        csi_node = make_csi_node(f"node-{number:02d}", "csi.example.com")
        csi_node["spec"]["drivers"][0]["allocatable"] = {"count": 1}
        raws.append(csi_node)
    return [from_manifest(raw) for raw in raws]


def _capacity(draw: random.Random, zone: str) -> dict[str, Any]:
    return {
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"room-{zone}", "namespace": "default"},
        "storageClassName": "counted",
        "capacity": f"{draw.choice([1, 3])}Gi",
        "nodeTopology": {"matchLabels": {ZONE: zone}},
    }


class Twins:
    """Two schedulers that see the same: one works everything out, one goes by what it keeps."""

    def __init__(self, draw: random.Random, percentage: int) -> None:
        config = replace(PROFILES[PROFILE], percentage=percentage)
        self.full, self.fast = (SchedulingAlgorithm(config, Handle()) for _ in range(2))
        self.both = (self.full, self.fast)
        self.names: dict[str, None] = {}
        for number in range(NODES):
            self.set_node(_node(draw, number))
        for obj in _fixed_objects(draw):
            self.put(obj)
        for number in range(VOLUMES):
            self.put(_volume(draw, number))

    def set_node(self, node: Any) -> None:
        for algorithm in self.both:
            algorithm.table.add_node(node)

    def put(self, obj: Any) -> None:
        if isinstance(obj, PersistentVolume):
            self.names[obj.name] = None
        for algorithm in self.both:
            algorithm.handle.listers.put(obj)

    def find(self, kind: str, key: str) -> Any:
        return self.full.handle.listers.get(kind, key)

    def free(self) -> list[str]:
        found = [self.find("PersistentVolume", name) for name in self.names]
        return [volume.name for volume in found if volume and volume.claim_ref is None]

    def place(self, pod: PodInfo, result: ScheduleResult, plan: PodVolumes) -> None:
        """The pod goes to its node, and what was planned for its claims comes true."""
        for algorithm in self.both:
            algorithm.table.add_pod(result.row, pod.assigned_to(result.node or ""))
        for key, volume in plan.bind.items():
            self.put(self.find("PersistentVolume", volume).patched(_claimed_by(key)))
            spec = {"spec": {"volumeName": volume}}
            done = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}}
            self.put(self.find("PersistentVolumeClaim", key).patched({**spec, **done}))
        for key, node in plan.provision.items():
            patch = {"metadata": {"annotations": {SELECTED_NODE: node}}}
            self.put(self.find("PersistentVolumeClaim", key).patched(patch))

    def disturb(self, draw: random.Random) -> None:
        """Volumes come, go and are freed; nodes are labelled anew; room is reported."""
        chance = draw.random()
        if chance < 0.1:
            self.put(_volume(draw, draw.randrange(VOLUMES + 10)))
        elif chance < 0.15:
            name = f"pv-{draw.randrange(VOLUMES):03d}"
            for algorithm in self.both:
                algorithm.handle.listers.remove("PersistentVolume", name)
        elif chance < 0.2:
            self.set_node(_node(draw, draw.randrange(NODES)))
        elif chance < 0.25:
            self.put(from_manifest(_capacity(draw, draw.choice("abc"))))


def _claimed_by(key: str) -> dict[str, Any]:
    namespace, name = key.split("/")
    claim_ref = {"namespace": namespace, "name": name, "uid": f"uid-{name}"}
    return {"spec": {"claimRef": claim_ref}}


def _plan(algorithm: SchedulingAlgorithm, result: ScheduleResult) -> PodVolumes:
    planner = algorithm.framework.volume_binding
    assert planner is not None
    assert result.search is not None
    return planner.plan(result.search.state, result.row)


@pytest.mark.parametrize("percentage", [100, 30])
@pytest.mark.parametrize("seed", sample(range(8), 4))
def test_kept_volumes_decide_as_the_full_path_does(seed: int, percentage: int) -> None:
    draw = random.Random(seed)
    twins = Twins(draw, percentage)
    scheduled = 0
    for number in range(PODS):
        names = [f"c-{number}-{place}" for place in range(draw.choice([1, 1, 1, 2]))]
        for name in names:
            twins.put(_claim(draw, name, twins.free()))
        volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]
        made = make_pod(f"p-{number}", cpu="100m", spec={"volumes": volumes})
        pod = PodInfo(made, PROFILES[PROFILE].resource_rules)
        expected, got = twins.full.schedule(pod), twins.fast.schedule(pod, explain=False)
        assert (got.result, got.node, got.feasible, got.evaluated, got.message) == (
            expected.result,
            expected.node,
            expected.feasible,
            expected.evaluated,
            expected.message,
        ), f"pod {number}"
        assert sorted(got.tied_rows.tolist()) == sorted(expected.tied_rows.tolist())
        if got.result == SCHEDULED:
            plan = _plan(twins.fast, got)
            assert plan == _plan(twins.full, expected), f"pod {number}"
            twins.place(pod, got, plan)
            scheduled += 1
        twins.disturb(draw)
    assert scheduled > PODS // 4


def test_pods_with_single_claims_are_decided_by_cell(monkeypatch: Any) -> None:
    draw = random.Random(1)
    twins = Twins(draw, 100)
    asked: list[Any] = []
    by_rows = FastPath._choose_by_rows

    def counted(path: FastPath, *arguments: Any) -> Any:
        asked.append(arguments[0])
        return by_rows(path, *arguments)

    monkeypatch.setattr(FastPath, "_choose_by_rows", counted)
    for number in range(20):
        raw = make_claim(f"c-{number}", storageClassName="local")
        raw["metadata"]["uid"] = f"uid-c-{number}"
        twins.put(from_manifest(raw))
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"c-{number}"}}]
        made = make_pod(f"p-{number}", cpu="100m", spec={"volumes": volumes})
        pod = PodInfo(made, PROFILES[PROFILE].resource_rules)
        got = twins.fast.schedule(pod, explain=False)
        assert got.result == SCHEDULED
        twins.place(pod, got, _plan(twins.fast, got))
    # The first time the cells might not pay yet.
    assert len(asked) == 1
