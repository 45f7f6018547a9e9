"""The recycler pod, seen from the volume."""

from kscope.sim.objects.objects import PersistentVolume, Pod
from tests.volumes_engine.storage import Storage, make_claim, make_volume
from volumes.engine.pv_controller.in_tree.host_path import HostPathPlugin
from volumes.engine.pv_controller.in_tree.recycler import PodRecyclers
from volumes.engine.pv_controller.in_tree.registry import PluginRegistry

POD = "default/recycler-for-v"


def released() -> Storage:
    storage = Storage()
    plugin = HostPathPlugin(storage.latencies, PodRecyclers(storage.store))
    storage.controller.context.plugins = PluginRegistry([plugin])
    recycled = make_volume("v", persistentVolumeReclaimPolicy="Recycle", hostPath={"path": "/d"})
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
