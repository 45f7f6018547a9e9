"""A claim that asks for more gets more, step by step."""

from engine.csi_sidecars.driver_faults import DriverFaults
from engine.csi_sidecars.external_resizer import FILE_SYSTEM_RESIZE_PENDING
from tests.engine.storage_world import Storage, make_claim, make_class, make_pod, make_volume


def grow(storage: Storage, size: str) -> None:
    patch = {"spec": {"resources": {"requests": {"storage": size}}}}
    storage.store.patch("PersistentVolumeClaim", "default/c", patch, by="user")


def bound_claim(allowed: bool) -> Storage:
    storage = Storage()
    storage.create(make_class("csi", "csi.example.com", allowVolumeExpansion=allowed))
    storage.create(make_claim("c", "1Gi", storageClassName="csi"))
    storage.run(5)
    assert storage.claim("c").phase == "Bound"
    return storage


def test_a_running_pod_lets_the_file_system_grow() -> None:
    storage = bound_claim(True)
    grow(storage, "3Gi")
    storage.run(5)
    claim = storage.claim("c")
    assert storage.volume(claim.volume_name).capacity_bytes == 3 * 1024**3
    assert claim.status["capacity"] == {"storage": "1Gi"}
    assert [each["type"] for each in claim.status["conditions"]] == [FILE_SYSTEM_RESIZE_PENDING]
    storage.create(make_pod("p", "c", node="n", phase="Running"))
    storage.run(5)
    claim = storage.claim("c")
    assert claim.status["capacity"] == {"storage": "3Gi"}
    assert "conditions" not in claim.status
    assert [r for r in storage.events.reasons if "esiz" in r or "xpand" in r] == [
        "ExternalExpanding",
        "Resizing",
        "FileSystemResizeRequired",
        "FileSystemResizeSuccessful",
    ]
    storage.run(60)
    assert storage.loop.next_at is None


def test_a_class_can_forbid_expansion() -> None:
    storage = bound_claim(False)
    grow(storage, "3Gi")
    storage.run(5)
    assert storage.volume(storage.claim("c").volume_name).capacity_bytes == 1024**3


def test_migrated_volume_is_expanded_by_the_named_driver() -> None:
    storage = Storage()
    storage.create(make_class("old", "kubernetes.io/gce-pd", allowVolumeExpansion=True))
    disk = {"pdName": "d1"}
    storage.create(make_volume("v", "1Gi", storageClassName="old", gcePersistentDisk=disk))
    storage.create(make_claim("c", "1Gi", storageClassName="old"))
    storage.run(20)
    grow(storage, "3Gi")
    storage.run(5)
    messages = [said for _, _, reason, said in storage.events.seen if reason == "ExternalExpanding"]
    assert messages == [
        "CSI migration enabled for kubernetes.io/gce-pd; waiting for external resizer to expand the "
        "pvc"
    ]
    annotation = storage.claim("c").annotations["volume.kubernetes.io/storage-resizer"]
    assert annotation == "pd.csi.storage.gke.io"
    assert storage.volume("v").capacity_bytes == 3 * 1024**3


def test_an_offline_driver_waits_for_the_users() -> None:
    storage = Storage(faults=DriverFaults(offline=("csi.example.com",)))
    storage.create(make_class("csi", "csi.example.com", allowVolumeExpansion=True))
    storage.create(make_claim("c", "1Gi", storageClassName="csi"))
    storage.run(5)
    storage.create(make_pod("p", "c", node="n", phase="Running"))
    storage.run(1)
    grow(storage, "3Gi")
    storage.run(60)
    claim = storage.claim("c")
    assert storage.volume(claim.volume_name).capacity_bytes == 1024**3
    assert [each["type"] for each in claim.status["conditions"]] == ["Resizing"]
    said = [text for _, _, reason, text in storage.events.seen if reason == "VolumeResizeFailed"]
    assert said == [
        "Unable to expand default/c because CSI driver csi.example.com only supports offline "
        "expansion and volume is currently in-use"
    ]
    storage.store.delete("Pod", "default/p", by="user")
    storage.run(5)
    assert storage.volume(claim.volume_name).capacity_bytes == 3 * 1024**3


def test_expansion_of_the_files_waits_while_in_use() -> None:
    storage = Storage()
    status = {
        "phase": "Bound",
        "capacity": {"storage": "1Gi"},
        "conditions": [{"type": "Resizing"}],
    }
    bound = make_claim("c", "3Gi", storageClassName="csi", volumeName="v")
    ref = {"namespace": "default", "name": "c"}
    disk = {"driver": "csi.example.com", "volumeHandle": "v"}
    storage.create(
        make_class("csi", "csi.example.com", allowVolumeExpansion=True),
        make_volume("v", "1Gi", storageClassName="csi", csi=disk, claimRef=ref),
        {**bound, "status": status},
        make_pod("p", "c", node="n", phase="Running"),
    )
    storage.run(60)
    assert storage.volume("v").capacity_bytes == 1024**3
    storage.store.delete("Pod", "default/p", by="user")
    storage.run(5)
    assert storage.volume("v").capacity_bytes == 3 * 1024**3
