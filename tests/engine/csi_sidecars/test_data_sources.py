"""What an external provisioner refuses to make: copies of what is not there, and unknown modes."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.storage.topology import spread
from tests import builders
from tests.builders.clusters import played, scene

DRIVER = "csi.example.com"
_CLASS = builders.storage_class("csi", DRIVER, mode="Immediate")


def _outcome(*objects: dict[str, Any], outside: tuple[dict[str, Any], ...] = ()) -> str:
    """ "" if claim copy is bound, or why not."""
    cluster = played(Cluster.create(scene(_CLASS, *objects, outside=outside)))
    phase = cluster.store.get("PersistentVolumeClaim", "default/copy").status.get("phase")
    told = [event.message for event in cluster.untaken if event.kind == "ProvisioningFailed"]
    return "" if phase == "Bound" else told[0].partition(": ")[2]


def _copy(kind: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    return builders.claim("copy", "csi", size, dataSource={"kind": kind, "name": "src"}, **spec)


_NO_CLAIM = "error getting handle for DataSource Type PersistentVolumeClaim by Name src: "


@pytest.mark.parametrize(
    ("size", "source", "refusal"),
    [
        ("1Gi", {"csi": {"driver": DRIVER, "volumeHandle": "h"}}, ""),
        ("1Gi", {"hostPath": {"path": "/d"}}, "claim in dataSource not bound or invalid"),
        (
            "1Gi",
            {"csi": {"driver": "other", "volumeHandle": "h"}},
            "claim in dataSource not bound or invalid",
        ),
        (
            "1Mi",
            {"csi": {"driver": DRIVER, "volumeHandle": "h"}},
            "error, new PVC request must be greater than or equal in size to the specified PVC data "
            "source, requested 1048576 but source is 1073741824",
        ),
        (
            "1Gi",
            {"csi": {"driver": DRIVER, "volumeHandle": "h"}, "volumeMode": "Block"},
            "the source PVC and destination PVCs must have the same volume mode for cloning.  Source "
            "is Block, but new PVC requested Filesystem",
        ),
    ],
)
def test_clone_needs_a_bound_claim_of_its_driver(
    size: str, source: dict[str, Any], refusal: str
) -> None:
    ref = {"namespace": "default", "name": "src"}
    volume = builders.volume("pv", claimRef=ref, **source)
    mode = {"volumeMode": source["volumeMode"]} if "volumeMode" in source else {}
    bound = builders.claim("src", volumeName="pv", **mode)
    made = _outcome(volume, bound, _copy("PersistentVolumeClaim", size))
    assert made == (refusal and _NO_CLAIM + refusal)


def test_a_clone_of_another_namespaces_claim_is_refused() -> None:
    elsewhere = builders.claim("src")
    elsewhere["metadata"]["namespace"] = "other"
    assert _outcome(elsewhere, _copy("PersistentVolumeClaim")) == (
        f'{_NO_CLAIM}error getting PVC src (namespace "default") from api server: '
        'persistentvolumeclaim "src" not found'
    )


def _snapshot(name: str = "src", **status: Any) -> dict[str, Any]:
    ready = {"boundVolumeSnapshotContentName": "content", "readyToUse": True, **status}
    metadata = {"name": name, "namespace": "default", "uid": "u"}
    return {"kind": "VolumeSnapshot", "metadata": metadata, "status": ready}


def _content(driver: str = DRIVER) -> dict[str, Any]:
    ref = {"namespace": "default", "name": "src", "uid": "u"}
    spec = {"driver": driver, "volumeSnapshotRef": ref, "sourceVolumeMode": "Filesystem"}
    return {"kind": "VolumeSnapshotContent", "metadata": {"name": "content"}, "spec": spec}


@pytest.mark.parametrize(
    ("outside", "refusal"),
    [
        (
            (),
            "error getting snapshot src from api server: volumesnapshots.snapshot.storage.k8s.io "
            '"src" not found',
        ),
        ((_snapshot(restoreSize="1Gi"), _content()), ""),
        (
            (_snapshot("another"),),
            "error getting snapshot src from api server: volumesnapshots.snapshot.storage.k8s.io "
            '"src" not found',
        ),
        ((_snapshot(boundVolumeSnapshotContentName=None),), "snapshot src not bound"),
        ((_snapshot(), _content("other")), "snapshot src not bound"),
        ((_snapshot(readyToUse=False), _content()), "snapshot src is not Ready"),
        (
            (_snapshot(restoreSize="2Gi"), _content()),
            "requested volume size 1073741824 is less than the size 2147483648 for the source "
            "snapshot src",
        ),
    ],
)
def test_a_restore_needs_a_ready_snapshot_that_fits(
    outside: tuple[dict[str, Any], ...], refusal: str
) -> None:
    prefix = "error getting handle for DataSource Type VolumeSnapshot by Name src: "
    made = _outcome(_copy("VolumeSnapshot"), outside=outside)
    assert made == (refusal and prefix + refusal)


@pytest.mark.parametrize(
    ("driver", "block", "refusal"),
    [
        ("unknown.example.com", False, ""),
        ("disk.csi.azure.com", True, ""),
        (
            "disk.csi.azure.com",
            False,
            "mountVolume is not supported for access mode: MULTI_NODE_MULTI_WRITER",
        ),
        (
            "rook-ceph.rbd.csi.ceph.com",
            False,
            "multi node access modes are only supported on rbd `block` type volumes",
        ),
    ],
)
def test_a_known_driver_refuses_modes_it_lacks(driver: str, block: bool, refusal: str) -> None:
    mode = {"volumeMode": "Block"} if block else {}
    wanted = builders.claim("copy", "shared", modes=("ReadWriteMany",), **mode)
    made = _outcome(builders.storage_class("shared", driver, mode="Immediate"), wanted)
    assert made == (refusal and f"rpc error: code = InvalidArgument desc = {refusal}")


def test_claims_spread_over_zones_by_hash() -> None:
    # FNV-1 of "", "a" and "foobar", as its authors list them.
    assert [spread(name) for name in ("", "a", "foobar")] == [0x811C9DC5, 0x050C5D7E, 0x31F0B262]
    assert spread("data-db-2") == spread("logs-db-2") == spread("db") + 2
