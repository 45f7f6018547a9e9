"""QueueSort, Reserve to PostBind, and PodsToActivate, for plugins of other authors.

    assume ── Reserve ── Permit ─┬─ (wait) ─┬─ PreBind ── Bind ── PostBind
                 │          │    └──────────┘     │         │
                 └──────────┴──────────┴──────────┴─────────┴──▶ Unreserve, forget, queue

What the scheduler does itself at a point (VolumeBinding at Reserve and PreBind, DefaultBinder at
Bind) keeps its place among the plugins. Each point at which a plugin was asked is a PluginsRan
event; Reserve and Permit are also in the attempt's evidence. A scheduler with the in-tree plugins
alone has a plain `BindingCycle`.

Upstream: pkg/scheduler/schedule_one.go schedulingCycle(), bindingCycle(),
handleBindingCycleError(); pkg/scheduler/framework/runtime/framework.go Run…Plugins().
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from kscope.sim.errors import SimError
from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.cycle.algorithm import UNSCHEDULABLE, ScheduleResult
from scheduling.engine.cycle.attempt import Attempt, Binding
from scheduling.engine.cycle.binding.binding_cycle import BindingCycle
from scheduling.engine.cycle.binding.extension_points import NO_POINTS, Failure, Points
from scheduling.engine.cycle.chronicle import COMPONENT
from scheduling.engine.cycle.failure.failures import FailureHandler
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.framework.framework import (
    PODS_TO_ACTIVATE,
    SKIP,
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
    record_of,
)
from scheduling.engine.framework.waiting_pods import MAX_TIMEOUT, WaitingPod, go_duration
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue import events as cluster_events
from scheduling.engine.queue.queued_pod import QueuedPodInfo


class PluggedBinding(Binding):
    """A pod whose profile has plugins on the way to its node."""

    __slots__ = ("next_pre_bind", "points", "state", "waiting_pod")

    def __init__(
        self,
        queued: QueuedPodInfo,
        info: PodInfo,
        node: str,
        on_volumes_done: Callable[[Binding, str | None], None],
        points: Points,
        state: CycleState,
    ) -> None:
        super().__init__(queued, info, node, on_volumes_done)
        self.points = points
        self.state = state
        self.next_pre_bind = 0
        self.waiting_pod: WaitingPod | None = None


class BindFailed(SimError):
    """The Bind plugins did not bind the pod."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class PluggedBindingCycle(BindingCycle):
    """A binding cycle that asks plugins of other authors, where a pod's profile has any."""

    def __init__(
        self, state: SchedulerState, failures: FailureHandler, wake: Callable[[], None]
    ) -> None:
        self._handle = state.handle
        super().__init__(state, failures, wake)
        self._points = {
            name: Points(one.profile, one.framework.plugins.by_name)
            for name, one in state.algorithms.items()
            if one.profile.custom_placing
        }

    def stop(self) -> None:
        """The process dies, and with it whatever its plugins keep in memory."""
        for waiting in self._handle.waiting_pods:
            waiting.cancel()
        for binding in self._bindings.values():
            if isinstance(binding, PluggedBinding):
                # The plugins die too and cannot unreserve; only the volume caches are taken back.
                binding.points = NO_POINTS
        super().stop()

    def begin(self, attempt: Attempt, node: str) -> None:
        queued, decision = attempt.queued, attempt.decision
        points = self._points.get(queued.pod.scheduler_name)
        if points is None or decision.search is None:
            super().begin(attempt, node)
            if decision.search is not None and queued.key in self._bindings:
                self._activate(queued.pod, decision.search.state)
            return
        state, info = decision.search.state, queued.pod_info.assigned_to(node)
        binding = PluggedBinding(queued, info, node, self.volumes_done, points, state)
        seq = self.assume_pod(binding, decision)
        if not seq:
            return
        point, status = "Reserve", self._reserve(binding, decision)
        if status.is_success:
            point, status = "Permit", self._permit(binding)
        held = status.is_success or status.code is Code.WAIT
        failure = None if held else points.failure(point, status, queued.pod)
        if failure is not None:
            decision.result = UNSCHEDULABLE if failure.is_rejection else "error"
            decision.message = failure.message
            decision.node = None
        if attempt.evidence is not None:
            # What the later points add does not belong to this attempt.
            attempt.evidence["extension_points"] = dict(record_of(state))
            ended = {"result": decision.result, "message": decision.message, "node": decision.node}
            attempt.evidence |= ended
        if failure is None:
            self._state.keep_attempt(attempt, seq)
            self._activate(queued.pod, state)
        else:
            self._fail_placing(binding, failure, attempt)
        if status.is_success:
            self._permitted(binding)

    def _reserve(self, binding: PluggedBinding, decision: ScheduleResult) -> Status:
        """Upstream: RunReservePluginsReserve()."""
        said: list[Status] = []
        for name in binding.points.reserves:
            if name == names.VOLUME_BINDING:
                status = self._reserve_volumes(binding, decision)
                if not status.is_success:
                    said.append(status)
            else:
                plugin = binding.points.plugin(name)
                if plugin is None:
                    continue
                answer = cast("ReservePlugin", plugin).reserve(binding.state, binding.node)
                status = _of(answer, name)
                said.append(status)
            if not status.is_success:
                break
        return self._record_point(binding, "Reserve", said)

    def _reserve_volumes(self, binding: PluggedBinding, decision: ScheduleResult) -> Status:
        try:
            plan = self.volume_plan(decision)
            binding.volumes = self._volume_work.assume(binding.info, binding.node, plan)
        except SimError as moved_on:
            return Status(Code.ERROR, (str(moved_on),), names.VOLUME_BINDING)
        return SUCCESS

    def _permit(self, binding: PluggedBinding) -> Status:
        """Upstream: RunPermitPlugins()."""
        said: list[Status] = []
        timeouts: dict[str, int] = {}
        for name in binding.points.permits:
            plugin = binding.points.plugin(name)
            if plugin is None:
                continue
            answer, timeout = cast("PermitPlugin", plugin).permit(binding.state, binding.node)
            status = _of(answer, name)
            said.append(status)
            if status.code is Code.WAIT:
                timeouts[name] = max(min(timeout, MAX_TIMEOUT), 0)
            elif not status.is_success:
                return self._record_point(binding, "Permit", said)
        if not timeouts:
            return self._record_point(binding, "Permit", said)
        self._record_point(binding, "Permit", said, timeouts)
        self._wait(binding, timeouts)
        text = "one or more plugins asked to wait and no plugin rejected pod"
        return Status(Code.WAIT, (f'{text} "{binding.info.pod.name}"',))

    def _wait(self, binding: PluggedBinding, timeouts: dict[str, int]) -> None:
        waiting = WaitingPod(
            self._loop, binding.info, binding.node, timeouts, self._permission_settled
        )
        binding.waiting_pod = waiting
        self._handle.waiting_pods.add(waiting)

    def _permission_settled(self, waiting: WaitingPod, status: Status) -> None:
        """Upstream: WaitOnPermit()."""
        self._handle.waiting_pods.remove(waiting.info.uid)
        binding = self._bindings.get(waiting.info.key)
        if not isinstance(binding, PluggedBinding) or binding.waiting_pod is not waiting:
            return
        binding.waiting_pod = None
        if status.is_success:
            self._chronicle.record(
                "PermitGranted", waiting.info.pod.id, "every plugin allows the pod"
            )
            self._permitted(binding)
            return
        self._chronicle.record(
            "PermitDenied", waiting.info.pod.id, status.message, status.to_dict()
        )
        pod = binding.info.pod
        self._fail_placing(binding, binding.points.failure("WaitOnPermit", status, pod))

    def _permitted(self, binding: PluggedBinding) -> None:
        # From here no event can bring the pod back to the queue, only a failure.
        self._queue.done(binding.info.uid)
        self._loop.call_after(0, self._pre_bind, binding)

    def _pre_bind(self, binding: PluggedBinding) -> None:
        """Upstream: RunPreBindPlugins(). VolumeBinding takes its time, and then goes on here."""
        if binding.forgotten:
            return
        said: list[Status] = []
        for name in binding.points.pre_binds[binding.next_pre_bind :]:
            binding.next_pre_bind += 1
            if name == names.VOLUME_BINDING:
                if binding.volumes is not None:
                    self._record_point(binding, "PreBind", said)
                    self.bind_volumes(binding)
                    return
                continue
            plugin = binding.points.plugin(name)
            if plugin is None:
                continue
            answer = cast("PreBindPlugin", plugin).pre_bind(binding.state, binding.node)
            said.append(_of(answer, name))
            if not answer.is_success:
                break
        status = self._record_point(binding, "PreBind", said)
        if status.is_success:
            self._loop.call_after(self._latencies.draw("bind"), self.bind, binding)
        else:
            pod = binding.info.pod
            self._fail_placing(binding, binding.points.failure("PreBind", status, pod))

    def volumes_done(self, binding: Binding, error: str | None) -> None:
        """See BindingCycle; after VolumeBinding the other PreBind plugins have their turn."""
        if error is None and isinstance(binding, PluggedBinding):
            self._loop.call_after(0, self._pre_bind, binding)
        else:
            super().volumes_done(binding, error)

    def bind(self, binding: Binding) -> None:
        if not isinstance(binding, PluggedBinding):
            super().bind(binding)
            return
        if binding.forgotten:
            return
        try:
            super().bind(binding)
        except BindFailed as failed:
            failure = binding.points.failure("Bind", failed.status, binding.info.pod)
            self._fail_placing(binding, failure)

    def finish(self, binding: Binding) -> None:
        super().finish(binding)
        if isinstance(binding, PluggedBinding):
            answered = self._store.answered_at(COMPONENT)
            if answered > self._loop.now:
                self._loop.call_at(answered, self._post_bind, binding)
            else:
                self._post_bind(binding)

    def run_bind_plugins(self, binding: Binding) -> None:
        """The first Bind plugin that does not skip binds the pod. Raises BindFailed.

        Upstream: bind(), RunBindPlugins().
        """
        if not isinstance(binding, PluggedBinding):
            return
        said: list[Status] = []
        for name in binding.points.binds:
            plugin = binding.points.plugin(name)
            if plugin is None:
                # DefaultBinder, whose write follows.
                said.append(Status(SUCCESS.code, (), name))
                break
            answer = cast("BindPlugin", plugin).bind(binding.state, binding.node)
            said.append(_of(answer, name))
            if answer.code is not Code.SKIP:
                break
        self._record_point(binding, "Bind", said)
        last = said[-1] if said else SKIP
        binding.binder = last.plugin
        if not last.is_success:
            raise BindFailed(last)

    def _post_bind(self, binding: PluggedBinding) -> None:
        said: list[Status] = []
        for name in binding.points.post_binds:
            plugin = binding.points.plugin(name)
            if plugin is not None:
                cast("PostBindPlugin", plugin).post_bind(binding.state, binding.node)
                said.append(Status(SUCCESS.code, (), name))
        self._record_point(binding, "PostBind", said)
        if self._activate(binding.info.pod, binding.state):
            self._wake()

    def _activate(self, pod: Pod, state: CycleState) -> bool:
        """Move the pods that the plugins want tried now; whether there are any (since v1.22).

        Upstream: schedulingCycle(), bindingCycle(), PodsToActivate.
        """
        wanted: dict[str, Pod] = state.data.pop(PODS_TO_ACTIVATE, None) or {}
        if not wanted or not self._rules.activates_pods:
            return False
        self._chronicle.record("PodsActivated", pod.id, ", ".join(wanted), {"pods": list(wanted)})
        self._queue.activate(list(wanted.values()))
        return True

    def _fail_placing(
        self, binding: PluggedBinding, failure: Failure, attempt: Attempt | None = None
    ) -> None:
        """Unreserve, forget, and send the pod round again.

        The *attempt* is kept where it is the scheduling cycle that failed. Upstream:
        handleBindingCycleError(), handleSchedulingFailure().
        """
        self.forget(binding)
        pod, queued = binding.info.pod, binding.queued
        in_binding = attempt is None and self._rules.requeues_after_failed_binding
        if in_binding and not failure.is_rejection:
            # Its leaving counts for itself, too: nothing has refused it.
            self._wake_for_freed_room(binding)
        known = self._known.get(pod.key)
        if known is not None and known.uid == pod.uid:
            queued.rejected_by(*failure.plugins, pending=failure.pending)
            self._failures.handle_error(queued, failure.message, failure.reason)
        else:
            self._queue.done(pod.uid)
            self._chronicle.record_event(pod, "FailedScheduling", "Warning", failure.message)
        if attempt is not None:
            self._state.keep_attempt(attempt, self._chronicle.seq)
        elif in_binding and failure.is_rejection:
            # The pod itself is not woken by its own leaving.
            self._wake_for_freed_room(binding, but=pod.key)
        self._wake()

    def _wake_for_freed_room(self, binding: Binding, but: str = "") -> None:
        self._queue.move_all_to_active_or_backoff(
            cluster_events.ASSIGNED_POD_DELETE, binding.assumed, None, but=but
        )

    def forget(self, binding: Binding) -> None:
        if isinstance(binding, PluggedBinding):
            if binding.waiting_pod is not None:
                binding.waiting_pod.cancel()
                self._handle.waiting_pods.remove(binding.info.uid)
            self._unreserve(binding)
        super().forget(binding)

    def _unreserve(self, binding: PluggedBinding) -> None:
        """Upstream: RunReservePluginsUnreserve(), in reverse order, whether a plugin has reserved or not."""
        said: list[Status] = []
        for name in reversed(binding.points.reserves):
            if name == names.VOLUME_BINDING:
                if binding.waiting is not None:
                    binding.waiting.cancel()
                if binding.volumes is not None:
                    self._volume_work.revert(binding.volumes)
                    binding.volumes = None
                continue
            plugin = binding.points.plugin(name)
            if plugin is not None:
                cast("ReservePlugin", plugin).unreserve(binding.state, binding.node)
                said.append(Status(SUCCESS.code, (), name))
        self._record_point(binding, "Unreserve", said)

    def _record_point(
        self,
        binding: PluggedBinding,
        point: str,
        said: list[Status],
        timeouts: dict[str, int] | None = None,
    ) -> Status:
        """Put on the record what the plugins said; what the point has come to."""
        if not said:
            return SUCCESS
        entries = [status.to_dict() for status in said]
        for entry in entries:
            if timeouts and entry["plugin"] in timeouts:
                entry["timeout"] = timeouts[entry["plugin"]]
        record_of(binding.state)[point] = entries
        data = {"point": point, "node": binding.node, "plugins": entries}
        message = f"{point}: {', '.join(_words(status, timeouts or {}) for status in said)}"
        self._chronicle.record("PluginsRan", binding.info.pod.id, message, data)
        return said[-1] if said[-1].code is not Code.WAIT else SUCCESS


def _of(status: Status, plugin: str) -> Status:
    """*status* as given by *plugin*, whatever it says of itself."""
    return Status(status.code, status.reasons, plugin)


def _words(status: Status, timeouts: dict[str, int]) -> str:
    if status.code is Code.WAIT:
        return f"{status.plugin} asks to wait {go_duration(timeouts[status.plugin])}"
    if status.is_success:
        return status.plugin
    return f"{status.plugin} ({status.code.value}{': ' if status.reasons else ''}{status.message})"
