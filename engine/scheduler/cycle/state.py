"""What one scheduler process holds in memory; its watches, its cycle and its bindings share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from engine.api_server.store.store import ObjectStore
from engine.framework import cluster_events as cluster_events
from engine.framework import names
from engine.framework.cluster_events import Action
from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.framework.nodes.cache import SchedulerCache
from engine.framework.nodes.cache_rules import CacheError
from engine.framework.nodes.gauges import NodeGauges
from engine.framework.nodes.nominated import Nominated
from engine.framework.nodes.table_feed import TableFeed
from engine.framework.pod_groups.groups import PodGroups
from engine.framework.registrations import Registration, on
from engine.framework.simple import author_of
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Stream
from engine.objects.objects import Pod
from engine.plugins.not_modelled.plugin import NotModelled
from engine.scheduler.configuration.extenders import Extender, ExtenderCalls
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import Attempt, Binding, SchedulingAttempt
from engine.scheduler.cycle.chronicle import Chronicle
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.volume_work import SchedulerLookups, VolumeWork
from engine.scheduler.queue.active import QueueSort
from engine.scheduler.queue.queueing_hints import QueueingHints, everything, registrations_of
from engine.scheduler.queue.requeueing import QueueProfile
from engine.scheduler.queue.scheduling_queue import SchedulingQueue

# Attempts on clusters up to this size keep their evidence; on larger ones it is made on demand.
EAGER_EVIDENCE_NODES = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The parts of a cluster that every scheduler uses."""

    loop: EventLoop
    store: ObjectStore
    recorder: Recorder
    latencies: Latencies
    ties: Stream | None
    calls: ExtenderCalls


class SchedulerState:
    """The cache, the queue, the known pods and the bindings of one scheduler process."""

    def __init__(
        self, around: Surroundings, setup: SchedulerSetup, neighbours: frozenset[str] | None
    ) -> None:
        """For *neighbours*, see Scheduler."""
        profile = self.profile = setup.profiles[0]
        loop = self.loop = around.loop
        self.store = around.store
        self.latencies = around.latencies
        self.names = frozenset(setup.names)
        # A client of the Kubernetes API decides on the pods; see ShadowDecisions.
        self.external = setup.external
        self.neighbours = neighbours
        self.stopped = False
        self.rules = profile.resource_rules
        # The pods as the watches have shown them, by key.
        self.known: dict[str, Pod] = {}
        # The pods between assume and the end of their binding cycle, by key.
        self.bindings: dict[str, Binding] = {}
        self.attempts: list[SchedulingAttempt] = []
        # The pod, by key, whose attempts keep their evidence on clusters of any size.
        self.evidence_of = ""
        self.handle = Handle(loop=loop)
        self.gauges = NodeGauges(self.handle.table)
        chronicle = self.chronicle = Chronicle(
            around.recorder,
            around.store,
            self.known,
            self.gauges,
            scheduler="" if neighbours is not None else setup.names[0],
            profile=profile,
        )
        self.extenders = [Extender(one, around.calls) for one in setup.extenders]
        nominated = Nominated(self.handle.table)
        cache_rules = profile.kubernetes.cache
        self.feed = TableFeed(
            self.handle.table,
            self.gauges,
            lists_anew=cache_rules.relists_after_any_change,
            reads_labels=any(one.custom_plugins for one in setup.profiles),
        )
        self.cache = SchedulerCache(loop, cache_rules, observer=self.feed, scheduler=profile.name)
        self.feed.follow(self.cache)
        if profile.rules.schedules_groups:
            groups = PodGroups(self.handle.listers, self.cache.assumed)
            self.handle.shared[names.GANG_SCHEDULING] = groups
        # By schedulerName; all share the node table and the nominations.
        self.percentages = {one.name: one.percentage for one in setup.profiles}
        self.algorithms = {
            one.name: SchedulingAlgorithm(
                # The nodes that a client samples are not known, so all are looked at.
                replace(one, percentage=100) if setup.external else one,
                self.handle,
                ties=None if setup.external else around.ties,
                nominated=nominated,
                extenders=() if setup.external else self.extenders,
            )
            for one in setup.profiles
        }
        self.nominated = nominated
        self.queue = SchedulingQueue(
            setup.queue_rules,
            loop,
            profiles={name: _queue_profile(one) for name, one in self.algorithms.items()},
            sort=_queue_sort(self.algorithms[profile.name]),
            listener=chronicle,
            nominations=nominated,
        )
        chronicle.queue = self.queue
        self.volume_work = VolumeWork(
            loop,
            around.store,
            SchedulerLookups(self.handle, self.known),
            profile.kubernetes,
            around.latencies,
            {one.name: one.bind_timeout for one in setup.profiles},
        )

    def is_mine(self, pod: Pod) -> bool:
        """Whether this scheduler has to find a node for *pod*."""
        return not self.external and pod.scheduler_name in self.names

    def keeps_evidence_of(self, pod: str) -> bool:
        """Whether attempts on the pod with this key keep their evidence."""
        is_small = len(self.handle.table.rows) <= EAGER_EVIDENCE_NODES
        return is_small or pod == self.evidence_of

    def shows(self, pod: Pod) -> bool:
        """Whether the pages show *pod* as this scheduler's cache holds it."""
        if self.neighbours is None:
            return pod.scheduler_name in self.names
        return not self.neighbours or pod.scheduler_name not in self.neighbours

    def change_cache(self, entity: str, move: Callable[..., None], *parts: object) -> bool:
        """Make a *move* of the cache; False if the cache refuses it.

        Upstream logs a refused move and goes on. A refusal that means a corrupted cache ends
        upstream's process; no later decision would be reliable, so the run ends.
        """
        try:
            move(*parts)
        except CacheError as refusal:
            data = {"move": refusal.move, "fatal": refusal.fatal}
            self.chronicle.record("CacheMoveRefused", entity, str(refusal), data)
            if refusal.fatal:
                self.loop.fail(f"the scheduler's process has ended over {entity}: {refusal}")
            return False
        return True

    def volume_plan(self, decision: ScheduleResult) -> PodVolumes:
        """What the claims of the pod need on the chosen node."""
        planner = self.algorithms[decision.pod.pod.scheduler_name].framework.volume_binding
        if planner is None or decision.search is None:
            return PodVolumes()
        return planner.plan(decision.search.state, decision.row)

    def keep_attempt(self, attempt: Attempt, seq: int) -> None:
        """Keep *attempt*; event *seq* records its result."""
        decision = attempt.decision
        self.attempts.append(
            SchedulingAttempt(
                attempt.queued.key,
                attempt.queued.attempts,
                seq,
                self.loop.now,
                attempt.cycle,
                decision.result,
                decision.node or "",
                decision.message,
                attempt.evidence,
                decision.explanation,
            )
        )


def _queue_sort(algorithm: SchedulingAlgorithm) -> QueueSort | None:
    """The custom plugin that orders activeQ; None for PrioritySort."""
    name = algorithm.profile.custom_queue_sort
    return cast("QueueSort", algorithm.framework.plugins.by_name[name]) if name else None


def _queue_profile(algorithm: SchedulingAlgorithm) -> QueueProfile:
    plugins, groups = algorithm.framework.plugins, algorithm.profile.rules.schedules_groups
    written = {name: author_of(plugin) for name, plugin in plugins.by_name.items()}
    registrations = registrations_of(written, groups=groups)
    # For the preemptor, which a gate holds until its last victim is being deleted (since v1.35).
    registrations[names.DEFAULT_PREEMPTION] = (on(cluster_events.POD, Action.DELETE),)
    registrations[names.EXTENDER] = everything(groups=groups)
    # A pod may lose the label that makes it part of a gang.
    relabelled = Registration(cluster_events.UNSCHEDULED_POD_LABEL_UPDATE)
    registrations[NotModelled.name] = (relabelled,)
    return QueueProfile(
        pre_enqueue=(NotModelled(algorithm.profile.allocates_devices), *plugins.pre_enqueue),
        hints=QueueingHints(registrations),
    )
