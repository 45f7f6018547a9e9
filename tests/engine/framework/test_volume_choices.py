"""KeptVolumeChoices give each node the volume that the index would find for it."""

import random
from typing import Any

import pytest

from engine.framework.columns.volume_choices import NONE, KeptVolumeChoices
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, from_manifest
from engine.objects.phases import claim_ref_of
from engine.storage.matching.offers import Wanted
from tests.engine.scheduler_builders import make_node

HOST, ZONE = "kubernetes.io/hostname", "zone"


def _volume(draw: random.Random, number: int) -> Any:
    spec: dict[str, Any] = {
        "capacity": {"storage": f"{draw.choice([5, 10, 10, 20])}Gi"},
        "accessModes": draw.choice([["ReadWriteOnce"], ["ReadWriteMany"]]),
        "storageClassName": draw.choice(["local", "local", "other"]),
    }
    kind = draw.randrange(3)
    if kind:
        host = f"n{draw.randrange(8)}"
        key, value = (HOST, host) if kind == 1 else (ZONE, draw.choice("ab"))
        requirement = {"key": key, "operator": "In", "values": [value]}
        terms = [{"matchExpressions": [requirement]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return from_manifest(
        {
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{number:02d}"},
            "spec": spec,
            "status": {"phase": "Available"},
        }
    )


def _claim(number: int, size: str) -> PersistentVolumeClaim:
    claim = from_manifest(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"c{number}", "namespace": "default", "uid": f"c{number}"},
            "spec": {
                "storageClassName": "local",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": size}},
            },
        }
    )
    assert isinstance(claim, PersistentVolumeClaim)
    return claim


def _check(listers: Listers, kept: KeptVolumeChoices, claim: PersistentVolumeClaim) -> list[str]:
    """Compare for every node; returns the volumes that some node would get."""
    choices = kept.of(Wanted(claim))
    assert choices is not None
    given: list[str] = []
    for row in kept.table.active.tolist():
        node: Node = kept.table.node(row)
        expected = listers.volumes.find_for_node(claim, node)
        pick = int(choices.choice[row])
        assert (None if pick == NONE else choices.names[pick]) == (expected and expected.name)
        assert choices.tally.counts[row] == (expected is not None)
        if expected is not None:
            given.append(expected.name)
    told = kept.table.log.since(0) or ()
    assert all(kept.table.nodes[row] is not None for row in told), "of nodes alone"
    return given


# With 40 nodes a zone is too wide to be followed row by row.
@pytest.mark.parametrize("nodes", [8, 40])
@pytest.mark.parametrize("seed", range(8))
def test_volume_choices_agree_with_the_index(seed: int, nodes: int) -> None:
    draw = random.Random(seed)
    table, listers = NodeTable(), Listers()
    for number in range(nodes):
        labels = {HOST: f"n{number}", ZONE: draw.choice("ab")}
        table.add_node(make_node(f"n{number}", labels=labels))
    for number in range(20):
        listers.put(_volume(draw, number))
    kept = KeptVolumeChoices(table, listers)
    for number in range(40):
        claim = _claim(number, draw.choice(["1Gi", "8Gi"]))
        given = _check(listers, kept, claim)
        chance = draw.random()
        if chance < 0.6 and given:
            volume = listers.volume(draw.choice(given))
            assert isinstance(volume, PersistentVolume)
            claim_ref = {"spec": {"claimRef": claim_ref_of(claim)}, "status": {"phase": "Bound"}}
            listers.put(volume.patched(claim_ref))
        elif chance < 0.75:
            listers.remove("PersistentVolume", f"pv-{draw.randrange(20):02d}")
        elif chance < 0.9:
            listers.put(_volume(draw, draw.randrange(25)))
        else:
            place = draw.randrange(nodes)
            labels = {HOST: f"n{place}", ZONE: draw.choice("ab")}
            table.add_node(make_node(f"n{place}", labels=labels))
