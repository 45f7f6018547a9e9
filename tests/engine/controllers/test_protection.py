"""Objects in use are not deleted under their users."""

import pytest

from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import NotFound
from engine.objects.objects import ApiObject
from tests.engine.storage_world import Storage, make_claim, make_pod, make_volume


def test_an_unused_claim_goes_within_a_moment() -> None:
    storage = Storage()
    storage.create(make_claim("c"))
    storage.run(1)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    assert storage.claim("c").deletion_timestamp
    storage.run(0.1)
    with pytest.raises(NotFound):
        storage.claim("c")
    assert ("ClaimDeleted", "pvc-protection") in storage.facts("claim/default/c")


def test_a_claim_stays_while_scheduled_pods_exist() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.create(make_pod("runs", "c", node="n", phase="Running"), make_pod("waits", "c"))
    storage.run(20)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(5)
    assert storage.claim("c").phase == "Bound"
    # A pod that has ended still holds its claim.
    storage.store.patch("Pod", "default/runs", {"status": {"phase": "Succeeded"}}, by="kubelet")
    storage.run(5)
    assert storage.claim("c").deletion_timestamp
    storage.store.delete("Pod", "default/runs", by="user")
    storage.run(1)
    with pytest.raises(NotFound):
        storage.claim("c")
    assert storage.volume("v").phase == "Released"


def test_a_claim_stays_for_an_undelivered_pod() -> None:
    storage = Storage()
    storage.create(make_claim("c"), make_pod("other", "d", node="n"))
    storage.run(1)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(0.0005)
    storage.create(make_pod("p", "c", node="n"))
    storage.run(0.5)
    assert storage.claim("c").deletion_timestamp
    storage.store.delete("Pod", "default/p", by="user")
    storage.run(0.5)
    with pytest.raises(NotFound):
        storage.claim("c")


def test_an_unused_claim_copies_no_list_of_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    storage, listed = Storage(), list[str]()
    storage.create(make_claim("c"), make_pod("other", "d", node="n"))
    storage.run(1)
    objects = ObjectStore.objects

    def noted(store: ObjectStore, kind: str) -> list[ApiObject]:
        listed.append(kind)
        return objects(store, kind)

    monkeypatch.setattr(ObjectStore, "objects", noted)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(1)
    assert ("ClaimDeleted", "pvc-protection") in storage.facts("claim/default/c")
    assert "Pod" not in listed


def ephemeral_claim(owner: str) -> Storage:
    """A deleted pod that a finalizer holds, and the deleted claim "p-c" of its ephemeral volume."""
    storage = Storage()
    template = {"spec": {"accessModes": ["ReadWriteOnce"]}}
    pod = make_pod("p", node="n", phase="Running")
    pod["metadata"] |= {"uid": "uid-p", "finalizers": ["foregroundDeletion"]}
    pod["spec"]["volumes"] = [{"name": "c", "ephemeral": {"volumeClaimTemplate": template}}]
    claim = make_claim("p-c")
    reference = {"kind": "Pod", "name": "p", "uid": owner, "controller": True}
    claim["metadata"]["ownerReferences"] = [reference]
    storage.create(pod, claim)
    storage.run(1)
    storage.store.delete("Pod", "default/p", by="user", grace_seconds=30)
    storage.store.delete("PersistentVolumeClaim", "default/p-c", by="garbage-collector")
    storage.run(5)
    return storage


def test_ephemeral_claim_goes_once_its_pod_shuts_down() -> None:
    storage = ephemeral_claim("uid-p")
    assert storage.claim("p-c").deletion_timestamp
    storage.store.delete("Pod", "default/p", by="kubelet", grace_seconds=0)
    storage.run(1)
    with pytest.raises(NotFound):
        storage.claim("p-c")
    assert storage.store.get("Pod", "default/p").finalizers


def test_claim_of_another_owner_does_not_await_pods() -> None:
    storage = ephemeral_claim("uid-of-another-pod")
    with pytest.raises(NotFound):
        storage.claim("p-c")


def test_claim_named_by_a_pod_outlives_the_pod() -> None:
    storage = Storage()
    pod = make_pod("p", "c", node="n", phase="Running")
    pod["metadata"]["finalizers"] = ["example.com/hold"]
    storage.create(make_claim("c"), pod)
    storage.run(1)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.store.delete("Pod", "default/p", by="kubelet", grace_seconds=0)
    storage.run(5)
    assert storage.claim("c").deletion_timestamp


def test_a_bound_volume_is_deleted_after_its_claim() -> None:
    storage = Storage()
    storage.create(make_volume("v"), make_claim("c"))
    storage.run(20)
    storage.store.delete("PersistentVolume", "v", by="user")
    storage.run(5)
    assert storage.volume("v").phase == "Bound"
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(5)
    with pytest.raises(NotFound):
        storage.volume("v")
