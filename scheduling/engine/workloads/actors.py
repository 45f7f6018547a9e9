"""The workload controllers of a cluster. They communicate only through the store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from kscope.sim.api_server import process
from kscope.sim.kernel.recorder import Recorder
from scheduling.engine.workloads.controller import Controller, ControllerContext
from scheduling.engine.workloads.controllers.daemon_set import DaemonSetController
from scheduling.engine.workloads.controllers.deployment.controller import DeploymentController
from scheduling.engine.workloads.controllers.device_driver import DeviceDriver
from scheduling.engine.workloads.controllers.ephemeral import EphemeralVolumeController
from scheduling.engine.workloads.controllers.job.counting import CountingJobController
from scheduling.engine.workloads.controllers.job.tracking import TrackingJobController
from scheduling.engine.workloads.controllers.replica_set import (
    ReplicaSetController,
    ReplicationManager,
)
from scheduling.engine.workloads.controllers.resource_claim import ResourceClaimController
from scheduling.engine.workloads.controllers.resource_quota import ResourceQuotaController
from scheduling.engine.workloads.controllers.stateful_set import StatefulSetController
from scheduling.engine.workloads.disruption.device_taints import DeviceTaintEviction
from scheduling.engine.workloads.disruption.disruption import DisruptionController
from scheduling.engine.workloads.disruption.node_eviction import EvictingNodeController
from scheduling.engine.workloads.disruption.node_lifecycle import NodeLifecycleController
from scheduling.engine.workloads.disruption.pod_gc import PodGarbageCollector
from scheduling.engine.workloads.disruption.taint_manager import TaintManager
from scheduling.engine.workloads.garbage_collector import GarbageCollector
from scheduling.engine.workloads.listers import WorkloadListers
from scheduling.engine.workloads.namespace import NamespaceController
from volumes.engine.kubernetes_events import RecordedEvents, SpamFilter

_Controller = TypeVar("_Controller", bound=Controller)


class WorkloadActors:
    """Creates and restarts the controllers that create, replace or delete pods."""

    def __init__(self, context: ControllerContext, recorder: Recorder) -> None:
        self._context = context
        self._recorder = recorder
        self.namespaces = self._new(NamespaceController)
        self.deployments = self._new(DeploymentController)
        self.replica_sets = self._new(ReplicaSetController)
        self.replication_controllers = self._new(ReplicationManager)
        self.stateful_sets = self._new(StatefulSetController)
        self.daemon_sets = self._new(DaemonSetController)
        self.jobs = self._new(
            TrackingJobController if context.rules.tracks_job_pods else CountingJobController
        )
        self.resource_quotas = self._new(ResourceQuotaController)
        self.disruption = DisruptionController(
            context,
            SpamFilter(
                context.loop,
                RecordedEvents(
                    recorder,
                    "controllermanager",
                    context.loop,
                    context.store,
                    DisruptionController.AUTHOR,
                ),
            ),
        )
        self.ephemeral = self._new(EphemeralVolumeController)
        self.resource_claims = (
            self._new(ResourceClaimController) if context.rules.makes_resource_claims else None
        )
        self.device_driver = (
            self._new(DeviceDriver) if context.rules.makes_resource_claims else None
        )
        self.device_taints = (
            self._new(DeviceTaintEviction) if context.rules.evicts_by_device_taints else None
        )
        self.pod_gc = PodGarbageCollector(context)
        self.garbage_collector = GarbageCollector(context)
        of_nodes = (
            NodeLifecycleController if context.rules.taints_by_condition else EvictingNodeController
        )
        self.node_lifecycle = of_nodes(context, self._events(NodeLifecycleController.AUTHOR))
        self.taint_manager = TaintManager(context, self._events(TaintManager.AUTHOR))
        # The listers of each controller; all have the same ones until one is restarted.
        self._listers_of = dict.fromkeys(_ATTRIBUTES, context.listers)

    def _events(self, component: str) -> RecordedEvents:
        return RecordedEvents(self._recorder, component, self._context.loop, self._context.store)

    def _new(self, kind: type[_Controller]) -> _Controller:
        return kind(self._context, self._events(kind.AUTHOR))

    def has(self, author: str) -> bool:
        """Whether a controller writes as *author*."""
        return author in _ATTRIBUTES and getattr(self, _ATTRIBUTES[author]) is not None

    def restart(self, authors: Sequence[str]) -> None:
        """Restart the controllers that write as *authors*, together in a new process."""
        context = self._context
        listers = WorkloadListers(context.store, context.watch_latency)
        for author in authors:
            attribute, before = _ATTRIBUTES[author], self._listers_of[author]
            old: Any = getattr(self, attribute)
            process.end(old, context.loop, context.store, before)
            context.store.answers.forget(author)
            setattr(self, attribute, old.restarted(replace(context, listers=listers)))
            self._listers_of[author] = listers
            if not any(before is one for one in self._listers_of.values()):
                process.end_listers(before, context.loop, context.store)

    def components(self) -> dict[str, Any]:
        """The controllers by the author of their writes."""
        return {author: getattr(self, name) for author, name in _ATTRIBUTES.items()}

    def end(self, author: str) -> None:
        """Let the controller do nothing any more, until it is restarted."""
        old: Any = getattr(self, _ATTRIBUTES[author])
        process.end(old, self._context.loop, self._context.store, self._listers_of[author])

    def node_silent(self, node: str) -> None:
        """*node* has stopped posting its status."""
        self._context.silent_nodes[node] = self._context.loop.now
        self.node_lifecycle.ticker.arm()

    def node_heard(self, node: str) -> None:
        """*node* posts its status again."""
        self._context.silent_nodes.pop(node, None)

    def start_periods_from(self, origin: int) -> None:
        """Count the periods of the loops from *origin*, the time when the controllers started."""
        self.pod_gc.ticker.start_from(origin)
        self.disruption.start_periods_from(origin)
        self.node_lifecycle.ticker.start_from(origin)


_ATTRIBUTES: Final[Mapping[str, str]] = {
    NamespaceController.AUTHOR: "namespaces",
    DeploymentController.AUTHOR: "deployments",
    ReplicaSetController.AUTHOR: "replica_sets",
    ReplicationManager.AUTHOR: "replication_controllers",
    StatefulSetController.AUTHOR: "stateful_sets",
    DaemonSetController.AUTHOR: "daemon_sets",
    TrackingJobController.AUTHOR: "jobs",
    ResourceQuotaController.AUTHOR: "resource_quotas",
    DisruptionController.AUTHOR: "disruption",
    EphemeralVolumeController.AUTHOR: "ephemeral",
    ResourceClaimController.AUTHOR: "resource_claims",
    DeviceTaintEviction.AUTHOR: "device_taints",
    PodGarbageCollector.AUTHOR: "pod_gc",
    GarbageCollector.AUTHOR: "garbage_collector",
    NodeLifecycleController.AUTHOR: "node_lifecycle",
    TaintManager.AUTHOR: "taint_manager",
    DeviceDriver.AUTHOR: "device_driver",
}
