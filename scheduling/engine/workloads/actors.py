"""The workload controllers, put together. They speak to each other through the store alone."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kscope.sim.api_server import process
from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.latency import Latencies
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.rng import Streams
from scheduling.engine.api_server.admission import Admission
from scheduling.engine.workloads.controller import Surroundings
from scheduling.engine.workloads.controllers.daemon_set import DaemonSetController
from scheduling.engine.workloads.controllers.deployment import DeploymentController
from scheduling.engine.workloads.controllers.ephemeral import EphemeralVolumeController
from scheduling.engine.workloads.controllers.job import JobController
from scheduling.engine.workloads.controllers.replica_set import (
    ReplicaSetController,
    ReplicationManager,
)
from scheduling.engine.workloads.controllers.resource_quota import ResourceQuotaController
from scheduling.engine.workloads.controllers.stateful_set import StatefulSetController
from scheduling.engine.workloads.disruption.disruption import DisruptionController
from scheduling.engine.workloads.disruption.node_eviction import EvictingNodeController
from scheduling.engine.workloads.disruption.node_lifecycle import (
    NodeLifecycleController,
    TaintManager,
)
from scheduling.engine.workloads.disruption.pod_gc import PodGarbageCollector
from scheduling.engine.workloads.garbage_collector import GarbageCollector
from scheduling.engine.workloads.listers import WorkloadListers
from scheduling.engine.workloads.namespace import NamespaceController
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.actors import RecordedEvents
from volumes.engine.pv_controller.kubernetes_events import SpamFilter


class WorkloadActors:
    """Every controller that makes, replaces or removes pods."""

    def __init__(
        self,
        *,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        streams: Streams,
        admission: Admission,
        rules: WorkloadRules,
        watch_latency: int,
        latencies: Latencies,
    ) -> None:
        listers = WorkloadListers(store, watch_latency)
        self._around = around = Surroundings(
            loop=loop,
            store=store,
            listers=listers,
            admission=admission,
            names=streams.stream("pod-names"),
            rules=rules,
            latency=watch_latency,
            latencies=latencies,
        )
        self.namespaces = NamespaceController(
            around, RecordedEvents(recorder, NamespaceController.AUTHOR, loop, store)
        )
        self.deployments = DeploymentController(
            around, RecordedEvents(recorder, DeploymentController.AUTHOR, loop, store)
        )
        self.replica_sets = ReplicaSetController(
            around, RecordedEvents(recorder, ReplicaSetController.AUTHOR, loop, store)
        )
        self.replication_controllers = ReplicationManager(
            around, RecordedEvents(recorder, ReplicationManager.AUTHOR, loop, store)
        )
        self.stateful_sets = StatefulSetController(
            around, RecordedEvents(recorder, StatefulSetController.AUTHOR, loop, store)
        )
        self.daemon_sets = DaemonSetController(
            around, RecordedEvents(recorder, DaemonSetController.AUTHOR, loop, store)
        )
        self.jobs = JobController(
            around, RecordedEvents(recorder, JobController.AUTHOR, loop, store)
        )
        self.resource_quotas = ResourceQuotaController(
            around, RecordedEvents(recorder, ResourceQuotaController.AUTHOR, loop, store)
        )
        self.disruption = DisruptionController(
            around,
            SpamFilter(
                loop,
                RecordedEvents(
                    recorder, "controllermanager", loop, store, DisruptionController.AUTHOR
                ),
            ),
        )
        self.ephemeral = EphemeralVolumeController(
            around, RecordedEvents(recorder, EphemeralVolumeController.AUTHOR, loop, store)
        )
        self.pod_gc = PodGarbageCollector(around)
        self.garbage_collector = GarbageCollector(around)
        of_nodes = NodeLifecycleController if rules.taints_by_condition else EvictingNodeController
        self.node_lifecycle = of_nodes(
            around, RecordedEvents(recorder, NodeLifecycleController.AUTHOR, loop, store)
        )
        self.taint_manager = TaintManager(
            around, RecordedEvents(recorder, TaintManager.AUTHOR, loop, store)
        )
        # Through what each hears of the cluster; all the same until one is restarted.
        self._listers_of = dict.fromkeys(_ATTRIBUTES, listers)

    def has(self, author: str) -> bool:
        """Whether there is a controller that writes as *author*."""
        return author in _ATTRIBUTES

    def restart(self, authors: Sequence[str]) -> None:
        """Let the controllers that write as *authors* start anew, in one process of their own."""
        around = self._around
        listers = WorkloadListers(around.store, around.latency)
        for author in authors:
            attribute, before = _ATTRIBUTES[author], self._listers_of[author]
            old: Any = getattr(self, attribute)
            process.end(old, around.loop, around.store, before)
            around.store.hang_up(author)
            setattr(self, attribute, old.anew(around.with_listers(listers)))
            self._listers_of[author] = listers
            if not any(before is one for one in self._listers_of.values()):
                process.end_listers(before, around.loop, around.store)

    def node_silent(self, node: str) -> None:
        """*node* has posted its status for the last time."""
        self._around.silent[node] = self._around.loop.now
        self.node_lifecycle.ticker.arm()

    def node_heard(self, node: str) -> None:
        """*node* posts its status again."""
        self._around.silent.pop(node, None)

    def start_periods_from(self, origin: int) -> None:
        """Let the periodic loops count from *origin*, when the controllers started."""
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
    JobController.AUTHOR: "jobs",
    ResourceQuotaController.AUTHOR: "resource_quotas",
    DisruptionController.AUTHOR: "disruption",
    EphemeralVolumeController.AUTHOR: "ephemeral",
    PodGarbageCollector.AUTHOR: "pod_gc",
    GarbageCollector.AUTHOR: "garbage_collector",
    NodeLifecycleController.AUTHOR: "node_lifecycle",
    TaintManager.AUTHOR: "taint_manager",
}
