"""Every volume as a candidate for a claim: who is chosen, in which order, and the words for it."""

import random
from typing import Any

import pytest

from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, StorageClass
from engine.storage.matching.candidates import (
    Candidates,
    candidates_for,
    claimants_dict,
    claimants_of,
    in_matching_order,
)
from engine.storage.matching.index import VolumeIndex
from tests.builders import reachable_from
from tests.engine.storage_world import make_claim, make_node, make_volume

RWO, RWX = "ReadWriteOnce", "ReadWriteMany"
NODE = Node(make_node("n1"))


def volume(name: str, size: str = "1Gi", phase: str = "Available", **more: Any) -> PersistentVolume:
    made = PersistentVolume(make_volume(name, size, **more))
    return made.patched({"status": {"phase": phase}})


def claim(size: str = "1Gi", **more: Any) -> PersistentVolumeClaim:
    made = PersistentVolumeClaim(make_claim("c", size, **more))
    return made.patched({"metadata": {"uid": "uid-c"}})


def ref(uid: str = "", name: str = "c") -> dict[str, str]:
    return {"namespace": "default", "name": name, "uid": uid}


def of_mode(mode: str) -> StorageClass:
    raw = {"kind": "StorageClass", "metadata": {"name": "manual"}, "volumeBindingMode": mode}
    return StorageClass(raw)


LATE = of_mode("WaitForFirstConsumer")


def ask(
    wanted: PersistentVolumeClaim,
    *volumes: PersistentVolume,
    of: StorageClass | None = None,
    node: Node | None = None,
) -> Candidates:
    return candidates_for(wanted, VolumeIndex(volumes), of, node)


def verdicts(found: Candidates) -> dict[str, tuple[str, str]]:
    rows = found.to_dict()["candidates"]
    return {row["volume"]: (row["verdict"], row["text"]) for row in rows}


def test_fitting_candidates_come_in_matching_order() -> None:
    found = ask(
        claim("2Gi"),
        volume("a-large", "9Gi"),
        volume("b-more", "3Gi", modes=(RWO, RWX)),
        volume("c-best", "5Gi"),
        volume("d-equal", "5Gi"),
        volume("e-small", "1Gi"),
    )
    assert list(verdicts(found).items()) == [
        ("c-best", ("chosen", "the first that fits: 5Gi for 2Gi")),
        ("d-equal", ("fits", "as large as c-best, which comes first by name")),
        ("a-large", ("fits", "larger than c-best by 4Gi")),
        (
            "b-more",
            ("fits", "offers ReadWriteMany as well: comes after c-best, which offers less"),
        ),
        ("e-small", ("size", "1Gi is 1Gi too small")),
    ]
    assert (found.asker, found.to_dict()["fits"]) == ("pv-controller", 4)


def test_delayed_claims_are_left_to_the_scheduler() -> None:
    found = ask(claim(), volume("pv"), of=LATE)
    assert (found.chosen, verdicts(found)["pv"][0], found.delayed) == ("", "delayed", True)


def test_the_scheduler_asks_for_its_node() -> None:
    far, near = (
        reachable_from("kubernetes.io/hostname", "n2"),
        reachable_from("kubernetes.io/hostname", "n1"),
    )
    volumes = volume("far", "1Gi", nodeAffinity=far), volume("near", "2Gi", nodeAffinity=near)
    found = ask(claim(), *volumes, of=LATE, node=NODE)
    assert (found.asker, found.node, found.chosen) == ("scheduler", "n1", "near")
    assert verdicts(found)["far"][0] == "node-affinity"


def test_immediate_claims_ignore_nodes() -> None:
    far = volume("far", nodeAffinity=reachable_from("kubernetes.io/hostname", "n2"))
    found = ask(claim(), far, of=of_mode("Immediate"), node=NODE)
    assert (found.asker, found.node, found.chosen) == ("pv-controller", "", "far")


def test_a_reserved_volume_says_so() -> None:
    found = ask(claim(), volume("mine", "9Gi", claimRef=ref()), volume("other"))
    assert found.chosen == "mine"
    assert verdicts(found)["mine"] == ("chosen", "its claimRef names the claim: 9Gi for 1Gi")


def test_a_claim_naming_a_volume_accepts_no_other() -> None:
    naming = claim("2Gi").patched({"spec": {"volumeName": "small"}})
    found = ask(naming, volume("small"), volume("large", "2Gi"))
    assert found.chosen == ""
    assert verdicts(found) == {
        "small": ("named", "the claim names it, but requested PV is too small"),
        "large": ("named", "the claim names small"),
    }
    naming = claim().patched({"spec": {"volumeName": "large"}})
    assert ask(naming, volume("large", "2Gi")).chosen == "large"
    taken = volume("large", "2Gi", "Bound", claimRef=ref("u", "other"))
    assert verdicts(ask(naming, taken))["large"][0] == "claimed"


def test_a_bound_volume_stays_chosen() -> None:
    done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    bound = claim("1Gi").patched({"spec": {"volumeName": "mine"}, **done})
    found = ask(bound, volume("mine", "5Gi", "Bound", claimRef=ref("uid-c")), volume("new", "2Gi"))
    assert verdicts(found) == {
        "mine": ("chosen", "the claim is bound to it: 5Gi for 1Gi"),
        "new": ("fits", "smaller than mine, which the claim already has"),
    }


def test_a_lost_claim_takes_no_other_volume() -> None:
    done = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
    lost = claim("1Gi").patched({"spec": {"volumeName": "gone"}, **done})
    assert verdicts(ask(lost, volume("new"))) == {"new": ("named", "the claim names gone")}


def test_unbound_claims_are_judged_for_one_volume() -> None:
    pv, small = volume("pv", "2Gi"), volume("small")
    claims = [
        PersistentVolumeClaim(make_claim("big", "9Gi")),
        PersistentVolumeClaim(make_claim("exact", "2Gi")),
        PersistentVolumeClaim(make_claim("modest")),
        PersistentVolumeClaim(make_claim("late", storageClassName="late")),
        PersistentVolumeClaim(make_claim("bound", volumeName="else")),
    ]
    late = volume("pv", "2Gi", storageClassName="late")
    found = claimants_dict(claimants_of(pv, claims, VolumeIndex((pv, small)), {"late": LATE}))
    assert {row["claim"]: (row["verdict"], row["text"]) for row in found["claimants"]} == {
        "default/exact": ("chosen", "the first that fits: 2Gi for 2Gi"),
        "default/modest": ("fits", "larger than small by 1Gi"),
        "default/big": ("size", "2Gi is 7Gi too small"),
        "default/late": ("class", "class is none, the claim asks for late"),
    }
    assert (found["claims"], found["fits"]) == (4, 2)
    ((verdict, _, text),) = claimants_of(late, claims[3:4], VolumeIndex((late,)), {"late": LATE})
    assert (verdict.faults, text.split(";")[0]) == ((), "fits")


def test_the_list_of_candidates_is_limited() -> None:
    found = ask(claim(), *(volume(f"pv-{i}") for i in range(9))).to_dict(shown=3)
    assert (len(found["candidates"]), found["volumes"]) == (3, 9)
    assert found["counts"] == {"chosen": 1, "fits": 8}


@pytest.mark.parametrize("seed", range(40))
def test_the_first_fit_in_matching_order_is_chosen(seed: int) -> None:
    dice = random.Random(seed)
    volumes = [
        volume(
            f"pv-{i}",
            f"{dice.randint(1, 4)}Gi",
            dice.choice(("Available", "Available", "Bound")),
            modes=dice.choice(((RWO,), (RWX,), (RWO, RWX))),
            claimRef=dice.choice((None, None, None, ref(), ref("u", "other"))),
            storageClassName=dice.choice(("", "", "other")),
            nodeAffinity=dice.choice((None, reachable_from("kubernetes.io/hostname", "n1"))),
        )
        for i in range(8)
    ]
    index = VolumeIndex(volumes)
    for node, of in ((None, None), (NODE, LATE)):
        wanted = claim(f"{dice.randint(1, 3)}Gi")
        found = candidates_for(wanted, index, of, node)
        fits = {one.volume for one, _, _ in found.verdicts if not one.faults}
        ordered = [each.name for each in in_matching_order(wanted, index, node)]
        assert sorted(ordered) == sorted(each.name for each in volumes)
        first = next((name for name in ordered if name in fits), "")
        assert first == found.chosen
