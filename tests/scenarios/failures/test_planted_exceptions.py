"""An exception planted in each kind of component, in one small cluster in which all have work."""

from functools import cache

import pytest

from engine.cluster.cluster import Cluster
from engine.controllers.attach_detach.csi_attacher import CsiAttacher
from engine.controllers.disruption.disruption import DisruptionController
from engine.controllers.garbage_collection.garbage_collector import GarbageCollector
from engine.controllers.garbage_collection.namespace import NamespaceController
from engine.controllers.node_lifecycle.node_lifecycle import NodeLifecycleController
from engine.controllers.node_lifecycle.taint_manager import TaintManager
from engine.controllers.persistent_volumes.volume_sync import VolumeSync
from engine.controllers.workloads.daemon_set import DaemonSetController
from engine.controllers.workloads.deployment.controller import DeploymentController
from engine.controllers.workloads.job.tracking import TrackingJobController
from engine.controllers.workloads.resource_quota import ResourceQuotaController
from engine.controllers.workloads.stateful_set import StatefulSetController
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.csi_sidecars.external_resizer import ExternalResizers
from engine.framework.runtime import Framework
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.boundary import FAILED
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from engine.kubelet.pod_workers import PodWorkers
from engine.scheduler.cycle.binding.binder import Binder
from engine.scheduler.cycle.binding.binding_cycle import BindingCycle
from engine.scheduler.cycle.binding.plugin_calls import PluginCalls
from engine.scheduler.preemption.preemption import Evaluator
from engine.scheduler.queue.event_moves import EventMoves

_WORLD = b"""
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: planted}
spec:
  duration: 45s
  steps:
  - {at: 8s, create: {apiVersion: v1, kind: Pod, metadata: {name: high}, spec: {priority: 100, priorityClassName: high, containers: [{name: c, image: i, resources: {requests: {cpu: "3"}}}]}}}
  - {at: 12s, patch: {object: claim/default/data, patch: {spec: {resources: {requests: {storage: 2Gi}}}}}}
  - {at: 15s, delete: {object: deployment/default/dep}}
  - {at: 16s, patch: {object: node/n2, patch: {spec: {taints: [{key: a, effect: NoExecute}]}}}}
  - {at: 20s, delete: {object: namespace/other}}
  - {at: 25s, patch: {object: node/n2, patch: {spec: {taints: []}}}}
  - {at: 40s, create: {apiVersion: v1, kind: Pod, metadata: {name: last}, spec: {containers: [{name: c, image: i}]}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: other}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
---
{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {kubernetes.io/hostname: n1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {kubernetes.io/hostname: n2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: csi.example.com, volumeBindingMode: WaitForFirstConsumer, allowVolumeExpansion: true}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: disk}, spec: {containers: [{name: c, image: i}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: inside, namespace: other}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: dep}, spec: {replicas: 2, selector: {matchLabels: {app: d}}, template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: st}, spec: {replicas: 1, serviceName: s, selector: {matchLabels: {app: st}}, template: {metadata: {labels: {app: st}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: ds}, spec: {selector: {matchLabels: {app: ds}}, template: {metadata: {labels: {app: ds}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: {metadata: {annotations: {kscope.dev/run-seconds: "3"}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {minAvailable: 1, selector: {matchLabels: {app: d}}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {pods: "50"}}}
"""
_SCHEDULER = "scheduler/default-scheduler"
# The part, its method, and what begins anew after it.
_PLACES = [
    (Framework, "run_pre_filters", _SCHEDULER),
    (Framework, "run_filters", _SCHEDULER),
    (Evaluator, "preempt", _SCHEDULER),
    (Framework, "score", _SCHEDULER),
    (PluginCalls, "_reserve_volumes", _SCHEDULER),
    (BindingCycle, "_permitted", _SCHEDULER),
    (BindingCycle, "_pre_bind", _SCHEDULER),
    (Binder, "bind", _SCHEDULER),
    (BindingCycle, "_post_bind", _SCHEDULER),
    (EventMoves, "_move_by_hints", _SCHEDULER),
    (ExternalResizers, "sync", "external-resizer"),
    (CsiAttacher, "_sync", "csi-attacher"),
    (ExternalProvisioners, "_provision", "external-provisioner"),
    (VolumeSync, "sync_volume", "pv-controller"),
    (DisruptionController, "sync", "disruption-controller"),
    (NodeLifecycleController, "_on_node", "node-controller"),
    (TaintManager, "_evict", "taint-controller"),
    (NamespaceController, "sync", "namespace-controller"),
    (DaemonSetController, "sync", "daemonset-controller"),
    (TrackingJobController, "sync", "job-controller"),
    (DeploymentController, "sync", "deployment-controller"),
    (StatefulSetController, "sync", "statefulset-controller"),
    (ResourceQuotaController, "sync", "resourcequota-controller"),
    (GarbageCollector, "_collect", "garbage-collector"),
    (PodWorkers, "_start", "node/n"),
]


@cache
def _scenario() -> Scenario:
    loaded = load_files([("planted.yaml", _WORLD)])
    assert loaded.ok, loaded.problems
    return Scenario.from_load(loaded, name="planted")


def _played(
    owner: type, method: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Cluster, list[Event]]:
    """The run in which the method fails when it is first called."""
    original = getattr(owner, method)
    failed = False

    def planted(*args: object, **kwargs: object) -> object:
        nonlocal failed
        if not failed:
            failed = True
            raise AttributeError("planted")
        return original(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, planted)
        cluster = Cluster.create(_scenario())
        cluster.advance(45 * SECOND)
    return cluster, cluster.take().events


@pytest.mark.usefixtures("quiet_boundary")
@pytest.mark.parametrize(
    ("owner", "method", "restarted"), _PLACES, ids=lambda one: getattr(one, "__name__", one)
)
def test_each_component_begins_anew_after_an_exception(
    owner: type, method: str, restarted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, events = _played(owner, method, monkeypatch)
    (found,) = (event for event in events if event.kind == FAILED)
    assert found.data
    anew = found.data["restarted"]
    assert [one[: len(restarted)] for one in anew] == [restarted]
    assert cluster.unexpected == 1
    assert not cluster.failure
    last = cluster.store.find("Pod", "default/last")
    assert last is not None
    assert last.status["phase"] == "Running"


@pytest.mark.usefixtures("quiet_boundary")
@pytest.mark.parametrize("place", [2, 12])
def test_a_history_with_an_exception_is_repeated(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, method, _ = _PLACES[place]
    first, second = (_played(owner, method, monkeypatch)[0] for _ in range(2))
    assert first.digest() == second.digest()


def test_all_places_are_reached_without_exceptions() -> None:
    cluster = Cluster.create(_scenario())
    cluster.advance(45 * SECOND)
    assert cluster.unexpected == 0
