"""One scheduler: it watches the store, keeps its queue and cache, and tries one pod at a time.

Read `schedule_one` top-down: pop, decide, assume, then either the binding cycle, which runs on
while the next pod is tried, or the failure handling. Upstream: pkg/scheduler/schedule_one.go and
eventhandlers.go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from kscope.sim.api_server.store import ObjectStore, WatchEvent
from kscope.sim.errors import ApiError, Conflict, NotFound, SimError
from kscope.sim.kernel.latency import Latencies
from kscope.sim.kernel.loop import EventLoop, Timer
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.rng import Stream
from kscope.sim.kernel.units import timestamp
from kscope.sim.kernel.view import Attributes, State
from kscope.sim.objects.objects import ApiObject, Node, PersistentVolume, PersistentVolumeClaim, Pod
from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine import names
from scheduling.engine.configuration.extenders import (
    EXTENDER,
    Extender,
    ExtenderCalls,
    ExtenderError,
)
from scheduling.engine.configuration.setup import SchedulerSetup
from scheduling.engine.cycle.algorithm import UNSCHEDULABLE, ScheduleResult, SchedulingAlgorithm
from scheduling.engine.cycle.attempt import SchedulingAttempt
from scheduling.engine.cycle.chronicle import COMPONENT, Chronicle
from scheduling.engine.cycle.explain import (
    blocker,
    evidence,
    pending_plugins,
    rejecting_plugins,
    summary,
)
from scheduling.engine.cycle.volume_work import VolumeWork
from scheduling.engine.framework.framework import Plugin
from scheduling.engine.framework.framework import PodVolumes as PodVolumePlan
from scheduling.engine.framework.handle import Handle
from scheduling.engine.nodes.cache import CACHE_RULES, CacheError, SchedulerCache
from scheduling.engine.nodes.gauges import NodeGauges
from scheduling.engine.nodes.nominated import Nominated
from scheduling.engine.nodes.table_feed import TableFeed
from scheduling.engine.plugins.node_affinity import NodeAffinity
from scheduling.engine.plugins.not_modelled import NotModelled
from scheduling.engine.plugins.pod_topology_spread import PodTopologySpread
from scheduling.engine.pods.conditions import disruption_target, with_condition
from scheduling.engine.pods.pod_info import PodInfo, requests_changed
from scheduling.engine.pods.pod_template import SpreadConstraint
from scheduling.engine.preemption.preemption import Candidate
from scheduling.engine.queue import events as cluster_events
from scheduling.engine.queue.active import QueueSort
from scheduling.engine.queue.events import ClusterEvent
from scheduling.engine.queue.hints import (
    EVERYTHING,
    IN_TREE_HINTS,
    EnqueueExtensions,
    HintWorld,
    QueueingHints,
    Registration,
)
from scheduling.engine.queue.queued_pod import QueuedPodInfo
from scheduling.engine.queue.requeueing import QueueProfile
from scheduling.engine.queue.scheduling_queue import SchedulingQueue
from volumes.engine.binding.binder import PodVolumes
from volumes.engine.binding.pod_binding import PodBinding

# Attempts on clusters up to this size keep their evidence; on larger ones it is made on demand.
EAGER_EVIDENCE_NODES = 200
# How often a patch is sent that fails for the server's own fault.
_PATCH_TRIES = 4


class Binding:
    """A pod between assume and the end of its binding cycle."""

    __slots__ = (
        "binder",
        "forgotten",
        "info",
        "node",
        "queued",
        "scheduler",
        "volumes",
        "waiting",
    )

    def __init__(
        self, scheduler: "Scheduler", queued: QueuedPodInfo, info: PodInfo, node: str
    ) -> None:
        self.scheduler = scheduler
        self.queued = queued
        self.info = info
        self.node = node
        self.volumes: PodVolumes | None = None
        self.waiting: PodBinding | None = None
        self.binder = names.DEFAULT_BINDER
        self.forgotten = False

    @property
    def assumed(self) -> Pod:
        """The pod as the cache has it: on its node."""
        return self.info.pod.patched({"spec": {"nodeName": self.node}})

    def volumes_done(self, error: str | None) -> None:
        """The binder has bound the pod's volumes, or has given up."""
        self.scheduler.volumes_done(self, error)


@dataclass(slots=True)
class Attempt:
    """One scheduling cycle: the pod, what was decided, and why, read off at that moment."""

    queued: QueuedPodInfo
    decision: ScheduleResult
    cycle: int
    began: int
    evidence: dict[str, Any] | None = None
    blocker: dict[str, Any] | None = None


class ListedWorld(HintWorld):
    """What queueing hints ask about the cluster, out of what a profile's plugins know."""

    def __init__(self, plugins: Mapping[str, Plugin]) -> None:
        affinity, spread = plugins.get(names.NODE_AFFINITY), plugins.get(names.POD_TOPOLOGY_SPREAD)
        self._enforced = affinity.enforced if isinstance(affinity, NodeAffinity) else None
        self._spread = spread if isinstance(spread, PodTopologySpread) else None

    def enforced_node_affinity(self) -> NodeSelector | None:
        """See HintWorld."""
        return self._enforced

    def default_spread_constraints(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        """See HintWorld."""
        return () if self._spread is None else self._spread.hard_by_default(pod)


class Scheduler:
    """The scheduler called *name*; it minds the pods that ask for it and every node."""

    def __init__(
        self,
        *,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        setup: SchedulerSetup,
        ties: Stream | None,
        calls: ExtenderCalls | None = None,
        neighbours: frozenset[str] | None = None,
    ) -> None:
        """*neighbours* are the schedulerNames of the others, where this is not the only one.

        None says that somebody else shows the nodes and the pods that are nobody's.
        """
        profile = setup.profiles[0]
        self._loop = loop
        self._store = store
        self._latencies = latencies
        self._names = frozenset(setup.names)
        self._neighbours = neighbours
        self._stopped = False
        self._rules = profile.resource_rules
        self._profile = profile
        self._known: dict[str, Pod] = {}
        self._bindings: dict[str, Binding] = {}
        self._attempts: list[SchedulingAttempt] = []
        self._busy = False
        self._backoff_timer: Timer | None = None
        self._leftover_timer: Timer | None = None
        self._expiry_timer: Timer | None = None
        # The state of the queue that the timers of its flushes were set for; -1 when one has fired.
        self._waits_seen = 0
        self.cycles_ended = 0
        # Keep every attempt's evidence, whatever the size of the cluster.
        self.keep_evidence = False
        # Give every attempt an explanation that can be kept and read at any later time.
        self.keep_explanations = False
        self.handle = Handle()
        self.gauges = NodeGauges(self.handle.table)
        chronicle = self.chronicle = Chronicle(
            recorder,
            store,
            self._known,
            self.gauges,
            scheduler="" if neighbours is not None else setup.names[0],
            shows_nodes=neighbours is not None,
            has_series=not profile.is_classic,
        )
        self._show_pod = chronicle.show_pod
        self._tell, self._tell_pod = chronicle.tell, chronicle.tell_pod
        self._tell_event = chronicle.tell_event
        self._extenders = [Extender(one, calls or ExtenderCalls()) for one in setup.extenders]
        # Whether anybody but DefaultBinder may bind a pod.
        self._asks_binders = bool(self._extenders)
        # Whether a write of the status of a pod that has its node may move anybody: until v1.20 any
        # update does; later, no plugin in the tree listens to it.
        self._hears_of_any_update = (
            not profile.has_hints
            or bool(self._extenders)
            or any(one.custom_plugins for one in setup.profiles)
        )
        nominated = Nominated(self.handle.table)
        self._algorithms = {
            one.name: SchedulingAlgorithm(
                one, self.handle, ties=ties, nominated=nominated, extenders=self._extenders
            )
            for one in setup.profiles
        }
        # Of the first profile; all share the node table and the nominations.
        self.algorithm = self._algorithms[profile.name]
        self._feed = TableFeed(self.handle.table, self.gauges, lists_anew=profile.is_classic)
        cache_rules = CACHE_RULES[profile.version]
        self._assumptions_expire = bool(cache_rules.assume_ttl)
        self.cache = SchedulerCache(loop, cache_rules, observer=self._feed)
        self._feed.follow(self.cache)
        self.queue = SchedulingQueue(
            replace(setup.queue_rules, status_counts=profile.status_wakes),
            loop,
            profiles={name: self._queue_profile(one) for name, one in self._algorithms.items()},
            sort=self._queue_sort(),
            listener=chronicle,
            nominations=nominated,
            started_at=loop.now,
        )
        chronicle.queue = self.queue
        self.volume_work = VolumeWork(
            loop, store, self.handle, self._known, profile.version, latencies
        )
        self.volume_work.timeouts = {
            name: one.profile.bind_timeout for name, one in self._algorithms.items()
        }
        delay = latencies.draw("watch")
        attachments = ("VolumeAttachment",) if profile.counts_attachments else ()
        observers = {"Pod": self._observe_pod, "Node": self._observe_node}
        for kind in (*attachments, *_WATCHED_KINDS):
            store.watch(kind, observers.get(kind, self._observe_other), delay)

    def _queue_sort(self) -> QueueSort | None:
        """What orders activeQ instead of PrioritySort; see PluggedScheduler."""
        return None

    def _queue_profile(self, algorithm: SchedulingAlgorithm) -> QueueProfile:
        plugins = algorithm.framework.plugins
        registrations: dict[str, Iterable[Registration]] = dict(IN_TREE_HINTS)
        for name, plugin in plugins.by_name.items():
            if isinstance(plugin, EnqueueExtensions):
                registrations[name] = plugin.events_to_register()
            else:
                # Upstream: runtime/framework.go defaultEnqueueExtension.
                registrations.setdefault(name, EVERYTHING)
        registrations[EXTENDER] = EVERYTHING
        # A pod may lose the label that makes it one of a gang.
        relabelled = Registration(cluster_events.UNSCHEDULED_POD_LABEL_UPDATE)
        registrations[NotModelled.name] = (relabelled,)
        return QueueProfile(
            pre_enqueue=(NotModelled(), *plugins.pre_enqueue),
            hints=QueueingHints(registrations, ListedWorld(plugins.by_name)),
        )

    @property
    def names(self) -> frozenset[str]:
        """The schedulerNames that it answers to."""
        return self._names

    def algorithm_for(self, scheduler_name: str) -> SchedulingAlgorithm | None:
        """The algorithm that pods of this schedulerName get; None when they are somebody else's."""
        return self._algorithms.get(scheduler_name)

    def stop(self) -> None:
        """The process dies: its queue, its cache and what it was binding are lost."""
        for binding in list(self._bindings.values()):
            self._forget(binding)
        for timer in (self._backoff_timer, self._leftover_timer, self._expiry_timer):
            if timer is not None:
                timer.cancel()
        for key, pod in self._known.items():
            if self._is_mine(pod) and not pod.node_name:
                self._show_pod(key, queue=None, queue_since=None, backoff_until=None)
        self._stopped = True
        self._tell("SchedulerStopped", "run", f"{min(self._names)} has stopped")

    # What the cluster says: the informers' handlers

    def _observe_pod(self, event: WatchEvent) -> None:
        new = event.new
        if self._stopped or not isinstance(new, Pod):
            return
        key = new.key
        old = self._known.get(key)
        gone = event.type == "DELETED" or new.is_terminated
        if gone:
            self._known.pop(key, None)
        else:
            self._known[key] = new
        if old is not None and old.node_name:
            self._assigned_changed(old, new, gone)
        elif gone:
            if old is not None and self._is_mine(old):
                self._unassigned_gone(old, new)
                if event.final_state_unknown:
                    self._clean_up(old)
        elif new.node_name:
            self._assigned(old, new)
        elif self._is_mine(new):
            self._unassigned(old, new)
        self._wake()

    def _is_mine(self, pod: Pod) -> bool:
        return pod.scheduler_name in self._names

    def _shows(self, pod: Pod) -> bool:
        """Whether what this scheduler's cache has of *pod* is what the pages show."""
        if self._neighbours is None:
            return self._is_mine(pod)
        return not self._neighbours or pod.scheduler_name not in self._neighbours

    def _unassigned(self, old: Pod | None, new: Pod) -> None:
        if old is None:
            binding = self._bindings.get(new.key)
            if binding is not None:
                # The cache knows pods by name: the namesake makes room for the new pod.
                self._forget(binding)
            self.queue.add(PodInfo(new, self._rules))
        elif new.key in self.cache.assumed:
            return  # It has its place; the rest of its life is the binding cycle's.
        else:
            self.queue.update(old, new)
            if old.nominated_node_name != new.nominated_node_name:
                self._nomination_ended(old)

    def _nomination_ended(self, pod: Pod) -> None:
        """Who is not more important than *pod* had to leave it the node that it was promised.

        Since v1.33. That it now gets this very node comes to the same until v1.35. Upstream:
        updatePodInSchedulingQueue(), deletePodFromSchedulingQueue().
        """
        if pod.nominated_node_name and self._profile.has_hints:
            self.queue.move_all_to_active_or_backoff(
                cluster_events.ASSIGNED_POD_DELETE, pod, None, at_most=pod.priority
            )

    def _unassigned_gone(self, old: Pod, new: Pod) -> None:
        waits = self.queue.get(old.key) is not None or old.key in self._bindings
        if waits and not self._profile.has_hints:
            # Its deletion is an update first, which brings it back to be skipped.
            message = f"skip schedule deleting pod: {old.key}"
            self._tell_event(new, "FailedScheduling", "Warning", message)
        self.chronicle.end_series(old.uid)
        self.queue.delete(old)
        self._nomination_ended(new)
        # What is being bound goes on, until the binding finds that there is no pod any more.

    def _clean_up(self, gone: Pod) -> None:
        """It may have got its node unseen, and then nothing will come to confirm it.

        Upstream: eventhandlers.go, DeletedFinalStateUnknown (since 1.22); before, the assumption
        runs out.
        """
        binding = self._bindings.get(gone.key)
        if binding is not None and CACHE_RULES[self._profile.version].removes_assumed:
            self._forget(binding)
            self.queue.assigned_pod_deleted(binding.info.pod)

    def _assigned(self, old: Pod | None, new: Pod) -> None:
        """The pod has a node: ours comes back confirmed, or somebody else put it there."""
        binding = self._bindings.pop(new.key, None)
        assumed = new.key in self.cache.assumed
        if assumed and binding is not None:
            self.gauges.settled(binding.node, binding.info)
        counted = self.cache.confirm_pod(new)
        if not counted:
            info = binding.info.updated(new) if binding else PodInfo(new, self._rules)
            counted = self._in_cache(new.id, self.cache.add_pod, info)
        waited = old if old is not None and self._is_mine(old) else None
        if waited is not None and (not assumed or self.queue.may_hold_assumed):
            self.queue.delete(waited)
        if counted:
            self._tell_assigned(new)
        self.queue.assigned_pod_added(new)
        if waited is not None and waited.nominated_node_name:
            self._nomination_ended(waited)

    def _tell_assigned(self, pod: Pod) -> None:
        if self._shows(pod):
            shown: Attributes = {"cache": "added", "assumed": None}
            self._tell_pod("PodConfirmed", pod, f"on {pod.node_name}", None, shown)
        elif self._neighbours is not None:
            self._tell("PodObserved", pod.id, f"of {pod.scheduler_name}, on {pod.node_name}")

    def _assigned_changed(self, old: Pod, new: Pod, gone: bool) -> None:
        if gone:
            self._in_cache(new.id, self.cache.remove_pod, PodInfo(old, self._rules))
            if self._neighbours is not None:
                self._tell("PodReleased", new.id, f"left {old.node_name}")
            self.queue.assigned_pod_deleted(new)
            return
        if (
            new.template is not old.template
            or new.deletion_timestamp != old.deletion_timestamp
            or requests_changed(old, new, self._rules)
        ):
            before, after = PodInfo(old, self._rules), PodInfo(new, self._rules)
            self._in_cache(new.id, self.cache.update_pod, before, after)
            self.queue.assigned_pod_updated(old, new)
            return
        self._in_cache(new.id, self.cache.renew_pod, new)
        if self._hears_of_any_update:
            self.queue.assigned_pod_updated(old, new)

    def _in_cache(self, entity: str, move: Callable[..., None], *parts: object) -> bool:
        """Make a move of the cache; whether it was a legal one.

        Upstream logs an illegal one and goes on. One that tells that its cache is corrupted ends
        its process: no decision after that could be relied on, so the run ends.
        """
        try:
            move(*parts)
        except CacheError as refusal:
            data = {"move": refusal.move, "fatal": refusal.fatal}
            self._tell("CacheMoveRefused", entity, str(refusal), data)
            if refusal.fatal:
                self._loop.fail(f"the scheduler's process has ended over {entity}: {refusal}")
            return False
        return True

    def _observe_node(self, event: WatchEvent) -> None:
        node, old = event.new, event.old
        if self._stopped or not isinstance(node, Node):
            return
        known = self.cache.node(node.name)
        if event.type == "DELETED":
            self._in_cache(node.id, self.cache.remove_node, node)
            self.queue.move_all_to_active_or_backoff(cluster_events.NODE_DELETE, node, None)
        elif known is None or known.node is None or not isinstance(old, Node):
            self.cache.add_node(node)
            self.queue.move_all_to_active_or_backoff(cluster_events.NODE_ADD, None, node)
        else:
            self.cache.update_node(node)
            self.queue.node_updated(old, node)
        self._wake()

    def _observe_other(self, event: WatchEvent) -> None:
        if self._stopped:
            return
        obj = event.new
        if obj.kind in _STORAGE:
            self.volume_work.observe(event)
        elif event.type == "DELETED":
            self.handle.listers.remove(obj.kind, obj.key)
        else:
            self.handle.listers.put(obj)
        change = _CHANGES.get((obj.kind, event.type))
        if change is not None:
            old = obj if event.type == "DELETED" else event.old
            new = None if event.type == "DELETED" else obj
            self.queue.move_all_to_active_or_backoff(change, old, new)
        self._wake()

    # The scheduling cycle

    def _wake(self) -> None:
        """Begin a cycle if there is a pod to try, and see to the timers."""
        if self._stopped:
            return
        if not self._busy and self.queue.ready:
            self._busy = True
            self._loop.call_after(0, self.schedule_one)
        if self.queue.waits.count != self._waits_seen:
            self._set_flush_timers()
        if self._assumptions_expire and (self._expiry_timer or self.cache.may_expire):
            self._expiry_timer = self._reset(
                self._expiry_timer, self.cache.next_expiry(), self._expire_assumed
            )

    def schedule_one(self) -> None:
        """Try the first pod of activeQ. Upstream: schedule_one.go ScheduleOne()."""
        self._loop.cause = 0
        if self._stopped:
            return
        queued = self.queue.pop()
        if queued is None:
            self._busy = False
            return
        if self._is_gone(queued):
            self._tell_skipped(queued)
            self.queue.done(queued.pod_info.uid)
            self._end_cycle()
            return
        attempt = self._decide(queued)
        duration = self._latencies.draw("schedule")
        if duration:
            self._loop.call_after(duration, self._conclude, attempt)
        else:
            self._conclude(attempt)

    def _decide(self, queued: QueuedPodInfo) -> Attempt:
        """Filters, scores, preemption; and the reasons, read off the node table as it is now."""
        eager = self.keep_evidence or len(self.handle.table.rows) <= EAGER_EVIDENCE_NODES
        algorithm = self._algorithms[queued.pod_info.pod.scheduler_name]
        decision = algorithm.schedule(
            queued.pod_info,
            self._feed.order(),
            explain=eager,
            by_columns=True,
            keep=self.keep_explanations,
        )
        if decision.result == UNSCHEDULABLE:
            algorithm.preempt(decision)
        attempt = Attempt(queued, decision, self.queue.scheduling_cycle, self._loop.now)
        if eager:
            attempt.evidence = evidence(decision, algorithm, queued.attempts, attempt.cycle)
        if decision.node is None:
            attempt.blocker = blocker(decision, algorithm, queued.attempts)
        return attempt

    def _is_gone(self, queued: QueuedPodInfo) -> bool:
        """Deleted, placed meanwhile, or assumed by an earlier cycle. Upstream: skipPodSchedule()."""
        known = self._known.get(queued.key)
        return (
            known is None
            or bool(known.deletion_timestamp or known.node_name)
            or known.uid != queued.pod_info.uid
            or queued.key in self.cache.assumed
        )

    def _tell_skipped(self, queued: QueuedPodInfo) -> None:
        """Upstream: skipPodSchedule(), for a pod that finalizers hold."""
        known = self._known.get(queued.key)
        if known is not None and known.uid == queued.pod_info.uid and known.deletion_timestamp:
            message = f"skip schedule deleting pod: {known.key}"
            self._tell_event(known, "FailedScheduling", "Warning", message)

    def _conclude(self, attempt: Attempt) -> None:
        """The end of the scheduling cycle: the pod has a node, or it has reasons."""
        queued, node = attempt.queued, attempt.decision.node
        if self._stopped:
            return
        if attempt.began != self._loop.now and self._is_gone(queued):
            self.queue.done(queued.pod_info.uid)
        elif node is None:
            self._handle_failure(attempt)
        else:
            self._assume(attempt, node)
        self._end_cycle()

    def _end_cycle(self) -> None:
        self.cycles_ended += 1
        self._busy = False
        self._wake()

    def _assume(self, attempt: Attempt, node: str) -> None:
        """Reserve: from now on the pod counts on its node, though the API does not know yet."""
        queued, decision = attempt.queued, attempt.decision
        info = queued.pod_info.assigned_to(node)
        binding = Binding(self, queued, info, node)
        try:
            if queued.pod.claim_names:
                binding.volumes = self.volume_work.assume(info, node, self._plan(decision))
        except SimError as moved_on:
            text = str(moved_on)
            if self._profile.is_classic:
                self._handle_error(queued, text, told=f"AssumePodVolumes failed: {text}")
            else:
                text = f'running Reserve plugin "{names.VOLUME_BINDING}": {text}'
                self._handle_error(queued, text)
            return
        seq = self._take_place(binding, decision)
        if seq:
            self._keep_attempt(attempt, seq)
            self._start_binding(binding)

    def _take_place(self, binding: Binding, decision: ScheduleResult) -> int:
        """Count the pod on its node from now on; the seq of the event that says so.

        0 when the cache holds the pod already: then the attempt has failed.
        """
        info, node = binding.info, binding.node
        if not self._in_cache(info.pod.id, self.cache.assume_pod, info):
            if binding.volumes is not None:
                self.volume_work.revert(binding.volumes)
            self._handle_error(binding.queued, "scheduler cache AssumePod failed")
            return 0
        self.gauges.assumed(node, info)
        self._bindings[info.key] = binding
        self.queue.nominator.delete(info.uid)
        return self._tell_pod(
            "PodAssumed",
            info.pod,
            f"to {node}, {decision.feasible} of {decision.evaluated} nodes fit",
            summary(decision),
            {
                "queue": None,
                "queue_since": None,
                "cache": "assumed",
                "assumed": node,
                "blocker": None,
            },
        )

    def _plan(self, decision: ScheduleResult) -> PodVolumePlan:
        planner = self._algorithms[decision.pod.pod.scheduler_name].framework.volume_binding
        if planner is None or decision.search is None:
            return PodVolumePlan()
        return planner.plan(decision.search.state, decision.row)

    # The binding cycle: on its own from here, while the next pods are tried

    def _start_binding(self, binding: Binding) -> None:
        # From here no event can bring the pod back to the queue, only a failure.
        self.queue.done(binding.info.uid)
        if binding.volumes is None:
            self._loop.call_after(self._latencies.draw("bind"), self._bind, binding)
        else:
            self._loop.call_after(0, self._bind_volumes, binding)

    def _bind_volumes(self, binding: Binding) -> None:
        """PreBind of VolumeBinding: write what was assumed, then wait for the PV controller."""
        if not binding.forgotten and binding.volumes is not None:
            binding.waiting = self.volume_work.bind(
                binding.info, binding.node, binding.volumes, binding.volumes_done
            )

    def volumes_done(self, binding: Binding, error: str | None) -> None:
        """What the binder came to: on with the binding, or back to the queue."""
        binding.waiting = None
        if binding.forgotten:
            return
        if error is None:
            self._loop.call_after(self._latencies.draw("bind"), self._bind, binding)
        else:
            if self._profile.is_classic:
                self._fail_binding(binding, error, "VolumeBindingFailed")
            else:
                self._fail_binding(binding, f'running PreBind plugin "VolumeBinding": {error}')

    def _bind(self, binding: Binding) -> None:
        """DefaultBinder: write the pod's node. Upstream: bind(), Scheduled event."""
        if binding.forgotten:
            return
        pod = binding.info.pod
        self.chronicle.end_series(pod.uid)
        scheduled = {"type": "PodScheduled", "status": "True"}
        scheduled["lastTransitionTime"] = timestamp(self._loop.now)
        try:
            if self._asks_binders:
                self._bind_by_extender(binding)
            stored = self._store.find("Pod", pod.key)
            if not isinstance(stored, Pod):
                raise NotFound(f'pods "{pod.name}" not found')
            if stored.uid != pod.uid:
                raise Conflict(_uid_conflict(pod, stored))
            if stored.deletion_timestamp:
                raise Conflict(_deleted(pod))
            self._store.bind(
                stored,
                binding.node,
                with_condition(stored, scheduled),
                by=COMPONENT,
                event="PodBound",
                message=f"Successfully assigned {pod.key} to {binding.node}",
                data={"event": True, "type": "Normal", "reason": "Scheduled"},
            )
            self._finish_binding(binding)
        except ExtenderError as refusal:
            self._reject_binding(binding, str(refusal))
        except ApiError as refusal:
            who = "" if self._profile.is_classic else f'running Bind plugin "{binding.binder}": '
            self._reject_binding(binding, f"{who}{refusal}")

    def _finish_binding(self, binding: Binding) -> None:
        """The write is answered: only now may the assumption run out."""
        now = self._loop.now
        answered = now if self._store.faults is None else self._store.answered_at(COMPONENT)
        if answered > now:
            self._loop.call_at(answered, self.cache.finish_binding, binding.info)
        else:
            self.cache.finish_binding(binding.info)

    def _reject_binding(self, binding: Binding, error: str) -> None:
        """The pod was not bound: with what the versions put before the reason.

        In v1.16 the Event alone says that, not the condition; in v1.11 that says nothing at all.
        """
        if self._profile.binds_in_rounds:
            told = f"Binding rejected: {error}"
            self._fail_binding(binding, "", "BindingRejected", told=told)
        elif self._profile.is_classic:
            self._fail_binding(binding, error, told=f"Binding rejected: {error}")
        else:
            prefix = "binding rejected: " if self._profile.refuses_per_node else ""
            self._fail_binding(binding, prefix + error)

    def _bind_by_extender(self, binding: Binding) -> bool:
        """Ask the extender that binds, if there is one: what it writes is then written for it.

        Upstream: extendersBinding().
        """
        for extender in self._extenders:
            settings = extender.settings
            if settings.bind_verb and settings.is_interested(binding.info):
                try:
                    extender.bind(binding.info, binding.node)
                except ExtenderError:
                    # In v1.20 and before it could not be ignored here.
                    if not settings.ignorable or not self._forgets_hopes:
                        raise
                    continue
                return True
        return False

    def _fail_binding(
        self, binding: Binding, error: str, reason: str = "SchedulerError", *, told: str = ""
    ) -> None:
        """Unreserve, forget, and send the pod round again. Upstream: handleBindingCycleError()."""
        self._forget(binding)
        pod = binding.info.pod
        if self._profile.is_current:
            # Its leaving is told first (since 1.22).
            self.queue.move_all_to_active_or_backoff(
                cluster_events.ASSIGNED_POD_DELETE, binding.assumed, None
            )
        known = self._known.get(pod.key)
        if known is not None and known.uid == pod.uid:
            self._handle_error(binding.queued, error, reason, told=told)
        else:
            # Nobody goes round again, but it is told all the same.
            self._tell_event(pod, "FailedScheduling", "Warning", told or error)
            self.chronicle.end_series(pod.uid)
        self._wake()

    def _forget(self, binding: Binding) -> None:
        binding.forgotten = True
        self._bindings.pop(binding.queued.key, None)
        if binding.waiting is not None:
            binding.waiting.cancel()
        if binding.volumes is not None:
            self.volume_work.revert(binding.volumes)
        self._in_cache(binding.info.pod.id, self.cache.forget_pod, binding.info)
        self.gauges.settled(binding.node, binding.info)
        pod = binding.info.pod
        if pod.key in self._known:
            self._show_pod(pod.key, cache=None, assumed=None)
        self._tell("PodForgotten", pod.id, f"no longer assumed on {binding.node}")

    # Failure

    def _handle_failure(self, attempt: Attempt) -> None:
        """Tell why, then wait in backoff or for something to change."""
        queued, decision = attempt.queued, attempt.decision
        pod = queued.pod
        queued.rejected_by(*rejecting_plugins(decision), pending=pending_plugins(decision))
        preemption = decision.preemption
        chosen = preemption.chosen if preemption else None
        evicts = True
        if chosen is not None and not self._profile.is_classic:
            evicts = self._preempt(queued, chosen)
        self._show_pod(pod.key, blocker=attempt.blocker)
        seq = self._tell_event(pod, "FailedScheduling", "Warning", decision.message)
        self._keep_attempt(attempt, seq)
        self._requeue(queued, began=attempt.began)
        failed = decision.result != UNSCHEDULABLE and self._forgets_hopes
        # In v1.20 and before an error of the cycle is told like a refusal.
        reason = "SchedulerError" if failed else "Unschedulable"
        if not self._profile.is_classic:
            nominated = self._nominate(queued, pod, decision) if evicts else None
            self._patch_condition(pod, reason, decision.message, nominated)
            return
        # Room is made once the failure is told. Upstream: v1.16 scheduler.go scheduleOne().
        self._patch_condition(pod, reason, decision.message)
        if chosen is None:
            self._nominate(queued, pod, decision)
        elif self._promise(queued, chosen.node):
            self._preempt(queued, chosen)

    def _requeue(self, queued: QueuedPodInfo, *, began: int | None = None) -> None:
        """As it is by now: while it was tried, or bound, the queue has not followed its updates.

        What may have been missed counts from the cycle that runs now, which for a binding is not
        the pod's own. Upstream: handleSchedulingFailure(), factory.go MakeDefaultErrorFunc().
        """
        known = self._known.get(queued.key)
        if known is not None and known is not queued.pod and known.uid == queued.pod_info.uid:
            queued.update(known)
        self.queue.add_unschedulable_if_not_present(
            queued, self.queue.scheduling_cycle, began=began
        )

    def _nominate(self, queued: QueuedPodInfo, pod: Pod, decision: ScheduleResult) -> str | None:
        """Let others leave room for the pod; the node that is to be written with its condition.

        *pod* is the version that was tried. None leaves what is written there. Upstream:
        schedule_one.go handleSchedulingFailure().
        """
        preemption = decision.preemption
        if preemption is not None and preemption.chosen is not None:
            self.queue.nominator.add(queued.pod_info, preemption.chosen.node)
            return preemption.chosen.node
        if preemption is not None:
            clears = preemption.clears
        else:
            # An error, or no node at all.
            clears = self._forgets_hopes and (
                decision.result != UNSCHEDULABLE or decision.search is None
            )
        if not self._forgets_hopes:
            if clears and pod.nominated_node_name:
                # A write of its own; the nomination ends when it comes back.
                self._write_nomination(pod, None)
            return None
        if clears:
            self.queue.nominator.delete(queued.pod_info.uid)
            return "" if pod.nominated_node_name else None
        if queued.key in self._known:
            # As its status says, whatever was in memory. Upstream: AddNominatedPod(), ModeNoop.
            self.queue.nominator.add(queued.pod_info)
        return None

    @property
    def _forgets_hopes(self) -> bool:
        """Whether what fails otherwise than for want of room ends a nomination (since 1.22).

        Upstream: schedule_one.go, clearNominatedNode.
        """
        return self._profile.is_current

    def _handle_error(
        self, queued: QueuedPodInfo, message: str, reason: str = "SchedulerError", *, told: str = ""
    ) -> None:
        """The cycle itself failed: the pod comes back after its backoff.

        The Event says the *message* as the condition does, or what else is to be *told*.
        """
        pod = queued.pod
        self._tell_event(pod, "FailedScheduling", "Warning", told or message)
        self._requeue(queued)
        nominated = None
        if self._forgets_hopes:
            self.queue.nominator.delete(queued.pod_info.uid)
            nominated = ""
        self._patch_condition(pod, reason, message, nominated)

    def _promise(self, queued: QueuedPodInfo, node: str) -> bool:
        """Nominate the pod, in the queue and in writing; without that nobody has to leave.

        Upstream: v1.16 scheduler.go preempt().
        """
        self.queue.nominator.add(queued.pod_info, node)
        if self._write_nomination(queued.pod, node):
            return True
        self.queue.nominator.delete(queued.pod_info.uid)
        return False

    def _preempt(self, queued: QueuedPodInfo, chosen: Candidate) -> bool:
        """Evict the victims; whether there is something to hope for now.

        Upstream: prepareCandidateAsync(), v1.20 PrepareCandidate(), v1.16 preempt().
        """
        message = f"{self._preempted_by(queued.pod)} on node {chosen.node}"
        if not self._profile.preemption.spares_the_leaving:
            return self._evict_in_turn(chosen.victims, queued.pod_info, chosen.node, message)
        victims = [victim for victim in chosen.victims if not victim.pod.deletion_timestamp]
        if victims:
            # Before anybody is evicted (since 1.32); nothing is done where nobody has to be.
            self._clear_lower(queued.pod_info, chosen.node)
            self._evict_all(victims, queued.pod, message)
        return True

    def _evict_all(self, victims: Sequence[PodInfo], preemptor: Pod, message: str) -> None:
        """All but the last at once, and that one only if none of those has failed.

        Who made nobody leave, or not everybody, is tried again. Upstream: prepareCandidateAsync().
        """
        *others, last = victims
        fates = [self._evict(victim, preemptor, message) for victim in others]
        if False not in fates:
            fates.append(self._evict(last, preemptor, message))
        if False in fates or True not in fates:
            self._loop.call_after(0, self._try_again, preemptor)

    def _evict_in_turn(
        self, victims: Sequence[PodInfo], preemptor: PodInfo, node: str, message: str
    ) -> bool:
        """One after the other, up to the first that cannot be evicted: whether the first could."""
        if not victims:
            self._clear_lower(preemptor, node)
            return True
        if not self._evict(victims[0], preemptor.pod, message):
            return False
        rest = victims[1:]
        if rest:
            delay = self._latencies.draw("api_write")
            self._loop.call_after(delay, self._evict_in_turn, rest, preemptor, node, message)
        else:
            self._clear_lower(preemptor, node)
        return True

    def _clear_lower(self, preemptor: PodInfo, node: str) -> None:
        """Who is less important hopes for *node* no more, once the watch tells of it.

        Whose hope no watch has told of yet keeps it. Upstream: getLowerPriorityNominatedPods(),
        clearNominatedNodeName(), v1.16 RemoveNominatedNodeName().
        """
        for lower in self.queue.nominator.pods_for_node(node):
            if lower.priority < preemptor.priority and lower.pod.nominated_node_name:
                self._write_nomination(lower.pod, None)

    def _evict(self, victim: PodInfo, preemptor: Pod, message: str) -> bool | None:
        """Whether the write has come through; None where the pod is gone already.

        Upstream: preemption.go PreemptPod().
        """
        stored = self._store.find("Pod", victim.key)
        # A namesake goes in its stead: no precondition tells them apart. Upstream: DeletePod().
        if not isinstance(stored, Pod):
            return None
        grace = stored.grace_period_seconds
        try:
            if self._profile.marks_victims:
                self._mark_victim(stored, preemptor)
            self._store.delete(
                "Pod", victim.key, by=COMPONENT, grace_seconds=grace, event="PodEvicted"
            )
        except ApiError:
            # The preemptor finds it there at its next attempt.
            return False
        self._tell_event(victim.pod, "Preempted", "Normal", message)
        return True

    def _try_again(self, preemptor: Pod) -> None:
        """Nobody may leave, and so wake it (since 1.32)."""
        if not self._stopped:
            self.queue.activate([preemptor])
            self._wake()

    def _mark_victim(self, victim: Pod, preemptor: Pod) -> None:
        message = f"{preemptor.scheduler_name}: preempting to accommodate a higher priority pod"
        condition = disruption_target("PreemptionByScheduler", message, self._loop.now)
        conditions: list[dict[str, Any]] = victim.status.get("conditions") or []
        told = {name: value for name, value in condition.items() if name != "lastTransitionTime"}
        if any(told.items() <= each.items() for each in conditions):
            return
        self._patch_status(
            victim, {"conditions": with_condition(victim, condition)}, "PodDisrupted"
        )

    def _preempted_by(self, pod: Pod) -> str:
        if self._profile.marks_victims:
            return f"Preempted by pod {pod.uid}"
        # In v1.11 the Event goes on where its reason ends.
        return f"by {pod.key}" if self._profile.binds_in_rounds else f"Preempted by {pod.key}"

    def _write_nomination(self, pod: Pod, node: str | None) -> bool:
        """Whether the API server has it."""
        stored = self._store.find("Pod", pod.key)
        if not isinstance(stored, Pod) or stored.uid != pod.uid:
            return False
        # A patch that changes nothing is no event.
        if stored.nominated_node_name != (node or ""):
            fact = "PodNominated" if node else "NominationCleared"
            try:
                self._patch_status(pod, {"nominatedNodeName": node}, fact)
            except ApiError:
                return False
        return True

    def _patch_condition(
        self, pod: Pod, reason: str, message: str, nominated: str | None = None
    ) -> None:
        """One write for both: the condition, and the node that the pod may hope for.

        "" clears the node, None leaves it.
        """
        stored = self._store.find("Pod", pod.key)
        if stored is None or stored.uid != pod.uid:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
        }
        old = _condition(stored)
        before = stored.status.get("nominatedNodeName") or ""
        hopes = nominated is not None and nominated != before
        same = old and all(old.get(name) == value for name, value in condition.items())
        if same and not hopes:
            return
        condition["lastTransitionTime"] = (old or {}).get("lastTransitionTime") or timestamp(
            self._loop.now
        )
        status: dict[str, Any] = {"conditions": with_condition(stored, condition)}
        if hopes:
            status["nominatedNodeName"] = nominated or None
        fact = "PodConditionUpdated"
        if hopes:
            fact = "PodNominated" if nominated else "NominationCleared"
        # Upstream logs a write that fails, and leaves it at that.
        with suppress(ApiError):
            self._patch_status(pod, status, fact)

    def _patch_status(self, pod: Pod, status: Mapping[str, Any], fact: str) -> None:
        """Write that much of the pod's status; an internal error is tried again, here at once.

        Raises ApiError. Upstream: util.PatchPodStatus(), Retriable(), retry.DefaultBackoff.
        """
        tries = _PATCH_TRIES if self._profile.is_current else 1
        for left in reversed(range(tries)):
            try:
                self._store.patch("Pod", pod.key, {"status": status}, by=COMPONENT, event=fact)
                return
            except ApiError as refusal:
                if not left or refusal.reason != ApiError.reason:
                    raise

    def _keep_attempt(self, attempt: Attempt, seq: int) -> None:
        decision = attempt.decision
        self._attempts.append(
            SchedulingAttempt(
                attempt.queued.key,
                attempt.queued.attempts,
                seq,
                self._loop.now,
                attempt.cycle,
                decision.result,
                decision.node or "",
                decision.message,
                attempt.evidence,
                decision.explanation,
            )
        )

    def take_attempts(self) -> list[SchedulingAttempt]:
        """The attempts made since the last take."""
        taken, self._attempts = self._attempts, []
        return taken

    def held_view(self) -> State:
        """What the queue and the cache hold, as attributes of pods and nodes."""
        held: State = {}
        if self._stopped:
            return held
        for key, pod in self._known.items():
            if not self._shows(pod):
                continue
            queued = self.queue.get(key) or self.queue.in_flight(key)
            if key in self.cache.assumed:
                held[f"pod/{key}"] = {"cache": "assumed", "assumed": self._bindings[key].node}
            elif pod.node_name:
                held[f"pod/{key}"] = {"cache": "added"}
            elif queued is not None:
                held[f"pod/{key}"] = {"queue": queued.place, "attempts": queued.attempts}
        for info in self.cache.nodes() if self._neighbours is not None else ():
            if info.node is not None and info.pods:
                held[f"node/{info.name}"] = {"requested": self.gauges.requested(info.name)}
        return held

    # Periodic flushes: run at the tick at which they have something to do

    def _set_flush_timers(self) -> None:
        self._backoff_timer = self._reset(
            self._backoff_timer, self.queue.flush_times.next_backoff_expiry(), self._flush_backoff
        )
        self._leftover_timer = self._reset(
            self._leftover_timer, self.queue.flush_times.next_leftover_due(), self._flush_leftover
        )
        self._waits_seen = self.queue.waits.count

    def _expire_assumed(self) -> None:
        """Assumptions that nobody confirmed in time are given up (v1.16, v1.20)."""
        self._loop.cause = 0
        for info in self.cache.cleanup_assumed_pods():
            self.gauges.settled(info.node_name, info)
            self._bindings.pop(info.key, None)
            self._show_pod(info.key, cache=None, assumed=None)
            self._tell("AssumptionExpired", info.pod.id, f"on {info.node_name}")
        self._wake()

    def _reset(self, timer: Timer | None, at: int | None, callback: Any) -> Timer | None:
        if timer is not None and timer.callback is not None:
            if timer.at == at:
                return timer
            timer.cancel()
        return None if at is None else self._loop.call_at(at, callback)

    def _flush_backoff(self) -> None:
        self._loop.cause, self._waits_seen = 0, -1
        self.queue.flush_backoff_completed()
        self._wake()

    def _flush_leftover(self) -> None:
        self._loop.cause, self._waits_seen = 0, -1
        self.queue.flush_unschedulable_leftover()
        self._wake()


# What of the other kinds may help a waiting pod. Upstream: eventhandlers.go addAllEventHandlers().
_CHANGES: dict[tuple[str, str], ClusterEvent] = {
    ("PersistentVolume", "ADDED"): cluster_events.VOLUME_ADD,
    ("PersistentVolume", "MODIFIED"): cluster_events.VOLUME_UPDATE,
    ("PersistentVolumeClaim", "ADDED"): cluster_events.CLAIM_ADD,
    ("PersistentVolumeClaim", "MODIFIED"): cluster_events.CLAIM_UPDATE,
    ("StorageClass", "ADDED"): cluster_events.STORAGE_CLASS_ADD,
    ("StorageClass", "MODIFIED"): cluster_events.STORAGE_CLASS_UPDATE,
    ("CSINode", "ADDED"): cluster_events.CSI_NODE_ADD,
    ("CSINode", "MODIFIED"): cluster_events.CSI_NODE_UPDATE,
    ("CSIDriver", "ADDED"): cluster_events.CSI_DRIVER_ADD,
    ("CSIDriver", "MODIFIED"): cluster_events.CSI_DRIVER_UPDATE,
    ("CSIStorageCapacity", "ADDED"): cluster_events.STORAGE_CAPACITY_ADD,
    ("CSIStorageCapacity", "MODIFIED"): cluster_events.STORAGE_CAPACITY_UPDATE,
    ("PersistentVolume", "DELETED"): cluster_events.VOLUME_DELETE,
    ("PersistentVolumeClaim", "DELETED"): cluster_events.CLAIM_DELETE,
    ("StorageClass", "DELETED"): cluster_events.STORAGE_CLASS_DELETE,
    ("CSINode", "DELETED"): cluster_events.CSI_NODE_DELETE,
    ("CSIDriver", "DELETED"): cluster_events.CSI_DRIVER_DELETE,
    ("CSIStorageCapacity", "DELETED"): cluster_events.STORAGE_CAPACITY_DELETE,
    ("VolumeAttachment", "DELETED"): cluster_events.VOLUME_ATTACHMENT_DELETE,
    ("Service", "ADDED"): cluster_events.SERVICE_ADD,
    ("Service", "MODIFIED"): cluster_events.SERVICE_UPDATE,
    ("Service", "DELETED"): cluster_events.SERVICE_DELETE,
}

_STORAGE = (PersistentVolume.KIND, PersistentVolumeClaim.KIND)

_WATCHED_KINDS = (
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
    "PodDisruptionBudget",
    "Node",
    "Pod",
)


def _deleted(pod: Pod) -> str:
    """Upstream: pkg/registry/core/pod/storage/storage.go, setPodHostAndAnnotations()."""
    return (
        f'Operation cannot be fulfilled on pods/binding "{pod.name}": pod {pod.name} is being '
        "deleted, cannot be assigned to a host"
    )


def _uid_conflict(assumed: Pod, stored: ApiObject) -> str:
    """Another pod of its name is there. Upstream: registry/core/pod/storage, BindingREST."""
    return (
        f'Operation cannot be fulfilled on pods "{assumed.name}": StorageError: invalid object, '
        f"Code: 4, Key: /registry/pods/{assumed.key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {assumed.uid}, "
        f"UID in object meta: {stored.uid}"
    )


def _condition(pod: ApiObject) -> dict[str, Any] | None:
    conditions: list[dict[str, Any]] = pod.status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == "PodScheduled"), None)
