"""One object with which a pass, a timer or an operation fails holds up no other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.controllers.attach_detach.csi_attacher import CsiAttacher
from engine.controllers.attach_detach.executor import AttachDetachExecutor
from engine.controllers.attach_detach.populator import (
    DesiredStateOfWorldPopulator as AttachPopulator,
)
from engine.controllers.attach_detach.reconciler import Reconciler as AttachReconciler
from engine.controllers.attach_detach.view import AttachmentsView
from engine.controllers.disruption.disruption import DisruptionController
from engine.controllers.garbage_collection.pod_gc import PodGarbageCollector
from engine.controllers.node_lifecycle.node_eviction import EvictingNodeController
from engine.controllers.node_lifecycle.node_lifecycle import NodeLifecycleController
from engine.controllers.node_lifecycle.taint_manager import TaintManager
from engine.controllers.persistent_volumes.provisioning import Provisioning
from engine.controllers.persistent_volumes.resync import Resync
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.input.scenario import Scenario, Step
from engine.kernel.boundary import FAILED
from engine.kernel.recorder import Event
from engine.kernel.units import HOUR
from engine.kubelet.pod_workers import PodWorkers
from engine.kubelet.volume_manager.operations.mount import MountVolume
from engine.kubelet.volume_manager.operations.unmount import UnmountDevice, UnmountVolume
from engine.kubelet.volume_manager.populator import DesiredStateOfWorldPopulator
from engine.kubelet.volume_manager.reconciler import Reconciler
from engine.objects.kinds import split_entity_id
from engine.scheduler.queue.requeueing import Requeueing
from tests.scenarios.cases import at, budget, claim, node, pod, running, storage_class, volume

Manifest = dict[str, Any]
IsGood = Callable[[Cluster], bool]

_TAINT = at(5, "patch", "node/n", patch={"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}})
_DELETE = at(5, "delete", "node/n")
_SILENT = (at(5, "fault", patch={"die": "bad"}), at(5, "fault", patch={"die": "good"}))
_LEAVE = (at(60, "delete", "pod/default/bad"), at(60, "delete", "pod/default/good"))
_LATE = (at(5, "create", manifest=pod("bad")), at(5, "create", manifest=pod("good")))
_DRIVER = "csi.example.com"


def _of(name: str) -> Manifest:
    """A volume for the claim of that name."""
    made = volume(f"pv-{name}")
    made["spec"]["claimRef"] = {"namespace": "default", "name": name}
    return made


def _disks(mode: str = "WaitForFirstConsumer", provisioner: str = _DRIVER) -> tuple[Manifest, ...]:
    return (
        node("n", "z"),
        storage_class(mode, provisioner),
        *(claim(name) for name in ("bad", "good")),
        *(pod(name, name) for name in ("bad", "good")),
    )


def _mounted() -> tuple[Manifest, ...]:
    return (*_disks(), _of("bad"), _of("good"))


_PODS = (node("n", "z"), node("other", "z"), running(pod("bad"), "n"), running(pod("good"), "n"))
_NODES = (node("bad", "z"), node("good", "z"), node("other", "z"))
_TOO_LARGE = (node("n", "z"), pod("bad", cpu="8"), pod("good", cpu="8"))


def _ready(name: str, on: str) -> Manifest:
    made = running(pod(name), on)
    made["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return made


# What has become of the good object.


def _gone(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    return good is None or bool(good.deletion_timestamp)


def _away(cluster: Cluster) -> bool:
    return cluster.store.find("Pod", "default/good") is None


def _runs(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    return good is not None and good.status.get("phase") == "Running"


def _unknown(cluster: Cluster) -> bool:
    good = cluster.store.find("Node", "good")
    assert good is not None
    return "Unknown" in [each["status"] for each in good.status["conditions"]]


def _tainted(cluster: Cluster) -> bool:
    good = cluster.store.find("Node", "good")
    assert good is not None
    return "NoExecute" in [each["effect"] for each in good.spec.get("taints") or ()]


def _unready(cluster: Cluster) -> bool:
    good = cluster.store.find("Pod", "default/good")
    return good is None or good.status["conditions"][0]["status"] == "False"


def _counted(cluster: Cluster) -> bool:
    good = cluster.store.find("PodDisruptionBudget", "default/good")
    return good is not None and good.status.get("expectedPods") == 2


def _deleted(cluster: Cluster) -> bool:
    return all(
        each.spec["claimRef"]["name"] != "good"
        for each in cluster.store.objects("PersistentVolume")
    )


def _detached(cluster: Cluster) -> bool:
    attached = cluster.store.objects("VolumeAttachment")
    return "pv-good" not in [each.spec["source"]["persistentVolumeName"] for each in attached]


def _bound(cluster: Cluster) -> bool:
    good = cluster.store.find("PersistentVolumeClaim", "default/good")
    return good is not None and good.status.get("phase") == "Bound"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A method that is called for each object, in a cluster where it fails for the bad ones.

    `component` is who is named, `good` what becomes of the good ones all the same.
    """

    method: tuple[type, str]
    component: str
    good: IsGood
    objects: tuple[Manifest, ...]
    steps: tuple[Step, ...] = ()
    profile: str = "v1.36"

    def __str__(self) -> str:
        return f"{self.method[0].__module__.rpartition('.')[2]}-{self.method[1]}"


def _case(
    owner: type, method: str, component: str, good: IsGood, objects: tuple[Manifest, ...],
    *steps: Step, profile: str = "v1.36",
) -> Pass:  # fmt: skip
    return Pass(
        method=(owner, method), component=component, good=good, objects=objects, steps=steps,
        profile=profile,
    )  # fmt: skip


_NODE = "node-controller"
_ATTACH = "attach-detach"
_KUBELET = "kubelet"
_WITH_PODS = (*_NODES, _ready("bad", "good"), _ready("good", "good"))
_CLAIMS = (storage_class("Immediate"), claim("bad"), claim("good"))
_LATE_VOLUMES = (at(5, "create", manifest=volume("pv-1")), at(5, "create", manifest=volume("pv-2")))
_NO_CLAIM = (at(60, "delete", "claim/default/bad"), at(60, "delete", "claim/default/good"))
_BUDGETS = (
    node("n", "z"),
    *(budget(name, selector={}, minAvailable=0) for name in ("bad", "good")),
)
_ROOM = at(60, "patch", "node/n", patch={"status": {"allocatable": {"cpu": "32"}}})
_CASES = [
    _case(TaintManager, "_delete_marked", "taint-controller", _gone, _PODS, _TAINT),
    _case(TaintManager, "_decide", "taint-controller", _gone, _PODS, _TAINT),
    _case(PodGarbageCollector, "_delete", "pod-garbage-collector", _gone, _PODS, _DELETE),
    _case(NodeLifecycleController, "_mark_silent", _NODE, _unknown, _NODES, *_SILENT),
    _case(NodeLifecycleController, "_is_readable", _NODE, _tainted, _NODES, *_SILENT),
    _case(NodeLifecycleController, "_taint_at_tick", _NODE, _tainted, _NODES, *_SILENT),
    _case(NodeLifecycleController, "_register_one", _NODE, _unknown, _NODES, *_SILENT),
    _case(NodeLifecycleController, "_mark_not_ready", _NODE, _unready, _WITH_PODS, *_SILENT),
    _case(
        EvictingNodeController, "_look_at", _NODE, _unknown, _NODES, *_SILENT, profile="v1.11"
    ),
    _case(DisruptionController, "_queue_if_covering", "disruption-controller", _counted, _BUDGETS, *_LATE),
    _case(Resync, "is_claim_settled", "pv-controller", _bound, _CLAIMS, *_LATE_VOLUMES),
    _case(Provisioning, "step", "pv-controller", _bound, _disks("Immediate", "kubernetes.io/aws-ebs"), profile="v1.16"),
    _case(ExternalProvisioners, "_provision", "external-provisioner", _bound, _disks("Immediate")),
    _case(ExternalProvisioners, "_delete", "external-provisioner", _deleted, _disks(), *_LEAVE, *_NO_CLAIM),
    _case(AttachPopulator, "_add_pod", _ATTACH, _runs, _mounted()),
    _case(AttachReconciler, "_attach_if_free", _ATTACH, _runs, _mounted()),
    _case(AttachReconciler, "_detach_if_unused", _ATTACH, _detached, _mounted(), *_LEAVE),
    _case(AttachDetachExecutor, "attach", _ATTACH, _runs, _mounted()),
    _case(AttachDetachExecutor, "detach", _ATTACH, _detached, _mounted(), *_LEAVE),
    _case(AttachmentsView, "_describe", _ATTACH, _runs, _mounted()),
    _case(CsiAttacher, "_add_finalizers", "csi-attacher", _runs, _mounted()),
    _case(CsiAttacher, "_attached", "csi-attacher", _runs, _mounted()),
    _case(CsiAttacher, "_detached", "csi-attacher", _detached, _mounted(), *_LEAVE),
    _case(Reconciler, "_mount_or_attach", _KUBELET, _runs, _mounted()),
    _case(Reconciler, "_unmount", _KUBELET, _away, _mounted(), *_LEAVE),
    _case(Reconciler, "_unmount_or_detach", _KUBELET, _detached, _mounted(), *_LEAVE),
    _case(MountVolume, "_run", _KUBELET, _runs, _mounted()),
    _case(MountVolume, "_device_mounted", _KUBELET, _runs, _mounted()),
    _case(UnmountVolume, "_run", _KUBELET, _away, _mounted(), *_LEAVE),
    _case(UnmountDevice, "_run", _KUBELET, _detached, _mounted(), *_LEAVE),
    _case(DesiredStateOfWorldPopulator, "_process_pod_volumes", _KUBELET, _runs, _mounted()),
    _case(PodWorkers, "add", _KUBELET, _runs, _PODS),
    _case(Requeueing, "worth_requeuing", "scheduler", _runs, _TOO_LARGE, _ROOM),
]  # fmt: skip


def _texts(found: object) -> Iterator[str]:
    """By what an object, an operation or a volume is called."""
    source = getattr(found, "spec", None)
    if isinstance(source, dict) and "source" in source:
        yield source["source"].get("persistentVolumeName", "")
    if isinstance(source, dict):
        yield (source.get("claimRef") or {}).get("name", "")
    if isinstance(found, str):
        yield found
    for name in ("name", "key", "volume_name", "_claim"):
        told = getattr(found, name, None)
        told = getattr(told, "name", None) or getattr(told, "volume_name", told)
        if isinstance(told, str):
            yield told


def _is_bad(*found: object) -> bool:
    return any("bad" in text for one in found for text in _texts(one))


def _played(case: Pass, monkeypatch: pytest.MonkeyPatch) -> tuple[Cluster, list[Event]]:
    owner, method = case.method
    original = getattr(owner, method)

    def fail_for_one(self: Any, *args: Any, **options: Any) -> Any:
        if _is_bad(self, *args):
            raise AttributeError("planted")
        return original(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, fail_for_one)
        scenario = Scenario(name="pass", objects=case.objects, steps=case.steps, until=HOUR)
        cluster = Cluster.create(scenario, profile=case.profile)
        cluster.advance(HOUR)
    return cluster, [event for event in cluster.take().events if event.kind == FAILED]


def _names_bad(cluster: Cluster, entity: str) -> bool:
    """Whether an event is about the bad object; what is shown of attachments is about their node."""
    kind, key = split_entity_id(entity)
    kind = {"volumeattachment": "VolumeAttachment"}.get(kind, kind)
    named = cluster.store.find(kind, key)
    return _is_bad(key, named) or entity == "node/n"


@pytest.mark.usefixtures("quiet_boundary")
@pytest.mark.parametrize("case", _CASES, ids=str)
def test_good_object_goes_on_beside_a_bad_one(case: Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, found = _played(case, monkeypatch)
    assert case.good(cluster)
    assert {each.component for each in found} == {case.component}
    assert all(_names_bad(cluster, each.object) for each in found), {each.object for each in found}
    assert len(found) < 60


@pytest.mark.usefixtures("quiet_boundary")
@pytest.mark.parametrize("case", _CASES[::5], ids=str)
def test_a_pass_with_a_bad_object_is_repeated(case: Pass, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (_played(case, monkeypatch)[0] for _ in range(2))
    assert first.digest() == second.digest()
