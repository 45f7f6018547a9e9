"""What of a claim or a volume cannot be changed, in the API server's words."""

from typing import Any

import pytest

from engine.api_server.validation.volumes import check_update
from engine.kernel.errors import Forbidden, Invalid
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from tests.engine.storage_world import make_claim, make_class, make_volume

GROWS = StorageClass(make_class("fast", "csi.example.com", allowVolumeExpansion=True))
FIXED = StorageClass(make_class("slow", "csi.example.com"))


def claim(size: str = "3Gi", phase: str = "Bound", **spec: Any) -> PersistentVolumeClaim:
    made = PersistentVolumeClaim(make_claim("c", size, **spec))
    return made.patched({"status": {"phase": phase}})


def test_a_bound_claim_grows_if_its_class_allows() -> None:
    check_update(claim(), claim("5Gi"), GROWS)
    with pytest.raises(Forbidden, match="only dynamically provisioned pvc can be resized"):
        check_update(claim(), claim("5Gi"), FIXED)
    with pytest.raises(Forbidden, match="Only bound persistent volume claims can be expanded"):
        check_update(claim(phase="Pending"), claim("5Gi", "Pending"), GROWS)


def test_a_claim_never_shrinks() -> None:
    with pytest.raises(Invalid, match="field can not be less than previous value"):
        check_update(claim(), claim("2Gi"), GROWS)


def test_a_claim_is_bound_once() -> None:
    check_update(claim(), claim(volumeName="v"), None)
    with pytest.raises(Invalid, match="spec is immutable after creation"):
        check_update(claim(volumeName="v"), claim(volumeName="w"), None)


def test_a_volumes_source_is_immutable() -> None:
    old = PersistentVolume(make_volume("v", hostPath={"path": "/a"}))
    check_update(old, old.patched({"spec": {"persistentVolumeReclaimPolicy": "Delete"}}), None)
    with pytest.raises(Invalid, match="persistentvolumesource is immutable"):
        check_update(old, old.patched({"spec": {"hostPath": {"path": "/b"}}}), None)


def test_a_failed_expansion_can_be_taken_back() -> None:
    """Upstream: RecoverVolumeExpansionFailure, generally available since v1.34."""
    wanted = claim("10Gi").patched({"status": {"capacity": {"storage": "3Gi"}}})
    check_update(wanted, claim("5Gi"), GROWS, lowers_requests=True)
    for size in ("3Gi", "2Gi"):
        with pytest.raises(Invalid, match="field can not be less than status.capacity"):
            check_update(wanted, claim(size), GROWS, lowers_requests=True)
