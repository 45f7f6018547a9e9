"""The handshake between scheduler, PV controller and an external provisioner."""

import pytest

from engine.api_server.store.faults import ClaimFault
from engine.controllers.persistent_volumes.in_tree.cloud_disk import NodeZones
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.kernel.errors import NotFound
from engine.kernel.rng import Stream
from engine.kernel.units import SECOND
from engine.objects.phases import SELECTED_NODE
from engine.versions.registry import VERSIONS
from tests.builders import reachable_from
from tests.engine.storage_world import Storage, make_claim, make_class, make_csi_node, make_node

ZONE = "topology.kubernetes.io/zone"
DRIVER = "csi.example.com"


def two_zones(storage: Storage, mode: str) -> None:
    for name, zone in (("node-1", "zone-1"), ("node-2", "zone-2")):
        storage.create(make_node(name, zone), make_csi_node(name, DRIVER, ZONE))
    storage.create(make_class("csi", DRIVER, mode), make_claim("c", "3Gi", storageClassName="csi"))


def select(storage: Storage, node: str) -> None:
    patch = {"metadata": {"annotations": {SELECTED_NODE: node}}}
    storage.store.patch("PersistentVolumeClaim", "default/c", patch, by="scheduler")


def test_delayed_claims_are_provisioned_for_the_selected_node() -> None:
    storage = Storage(rules=VERSIONS["v1.20"].controller)
    two_zones(storage, "WaitForFirstConsumer")
    storage.run(5)
    assert storage.store.objects("PersistentVolume") == []
    select(storage, "node-2")
    storage.run(2)
    claim = storage.claim("c")
    volume = storage.volume(f"pvc-{claim.uid}")
    assert (claim.phase, volume.phase) == ("Bound", "Bound")
    assert volume.spec["nodeAffinity"] == reachable_from(ZONE, "zone-2")
    # The provisioner, not the controller, made the volume's side of the binding.
    assert volume.annotations == {"pv.kubernetes.io/provisioned-by": DRIVER}
    assert [r for r in storage.events.reasons if r != "WaitForFirstConsumer"] == [
        "Provisioning",
        "ExternalProvisioning",
        "ProvisioningSucceeded",
    ]


def test_a_claim_with_a_selector_is_not_provisioned() -> None:
    storage = Storage()
    selector = {"matchLabels": {"disk": "ssd"}}
    storage.create(make_class("csi", DRIVER, "Immediate"))
    storage.create(make_claim("c", storageClassName="csi", selector=selector))
    storage.run(2)
    assert storage.store.objects("PersistentVolume") == []
    said = [message for _, _, reason, message in storage.events.seen if reason.endswith("Failed")]
    assert said[0] == (
        'failed to provision volume with StorageClass "csi": claim Selector is not supported'
    )


def test_a_full_node_returns_the_claim_for_rescheduling() -> None:
    storage = Storage(faults=DriverFaults(full_nodes=("node-1",)))
    two_zones(storage, "WaitForFirstConsumer")
    storage.run(1)
    select(storage, "node-1")
    storage.run(2)
    assert SELECTED_NODE not in storage.claim("c").annotations
    assert "ProvisioningFailed" in storage.events.reasons
    select(storage, "node-2")
    storage.run(2)
    assert storage.claim("c").phase == "Bound"


def test_an_absent_driver_never_answers() -> None:
    storage = Storage(faults=DriverFaults(absent=(DRIVER,)))
    two_zones(storage, "Immediate")
    storage.run(100)
    assert storage.claim("c").phase == "Pending"
    assert set(storage.events.reasons) == {"ExternalProvisioning"}


def test_failures_are_tried_again_ever_more_slowly() -> None:
    storage = Storage(faults=DriverFaults(failures={"default/c": 3}))
    two_zones(storage, "Immediate")
    storage.run(30)
    failed = [at // SECOND for at, _, r, _ in storage.events.seen if r == "ProvisioningFailed"]
    assert failed == [1, 3, 6]
    assert storage.claim("c").phase == "Bound"


def test_immediate_volumes_use_the_drivers_zones() -> None:
    storage = Storage()
    two_zones(storage, "Immediate")
    storage.run(3)
    volume = storage.volume(storage.claim("c").volume_name)
    assert volume.spec["nodeAffinity"] in (
        reachable_from(ZONE, "zone-1"),
        reachable_from(ZONE, "zone-2"),
    )


@pytest.mark.parametrize("how", ["node", "csi node", "class"])
def test_where_immediate_volumes_go_follows_what_changes(how: str) -> None:
    storage = Storage()
    two_zones(storage, "Immediate")
    storage.run(3)
    allowed = {"key": ZONE, "values": ["zone-3"]}
    if how == "class":
        terms = {"allowedTopologies": [{"matchLabelExpressions": [allowed]}]}
        storage.store.patch("StorageClass", "csi", terms, by="user")
        storage.create(make_node("node-3", "zone-3"), make_csi_node("node-3", DRIVER, ZONE))
    elif how == "node":
        for name in ("node-1", "node-2"):
            moved = {"metadata": {"labels": {ZONE: "zone-3"}}}
            storage.store.patch("Node", name, moved, by="user")
    else:
        for name in ("node-1", "node-2"):
            storage.store.patch("CSINode", name, {"spec": {"drivers": None}}, by="user")
    storage.run(1)
    for number in range(4):
        storage.create(make_claim(f"later-{number}", "3Gi", storageClassName="csi"))
    storage.run(5)
    for number in range(4):
        volume = storage.volume(storage.claim(f"later-{number}").volume_name)
        expected = None if how == "csi node" else reachable_from(ZONE, "zone-3")
        assert volume.spec.get("nodeAffinity") == expected


def test_in_tree_zones_follow_the_nodes() -> None:
    storage = Storage()
    zones = NodeZones(storage.listers.node_informer)
    storage.create(make_node("node-1", "zone-1"))
    storage.run(1)
    only = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zone-2"]}]}]
    assert (zones.pick("c", []), zones.pick("c", only)) == ((ZONE, "zone-1"), (ZONE, ""))
    storage.store.patch("Node", "node-1", {"metadata": {"labels": {ZONE: "zone-2"}}}, by="user")
    storage.run(1)
    assert (zones.pick("c", []), zones.pick("c", only)) == ((ZONE, "zone-2"), (ZONE, "zone-2"))
    storage.store.delete("Node", "node-1", by="user")
    storage.run(1)
    assert zones.pick("c", []) == (ZONE, "")


def released(storage: Storage) -> str:
    """The volume of a claim that was deleted just now."""
    two_zones(storage, "Immediate")
    storage.run(3)
    name = storage.claim("c").volume_name
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(0.5)
    assert storage.volume(name).phase == "Released"
    return name


def refusals(storage: Storage) -> list[tuple[int, str]]:
    """When deletions were refused, in seconds, and why."""
    seen = storage.events.seen
    return [(at // SECOND, why) for at, _, reason, why in seen if reason == "VolumeFailedDelete"]


def test_a_released_volume_is_deleted_by_its_driver() -> None:
    storage = Storage()
    name = released(storage)
    storage.run(2)
    with pytest.raises(NotFound):
        storage.volume(name)
    storage.run(30)
    assert storage.loop.next_at is None


def test_refused_deletion_is_tried_again_later() -> None:
    faults = DriverFaults()
    storage = Storage(faults=faults)
    refusal = {"fail": "delete", "times": 2, "text": "no rights"}
    faults.deletions.waiting.append(ClaimFault.of(refusal, Stream(1)))
    name = released(storage)
    storage.run(5)
    # The driver takes a second, and is asked again after one and after two.
    assert refusals(storage) == [(4, "no rights"), (6, "no rights")]
    assert storage.volume(name).phase == "Released"
    storage.run(4)
    with pytest.raises(NotFound):
        storage.volume(name)
