"""From the chosen node to the bound pod: assume, Reserve, Permit, PreBind, Bind, PostBind.

    begin ── Reserve, assume ── (Permit) ── PreBind ── Bind ── (PostBind)
                  │                 │          │        │
                  └─────────────────┴──────────┴────────┴──▶ Unreserve, forget, queue

`BindingCycle` has the in-tree plugins: VolumeBinding at Reserve and PreBind, DefaultBinder at
Bind. `PluggedBindingCycle` runs plugins of other authors at every point, `RoundsBindingCycle` is
that of v1.11. After the scheduling cycle a binding goes on while the next pod is tried.

Upstream: pkg/scheduler/schedule_one.go assume(), bindingCycle(), handleBindingCycleError().
"""

from __future__ import annotations

from collections.abc import Callable

from kscope.sim.errors import ApiError, Conflict, NotFound, SimError
from kscope.sim.kernel.units import timestamp
from kscope.sim.objects.objects import ApiObject, Pod
from scheduling.engine import names
from scheduling.engine.configuration.extenders import (
    ExtenderError,
)
from scheduling.engine.cycle.algorithm import ScheduleResult
from scheduling.engine.cycle.attempt import Attempt, Binding
from scheduling.engine.cycle.chronicle import COMPONENT
from scheduling.engine.cycle.explain import (
    summary,
)
from scheduling.engine.cycle.failure.failures import FailureHandler
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.framework.framework import PodVolumes as PodVolumePlan
from scheduling.engine.pods.conditions import with_condition
from scheduling.engine.queue import events as cluster_events


class BindingCycle:
    """Reserves, binds and, when that fails, takes everything back: with in-tree plugins alone."""

    def __init__(
        self, state: SchedulerState, failures: FailureHandler, wake: Callable[[], None]
    ) -> None:
        self._state = state
        self._loop = state.loop
        self._store = state.store
        self._latencies = state.latencies
        self._rules = state.profile.rules
        extender_rules = state.profile.kubernetes.extenders
        self._ignores_failed_binders = extender_rules.ignores_failed_binders
        self._known = state.known
        self._bindings = state.bindings
        self._chronicle = state.chronicle
        self._gauges = state.gauges
        self._cache = state.cache
        self._queue = state.queue
        self._volume_work = state.volume_work
        self._algorithms = state.algorithms
        self._extenders = state.extenders
        self._failures = failures
        self._wake = wake

    def stop(self) -> None:
        """The process dies: the bindings under way are lost."""
        for binding in list(self._bindings.values()):
            self.forget(binding)

    def begin(self, attempt: Attempt, node: str) -> None:
        """Reserve: from now on the pod counts on its node, though the API does not know yet."""
        queued, decision = attempt.queued, attempt.decision
        info = queued.pod_info.assigned_to(node)
        binding = Binding(queued, info, node, self.volumes_done)
        try:
            if queued.pod.claim_names:
                binding.volumes = self._volume_work.assume(info, node, self.volume_plan(decision))
        except SimError as moved_on:
            text = str(moved_on)
            if not self._rules.names_extension_points:
                self._failures.handle_error(queued, text, told=f"AssumePodVolumes failed: {text}")
            else:
                text = f'running Reserve plugin "{names.VOLUME_BINDING}": {text}'
                self._failures.handle_error(queued, text)
            return
        seq = self.assume_pod(binding, decision)
        if seq:
            self._state.keep_attempt(attempt, seq)
            self._start(binding)

    def assume_pod(self, binding: Binding, decision: ScheduleResult) -> int:
        """Count the pod on its node from now on; the seq of the event that says so.

        0 when the cache holds the pod already: then the attempt has failed.
        """
        info, node = binding.info, binding.node
        if not self._state.change_cache(info.pod.id, self._cache.assume_pod, info):
            if binding.volumes is not None:
                self._volume_work.revert(binding.volumes)
            self._failures.handle_error(binding.queued, "scheduler cache AssumePod failed")
            return 0
        self._gauges.assumed(node, info)
        self._bindings[info.key] = binding
        self._queue.nominator.delete(info.uid)
        return self._chronicle.record_pod(
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

    def volume_plan(self, decision: ScheduleResult) -> PodVolumePlan:
        planner = self._algorithms[decision.pod.pod.scheduler_name].framework.volume_binding
        if planner is None or decision.search is None:
            return PodVolumePlan()
        return planner.plan(decision.search.state, decision.row)

    def _start(self, binding: Binding) -> None:
        # From here no event can bring the pod back to the queue, only a failure.
        self._queue.done(binding.info.uid)
        if binding.volumes is None:
            self._loop.call_after(self._latencies.draw("bind"), self.bind, binding)
        else:
            self._loop.call_after(0, self.bind_volumes, binding)

    def bind_volumes(self, binding: Binding) -> None:
        """PreBind of VolumeBinding: write what was assumed, then wait for the PV controller."""
        if not binding.forgotten and binding.volumes is not None:
            binding.waiting = self._volume_work.bind(
                binding.info, binding.node, binding.volumes, binding.volumes_done
            )

    def volumes_done(self, binding: Binding, error: str | None) -> None:
        """What the binder came to: on with the binding, or back to the queue."""
        binding.waiting = None
        if binding.forgotten:
            return
        if error is None:
            self._loop.call_after(self._latencies.draw("bind"), self.bind, binding)
        else:
            if not self._rules.names_extension_points:
                self._fail(binding, error, "VolumeBindingFailed")
            else:
                self._fail(binding, f'running PreBind plugin "VolumeBinding": {error}')

    def bind(self, binding: Binding) -> None:
        """DefaultBinder: write the pod's node. Upstream: bind(), Scheduled event."""
        if binding.forgotten:
            return
        pod = binding.info.pod
        self._chronicle.end_series(pod.uid)
        scheduled = {"type": "PodScheduled", "status": "True"}
        scheduled["lastTransitionTime"] = timestamp(self._loop.now)
        try:
            if not self._bind_by_extender(binding):
                self.run_bind_plugins(binding)
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
            self.finish(binding)
        except ExtenderError as refusal:
            self._reject(binding, str(refusal))
        except ApiError as refusal:
            named = self._rules.names_extension_points
            where = f'running Bind plugin "{binding.binder}": ' if named else ""
            self._reject(binding, f"{where}{refusal}")

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
                    if not (settings.ignorable and self._ignores_failed_binders):
                        raise
                    continue
                return True
        return False

    def run_bind_plugins(self, binding: Binding) -> None:
        """Ask the Bind plugins: here DefaultBinder alone, whose write follows."""

    def finish(self, binding: Binding) -> None:
        """The write is answered: only now may the assumption run out."""
        now = self._loop.now
        answered = now if self._store.faults is None else self._store.answered_at(COMPONENT)
        if answered > now:
            self._loop.call_at(answered, self._cache.finish_binding, binding.info)
        else:
            self._cache.finish_binding(binding.info)

    def _reject(self, binding: Binding, error: str) -> None:
        """The pod was not bound; where that is said depends on the version."""
        where = self._rules.rejected_binding
        if where == "event only":
            self._fail(binding, "", "BindingRejected", told=f"Binding rejected: {error}")
        elif where == "event":
            self._fail(binding, error, told=f"Binding rejected: {error}")
        else:
            self._fail(binding, f"binding rejected: {error}" if where == "condition" else error)

    def _fail(
        self, binding: Binding, error: str, reason: str = "SchedulerError", *, told: str = ""
    ) -> None:
        """Unreserve, forget, and send the pod round again. Upstream: handleBindingCycleError()."""
        self.forget(binding)
        pod = binding.info.pod
        if self._rules.requeues_after_failed_binding:
            # Its leaving is told first (since 1.22).
            self._queue.move_all_to_active_or_backoff(
                cluster_events.ASSIGNED_POD_DELETE, binding.assumed, None
            )
        known = self._known.get(pod.key)
        if known is not None and known.uid == pod.uid:
            self._failures.handle_error(binding.queued, error, reason, told=told)
        else:
            # The pod is gone and is not queued again; upstream still sends the Event.
            self._chronicle.record_event(pod, "FailedScheduling", "Warning", told or error)
            self._chronicle.end_series(pod.uid)
        self._wake()

    def forget(self, binding: Binding) -> None:
        binding.forgotten = True
        self._bindings.pop(binding.queued.key, None)
        if binding.waiting is not None:
            binding.waiting.cancel()
        if binding.volumes is not None:
            self._volume_work.revert(binding.volumes)
        self._state.change_cache(binding.info.pod.id, self._cache.forget_pod, binding.info)
        self._gauges.settled(binding.node, binding.info)
        pod = binding.info.pod
        if pod.key in self._known:
            self._chronicle.show_pod(pod.key, cache=None, assumed=None)
        self._chronicle.record("PodForgotten", pod.id, f"no longer assumed on {binding.node}")


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
