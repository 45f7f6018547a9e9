"""VolumeAttributesClasses: changed volumes, classes in use, what the API server refuses."""

from typing import Any

import pytest

from engine.api_server.validation.volumes import check_update
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.errors import Invalid
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject
from tests.builders import claim, node, storage_class
from tests.builders.clusters import Manifest, apply_command, played, scene

DRIVER = "csi.example.com"
CLAIM = "claim/default/data"


def _class(name: str, driver: str = DRIVER) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttributesClass",
        "metadata": {"name": name},
        "driverName": driver,
        "parameters": {"iops": name},
    }


def _claim(attributes: str | None) -> Manifest:
    made = claim("data", "fast")
    if attributes:
        made["spec"]["volumeAttributesClassName"] = attributes
    return made


def _bound(
    *objects: Manifest, attributes: str | None = "silver", profile: str = "v1.36"
) -> Cluster:
    fast = storage_class("fast", DRIVER, mode="Immediate")
    made = Cluster.create(scene(node("n"), fast, *objects, _claim(attributes)), profile=profile)
    return played(made, 5)


def _ask(cluster: Cluster, name: str) -> None:
    patch = {"spec": {"volumeAttributesClassName": name}}
    apply_command(cluster, verb="patch", object=CLAIM, patch=patch)


def _status(cluster: Cluster) -> dict[str, Any]:
    status = cluster.store.get("PersistentVolumeClaim", "default/data").status
    names = ("currentVolumeAttributesClassName", "modifyVolumeStatus", "conditions")
    return {name: status[name] for name in names if name in status}


def _volume_class(cluster: Cluster) -> str:
    (volume,) = cluster.store.objects("PersistentVolume")
    return volume.spec.get("volumeAttributesClassName", "")


@pytest.mark.parametrize("first", ["silver", None])
@pytest.mark.parametrize("profile", ["v1.36", "v1.34"])
def test_a_volume_is_changed_to_the_claims_class(first: str | None, profile: str) -> None:
    cluster = _bound(_class("silver"), _class("gold"), attributes=first, profile=profile)
    assert _volume_class(cluster) == (first or "")
    _ask(cluster, "gold")
    cluster.advance(cluster.now + SECOND // 4)
    modifying = {"targetVolumeAttributesClassName": "gold", "status": "InProgress"}
    assert _status(cluster)["modifyVolumeStatus"] == modifying
    assert [each["type"] for each in _status(cluster)["conditions"]] == ["ModifyingVolume"]
    played(cluster, 5)
    assert _volume_class(cluster) == "gold"
    assert _status(cluster) == {"currentVolumeAttributesClassName": "gold"}


def test_a_change_waits_for_its_class() -> None:
    cluster = _bound(_class("silver"))
    _ask(cluster, "gold")
    played(cluster, 5)
    pending = {"targetVolumeAttributesClassName": "gold", "status": "Pending"}
    assert _status(cluster)["modifyVolumeStatus"] == pending
    apply_command(cluster, verb="create", manifest=_class("gold"))
    played(cluster, 5)
    assert _status(cluster) == {"currentVolumeAttributesClassName": "gold"}


def test_a_change_that_waits_can_be_taken_back() -> None:
    cluster = _bound(_class("silver"))
    _ask(cluster, "gold")
    played(cluster, 5)
    _ask(cluster, "silver")
    played(cluster, 5)
    assert _status(cluster) == {"currentVolumeAttributesClassName": "silver"}


def test_a_class_of_another_driver_is_not_applied() -> None:
    cluster = _bound(_class("silver"), _class("gold", "other.example.com"))
    _ask(cluster, "gold")
    events = played(cluster, 5).take().events
    (refused,) = (one.message for one in events if one.kind == "VolumeModifyFailed")
    assert refused == "VAC gold is of another driver."
    assert _volume_class(cluster) == "silver"


def test_two_changes_are_made_one_after_the_other() -> None:
    cluster = _bound(_class("silver"), _class("gold"), _class("bronze"))
    _ask(cluster, "gold")
    cluster.advance(cluster.now + SECOND // 4)
    _ask(cluster, "bronze")
    events = played(cluster, 5).take().events
    done = [one.message for one in events if one.kind == "VolumeModified"]
    assert done == ["has the attributes of class gold", "has the attributes of class bronze"]


def test_a_missing_class_fails_the_provisioning() -> None:
    cluster = _bound(attributes="none-such")
    message = 'volumeattributesclasses.storage.k8s.io "none-such" not found'
    failed = [one.message for one in cluster.take().events if one.kind == "ProvisioningFailed"]
    assert failed[0].endswith(message)
    apply_command(cluster, verb="create", manifest=_class("none-such"))
    assert _volume_class(played(cluster, 30)) == "none-such"


def test_a_class_in_use_is_not_deleted() -> None:
    cluster = _bound(_class("silver"), _class("gold"))
    apply_command(cluster, verb="delete", object="volumeattributesclass/silver")
    apply_command(cluster, verb="delete", object="volumeattributesclass/gold")
    played(cluster, 5)
    assert [one.name for one in cluster.store.objects("VolumeAttributesClass")] == ["silver"]
    apply_command(cluster, verb="delete", object=CLAIM)
    assert played(cluster, 30).store.objects("VolumeAttributesClass") == []


def test_a_restarted_resizer_finishes_the_change() -> None:
    cluster = _bound(_class("silver"), _class("gold"))
    _ask(cluster, "gold")
    cluster.advance(cluster.now + SECOND // 4)
    apply_command(cluster, verb="fault", patch={"restart": "external-resizer"})
    played(cluster, 5)
    assert _status(cluster) == {"currentVolumeAttributesClassName": "gold"}


def test_before_v1_34_a_claim_keeps_its_class() -> None:
    cluster = _bound(_class("silver"), _class("gold"), profile="v1.20")
    patch = {"spec": {"volumeAttributesClassName": "gold"}}
    outcome = cluster.apply(Command(verb="patch", object=CLAIM, patch=patch))
    assert outcome.applied
    assert "v1.20 does not have this field (v1.29 and later do); it is left out" in outcome.reason
    claim = cluster.store.get("PersistentVolumeClaim", "default/data")
    assert "volumeAttributesClassName" not in claim.spec


def test_a_claim_cannot_drop_its_class() -> None:
    old = _bound(_class("silver")).store.get("PersistentVolumeClaim", "default/data")
    for value, words in ((None, "non-nil value to nil"), ("", "non-empty value to an empty")):
        new = old.patched({"spec": {"volumeAttributesClassName": value}})
        with pytest.raises(Invalid, match=words):
            check_update(old, new, None, changes_attributes=True)


def test_the_parameters_of_a_class_are_immutable() -> None:
    old = ApiObject(_class("silver"))
    with pytest.raises(Invalid, match="parameters: Forbidden: updates to parameters are forbidden"):
        check_update(old, old.patched({"parameters": {"iops": "other"}}), None)


def test_a_quota_follows_the_change_of_class() -> None:
    quota: Manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gold", "namespace": "default"},
        "spec": {
            "hard": {"persistentvolumeclaims": "0"},
            "scopeSelector": {
                "matchExpressions": [
                    {
                        "scopeName": "VolumeAttributesClass",
                        "operator": "In",
                        "values": ["gold"],
                    }
                ]
            },
        },
    }
    cluster = _bound(_class("silver"), _class("gold"), quota)
    patch = {"spec": {"volumeAttributesClassName": "gold"}}
    outcome = cluster.apply(Command(verb="patch", object=CLAIM, patch=patch))
    assert not outcome.applied
    assert "exceeded quota: gold" in outcome.reason


@pytest.mark.parametrize(
    ("profile", "left"), [("v1.36", ["kubernetes.io/vac-protection"]), ("v1.20", [])]
)
def test_classes_are_protected_since_v1_34(profile: str, left: list[str]) -> None:
    cluster = _bound(_class("silver"), attributes=None, profile=profile)
    apply_command(cluster, verb="create", manifest=_class("gold"))
    made = cluster.store.get("VolumeAttributesClass", "gold")
    assert list(made.finalizers) == left
