"""The workload controllers, put together. They speak to each other through the store alone."""

from kscope.sim.loop import EventLoop
from kscope.sim.recorder import Recorder
from kscope.sim.rng import Streams
from kscope.sim.store import ObjectStore
from scheduling.engine.admission import Admission
from scheduling.engine.workloads.controller import Surroundings
from scheduling.engine.workloads.daemon_set import DaemonSetController
from scheduling.engine.workloads.deployment import DeploymentController
from scheduling.engine.workloads.disruption import DisruptionController
from scheduling.engine.workloads.ephemeral import EphemeralVolumeController
from scheduling.engine.workloads.garbage_collector import GarbageCollector
from scheduling.engine.workloads.job import JobController
from scheduling.engine.workloads.listers import WorkloadListers
from scheduling.engine.workloads.namespace import NamespaceController
from scheduling.engine.workloads.node_lifecycle import NodeLifecycleController, TaintManager
from scheduling.engine.workloads.pod_gc import PodGarbageCollector
from scheduling.engine.workloads.replica_set import ReplicaSetController
from scheduling.engine.workloads.rules import WorkloadRules
from scheduling.engine.workloads.stateful_set import StatefulSetController
from volumes.engine.actors import RecordedEvents


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
    ) -> None:
        self.listers = WorkloadListers(store, watch_latency)
        around = Surroundings(
            loop=loop,
            store=store,
            listers=self.listers,
            admission=admission,
            names=streams.stream("pod-names"),
            rules=rules,
            latency=watch_latency,
        )
        self.namespaces = NamespaceController(
            around, RecordedEvents(recorder, NamespaceController.AUTHOR)
        )
        self.deployments = DeploymentController(
            around, RecordedEvents(recorder, DeploymentController.AUTHOR)
        )
        self.replica_sets = ReplicaSetController(
            around, RecordedEvents(recorder, ReplicaSetController.AUTHOR)
        )
        self.stateful_sets = StatefulSetController(
            around, RecordedEvents(recorder, StatefulSetController.AUTHOR)
        )
        self.daemon_sets = DaemonSetController(
            around, RecordedEvents(recorder, DaemonSetController.AUTHOR)
        )
        self.jobs = JobController(around, RecordedEvents(recorder, JobController.AUTHOR))
        self.disruption = DisruptionController(
            around, RecordedEvents(recorder, "controllermanager")
        )
        self.ephemeral = EphemeralVolumeController(
            around, RecordedEvents(recorder, EphemeralVolumeController.AUTHOR)
        )
        self.pod_gc = PodGarbageCollector(around)
        self.garbage_collector = GarbageCollector(around)
        self.node_lifecycle: NodeLifecycleController | None = None
        self.taint_manager: TaintManager | None = None
        if rules.node_lifecycle:
            self.node_lifecycle = NodeLifecycleController(
                around, RecordedEvents(recorder, NodeLifecycleController.AUTHOR)
            )
            self.taint_manager = TaintManager(around, RecordedEvents(recorder, TaintManager.AUTHOR))

    def start_periods_from(self, origin: int) -> None:
        """Let the periodic loops count from *origin*, when the controllers started."""
        self.pod_gc.ticker.start_from(origin)
        if self.node_lifecycle is not None:
            self.node_lifecycle.ticker.start_from(origin)
