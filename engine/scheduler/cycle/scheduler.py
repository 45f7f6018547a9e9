"""One scheduler process: it takes one pod at a time from its queue and finds a node for it.

Read `schedule_one` top-down: pop, decide, then either begin the binding cycle, which goes on while
the next pod is tried, or handle the failure. Its parts share a `SchedulerState`: `Watches` fill
the cache and the queue, a `BindingCycle` binds, a `FailureHandler` sends pods back to the queue,
`PeriodicFlushes` run the timers. Upstream: pkg/scheduler/schedule_one.go.
"""

from __future__ import annotations

from typing import ClassVar

from engine.framework.framework import Plugin
from engine.framework.pod_groups.groups import group_of, groups_of
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.trace import Trace
from engine.kernel.view import State
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import Attempt, SchedulingAttempt
from engine.scheduler.cycle.binding.bind_queue import BindQueue
from engine.scheduler.cycle.binding.binding_cycle import BindingCycle
from engine.scheduler.cycle.decision.result import UNSCHEDULABLE
from engine.scheduler.cycle.explain import blocker, evidence
from engine.scheduler.cycle.failure.evictions import Evictions
from engine.scheduler.cycle.failure.failures import FailureHandler
from engine.scheduler.cycle.failure.status_writes import PodStatusWriter
from engine.scheduler.cycle.flushes import PeriodicFlushes
from engine.scheduler.cycle.group_cycle import GroupAttempt, GroupCycle
from engine.scheduler.cycle.shadow.shadow_decisions import ShadowDecisions
from engine.scheduler.cycle.state import SchedulerState, Surroundings
from engine.scheduler.cycle.watches import Watches
from engine.scheduler.queue.queued_pod import QueuedPodInfo


class Scheduler:
    """The scheduling cycle of one process, and the parts that it uses."""

    # The parts that own timers or watches. See engine.api_server.store.process.
    PARTS: ClassVar[tuple[str, ...]] = ("watches", "flushes", "binding", "bind_queue", "evictions")

    def __init__(
        self,
        around: Surroundings,
        setup: SchedulerSetup,
        neighbours: frozenset[str] | None = frozenset(),
    ) -> None:
        """*neighbours* are the schedulerNames of the other schedulers.

        None means that another scheduler shows the nodes, and the pods that no scheduler serves.
        """
        state = self.state = SchedulerState(around, setup, neighbours)
        self._loop = state.loop
        self._latencies = state.latencies
        self._known = state.known
        self._algorithms = state.algorithms
        self.handle, self.gauges, self.chronicle = state.handle, state.gauges, state.chronicle
        self.cache, self.queue, self.volume_work = state.cache, state.queue, state.volume_work
        # Of the first profile.
        self.algorithm = state.algorithms[state.profile.name]
        self._busy = False
        self.cycles_ended = 0
        # Say why pods fit nowhere. False in a trial, of which only the outcome counts.
        self.explains = True
        # Give every attempt an explanation that stays readable.
        self.keep_explanations = False
        writer = PodStatusWriter(state)
        self.flushes = PeriodicFlushes(state, self._wake)
        self.evictions = Evictions(state, writer, self._wake)
        self._failures = FailureHandler(state, writer, self.evictions)
        self.bind_queue: BindQueue | None = None
        if state.profile.rules.binds_in_rounds:
            self.bind_queue = BindQueue(state, self._failures, self._wake)
        self.binding = BindingCycle(state, self._failures, self._wake, self.bind_queue)
        groups = groups_of(state.handle)
        self._group_cycle: GroupCycle | None = None
        if groups is not None:
            self._group_cycle = GroupCycle(
                state, groups, self.binding, self._failures, self._decide
            )
        self.watches = Watches(state, self.binding, self._wake)
        # Where a client decides in its place.
        self.shadow = ShadowDecisions(state, self.watches) if state.external else None
        self.watches.start()

    @property
    def names(self) -> frozenset[str]:
        """The schedulerNames that it answers to."""
        return self.state.names

    def algorithm_for(self, scheduler_name: str) -> SchedulingAlgorithm | None:
        """The algorithm for pods of this schedulerName; None when another scheduler serves them."""
        return self._algorithms.get(scheduler_name)

    def plugins(self) -> list[Plugin]:
        """The plugins of all profiles."""
        return [
            plugin
            for _, algorithm in sorted(self._algorithms.items())
            for plugin in algorithm.framework.plugins.by_name.values()
        ]

    def stop(self) -> None:
        """The process dies: its queue, its cache and its bindings are lost."""
        self.binding.stop()
        self.flushes.stop()
        state = self.state
        for key, pod in self._known.items():
            if state.is_mine(pod) and not pod.node_name:
                self.chronicle.show_pod(key, queue=None, queue_since=None, backoff_until=None)
        state.stopped = True
        self.chronicle.record("SchedulerStopped", "run", f"{min(state.names)} has stopped")

    def take_over(self) -> None:
        """Decide on the pods that a client was to decide on, from now on."""
        state = self.state
        if not state.external:
            return
        state.external, self.shadow = False, None
        self.watches.slow_down()
        for pod in list(self._known.values()):
            if state.is_mine(pod) and not pod.node_name:
                self.queue.add(PodInfo(pod, state.rules))
        self._wake()

    def take_attempts(self) -> list[SchedulingAttempt]:
        """The attempts made since the last take."""
        taken, self.state.attempts = self.state.attempts, []
        return taken

    def _wake(self) -> None:
        """Begin a cycle if there is a pod to try, and set the timers."""
        if self.state.stopped:
            return
        if not self._busy and self.queue.ready:
            self._busy = True
            self._loop.call_after(0, self.schedule_one)
        flushes = self.flushes
        # Asked here because each pod comes by several times.
        if flushes.assumptions_expire or flushes.waits_seen != flushes.waits.count:
            flushes.set_timers()

    # The scheduling cycle

    def schedule_one(self) -> None:
        """Try the first pod of activeQ. Upstream: schedule_one.go ScheduleOne()."""
        self._loop.cause = 0
        if self.state.stopped:
            return
        queued = self.queue.pop()
        if queued is None:
            self._busy = False
            return
        if self._is_gone(queued):
            self._skip(queued)
            self._end_cycle()
            return
        group = group_of(queued.pod) if self._group_cycle is not None else ""
        if group:
            self._schedule_group(queued, group)
            return
        attempt = self._decide(queued)
        duration = self._latencies.draw("schedule")
        if duration:
            self._loop.call_after(duration, self._conclude, attempt)
        else:
            self._conclude(attempt)

    def _schedule_group(self, first: QueuedPodInfo, group: str) -> None:
        """Try all waiting pods of *group*, of which *first* was popped."""
        cycle = self._group_cycle
        assert cycle is not None, "groups are scheduled behind a feature gate"
        members: list[QueuedPodInfo] = []
        for queued in cycle.gather(first, group):
            if self._is_gone(queued):
                self._skip(queued)
            else:
                members.append(queued)
        if not members:
            self._end_cycle()
            return
        tried = cycle.attempt(group, members)
        duration = sum(self._latencies.draw("schedule") for _ in tried.attempts)
        self._loop.call_after(duration, self._conclude_group, tried, members)

    def _conclude_group(self, tried: GroupAttempt, members: list[QueuedPodInfo]) -> None:
        if self.state.stopped:
            return
        assert self._group_cycle is not None, "groups are scheduled behind a feature gate"
        self._group_cycle.conclude(tried, self._is_gone)
        self._group_cycle.return_unattempted(tried, members)
        self._end_cycle()

    def _decide(self, queued: QueuedPodInfo) -> Attempt:
        """Filter, score and preempt; explain while the node table is unchanged."""
        trace = self._loop.trace
        if trace is not None:
            trace = self._followed(trace, queued.pod.id)
        self.cache.take_snapshot()
        eager = self.explains and self.state.keeps_evidence_of(queued.key)
        algorithm = self._algorithms[queued.pod_info.pod.scheduler_name]
        decision = algorithm.schedule(
            queued.pod_info,
            self.state.feed.order(),
            explain=eager,
            by_columns=True,
            keep=self.keep_explanations,
            cycle=self.queue.scheduling_cycle,
            trace=trace,
        )
        if decision.result == UNSCHEDULABLE:
            algorithm.preempt(decision, trace)
            if algorithm.devices is not None and decision.search is not None:
                self.binding.device_work.deallocate(algorithm.devices, decision.search.state)
        attempt = Attempt(queued, decision, self.queue.scheduling_cycle, self._loop.now)
        if eager:
            attempt.evidence = evidence(decision, algorithm, queued.attempts, attempt.cycle)
        if decision.node is None and self.explains:
            attempt.blocker = blocker(decision, algorithm, queued.attempts)
        return attempt

    def _followed(self, trace: Trace, pod: str) -> Trace | None:
        """*trace* with the snapshot that the cycle of *pod* begins with; None if it does not follow it."""
        if not trace.follows(pod):
            return None
        trace.add(pod, self.cache.snapshot_step())
        trace.add(pod, self.cache.tree_step())
        return trace

    def _is_gone(self, queued: QueuedPodInfo) -> bool:
        """Whether the pod is deleted, bound, or assumed already. Upstream: skipPodSchedule()."""
        known = self._known.get(queued.key)
        return (
            known is None
            or bool(known.deletion_timestamp or known.node_name)
            or known.uid != queued.pod_info.uid
            or queued.key in self.cache.assumed
        )

    def _skip(self, queued: QueuedPodInfo) -> None:
        """Do not try the popped pod; one that finalizers hold gets an Event.

        Upstream: skipPodSchedule().
        """
        known = self._known.get(queued.key)
        if known is not None and known.uid == queued.pod_info.uid and known.deletion_timestamp:
            message = f"skip schedule deleting pod: {known.key}"
            self.chronicle.record_event(known, "FailedScheduling", "Warning", message)
        self.queue.skip(queued.pod_info.uid)

    def _conclude(self, attempt: Attempt) -> None:
        """End the scheduling cycle: bind the pod, or handle its failure."""
        queued, node = attempt.queued, attempt.decision.node
        if self.state.stopped:
            return
        if attempt.began != self._loop.now and self._is_gone(queued):
            self.queue.skip(queued.pod_info.uid)
        elif node is None:
            self._failures.handle_refusal(attempt)
        else:
            self.binding.begin(attempt, node)
        self._end_cycle()

    def _end_cycle(self) -> None:
        self.cycles_ended += 1
        self._busy = False
        self._wake()

    def held_view(self) -> State:
        """What the queue and the cache hold, as attributes of pods and nodes."""
        held: State = {}
        if self.state.stopped:
            return held
        for key, pod in self._known.items():
            if not self.state.shows(pod):
                continue
            queued = self.queue.get(key) or self.queue.in_flight(key)
            if key in self.cache.assumed:
                held[f"pod/{key}"] = {"cache": "assumed", "assumed": self.state.bindings[key].node}
            elif pod.node_name:
                held[f"pod/{key}"] = {"cache": "added"}
            elif queued is not None:
                held[f"pod/{key}"] = {"queue": queued.place, "attempts": queued.attempts}
        for info in self.cache.nodes() if self.state.neighbours is not None else ():
            if info.node is not None and info.pods:
                held[f"node/{info.name}"] = {"requested": self.gauges.requested(info.name)}
        return held
