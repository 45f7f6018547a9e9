"""Binds a pod: asks the extenders and the Bind plugins, then writes the node's name.

Upstream: pkg/scheduler/schedule_one.go bind().
"""

from __future__ import annotations

from engine.api_server.admission.binding import bind
from engine.framework import names
from engine.framework.framework import SUCCESS, Code, Status
from engine.kernel.errors import ApiError
from engine.scheduler.configuration.extenders import ExtenderError
from engine.scheduler.cycle.attempt import Binding
from engine.scheduler.cycle.binding.plugin_calls import PluginCalls
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.extension_points import ExtensionPoint
from engine.scheduler.cycle.state import SchedulerState


class Binder:
    """Does the work of the extension point Bind. Upstream: plugins/defaultbinder."""

    def __init__(self, state: SchedulerState, calls: PluginCalls) -> None:
        self._store = state.store
        self._ignores_failed_binders = state.profile.kubernetes.extenders.ignores_failed_binders
        self._extenders = state.extenders
        self._rules = state.profile.kubernetes.admission
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
        bind(
            self._store,
            pod,
            binding.node,
            self._rules,
            by=COMPONENT,
            event="PodBound",
            message=f"Successfully assigned {pod.key} to {binding.node}",
            data={"event": True, "type": "Normal", "reason": "Scheduled"},
        )
