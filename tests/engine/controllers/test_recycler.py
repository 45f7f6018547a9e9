"""The recycler pod, seen from the volume."""

from typing import Any

from engine.controllers.persistent_volumes.in_tree.host_path import HostPathPlugin, NfsPlugin
from engine.controllers.persistent_volumes.in_tree.recycler import PodRecyclers
from engine.controllers.persistent_volumes.in_tree.registry import PluginRegistry
from engine.objects.objects import PersistentVolume, Pod
from tests.engine.storage_world import Storage, make_claim, make_volume

POD = "default/recycler-for-v"


_DIRECTORY = {"hostPath": {"path": "/d"}}


def released(source: dict[str, Any] = _DIRECTORY, size: str = "1Gi") -> Storage:
    storage = Storage()
    recyclers = PodRecyclers(storage.store)
    plugins = [plugin(storage.latencies, recyclers) for plugin in (HostPathPlugin, NfsPlugin)]
    storage.controller.context.plugins = PluginRegistry([*plugins])
    recycled = make_volume("v", size, persistentVolumeReclaimPolicy="Recycle", **source)
    storage.create(recycled, make_claim("c"))
    storage.run(20)
    storage.store.delete("PersistentVolumeClaim", "default/c", by="user")
    storage.run(1)
    return storage


def test_the_pod_scrubs_the_volume_and_goes() -> None:
    storage = released()
    pod = storage.store.get("Pod", POD)
    assert isinstance(pod, Pod)
    assert pod.spec["volumes"] == [{"name": "vol", "hostPath": {"path": "/d"}}]
    storage.store.patch("Pod", POD, {"spec": {"nodeName": "n"}}, by="scheduler")
    storage.run(1)
    storage.store.patch("Pod", POD, {"status": {"phase": "Succeeded"}}, by="kubelet")
    storage.run(1)
    assert storage.store.find("Pod", POD) is None
    assert storage.volume("v").phase == "Available"
    assert [(reason, text) for _, _, reason, text in storage.events.seen][-2:] == [
        ("RecyclerPod", "Recycler pod: Successfully assigned default/recycler-for-v to n"),
        ("VolumeRecycled", "Volume recycled"),
    ]


def test_a_failed_recycler_pod_is_repeated() -> None:
    storage = released()
    storage.store.patch("Pod", POD, {"status": {"phase": "Failed"}}, by="kubelet")
    storage.run(0.2)
    volume = storage.store.get("PersistentVolume", "v")
    assert isinstance(volume, PersistentVolume)
    assert volume.phase == "Failed"
    assert storage.events.seen[-1][3] == "Recycle failed: pod failed, pod.Status.Message unknown"
    # The failure itself brings the volume back to the controller.
    assert storage.store.find("Pod", POD) is not None


def test_nfs_volumes_recycle_with_a_longer_deadline() -> None:
    source = {"nfs": {"server": "s", "path": "/e"}}
    for size, seconds in (("1Gi", 300), ("20Gi", 600)):
        storage = released(source, size)
        pod = storage.store.get("Pod", POD)
        assert pod.spec["volumes"] == [{"name": "vol", **source}]
        assert pod.spec["activeDeadlineSeconds"] == seconds
        storage.store.patch("Pod", POD, {"status": {"phase": "Succeeded"}}, by="kubelet")
        storage.run(1)
        assert storage.volume("v").phase == "Available"
