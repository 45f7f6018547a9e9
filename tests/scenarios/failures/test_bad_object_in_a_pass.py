"""One object with which a periodic pass or a timer fails holds up no other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.controllers.attach_detach.csi_attacher import CsiAttacher
from engine.controllers.attach_detach.executor import AttachDetachExecutor
from engine.controllers.attach_detach.node_status import NodeStatusUpdater
from engine.controllers.attach_detach.populator import (
    DesiredStateOfWorldPopulator as AttachPopulator,
)
from engine.controllers.attach_detach.reconciler import Reconciler as AttachReconciler
from engine.controllers.attach_detach.recovery import _Recovery
from engine.controllers.attach_detach.view import AttachmentsView
from engine.controllers.disruption.disruption import DisruptionController
from engine.controllers.garbage_collection.pod_gc import PodGarbageCollector
from engine.controllers.node_lifecycle.node_eviction import EvictingNodeController
from engine.controllers.node_lifecycle.node_lifecycle import NodeLifecycleController
from engine.controllers.node_lifecycle.taint_manager import TaintManager
from engine.controllers.persistent_volumes.resync import Resync
from engine.controllers.workloads.replica_set import ReplicaSetController
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.input.scenario import Scenario, Step
from engine.kernel.boundary import FAILED
from engine.kernel.units import MINUTE
from engine.kubelet.pod_workers import PodWorkers
from engine.kubelet.volume_manager.operations.mount import MountVolume
from engine.kubelet.volume_manager.operations.unmount import UnmountDevice, UnmountVolume
from engine.kubelet.volume_manager.populator import DesiredStateOfWorldPopulator
from engine.kubelet.volume_manager.reconciler import Reconciler
from engine.objects.objects import ApiObject
from engine.scheduler.queue.places import QueuePlaces
from engine.storage.operations.runner import OperationRunner
from tests.scenarios.cases import at, claim, deployment, node, pod, running, storage_class

_TAINT = at(5, "patch", "node/n", patch={"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})
_DELETE = at(5, "delete", "node/n")
_DRIVER = "csi.example.com"


@dataclass(frozen=True)
class Pass:
    """A method that is called for each object, and what becomes of the good one beside the bad one.

    `about` is the object of the event, `component` who is named.
    """

    owner: type
    method: str
    about: str
    component: str
    is_good: Callable[[Cluster], bool]
    objects: tuple[ApiObject, ...]
    steps: tuple[Step, ...] = ()
    profile: str = "v1.36"


def _gone(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    return good is None or bool(good.deletion_timestamp)


def _runs(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    return good is not None and good.status.get("phase") == "Running"


def _tainted(cluster: Cluster) -> bool:
    good = cluster.store.find("Node", "good")
    return good is not None and bool(good.spec.get("taints"))


def _unready(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    assert good is not None
    return any(
        (each["type"], each["status"]) == ("Ready", "False") for each in good.status["conditions"]
    )


def _bound(cluster: Cluster) -> bool:
    good = cluster.store.find("PersistentVolumeClaim", "default/good")
    return good is not None and good.status.get("phase") == "Bound"


def _no_volume(cluster: Cluster) -> bool:
    return all(
        each.spec["claimRef"]["name"] != "good" for each in cluster.store.objects("PersistentVolume")
    )


def _unattached(cluster: Cluster) -> bool:
    volumes = {
        each.name: each.spec["claimRef"]["name"]
        for each in cluster.store.objects("PersistentVolume")
    }
    return all(
        volumes[each.spec["source"]["persistentVolumeName"]] != "good"
        for each in cluster.store.objects("VolumeAttachment")
    )


def _adopted(cluster: Cluster) -> bool:
    return bool(cluster.store.find("ReplicaSet", "default/good").status.get("replicas"))  # type: ignore[union-attr]


_PODS = (node("n", "z"), node("other", "z"), running(pod("bad"), "n"), running(pod("good"), "n"))
_NODES = (node("bad", "z"), node("good", "z"), node("other", "z"))
_ON_NODE = (*_NODES, running(pod("bad"), "good"), running(pod("good"), "good"))
_SILENT = (at(5, "kill-kubelet", "node/bad"), at(5, "kill-kubelet", "node/good"))
_DISKS = (
    node("n", "z"),
    storage_class("WaitForFirstConsumer", _DRIVER),
    claim("bad"),
    claim("good"),
    pod("bad", "bad"),
    pod("good", "good"),
)
_ENDS = (at(60, "delete", "pod/default/bad"), at(60, "delete", "pod/default/good"))


def _failing(case: Pass, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    original = getattr(case.owner, case.method)

    def fail_for_one(self: Any, *args: Any, **options: Any) -> Any:
        if _is_bad(self, *args):
            raise AttributeError("planted")
        return original(self, *args, **options)

    monkeypatch.setattr(case.owner, case.method, fail_for_one)
    scenario = Scenario(name="pass", objects=case.objects, steps=case.steps, until=5 * MINUTE)
    cluster = Cluster.create(scenario, profile=case.profile)
    cluster.advance(5 * MINUTE)
    return cluster
