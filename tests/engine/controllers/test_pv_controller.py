"""The PV controller on the real store: what a user sees, write by write."""

import pickle

import pytest

from engine.kernel.errors import NotFound
from engine.kernel.units import SECOND
from engine.objects.phases import BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, YES
from engine.storage.matching.candidates import candidates_for
from engine.versions.registry import VERSIONS
from tests.engine.storage_world import (
    Storage,
    make_claim,
    make_class,
    make_node,
    make_pod,
    make_volume,
)


def test_a_static_bind_is_four_writes_in_order() -> None:
    storage = Storage()
    storage.create(make_volume("v"))
    storage.run(1)
    storage.create(make_claim("c"))
    storage.run(1)
    bind = [kind for kind, by in storage.facts() if by == "pv-controller"]
    assert bind == [
        "VolumeAvailable",
        "VolumePreBound",
        "VolumeBound",
        "ClaimBindCompleted",
        "ClaimBound",
    ]
    claim, volume = storage.claim("c"), storage.volume("v")
    assert (claim.phase, claim.volume_name, volume.phase) == ("Bound", "v", "Bound")
    assert claim.annotations == {BIND_COMPLETED: YES, BOUND_BY_CONTROLLER: YES}
    assert claim.status["capacity"] == {"storage": "1Gi"}
    assert volume.claim_ref is not None
    assert volume.claim_ref["uid"] == claim.uid
    assert storage.events.seen == []


def test_the_half_bound_pair_is_on_the_record() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(20)
    events, _ = storage.recorder.take()
    pre_bound = next(event for event in events if event.kind == "VolumePreBound")
    completed = next(event for event in events if event.kind == "ClaimBindCompleted")
    assert pre_bound.changes is not None
    assert pre_bound.changes["volume/v"] == {"claim": "default/c", "bound_by_controller": True}
    assert pre_bound.seq < completed.seq
    assert pre_bound.data is not None
    assert pre_bound.data["candidates"][0]["verdict"] == "chosen"


def test_the_smallest_volume_that_fits_is_taken() -> None:
    storage = Storage()
    many = ("ReadWriteOnce", "ReadWriteMany")
    storage.create(
        make_volume("ten", "10Gi"),
        make_volume("five", "5Gi"),
        make_volume("three", "3Gi", modes=many),
        make_volume("two", "2Gi"),
    )
    storage.run(1)
    storage.create(make_claim("c", "3Gi"))
    storage.run(1)
    # Fewer access modes come before less capacity.
    assert storage.claim("c").volume_name == "five"


def test_only_the_resync_matches_new_volumes() -> None:
    storage = Storage()
    storage.create(make_claim("c"))
    storage.run(20)
    storage.create(make_volume("v"))
    storage.run(9)
    assert storage.claim("c").phase == "Pending"
    storage.run(2)
    assert storage.claim("c").phase == "Bound"
    assert [at // SECOND for at, *_ in storage.events.seen] == [0, 15]
    assert storage.events.reasons == ["FailedBinding", "FailedBinding"]


def test_a_settled_cluster_becomes_quiet() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(60)
    assert storage.claim("c").phase == "Bound"
    assert storage.loop.next_at is None


def test_a_claim_that_waits_keeps_the_resync_going() -> None:
    storage = Storage()
    storage.create(make_claim("c"))
    storage.run(61)
    assert storage.events.reasons == ["FailedBinding"] * 5
    assert storage.loop.next_at == 75 * SECOND


def test_a_claim_that_loses_its_volume_is_lost() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(20)
    storage.store.patch("PersistentVolume", "v", {"metadata": {"finalizers": None}}, by="test")
    storage.store.delete("PersistentVolume", "v", by="test")
    storage.run(0.1)
    assert storage.claim("c").phase == "Lost"
    assert storage.events.reasons[-1] == "ClaimLost"


def test_a_misbound_claim_is_found_by_the_resync() -> None:
    storage = Storage(rules=VERSIONS["v1.20"].controller)
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(20)
    other = {"spec": {"claimRef": {"name": "other", "uid": "another"}}}
    storage.store.patch("PersistentVolume", "v", other, by="test")
    storage.run(0.1)
    assert (storage.volume("v").phase, storage.claim("c").phase) == ("Released", "Bound")
    storage.run(15)
    assert storage.claim("c").phase == "Lost"
    assert storage.events.reasons[-1] == "ClaimMisbound"


def test_a_released_volume_is_retained() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(20)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="test")
    storage.run(60)
    assert storage.volume("v").phase == "Released"
    assert storage.loop.next_at is None


def test_a_recycled_volume_is_available_again() -> None:
    storage = Storage()
    recycled = make_volume(
        "v", persistentVolumeReclaimPolicy="Recycle", hostPath={"path": "/tmp/v"}
    )
    storage.create(recycled, make_claim("c"))
    storage.run(20)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="test")
    storage.run(60)
    volume = storage.volume("v")
    assert (volume.phase, volume.claim_ref) == ("Available", None)
    assert storage.events.reasons[-1] == "VolumeRecycled"


def test_a_failed_deletion_is_reported_once_and_repeated() -> None:
    storage = Storage()
    stuck = make_volume("v", persistentVolumeReclaimPolicy="Delete", hostPath={"path": "/data/v"})
    storage.create(stuck, make_claim("c"))
    storage.run(20)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="test")
    storage.run(60)
    volume = storage.volume("v")
    text = "host_path deleter only supports /tmp/.+ but received provided /data/v"
    assert (volume.phase, volume.status["message"]) == ("Failed", text)
    assert storage.events.reasons.count("VolumeFailedDelete") == 1


def test_in_tree_provisioning_from_claim_to_deletion() -> None:
    storage = Storage(rules=VERSIONS["v1.20"].controller)
    storage.create(make_class("fast", "kubernetes.io/host-path"))
    storage.create(make_claim("c", storageClassName="fast"))
    storage.run(5)
    claim = storage.claim("c")
    name = f"pvc-{claim.uid}"
    assert claim.volume_name == name
    assert storage.volume(name).annotations[PROVISIONED_BY] == "kubernetes.io/host-path"
    assert storage.events.reasons == ["ProvisioningSucceeded"]
    facts = [kind for kind, by in storage.facts() if by == "pv-controller"]
    assert facts == [
        "ClaimProvisionerSet",
        "VolumeProvisioned",
        "VolumeBound",
        "ClaimBindCompleted",
        "ClaimBound",
    ] or facts == ["ClaimProvisionerSet", "VolumeProvisioned", "ClaimBindCompleted", "ClaimBound"]
    storage.store.delete("PersistentVolumeClaim", "default/c", by="test")
    storage.run(5)
    with pytest.raises(NotFound):
        storage.volume(name)


def test_deletion_removes_the_in_tree_finalizer() -> None:
    storage = Storage()
    storage.create(make_class("fast", "kubernetes.io/host-path"))
    storage.create(make_claim("c", storageClassName="fast"))
    storage.run(20)
    name = storage.claim("c").volume_name
    assert "kubernetes.io/pv-controller" in storage.volume(name).finalizers
    storage.store.delete("PersistentVolumeClaim", "default/c", by="test")
    storage.run(40)
    with pytest.raises(NotFound):
        storage.volume(name)


def test_a_delayed_claim_says_whom_it_waits_for() -> None:
    storage = Storage()
    delayed = make_class("wait", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
    storage.create(delayed, make_claim("c", storageClassName="wait"))
    storage.run(1)
    storage.create(make_pod("b", "c"), make_pod("a", "c"), make_pod("on-node", "c", node="n"))
    storage.run(20)
    assert [(reason, text) for _, _, reason, text in storage.events.seen] == [
        ("WaitForFirstConsumer", "waiting for first consumer to be created before binding"),
        ("WaitForPodScheduled", "waiting for pods a,b to be scheduled"),
    ]


def test_a_classless_claim_gets_a_later_default() -> None:
    storage = Storage()
    claim = make_claim("c")
    del claim["spec"]["storageClassName"]
    storage.create(claim)
    storage.run(1)
    default = make_class("fast", "kubernetes.io/host-path")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    storage.create(default)
    storage.run(20)
    assert storage.claim("c").storage_class_name == "fast"
    assert storage.claim("c").phase == "Bound"


def test_a_failed_write_leaves_a_half_bound_pair() -> None:
    storage = Storage()
    storage.create(make_volume("v"))
    storage.run(1)
    storage.create(make_claim("c"))
    # Someone else writes the claim while the controller still has the older version.
    storage.run(0.0009)
    storage.store.patch(
        "PersistentVolumeClaim", "default/c", {"metadata": {"labels": {"a": "b"}}}, by="test"
    )
    storage.run(0.0002)
    assert storage.volume("v").claim_key == "default/c"
    assert storage.claim("c").volume_name == ""
    storage.run(1)
    assert storage.claim("c").phase == "Bound"


def test_the_controller_survives_a_checkpoint_at_any_time() -> None:
    whole, parts = Storage(), Storage()
    for storage in (whole, parts):
        storage.create(
            make_node("n"),
            make_class("fast", "kubernetes.io/host-path"),
            make_class("csi", "csi.example.com"),
            make_volume("v", "5Gi"),
            make_claim("static", "3Gi"),
            make_claim("in-tree", storageClassName="fast"),
            make_claim("external", storageClassName="csi"),
            make_claim("never", storageClassName="nope"),
        )
    whole.run(40)
    for _ in range(40):
        parts = pickle.loads(pickle.dumps(parts))
        parts.run(1)
    assert [e.to_dict() for e in parts.recorder.pending] == [
        e.to_dict() for e in whole.recorder.pending
    ]
    assert parts.events.seen == whole.events.seen
    assert {c.name: c.phase for c in whole.listers.claims()} == {
        "static": "Bound",
        "in-tree": "Bound",
        "external": "Bound",
        "never": "Pending",
    }


def test_candidates_name_the_fault_of_each_volume() -> None:
    storage = Storage()
    storage.create(make_volume("small", "1Gi"), make_volume("big", "9Gi"), make_claim("c", "2Gi"))
    storage.run(0.5)
    found = candidates_for(storage.claim("c"), storage.controller.caches.volumes, None)
    verdicts = [verdict for verdict, _, _ in found.verdicts]
    assert [(v.volume, v.rule) for v in verdicts] == [("big", "chosen"), ("small", "size")]
    assert verdicts[1].faults[0].text == "1Gi is 1Gi too small"
