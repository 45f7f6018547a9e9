"""The scheduler's columnar volume search and the binder's node by node give the same answers."""

import random
from typing import Any

import numpy as np
import pytest

from kscope.sim.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.plugins.volumes.volume_binding import PodClaims, VolumeFinder
from tests.volumes_engine.storage import (
    make_claim,
    make_class,
    make_node,
    make_pod,
    make_volume,
    reachable_from,
)
from volumes.engine.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from volumes.engine.binding.binder import V1_34, VolumeBinder
from volumes.engine.phases import SELECTED_NODE

ZONE = "topology.kubernetes.io/zone"
NODES = tuple(f"n{n}" for n in range(5))


class World:
    """The same random objects in the plugin's listers and in the binder's caches."""

    def __init__(self, chance: random.Random) -> None:
        self.table, self.listers = NodeTable(), Listers()
        volumes, claims = VolumeAssumeCache(), ClaimAssumeCache()
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
        for number in range(8):
            volume = _volume(chance, f"v{number}")
            volumes.add(volume)
            self.listers.put(volume)
        self.names = tuple(f"c{n}" for n in range(chance.randrange(1, 4)))
        for name in self.names:
            claim = _claim(chance, name)
            claims.add(claim)
            self.listers.put(claim)
        self.pod = Pod(make_pod("p", *self.names))
        self.finder = VolumeFinder(self.table, self.listers)
        self.binder = VolumeBinder(volumes, claims, self, _NoApi(), rules=V1_34)

    def storage_class(self, name: str) -> StorageClass | None:
        return self.listers.storage_class(name)

    def node(self, name: str) -> Node | None:
        return self.nodes.get(name)

    def pod_named(self, key: str) -> Pod | None:
        return self.pod

    def csi_node(self, name: str) -> ApiObject | None:
        return None

    def csi_driver(self, name: str) -> ApiObject | None:
        return self.driver if name == self.driver.name else None

    def storage_capacities(self) -> list[ApiObject]:
        return self.rooms


class _NoApi:
    """Nothing is written here."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


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


@pytest.mark.parametrize("seed", range(60))
def test_both_find_the_same(seed: int) -> None:
    world = World(random.Random(seed))
    claims = world.binder.get_pod_claims(world.pod)
    rows = np.array([world.table.rows[name] for name in NODES])
    codes, plans = world.finder.unbound(PodClaims(delayed=claims.delayed), rows)
    for place, name in enumerate(NODES):
        found, reasons = world.binder.find_pod_volumes(world.pod, claims, world.nodes[name])
        assert bool(codes[place]) == bool(reasons), f"seed {seed}, node {name}"
        if not reasons:
            plan = plans.at(int(rows[place]))
            assert plan is not None
            told = found.to_dict(name)
            assert dict(plan.bind) == told["bind"], f"seed {seed}, node {name}"
            assert sorted(plan.provision) == sorted(told["provision"])
