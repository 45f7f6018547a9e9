"""Binds a pod: asks the extenders and the Bind plugins, then writes the node's name.

Upstream: pkg/scheduler/schedule_one.go bind().
"""

from __future__ import annotations

from kscope.sim.errors import ApiError, Conflict, NotFound
from kscope.sim.kernel.units import timestamp
from kscope.sim.objects.objects import ApiObject, Pod
from scheduling.engine import names
from scheduling.engine.api_server.topology_labels import topology_labels
from scheduling.engine.configuration.extenders import ExtenderError
from scheduling.engine.cycle.attempt import Binding
from scheduling.engine.cycle.binding.plugin_calls import PluginCalls
from scheduling.engine.cycle.chronicle import COMPONENT
from scheduling.engine.cycle.extension_points import ExtensionPoint
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.framework.framework import SUCCESS, Code, Status
from scheduling.engine.pods.conditions import with_condition


class Binder:
    """Does the work of the extension point Bind. Upstream: plugins/defaultbinder."""

    def __init__(self, state: SchedulerState, calls: PluginCalls) -> None:
        self._loop = state.loop
        self._store = state.store
        self._ignores_failed_binders = state.profile.kubernetes.extenders.ignores_failed_binders
        self._extenders = state.extenders
        self._ends_nomination = state.profile.rules.nominates_before_pre_bind
        self._copies_labels = state.profile.kubernetes.admission.topology_labels
        self._calls = calls

    def bind(self, binding: Binding) -> Status:
        """SUCCESS, or why the pod was not bound."""
        binder = names.DEFAULT_BINDER
        try:
            is_bound = bool(self._extenders) and self._bound_by_extender(binding)
            # Without custom plugins it is always DefaultBinder that binds.
            if binding.plugins.has_custom and not is_bound:
                status = self._calls.run(ExtensionPoint.BIND, binding)
                if not status.is_success:
                    return status
                binder = status.plugin
            self._write_node(binding)
        except ExtenderError as refusal:
            return Status(Code.ERROR, (str(refusal),))
        except ApiError as refusal:
            return Status(Code.ERROR, (str(refusal),), binder)
        return SUCCESS

    def _bound_by_extender(self, binding: Binding) -> bool:
        """Ask the first extender that binds; False if there is none. Upstream: extendersBinding()."""
        for extender in self._extenders:
            settings = extender.settings
            if settings.bind_verb and settings.is_interested(binding.info):
                try:
                    extender.bind(binding.info, binding.node)
                except ExtenderError:
                    # Up to v1.20 `ignorable` had no effect here.
                    if not (settings.ignorable and self._ignores_failed_binders):
                        raise
                    continue
                return True
        return False

    def _write_node(self, binding: Binding) -> None:
        """Raises ApiError."""
        pod = binding.info.pod
        scheduled = {"type": "PodScheduled", "status": "True"}
        scheduled["lastTransitionTime"] = timestamp(self._loop.now)
        stored = self._store.find("Pod", pod.key)
        if not isinstance(stored, Pod):
            raise NotFound(f'pods "{pod.name}" not found')
        if stored.uid != pod.uid:
            raise Conflict(_uid_conflict(pod, stored))
        if stored.deletion_timestamp:
            raise Conflict(_deleted(pod))
        status = {**stored.status, "conditions": with_condition(stored, scheduled)}
        if self._ends_nomination:
            # The API server does. Upstream: ClearingNominatedNodeNameAfterBinding.
            status.pop("nominatedNodeName", None)
        self._store.bind(
            stored,
            binding.node,
            status,
            topology_labels(self._store, binding.node) if self._copies_labels else (),
            by=COMPONENT,
            event="PodBound",
            message=f"Successfully assigned {pod.key} to {binding.node}",
            data={"event": True, "type": "Normal", "reason": "Scheduled"},
        )


def _deleted(pod: Pod) -> str:
    """Upstream: pkg/registry/core/pod/storage/storage.go, setPodHostAndAnnotations()."""
    return (
        f'Operation cannot be fulfilled on pods/binding "{pod.name}": pod {pod.name} is being '
        "deleted, cannot be assigned to a host"
    )


def _uid_conflict(assumed: Pod, stored: ApiObject) -> str:
    """Another pod has this name now. Upstream: registry/core/pod/storage, BindingREST."""
    return (
        f'Operation cannot be fulfilled on pods "{assumed.name}": StorageError: invalid object, '
        f"Code: 4, Key: /registry/pods/{assumed.key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {assumed.uid}, "
        f"UID in object meta: {stored.uid}"
    )
