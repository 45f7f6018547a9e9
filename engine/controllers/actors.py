"""The workload controllers of a cluster. They communicate only through the store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from engine.api_server.store import process
from engine.controllers.autoscaling.controller import AutoscalerController
from engine.controllers.disruption.disruption import DisruptionController
from engine.controllers.garbage_collection.custom_kinds import CustomKindFinalizer
from engine.controllers.garbage_collection.garbage_collector import GarbageCollector
from engine.controllers.garbage_collection.namespace import NamespaceController
from engine.controllers.garbage_collection.pod_gc import PodGarbageCollector
from engine.controllers.node_lifecycle.device_taints import DeviceTaintEviction
from engine.controllers.node_lifecycle.node_eviction import EvictingNodeController
from engine.controllers.node_lifecycle.node_lifecycle import NodeLifecycleController
from engine.controllers.node_lifecycle.taint_manager import TaintManager
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.listers import WorkloadListers
from engine.controllers.shared.rules import WorkloadRules
from engine.controllers.workloads.cron_job.polling import PollingCronJobController
from engine.controllers.workloads.cron_job.watching import WatchingCronJobController
from engine.controllers.workloads.daemon_set import DaemonSetController
from engine.controllers.workloads.deployment.controller import DeploymentController
from engine.controllers.workloads.device_driver import DeviceDriver
from engine.controllers.workloads.ephemeral import EphemeralVolumeController
from engine.controllers.workloads.job.base import JobPods
from engine.controllers.workloads.job.counting import CountingJobController
from engine.controllers.workloads.job.marked import MarkedJobController
from engine.controllers.workloads.job.tracking import TrackingJobController
from engine.controllers.workloads.replica_set import ReplicaSetController, ReplicationManager
from engine.controllers.workloads.resource_claim import ResourceClaimController
from engine.controllers.workloads.resource_quota import ResourceQuotaController
from engine.controllers.workloads.stateful_set import StatefulSetController
from engine.controllers.workloads.ttl_after_finished import TTLAfterFinishedController
from engine.kernel.recorder import Recorder
from engine.storage.kubernetes_events import RecordedEvents, SpamFilter

_Controller = TypeVar("_Controller", bound=Controller)


class WorkloadActors:
    """Creates and restarts the controllers that create, replace or delete pods."""

    def __init__(
        self, context: ControllerContext, recorder: Recorder, external: Iterable[str] = ()
    ) -> None:
        """*external* are the names, of EXTERNAL, of controllers that a client runs in their place."""
        self._context = context
        self._recorder = recorder
        self.namespaces = self._new(NamespaceController)
        self.deployments = self._new(DeploymentController)
        self.replica_sets = self._new(ReplicaSetController)
        self.replication_controllers = self._new(ReplicationManager)
        self.stateful_sets = self._new(StatefulSetController)
        self.daemon_sets = self._new(DaemonSetController)
        self.jobs = self._new(_jobs_of(context.rules))
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
        self.custom_kinds = CustomKindFinalizer(context)
        of_nodes = (
            NodeLifecycleController if context.rules.taints_by_condition else EvictingNodeController
        )
        self.node_lifecycle = of_nodes(context, self._events(NodeLifecycleController.AUTHOR))
        self.taint_manager = TaintManager(context, self._events(TaintManager.AUTHOR))
        self.cron_jobs = self._new(
            WatchingCronJobController
            if context.rules.watches_cron_jobs
            else PollingCronJobController
        )
        self.finished_jobs = (
            self._new(TTLAfterFinishedController) if context.rules.deletes_finished_jobs else None
        )
        self.autoscalers = AutoscalerController(
            context, SpamFilter(context.loop, self._events(AutoscalerController.AUTHOR))
        )
        # The listers of each controller; all have the same ones until one is restarted.
        self._listers_of = dict.fromkeys(_ATTRIBUTES, context.listers)
        self._external = [each for name in external if self.has(each := EXTERNAL[name])]
        for author in self._external:
            self.end(author)

    def _events(self, component: str) -> RecordedEvents:
        return RecordedEvents(self._recorder, component, self._context.loop, self._context.store)

    def _new(self, kind: type[_Controller]) -> _Controller:
        return kind(self._context, self._events(kind.AUTHOR))

    def has(self, author: str) -> bool:
        """Whether a controller writes as *author*."""
        return author in _ATTRIBUTES and getattr(self, _ATTRIBUTES[author]) is not None

    def kinds_of(self, external: Iterable[str]) -> dict[str, type[Controller]]:
        """The classes of these *external* controllers by their names, of those that there are."""
        found = {name: getattr(self, _ATTRIBUTES[EXTERNAL[name]]) for name in external}
        return {name: type(each) for name, each in found.items() if each is not None}

    def restart(self, authors: Sequence[str]) -> None:
        """Restart the controllers that write as *authors*, together in a new process."""
        context = self._context
        listers = WorkloadListers(context.store, context.watch_latency)
        for author in (one for one in authors if one not in self._external):
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

    @property
    def silent_nodes(self) -> Mapping[str, int]:
        """The nodes that have stopped posting their status, and since when, in ns."""
        return self._context.silent_nodes

    def node_heard(self, node: str) -> None:
        """*node* posts its status again."""
        self._context.silent_nodes.pop(node, None)

    def start_periods_from(self, origin: int) -> None:
        """Count the periods of the loops from *origin*, the time when the controllers started."""
        self.pod_gc.ticker.start_from(origin)
        self.disruption.start_periods_from(origin)
        self.node_lifecycle.ticker.start_from(origin)
        cron_jobs = self.cron_jobs
        if (
            isinstance(cron_jobs, PollingCronJobController)
            and cron_jobs.AUTHOR not in self._external
        ):
            cron_jobs.ticker.start_from(origin)


def _jobs_of(rules: WorkloadRules) -> type[JobPods]:
    if rules.tracks_job_pods:
        return TrackingJobController
    return MarkedJobController if rules.tracks_marked_jobs else CountingJobController


EXTERNAL: Final[Mapping[str, str]] = {
    "cronjob": WatchingCronJobController.AUTHOR,
    "daemonset": DaemonSetController.AUTHOR,
    "deployment": DeploymentController.AUTHOR,
    "ephemeral-volume": EphemeralVolumeController.AUTHOR,
    "job": TrackingJobController.AUTHOR,
    "namespace": NamespaceController.AUTHOR,
    "replicaset": ReplicaSetController.AUTHOR,
    "replicationcontroller": ReplicationManager.AUTHOR,
    "resourceclaim": ResourceClaimController.AUTHOR,
    "resourcequota": ResourceQuotaController.AUTHOR,
    "statefulset": StatefulSetController.AUTHOR,
    "ttl-after-finished": TTLAfterFinishedController.AUTHOR,
}
"""What a client can run in the place of a run (header.external): the author of its writes."""

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
    CustomKindFinalizer.AUTHOR: "custom_kinds",
    NodeLifecycleController.AUTHOR: "node_lifecycle",
    TaintManager.AUTHOR: "taint_manager",
    DeviceDriver.AUTHOR: "device_driver",
    WatchingCronJobController.AUTHOR: "cron_jobs",
    TTLAfterFinishedController.AUTHOR: "finished_jobs",
    AutoscalerController.AUTHOR: "autoscalers",
}
