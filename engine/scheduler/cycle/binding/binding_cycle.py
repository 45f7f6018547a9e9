"""From the chosen node to the bound pod: assume, Reserve, Permit, PreBind, Bind, PostBind.

    begin ── assume ── Reserve ── Permit ─┬────────┬─ PreBind ─┬───────────┬─ Bind ── PostBind
                          │         │     └─ wait ─┘     │     ├─ volumes ─┤    │
                          │         │        │           │     └─ devices ─┘    │
                          └─────────┴────────┴───────────┴───────────┴──────────┴─▶ Unreserve,
                                                                              forget, queue

`begin` is the end of the scheduling cycle; everything after Permit happens while the next pod is
tried. `PluginCalls` runs the plugins of a point, `BindingPlugins` says which these are for a
profile. If a profile has no custom plugins from Reserve to PostBind, its volumes are reserved
before the pod is assumed, so that nothing is to be undone when that fails.

Upstream: pkg/scheduler/schedule_one.go assume(), schedulingCycle(), bindingCycle(),
handleBindingCycleError().
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from engine.framework import cluster_events as cluster_events
from engine.framework import names
from engine.framework.framework import (
    PODS_TO_ACTIVATE,
    SUCCESS,
    Code,
    CycleState,
    Status,
    record_of,
)
from engine.framework.pod_groups.groups import group_of
from engine.framework.waiting_pods import WaitingPod
from engine.objects.objects import Pod
from engine.scheduler.cycle.attempt import Attempt, Binding
from engine.scheduler.cycle.binding.bind_queue import BindQueue
from engine.scheduler.cycle.binding.binder import Binder
from engine.scheduler.cycle.binding.plugin_calls import WAIT_FOR_VOLUMES, PluginCalls
from engine.scheduler.cycle.binding.trace_steps import Bound
from engine.scheduler.cycle.chronicle import COMPONENT, Chronicle
from engine.scheduler.cycle.decision.result import ERROR, UNSCHEDULABLE, ScheduleResult
from engine.scheduler.cycle.device_work import WAIT_FOR_DEVICES, DeviceWork
from engine.scheduler.cycle.explain import summary
from engine.scheduler.cycle.extension_points import BindingPlugins, ExtensionPoint, Failure
from engine.scheduler.cycle.failure.failures import FailureHandler
from engine.scheduler.cycle.failure.status_writes import PodStatusWriter
from engine.scheduler.cycle.state import SchedulerState


class BindingCycle:
    """Binds pods to their chosen nodes, and undoes everything if a step fails."""

    def __init__(
        self,
        state: SchedulerState,
        failures: FailureHandler,
        wake: Callable[[], None],
        bind_queue: BindQueue | None,
    ) -> None:
        """With a *bind_queue* volumes are bound before pods are assumed (v1.11)."""
        self._state = state
        self._loop = state.loop
        self._store = state.store
        self._latencies = state.latencies
        self._rules = state.profile.rules
        self._known = state.known
        self._bindings = state.bindings
        self._chronicle = state.chronicle
        self._gauges = state.gauges
        self._cache = state.cache
        self._queue = state.queue
        self._volume_work = state.volume_work
        self._waiting_pods = state.handle.waiting_pods
        self._failures = failures
        self._writer = PodStatusWriter(state)
        self._wake = wake
        self.device_work = DeviceWork(state.loop, state.store, state.handle.listers)
        self._calls = PluginCalls(state.loop, state.chronicle, state.volume_work, self.device_work)
        self._binder = Binder(state, self._calls)
        # By schedulerName.
        self._plugins = {
            name: BindingPlugins(
                one.profile,
                one.framework.plugins.by_name if one.profile.custom_placing else {},
                one.devices,
            )
            for name, one in state.algorithms.items()
        }
        # The same for pods of a group, whose gang is asked at Permit.
        self._group_plugins = {
            name: BindingPlugins(one.profile, one.framework.plugins.by_name, one.devices)
            for name, one in state.algorithms.items()
            if names.GANG_SCHEDULING in one.profile.permits
        }
        self._bind_queue = bind_queue

    def stop(self) -> None:
        """The process dies: its bindings are lost, and what its plugins keep in memory."""
        if self._bind_queue is not None:
            self._bind_queue.clear()
        for waiting in self._waiting_pods:
            waiting.cancel()
        for binding in list(self._bindings.values()):
            # Dead plugins cannot unreserve; only the caches of volumes and devices are restored.
            binding.plugins = binding.plugins.in_tree_only()
            if binding.devices is not None:
                binding.devices.leave_written()
            self.forget(binding)

    # -- the end of the scheduling cycle -----------------------------------------------------------

    def begin(self, attempt: Attempt, node: str) -> None:
        """Assume the pod on *node*, then Reserve and Permit."""
        if self._bind_queue is not None and self._bind_queue.take(attempt, node):
            return
        queued, decision = attempt.queued, attempt.decision
        assert decision.search is not None, "a node was chosen without a search"
        state, pod = decision.search.state, queued.pod
        plugins = self._plugins[pod.scheduler_name]
        if self._group_plugins and group_of(pod):
            plugins = self._group_plugins.get(pod.scheduler_name, plugins)
        has_devices, has_claims = names.DYNAMIC_RESOURCES in state.data, bool(pod.claim_names)
        binding = Binding(
            queued,
            node,
            plugins,
            self.waited,
            state=state if plugins.has_custom or has_devices else None,
            plan=self._state.volume_plan(decision) if has_claims else None,
        )
        # Most pods have nothing that an in-tree plugin would reserve.
        if not plugins.has_custom and (has_devices or has_claims):
            status = self._calls.run(ExtensionPoint.RESERVE, binding)
            if not status.is_success:
                failure = plugins.failure(ExtensionPoint.RESERVE, status, pod)
                self._failures.handle_error(queued, failure.message, event=failure.event)
                return
        seq = self._assume(binding, decision)
        if not seq:
            return
        if plugins.has_custom:
            failed = self._reserve_and_permit(binding, attempt)
            if failed is not None:
                self._fail(binding, failed, attempt)
                return
        self._state.keep_attempt(attempt, seq)
        if PODS_TO_ACTIVATE in state.data:
            self._activate_pods(pod, state)
        if self._rules.nominates_before_pre_bind:
            self._nominate_if_it_waits(binding)
        if binding.waiting_pod is None:
            self._permitted(binding)

    def try_on(self, attempt: Attempt, node: str) -> Callable[[], None] | None:
        """Count the pod on *node* for those of its group that are tried after it; how to undo that.

        None when its volumes or devices cannot be reserved there.
        """
        decision = attempt.decision
        search = decision.search
        assert search is not None, "a node was chosen without a search"
        plugins = self._plugins[attempt.queued.pod.scheduler_name].in_tree_only()
        plan = None
        if attempt.queued.pod.claim_names and decision.node is not None:
            plan = self._state.volume_plan(decision)
        trial = Binding(attempt.queued, node, plugins, self.waited, state=search.state, plan=plan)
        if not self._calls.run(ExtensionPoint.RESERVE, trial).is_success:
            return None
        if not self._state.change_cache(trial.info.pod.id, self._cache.assume_pod, trial.info):
            self._calls.run(ExtensionPoint.UNRESERVE, trial)
            return None
        # It has its place now, and gets a nomination anew where the group waits for one. Upstream:
        # schedule_one.go assume(), also within the cycle of a group.
        self._queue.nominator.delete(trial.info.uid)
        self._state.handle.table.hide_on_trial(trial.node, trial.info)
        return partial(self._undo_trial, trial)

    def _undo_trial(self, trial: Binding) -> None:
        self._state.handle.table.show_again(trial.node, trial.info)
        self._calls.run(ExtensionPoint.UNRESERVE, trial)
        self._state.change_cache(trial.info.pod.id, self._cache.forget_pod, trial.info)

    def _assume(self, binding: Binding, decision: ScheduleResult) -> int:
        """Count the pod on its node; returns the seq of the event.

        0 if the cache holds the pod already; the attempt has then failed. Upstream: assume().
        """
        info, node = binding.info, binding.node
        if not self._state.change_cache(info.pod.id, self._cache.assume_pod, info):
            if binding.volumes is not None:
                self._volume_work.revert(binding.volumes)
            if binding.devices is not None:
                self.device_work.unreserve(binding.devices)
            self._failures.handle_error(binding.queued, "scheduler cache AssumePod failed")
            return 0
        self._gauges.assumed(node, info)
        self._bindings[info.key] = binding
        self._queue.nominator.delete(info.uid)
        return _record_assumed(self._chronicle, binding, decision)

    def _reserve_and_permit(self, binding: Binding, attempt: Attempt) -> Failure | None:
        """Reserve and Permit with custom plugins; why the pod failed, or None."""
        point = ExtensionPoint.RESERVE
        status = self._calls.run(point, binding)
        if status.is_success:
            point = ExtensionPoint.PERMIT
            status = self._calls.run(point, binding)
        failure: Failure | None = None
        if point is ExtensionPoint.PERMIT and status.code is Code.WAIT:
            binding.waiting_pod = WaitingPod(
                self._loop, binding.info, binding.node, binding.timeouts, self._permit_settled
            )
            self._waiting_pods.add(binding.waiting_pod)
        elif not status.is_success:
            failure = binding.plugins.failure(point, status, binding.queued.pod)
            result = UNSCHEDULABLE if failure.is_rejection else ERROR
            attempt.fail(result, failure.message)
        if attempt.evidence is not None:
            # A copy: the answers at later points do not belong to this attempt.
            attempt.evidence["extension_points"] = dict(record_of(binding.state))
        return failure

    def _permit_settled(self, waiting: WaitingPod, status: Status) -> None:
        """The wait at Permit is over. Upstream: WaitOnPermit()."""
        self._waiting_pods.remove(waiting.info.uid)
        binding = self._bindings.get(waiting.info.key)
        if binding is None or binding.waiting_pod is not waiting:
            return
        binding.waiting_pod = None
        pod = waiting.info.pod
        if status.is_success:
            self._chronicle.record("PermitGranted", pod.id, "every plugin allows the pod")
            self._permitted(binding)
            return
        self._chronicle.record("PermitDenied", pod.id, status.message, status.to_dict())
        failure = binding.plugins.failure(ExtensionPoint.WAIT_ON_PERMIT, status, binding.info.pod)
        self._fail(binding, failure)

    # -- the binding cycle -------------------------------------------------------------------------

    def _nominate_if_it_waits(self, binding: Binding) -> None:
        """Publish the node unless the pod is bound soon anyway.

        Upstream: NominatedNodeNameForExpectation, bindingCycle().
        """
        if binding.waiting_pod is not None or binding.awaits_storage_or_devices:
            self._writer.write_nomination(binding.queued.pod, binding.node)

    def _permitted(self, binding: Binding) -> None:
        # From here on only a failure brings the pod back to the queue, no event.
        self._queue.done(binding.info.uid)
        if binding.plugins.has_custom or binding.awaits_storage_or_devices:
            self._loop.call_after(0, self._pre_bind, binding)
        else:
            self._bind_after_latency(binding)

    def _pre_bind(self, binding: Binding) -> None:
        if binding.forgotten:
            return
        status = self._calls.run(ExtensionPoint.PRE_BIND, binding)
        if status is WAIT_FOR_VOLUMES and binding.volumes is not None:
            binding.volumes_binding = self._volume_work.bind(
                binding.info, binding.node, binding.volumes, binding.volumes_done
            )
        elif status is WAIT_FOR_DEVICES and binding.devices is not None:
            text = f"waiting for binding conditions for device on node {binding.node}"
            self._chronicle.record_event(
                binding.info.pod, "BindingConditionsPending", "Normal", text
            )
            self.device_work.await_devices(binding.devices, binding.devices_done)
        elif status.is_success:
            self._bind_after_latency(binding)
        else:
            self._fail_at(ExtensionPoint.PRE_BIND, binding, status)

    def waited(self, binding: Binding, plugin: str, error: str | None) -> None:
        """The wait of *plugin* at PreBind has ended, or failed with *error*."""
        if plugin == names.VOLUME_BINDING:
            binding.volumes_binding = None
        if binding.forgotten:
            return
        if error is not None:
            status = Status(Code.ERROR, (error,), plugin)
            self._fail_at(ExtensionPoint.PRE_BIND, binding, status)
        elif binding.plugins.has_custom or binding.devices is not None:
            self._loop.call_after(0, self._pre_bind, binding)
        else:
            self._bind_after_latency(binding)

    def _bind_after_latency(self, binding: Binding) -> None:
        self._loop.call_after(self._latencies.draw("bind"), self._bind, binding)

    def _bind(self, binding: Binding) -> None:
        if binding.forgotten:
            return
        self._chronicle.end_series(binding.info.pod.uid)
        status = self._binder.bind(binding)
        trace = self._loop.trace
        if trace is not None and trace.follows(binding.info.pod.id):
            bound = Bound(binding.node, status.code.value, status.reasons)
            trace.add(binding.info.pod.id, bound)
        if status is not SUCCESS:
            self._fail_at(ExtensionPoint.BIND, binding, status)
            return
        # The assumption may expire only after the answer to the write.
        answers = self._store.answers
        answered = 0 if answers.faults is None else answers.answered_at(COMPONENT)
        if answered > self._loop.now:
            self._loop.call_at(answered, self._post_bind, binding)
        else:
            self._post_bind(binding)

    def _post_bind(self, binding: Binding) -> None:
        self._cache.finish_binding(binding.info)
        if self._cache.may_expire:
            # Nothing else may ever set the timer: the watch that confirms the pod can be cut.
            self._wake()
        if not binding.plugins.has_custom:
            return
        self._calls.run(ExtensionPoint.POST_BIND, binding)
        if self._activate_pods(binding.info.pod, binding.state):
            self._wake()

    def _activate_pods(self, pod: Pod, state: CycleState) -> bool:
        """Move the pods in PodsToActivate to activeQ; False if there are none (since v1.22).

        Upstream: schedulingCycle(), bindingCycle().
        """
        pods: dict[str, Pod] = state.data.pop(PODS_TO_ACTIVATE, None) or {}
        if not pods or not self._rules.activates_pods:
            return False
        self._chronicle.record("PodsActivated", pod.id, ", ".join(pods), {"pods": list(pods)})
        self._queue.activate(list(pods.values()))
        return True

    # -- failure -----------------------------------------------------------------------------------

    def _fail_at(self, point: ExtensionPoint, binding: Binding, status: Status) -> None:
        self._fail(binding, binding.plugins.failure(point, status, binding.info.pod))

    def _fail(self, binding: Binding, failure: Failure, attempt: Attempt | None = None) -> None:
        """Unreserve, forget, and return the pod to the queue.

        *attempt* is given if the scheduling cycle failed, and is kept. Upstream:
        handleBindingCycleError(), handleSchedulingFailure().
        """
        pod, queued = binding.info.pod, binding.queued
        # Since 1.22 the room that a failed binding frees is an event for the queue.
        had_room = binding.has_room
        self.forget(binding)
        frees_room = attempt is None and self._rules.requeues_after_failed_binding and had_room
        if frees_room and not failure.is_rejection:
            self._announce_freed_room(binding)
        known = self._known.get(pod.key)
        if known is not None and known.uid == pod.uid:
            queued.rejected_by(*failure.plugins, pending=failure.pending)
            self._failures.handle_error(
                queued, failure.message, failure.reason, event=failure.event
            )
        else:
            # The pod is gone and is not queued again; upstream still sends the Event.
            self._queue.done(pod.uid)
            text = failure.event or failure.message
            self._chronicle.record_event(pod, "FailedScheduling", "Warning", text)
            self._chronicle.end_series(pod.uid)
        if attempt is not None:
            self._state.keep_attempt(attempt, self._chronicle.seq)
        elif frees_room and failure.is_rejection:
            # The rejected pod itself must not be moved by this event.
            self._announce_freed_room(binding, but=pod.key)
        self._wake()

    def _announce_freed_room(self, binding: Binding, but: str = "") -> None:
        self._queue.move_all_to_active_or_backoff(
            cluster_events.ASSIGNED_POD_DELETE, binding.assumed, None, but=but
        )

    def forget(self, binding: Binding) -> None:
        """Undo Reserve and the assumption. Upstream: RunReservePluginsUnreserve(), ForgetPod()."""
        if binding.waiting_pod is not None:
            binding.waiting_pod.cancel()
            self._waiting_pods.remove(binding.info.uid)
        self._calls.run(ExtensionPoint.UNRESERVE, binding)
        binding.forgotten = True
        self._bindings.pop(binding.queued.key, None)
        self._free_room(binding)
        pod = binding.info.pod
        if pod.key in self._known:
            self._chronicle.show_pod(pod.key, cache=None, assumed=None)
        self._chronicle.record("PodForgotten", pod.id, f"no longer assumed on {binding.node}")

    def pod_deleted(self, binding: Binding) -> None:
        """The pod is gone while it is being bound: others may have its room at once (since v1.35).

        Its binding goes on until a write finds no pod. Upstream: handleAssumedPodDeletion().
        """
        if binding.has_room and self._rules.deleted_pods_free_room:
            self._free_room(binding)
            self._announce_freed_room(binding)

    def _free_room(self, binding: Binding) -> None:
        if binding.has_room:
            binding.has_room = False
            self._state.change_cache(binding.info.pod.id, self._cache.forget_pod, binding.info)
            self._gauges.settled(binding.node, binding.info)


def _record_assumed(chronicle: Chronicle, binding: Binding, decision: ScheduleResult) -> int:
    return chronicle.record_pod(
        "PodAssumed",
        binding.info.pod,
        f"to {binding.node}, {decision.feasible} of {decision.evaluated} nodes fit",
        summary(decision),
        {
            "queue": None,
            "queue_since": None,
            "cache": "assumed",
            "assumed": binding.node,
            "blocker": None,
        },
    )
