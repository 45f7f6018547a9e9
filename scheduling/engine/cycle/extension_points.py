"""QueueSort, Reserve to PostBind, and PodsToActivate, for the plugins of somebody else's.

    assume ── Reserve ── Permit ─┬─ (wait) ─┬─ PreBind ── Bind ── PostBind
                 │          │    └──────────┘     │         │
                 └──────────┴──────────┴──────────┴─────────┴──▶ Unreserve, forget, queue

What the scheduler does itself at a point (VolumeBinding at Reserve and PreBind, DefaultBinder at
Bind) keeps its place among the plugins. Each point at which a plugin was asked is a PluginsRan
event; Reserve and Permit are also in the attempt's evidence. A scheduler with the in-tree plugins
alone is a plain `Scheduler` and knows nothing of all this.

Upstream: pkg/scheduler/schedule_one.go schedulingCycle(), bindingCycle(),
handleBindingCycleError(); pkg/scheduler/framework/runtime/framework.go Run…Plugins().
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from kscope.sim.errors import SimError
from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.configuration.profiles import Profile
from scheduling.engine.cycle.algorithm import UNSCHEDULABLE, ScheduleResult
from scheduling.engine.cycle.chronicle import COMPONENT
from scheduling.engine.cycle.scheduler import Attempt, Binding, Scheduler
from scheduling.engine.framework.framework import (
    PODS_TO_ACTIVATE,
    SKIP,
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
    record_of,
)
from scheduling.engine.framework.messages import fit_error
from scheduling.engine.framework.waiting_pods import MAX_TIMEOUT, WaitingPod, go_duration
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue import events as cluster_events
from scheduling.engine.queue.active import QueueSort
from scheduling.engine.queue.queued_pod import QueuedPodInfo

ERROR = "error"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pod lost its place: the message, the condition's reason, and who rejected it.

    `pending` are those of the plugins that only want it to wait.
    """

    message: str
    reason: str = "SchedulerError"
    plugins: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()

    @property
    def is_rejection(self) -> bool:
        """Whether the pod is refused, rather than something having failed."""
        return self.reason == "Unschedulable"


class Points:
    """The plugins of one profile from Reserve to PostBind, by point, in order."""

    def __init__(self, profile: Profile, plugins: dict[str, Plugin]) -> None:
        self._plugins = plugins
        # v1.20 has texts of its own, and tells the pod "unschedulable" at Permit only.
        self._is_old = profile.refuses_per_node
        self.reserves = profile.reserves
        self.permits = profile.permits
        self.pre_binds = profile.pre_binds
        self.binds = profile.binds
        self.post_binds = profile.post_binds

    def plugin(self, name: str) -> Plugin | None:
        """The plugin, or None where the name stands for what the scheduler does itself."""
        return None if name == names.VOLUME_BINDING else self._plugins.get(name)

    def failure(self, point: str, status: Status, pod: Pod) -> Failure:
        """What becomes of *pod* when *status* is what *point* has come to."""
        text = status.message
        if status.code.is_rejection:
            return self._rejection(point, status, pod)
        if point == "WaitOnPermit":
            return Failure(f"waiting on permit for pod: {text}")
        prefix = "binding rejected: " if self._is_old and point == "Bind" else ""
        if status.code is Code.SKIP and point == "Bind":
            return Failure(prefix + text)
        return Failure(f'{prefix}running {point} plugin "{status.plugin}": {text}')

    def _rejection(self, point: str, status: Status, pod: Pod) -> Failure:
        text, plugin = status.message, status.plugin
        if not self._is_old:
            if point in ("PreBind", "Bind"):
                return Failure(text, "Unschedulable")
            reasons = {reason: status.reasons.count(reason) for reason in status.reasons}
            plugins = (plugin,) if plugin else ()
            pending = plugins if status.code is Code.PENDING else ()
            return Failure(fit_error(1, reasons), "Unschedulable", plugins, pending)
        if point == "Permit":
            text = f'rejected pod "{pod.name}" by permit plugin "{plugin}": {text}'
            return Failure(text, "Unschedulable")
        if point == "WaitOnPermit":
            text = f'pod "{pod.name}" rejected while waiting on permit: {text}'
            return Failure(text, "Unschedulable")
        prefix = "binding rejected: " if point == "Bind" else ""
        return Failure(f'{prefix}running {point} plugin "{plugin}": {text}')


class PluggedBinding(Binding):
    """A pod whose profile has plugins on the way to its node."""

    __slots__ = ("next_pre_bind", "points", "state", "waiting_pod")

    def __init__(
        self,
        scheduler: Scheduler,
        queued: QueuedPodInfo,
        info: PodInfo,
        node: str,
        points: Points,
        state: CycleState,
    ) -> None:
        super().__init__(scheduler, queued, info, node)
        self.points = points
        self.state = state
        self.next_pre_bind = 0
        self.waiting_pod: WaitingPod | None = None


class BindFailed(SimError):
    """The Bind plugins did not bind the pod."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


class PluggedScheduler(Scheduler):
    """A scheduler that asks plugins of others at the points beside PreFilter to Score."""

    def __init__(self, **arguments: Any) -> None:
        """As Scheduler's."""
        super().__init__(**arguments)
        self._asks_binders = True
        self._points = {
            name: Points(one.profile, one.framework.plugins.by_name)
            for name, one in self._algorithms.items()
            if one.profile.custom_placing
        }

    def _queue_sort(self) -> QueueSort | None:
        name = self.algorithm.profile.custom_queue_sort
        if not name:
            return None
        return cast("QueueSort", self.algorithm.framework.plugins.by_name[name])

    def stop(self) -> None:
        """The process dies, and with it whatever its plugins have in mind."""
        for waiting in self.handle.waiting_pods:
            waiting.cancel()
        for binding in self._bindings.values():
            if isinstance(binding, PluggedBinding):
                # Nobody is left to unreserve; the volumes are the caches' own.
                binding.points = _NO_POINTS
        super().stop()

    # The end of the scheduling cycle: assume, Reserve, Permit

    def _assume(self, attempt: Attempt, node: str) -> None:
        queued, decision = attempt.queued, attempt.decision
        points = self._points.get(queued.pod.scheduler_name)
        if points is None or decision.search is None:
            super()._assume(attempt, node)
            if decision.search is not None and queued.key in self._bindings:
                self._activate(queued.pod, decision.search.state)
            return
        state, info = decision.search.state, queued.pod_info.assigned_to(node)
        binding = PluggedBinding(self, queued, info, node, points, state)
        seq = self._take_place(binding, decision)
        if not seq:
            return
        point, status = "Reserve", self._reserve(binding, decision)
        if status.is_success:
            point, status = "Permit", self._permit(binding)
        held = status.is_success or status.code is Code.WAIT
        failure = None if held else points.failure(point, status, queued.pod)
        if failure is not None:
            decision.result = UNSCHEDULABLE if failure.is_rejection else ERROR
            decision.message = failure.message
            decision.node = None
        if attempt.evidence is not None:
            # What the later points add does not belong to this attempt.
            attempt.evidence["extension_points"] = dict(record_of(state))
            ended = {"result": decision.result, "message": decision.message, "node": decision.node}
            attempt.evidence |= ended
        if failure is None:
            self._keep_attempt(attempt, seq)
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
        return self._told(binding, "Reserve", said)

    def _reserve_volumes(self, binding: PluggedBinding, decision: ScheduleResult) -> Status:
        try:
            plan = self._plan(decision)
            binding.volumes = self.volume_work.assume(binding.info, binding.node, plan)
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
                return self._told(binding, "Permit", said)
        if not timeouts:
            return self._told(binding, "Permit", said)
        self._told(binding, "Permit", said, timeouts)
        self._wait(binding, timeouts)
        text = "one or more plugins asked to wait and no plugin rejected pod"
        return Status(Code.WAIT, (f'{text} "{binding.info.pod.name}"',))

    # The binding cycle: WaitOnPermit, PreBind, Bind, PostBind

    def _wait(self, binding: PluggedBinding, timeouts: dict[str, int]) -> None:
        waiting = WaitingPod(
            self._loop, binding.info, binding.node, timeouts, self._permission_settled
        )
        binding.waiting_pod = waiting
        self.handle.waiting_pods.add(waiting)

    def _permission_settled(self, waiting: WaitingPod, status: Status) -> None:
        """Upstream: WaitOnPermit()."""
        self.handle.waiting_pods.remove(waiting.info.uid)
        binding = self._bindings.get(waiting.info.key)
        if not isinstance(binding, PluggedBinding) or binding.waiting_pod is not waiting:
            return
        binding.waiting_pod = None
        if status.is_success:
            self._tell("PermitGranted", waiting.info.pod.id, "every plugin allows the pod")
            self._permitted(binding)
            return
        self._tell("PermitDenied", waiting.info.pod.id, status.message, status.to_dict())
        pod = binding.info.pod
        self._fail_placing(binding, binding.points.failure("WaitOnPermit", status, pod))

    def _permitted(self, binding: PluggedBinding) -> None:
        # From here no event can bring the pod back to the queue, only a failure.
        self.queue.done(binding.info.uid)
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
                    self._told(binding, "PreBind", said)
                    self._bind_volumes(binding)
                    return
                continue
            plugin = binding.points.plugin(name)
            if plugin is None:
                continue
            answer = cast("PreBindPlugin", plugin).pre_bind(binding.state, binding.node)
            said.append(_of(answer, name))
            if not answer.is_success:
                break
        status = self._told(binding, "PreBind", said)
        if status.is_success:
            self._loop.call_after(self._latencies.draw("bind"), self._bind, binding)
        else:
            pod = binding.info.pod
            self._fail_placing(binding, binding.points.failure("PreBind", status, pod))

    def volumes_done(self, binding: Binding, error: str | None) -> None:
        """See Scheduler; after VolumeBinding the other PreBind plugins have their turn."""
        if error is None and isinstance(binding, PluggedBinding):
            self._loop.call_after(0, self._pre_bind, binding)
        else:
            super().volumes_done(binding, error)

    def _bind(self, binding: Binding) -> None:
        if not isinstance(binding, PluggedBinding):
            super()._bind(binding)
            return
        if binding.forgotten:
            return
        try:
            super()._bind(binding)
        except BindFailed as failed:
            failure = binding.points.failure("Bind", failed.status, binding.info.pod)
            self._fail_placing(binding, failure)

    def _finish_binding(self, binding: Binding) -> None:
        super()._finish_binding(binding)
        if isinstance(binding, PluggedBinding):
            answered = self._store.answered_at(COMPONENT)
            if answered > self._loop.now:
                self._loop.call_at(answered, self._post_bind, binding)
            else:
                self._post_bind(binding)

    def _bind_by_extender(self, binding: Binding) -> bool:
        """Extenders go first; else the first Bind plugin that does not skip binds the pod.

        Upstream: bind(), RunBindPlugins().
        """
        bound = super()._bind_by_extender(binding)
        if not bound and isinstance(binding, PluggedBinding):
            self._run_bind_plugins(binding)
        return bound

    def _run_bind_plugins(self, binding: PluggedBinding) -> None:
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
        self._told(binding, "Bind", said)
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
        self._told(binding, "PostBind", said)
        if self._activate(binding.info.pod, binding.state):
            self._wake()

    def _activate(self, pod: Pod, state: CycleState) -> bool:
        """Move the pods that the plugins want tried now; whether there are any (since v1.22).

        Upstream: schedulingCycle(), bindingCycle(), PodsToActivate.
        """
        wanted: dict[str, Pod] = state.data.pop(PODS_TO_ACTIVATE, None) or {}
        if not wanted or self._profile.refuses_per_node:
            return False
        self._tell("PodsActivated", pod.id, ", ".join(wanted), {"pods": list(wanted)})
        self.queue.activate(list(wanted.values()))
        return True

    # Failure

    def _fail_placing(
        self, binding: PluggedBinding, failure: Failure, attempt: Attempt | None = None
    ) -> None:
        """Unreserve, forget, and send the pod round again.

        The *attempt* is kept where it is the scheduling cycle that failed. Upstream:
        handleBindingCycleError(), handleSchedulingFailure().
        """
        self._forget(binding)
        pod, queued = binding.info.pod, binding.queued
        in_binding = attempt is None and not self._profile.status_wakes
        if in_binding and not failure.is_rejection:
            # Its leaving counts for itself, too: nothing has refused it.
            self._move_on_leaving(binding)
        known = self._known.get(pod.key)
        if known is not None and known.uid == pod.uid:
            queued.rejected_by(*failure.plugins, pending=failure.pending)
            self._handle_error(queued, failure.message, failure.reason)
        else:
            self.queue.done(pod.uid)
            self._tell_event(pod, "FailedScheduling", "Warning", failure.message)
        if attempt is not None:
            self._keep_attempt(attempt, self.chronicle.seq)
        elif in_binding and failure.is_rejection:
            # The pod itself is not woken by its own leaving.
            self._move_on_leaving(binding, but=pod.key)
        self._wake()

    def _move_on_leaving(self, binding: Binding, but: str = "") -> None:
        self.queue.move_all_to_active_or_backoff(
            cluster_events.ASSIGNED_POD_DELETE, binding.assumed, None, but=but
        )

    def _forget(self, binding: Binding) -> None:
        if isinstance(binding, PluggedBinding):
            if binding.waiting_pod is not None:
                binding.waiting_pod.cancel()
                self.handle.waiting_pods.remove(binding.info.uid)
            self._unreserve(binding)
        super()._forget(binding)

    def _unreserve(self, binding: PluggedBinding) -> None:
        """Upstream: RunReservePluginsUnreserve(), in reverse and whoever has reserved or not."""
        said: list[Status] = []
        for name in reversed(binding.points.reserves):
            if name == names.VOLUME_BINDING:
                if binding.waiting is not None:
                    binding.waiting.cancel()
                if binding.volumes is not None:
                    self.volume_work.revert(binding.volumes)
                    binding.volumes = None
                continue
            plugin = binding.points.plugin(name)
            if plugin is not None:
                cast("ReservePlugin", plugin).unreserve(binding.state, binding.node)
                said.append(Status(SUCCESS.code, (), name))
        self._told(binding, "Unreserve", said)

    def _unassigned_gone(self, old: Pod, new: Pod) -> None:
        """A pod that is deleted does not wait any more. Upstream: deletePodFromSchedulingQueue()."""
        super()._unassigned_gone(old, new)
        waiting = self.handle.waiting_pods.get(old.uid)
        if waiting is None:
            return
        waiting.reject("", "removed")
        if not self._profile.status_wakes:
            binding = self._bindings.get(old.key)
            gone = old if binding is None else binding.assumed
            self.queue.move_all_to_active_or_backoff(cluster_events.ASSIGNED_POD_DELETE, gone, None)

    def _evict(self, victim: PodInfo, preemptor: Pod, message: str) -> bool | None:
        """A victim that waits is sent back instead. Upstream: preemption.go PreemptPod()."""
        waiting = self.handle.waiting_pods.get(victim.uid)
        if waiting is None:
            return super()._evict(victim, preemptor, message)
        waiting.reject(names.DEFAULT_PREEMPTION, "preempted")
        self._tell_event(victim.pod, "Preempted", "Normal", message)
        return True

    # Telling

    def _told(
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
        self._tell("PluginsRan", binding.info.pod.id, message, data)
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


_NO_POINTS = Points(
    Profile(name="", version="v1.34", filters=(), scores=(), reserves=(names.VOLUME_BINDING,)), {}
)


def is_plugged(profiles: Iterable[Profile]) -> bool:
    """Whether any profile has plugins of somebody else's, which may ask for what is done here."""
    return any(profile.custom_plugins for profile in profiles)
