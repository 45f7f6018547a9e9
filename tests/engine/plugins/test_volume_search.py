"""The scheduler's search for volumes: for all nodes at once, node by node, and by plain rules."""

import random
from typing import Any

import numpy as np
import pytest

from engine.framework.framework import PodVolumes as Plan
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    quantity,
)
from engine.objects.phases import SELECTED_NODE
from engine.objects.selectors import NodeSelector
from engine.plugins.volume_binding.volume_finder import PodClaims, VolumeFinder
from engine.versions.registry import VERSIONS
from tests.builders import reachable_from
from tests.engine.storage_world import make_claim, make_class, make_node, make_pod, make_volume

ZONE = "topology.kubernetes.io/zone"
NODES = tuple(f"n{n}" for n in range(5))


class World:
    """Random volumes, claims and classes, and a search among them."""

    def __init__(self, chance: random.Random) -> None:
        self.table, self.listers = NodeTable(), Listers()
        self.nodes = {n: Node(make_node(n, f"z{i % 2}")) for i, n in enumerate(NODES)}
        for node in self.nodes.values():
            self.table.add_node(node)
        zones = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z0"]}]}]
        for manifest in (
            make_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
            make_class("csi", "d", "WaitForFirstConsumer"),
            make_class("zonal", "d", "WaitForFirstConsumer", allowedTopologies=zones),
            make_class("counted", "counting", "WaitForFirstConsumer"),
        ):
            self.listers.put(StorageClass(manifest))
        self.driver = ApiObject(
            {
                "kind": "CSIDriver",
                "metadata": {"name": "counting"},
                "spec": {"storageCapacity": True},
            }
        )
        self.listers.put(self.driver)
        self.rooms = [_room(chance, zone) for zone in ("z0", "z1")]
        for room in self.rooms:
            self.listers.put(room)
        self.volumes: list[PersistentVolume] = []
        for number in range(8):
            volume = _volume(chance, f"v{number}")
            self.volumes.append(volume)
            self.listers.put(volume)
        self.names = tuple(f"c{n}" for n in range(chance.randrange(1, 4)))
        for name in self.names:
            claim = _claim(chance, name)
            self.listers.put(claim)
        self.pod = Pod(make_pod("p", *self.names))
        self.finder = VolumeFinder(self.table, self.listers)

    def claim(self, name: str) -> PersistentVolumeClaim:
        found = self.listers.claim(f"default/{name}")
        assert found is not None
        return found


def _room(chance: random.Random, zone: str) -> ApiObject:
    return ApiObject(
        {
            "kind": "CSIStorageCapacity",
            "metadata": {"name": f"room-{zone}", "namespace": "default"},
            "storageClassName": "counted",
            "capacity": f"{chance.randrange(1, 4)}Gi",
            "nodeTopology": {"matchLabels": {ZONE: zone}},
        }
    )


def _volume(chance: random.Random, name: str) -> PersistentVolume:
    spec: dict[str, Any] = {"storageClassName": chance.choice(["local", "local", "csi"])}
    if chance.random() < 0.7:
        spec["nodeAffinity"] = reachable_from(ZONE, chance.choice(["z0", "z1"]))
    if chance.random() < 0.2:
        spec["claimRef"] = {"namespace": "default", "name": chance.choice(["c0", "c1"])}
    raw = make_volume(name, f"{chance.randrange(1, 4)}Gi", **spec)
    metadata = {**raw["metadata"], "resourceVersion": "1"}
    return PersistentVolume({**raw, "metadata": metadata, "status": {"phase": "Available"}})


def _claim(chance: random.Random, name: str) -> PersistentVolumeClaim:
    kind = chance.choice(["local", "csi", "zonal", "counted"])
    raw = make_claim(name, f"{chance.randrange(1, 4)}Gi", storageClassName=kind)
    metadata = {**raw["metadata"], "uid": f"u-{name}", "resourceVersion": "1"}
    if kind != "local" and chance.random() < 0.2:
        metadata["annotations"] = {SELECTED_NODE: chance.choice(NODES)}
    return PersistentVolumeClaim({**raw, "metadata": metadata})


def plain_decision(world: World, names: tuple[str, ...], node: Node) -> Plan | None:
    """Upstream's FindPodVolumes(), claim by claim and volume by volume; None for a refusal."""
    plan, free = Plan(), list[PersistentVolumeClaim]()
    for claim in [world.claim(name) for name in names]:
        if SELECTED_NODE not in claim.annotations:
            free.append(claim)
        elif claim.selected_node != node.name:
            return None
        else:
            plan.provision[claim.key] = node.name
    for claim in sorted(free, key=_request):
        found = plain_match(world, claim, node, plan.bind)
        if found is not None:
            plan.bind[claim.key] = found.name
        else:
            plan.provision[claim.key] = node.name
    claims = [world.claim(name) for name in names]
    unmatched = [claim for claim in claims if claim.key in plan.provision]
    return plan if all(can_provision(world, claim, node) for claim in unmatched) else None


def plain_match(
    world: World, claim: PersistentVolumeClaim, node: Node, taken: dict[str, str]
) -> PersistentVolume | None:
    """The smallest volume that is large enough; a claim with a reserved one takes no other.

    Upstream: pv_helpers.go, FindMatchingVolume().
    """
    large = [
        volume
        for volume in world.volumes
        if volume.name not in taken.values()
        and volume.storage_class_name == claim.storage_class_name
        and volume.capacity_bytes >= claim.request_bytes
    ]
    reserved = [volume for volume in large if volume.claim_key == claim.key]
    if reserved:
        return reserved[0] if is_reachable(reserved[0], node) else None
    free = [volume for volume in large if not volume.claim_key and is_reachable(volume, node)]
    return min(free, key=_size_and_name, default=None)


def is_reachable(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.get("nodeAffinity")
    return affinity is None or NodeSelector.parse(affinity["required"]).matches(node.labels, "")


def can_provision(world: World, claim: PersistentVolumeClaim, node: Node) -> bool:
    zone = node.labels[ZONE]
    if claim.storage_class_name == "counted":
        room = next(each for each in world.rooms if each.name == f"room-{zone}")
        return quantity.value(room.raw["capacity"]) >= claim.request_bytes
    return claim.storage_class_name == "csi" or (
        claim.storage_class_name == "zonal" and zone == "z0"
    )


def _request(claim: PersistentVolumeClaim) -> int:
    return claim.request_bytes


def _size_and_name(volume: PersistentVolume) -> tuple[int, str]:
    return volume.capacity_bytes, volume.name


@pytest.mark.parametrize("seed", range(60))
def test_every_node_gets_what_the_rules_give(seed: int) -> None:
    world = World(random.Random(seed))
    rows = np.array([world.table.rows[name] for name in NODES])
    claims, error = world.finder.pod_claims(PodInfo(world.pod, VERSIONS["v1.34"].resources))
    assert not error
    codes, plans = world.finder.unbound(claims, rows)
    for place, name in enumerate(NODES):
        plain = plain_decision(world, world.names, world.nodes[name])
        assert bool(codes[place]) == (plain is None), f"seed {seed}, node {name}"
        if plain is not None:
            plan = plans.at(int(rows[place]))
            assert plan is not None
            assert dict(plan.bind) == plain.bind, f"seed {seed}, node {name}"
            assert sorted(plan.provision) == sorted(plain.provision)


@pytest.mark.parametrize("seed", range(60))
def test_all_nodes_at_once_agree_with_each_alone(seed: int) -> None:
    world = World(random.Random(seed))
    rows = np.array([world.table.rows[name] for name in NODES])
    for name in world.names:
        delayed = [world.claim(name)]
        together, plans = world.finder.unbound(PodClaims(delayed=delayed), rows)
        alone = PodClaims(delayed=delayed, is_planned=True)
        codes, plans_alone = world.finder.unbound(alone, rows)
        assert together.tolist() == codes.tolist(), f"seed {seed}, claim {name}"
        for place, row in enumerate(rows.tolist()):
            if not codes[place]:
                assert plans.at(row) == plans_alone.at(row), f"seed {seed}, claim {name}"
