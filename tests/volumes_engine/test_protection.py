"""Objects in use are not deleted under their users."""

import pytest

from kscope.sim.errors import NotFound
from tests.volumes_engine.storage import Storage, make_claim, make_pod, make_volume


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
