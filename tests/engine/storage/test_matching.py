"""Matching: rules, index, explanation."""

import random
from typing import Any

import pytest

from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim
from engine.storage.matching.explanation import explain_candidates
from engine.storage.matching.index import VolumeIndex
from engine.storage.matching.offers import Offer
from engine.storage.matching.rules import find_matching_volume
from tests.builders import reachable_from
from tests.engine.storage_world import make_claim, make_node, make_volume

RWO, ROX, RWX = "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany"
SETS = ((RWO,), (RWO, ROX), (RWO, ROX, RWX), (RWX,), (ROX,))


def volume(name: str, size: str = "1Gi", phase: str = "Available", **more: Any) -> PersistentVolume:
    labels = more.pop("labels", None)
    made = PersistentVolume(make_volume(name, size, **more))
    return made.patched({"status": {"phase": phase}, "metadata": {"labels": labels}})


def claim(size: str = "1Gi", **more: Any) -> PersistentVolumeClaim:
    made = PersistentVolumeClaim(make_claim("c", size, **more))
    return made.patched({"metadata": {"uid": "uid-c"}})


def ref(uid: str = "", name: str = "c") -> dict[str, str]:
    return {"namespace": "default", "name": name, "uid": uid}


def best(volumes: list[PersistentVolume], wanted: PersistentVolumeClaim) -> str | None:
    found = VolumeIndex(volumes).find_best_match_for_claim(wanted, False)
    return found.name if found else None


def test_a_reserved_volume_beats_a_smaller_one() -> None:
    volumes = [volume("small"), volume("mine", "9Gi", "Pending", claimRef=ref())]
    assert best(volumes, claim()) == "mine"


def test_fewer_access_modes_beat_a_reserved_volume() -> None:
    volumes = [volume("plain"), volume("mine", modes=(RWO, RWX), claimRef=ref())]
    assert best(volumes, claim()) == "plain"


def test_a_released_volume_is_not_taken() -> None:
    assert best([volume("old", claimRef=ref("other-uid"))], claim()) is None


def test_equal_volumes_are_taken_by_name() -> None:
    assert best([volume("b"), volume("a"), volume("c")], claim()) == "a"


def test_explanation_names_every_broken_rule_nearest_first() -> None:
    node = Node(make_node("n1"))
    selector = {"matchLabels": {"disk": "ssd"}}
    verdicts = explain_candidates(
        claim("2Gi", selector=selector, modes=(RWX,)),
        [
            volume("wrong", "1Gi", "Released", nodeAffinity=reachable_from("zone", "z")),
            volume("label", "4Gi", modes=(RWX,), labels={"disk": "hdd"}),
            volume("taken", "4Gi", "Bound", modes=(RWX,), claimRef=ref("u", "other")),
            volume("good", "4Gi", modes=(RWX,), labels={"disk": "ssd"}),
        ],
        node,
        chosen="good",
    )
    told = {v.volume: [fault.rule for fault in v.faults] for v in verdicts}
    assert [v.volume for v in verdicts][0] == "good"
    assert verdicts[-1].volume == "wrong"
    assert told == {
        "good": [],
        "label": ["selector"],
        "taken": ["claimed", "selector"],
        "wrong": ["size", "phase", "selector", "node-affinity", "access-modes"],
    }
    assert verdicts[1].faults[0].text == "label disk in (ssd) is not met: disk=hdd"


@pytest.mark.parametrize("seed", range(30))
def test_the_index_agrees_with_upstreams_loop(seed: int) -> None:
    chance = random.Random(seed)
    nodes = [Node(make_node(f"n{n}", f"z{n % 2}")) for n in range(3)]
    index = VolumeIndex()
    volumes: dict[str, PersistentVolume] = {}
    for step in range(150):
        name = f"v{chance.randrange(40):02}"
        if chance.random() < 0.2:
            volumes.pop(name, None)
            index.remove(name)
        else:
            known = volumes.get(name)
            again = known is not None and chance.random() < 0.7
            new = _next_version(chance, known) if known and again else _random_volume(chance, name)
            volumes[name] = new
            index.put(new)
        if step % 5:
            continue
        for each in volumes.values():
            assert index.affinity_of(each) == Offer(each).affinity
        wanted = _random_claim(chance)
        delay = chance.random() < 0.2
        found = index.find_best_match_for_claim(wanted, delay)
        assert found is _by_loop(index, volumes, wanted, delay)
        node = chance.choice(nodes)
        excluded = [n for n in sorted(volumes) if chance.random() < 0.1]
        of_class = [
            volumes[n]
            for n in sorted(volumes)
            if volumes[n].storage_class_name == (wanted.storage_class_name or "")
        ]
        looped = find_matching_volume(wanted, of_class, node, excluded, True)
        assert index.find_for_node(wanted, node, excluded) is looped
    assert len(index) == len(volumes)


def _by_loop(
    index: VolumeIndex,
    volumes: dict[str, PersistentVolume],
    wanted: PersistentVolumeClaim,
    delay: bool,
) -> PersistentVolume | None:
    for modes in index.all_possible_matching_access_modes(wanted.access_modes):
        group = [v for v in volumes.values() if set(v.access_modes) == set(modes)]
        group.sort(key=lambda v: (_size(v), v.name))
        found = find_matching_volume(wanted, group, delay_binding=delay)
        if found is not None:
            return found
    return None


def _size(item: PersistentVolume) -> int:
    return item.capacity_bytes


def _next_version(chance: random.Random, old: PersistentVolume) -> PersistentVolume:
    """*old* with another claim, phase or access modes; whatever else is shared with it."""
    claim_ref: Any = None
    if chance.random() < 0.6:
        claim_ref = ref(chance.choice(["", "uid-c", "x"]), chance.choice(["c", "d"]))
    spec: dict[str, Any] = {"claimRef": claim_ref}
    if chance.random() < 0.2:
        spec["accessModes"] = list(chance.choice(SETS))
    if chance.random() < 0.2:
        spec["capacity"] = {"storage": f"{chance.randrange(1, 6)}Gi"}
    return old.patched({"spec": spec, "status": {"phase": chance.choice(["Available", "Bound"])}})


def _random_volume(chance: random.Random, name: str) -> PersistentVolume:
    spec: dict[str, Any] = {"storageClassName": chance.choice(["", "a"])}
    if chance.random() < 0.3:
        spec["claimRef"] = ref(chance.choice(["", "uid-c", "x"]), chance.choice(["c", "d"]))
    if chance.random() < 0.3:
        spec["volumeMode"] = chance.choice(["Block", "Filesystem"])
    if chance.random() < 0.2:
        spec["volumeAttributesClassName"] = "gold"
    if chance.random() < 0.5:
        zone = chance.choice(["z0", "z1"])
        spec["nodeAffinity"] = reachable_from("topology.kubernetes.io/zone", zone)
    phase = chance.choice(["Available", "Available", "Available", "Released", "Pending"])
    labels = chance.choice([None, {"disk": "ssd"}])
    made = volume(
        name, f"{chance.randrange(1, 6)}Gi", phase, modes=chance.choice(SETS), labels=labels, **spec
    )
    if chance.random() < 0.05:
        made = made.patched({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
    return made


def _random_claim(chance: random.Random) -> PersistentVolumeClaim:
    spec: dict[str, Any] = {"storageClassName": chance.choice(["", "a"])}
    if chance.random() < 0.3:
        spec["selector"] = {"matchLabels": {"disk": "ssd"}}
    if chance.random() < 0.2:
        spec["volumeMode"] = "Block"
    if chance.random() < 0.2:
        spec["volumeAttributesClassName"] = "gold"
    return claim(f"{chance.randrange(1, 5)}Gi", modes=chance.choice(SETS[:3]), **spec)
