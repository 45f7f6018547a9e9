"""Asks the plugins of one extension point after another: the whole calling convention.

Each point at which a custom plugin was asked is a PluginsRan event; what Reserve and Permit
answered is also in the attempt's evidence.

Upstream: pkg/scheduler/framework/runtime/framework.go Run…Plugins().
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from engine.framework import names
from engine.framework.framework import (
    SKIP,
    SUCCESS,
    BindPlugin,
    Code,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
    record_of,
)
from engine.framework.waiting_pods import MAX_TIMEOUT, go_duration
from engine.kernel.errors import SimError
from engine.kernel.loop import EventLoop
from engine.scheduler.cycle.attempt import Binding
from engine.scheduler.cycle.binding.trace_steps import PointAnswer, PointRan, point_answer
from engine.scheduler.cycle.chronicle import Chronicle
from engine.scheduler.cycle.device_work import DeviceWork
from engine.scheduler.cycle.extension_points import CONTINUES_AFTER, ExtensionPoint
from engine.scheduler.cycle.volume_work import VolumeWork

# The answer of VolumeBinding at PreBind when it has volumes to bind.
WAIT_FOR_VOLUMES: Final = Status(Code.WAIT, (), names.VOLUME_BINDING)


class PluginCalls:
    """Runs extension points for the bindings of one scheduler."""

    def __init__(
        self,
        loop: EventLoop,
        chronicle: Chronicle,
        volume_work: VolumeWork,
        device_work: DeviceWork,
    ) -> None:
        self._loop = loop
        self._chronicle = chronicle
        self._volume_work = volume_work
        self._device_work = device_work

    def run(self, point: ExtensionPoint, binding: Binding) -> Status:
        """Ask the plugins at *point* in order, until an answer ends it; that answer.

        Wait at Permit means that a plugin asked to wait and none rejected the pod. WAIT_FOR_VOLUMES
        at PreBind means that volumes must be bound, WAIT_FOR_DEVICES that devices must become ready;
        run the point again then, and it goes on.
        """
        asked = binding.plugins.at[point]
        if point is ExtensionPoint.PRE_BIND:
            asked = asked[binding.next_pre_bind :]
        answer, recorded = SUCCESS, list[Status]()
        answers: list[PointAnswer] = []
        for name in asked:
            if point is ExtensionPoint.PRE_BIND:
                binding.next_pre_bind += 1
            if name == names.VOLUME_BINDING:
                answer = self._volume_binding(point, binding)
                is_recorded = answer.code is Code.ERROR
            elif name == names.DYNAMIC_RESOURCES:
                answer = self._dynamic_resources(point, binding)
                is_recorded = answer.code is Code.ERROR
            else:
                plugin = binding.plugins.plugin(name)
                # DefaultBinder has no class: after Bind the scheduler writes the node's name.
                if plugin is None and point is not ExtensionPoint.BIND:
                    continue
                given = SUCCESS if plugin is None else _ask(point, plugin, name, binding)
                answer, is_recorded = Status(given.code, given.reasons, name), True
            if is_recorded:
                recorded.append(answer)
            if self._loop.trace is not None:
                answers.append(point_answer(name, answer, binding.timeouts.get(name)))
            if answer.code not in CONTINUES_AFTER[point]:
                break
        if binding.plugins.has_custom and recorded:
            self._record(point, binding, recorded)
        outcome = _outcome(point, answer, recorded)
        trace = self._loop.trace
        if trace is not None and trace.follows(binding.info.pod.id):
            ran = PointRan(point.value, binding.node, tuple(answers), outcome.code.value)
            trace.add(binding.info.pod.id, ran)
        return outcome

    def _dynamic_resources(self, point: ExtensionPoint, binding: Binding) -> Status:
        """The in-tree DynamicResources at Reserve, PreBind and Unreserve."""
        if point is ExtensionPoint.RESERVE:
            return self._reserve_devices(binding)
        if binding.devices is None:
            return SUCCESS
        if point is ExtensionPoint.PRE_BIND:
            return self._device_work.bind(binding.devices)
        self._device_work.unreserve(binding.devices)
        binding.devices = None
        return SUCCESS

    def _reserve_devices(self, binding: Binding) -> Status:
        plugin = binding.plugins.devices
        if plugin is None or not binding.has_state:
            return SUCCESS
        found = self._device_work.reserve(plugin, binding.state, binding.node)
        if isinstance(found, Status):
            return found
        binding.devices = found
        return SUCCESS

    def _volume_binding(self, point: ExtensionPoint, binding: Binding) -> Status:
        """The in-tree VolumeBinding at Reserve, PreBind and Unreserve."""
        if point is ExtensionPoint.RESERVE:
            return self._reserve_volumes(binding)
        if point is ExtensionPoint.PRE_BIND:
            return SUCCESS if binding.volumes is None else WAIT_FOR_VOLUMES
        if binding.volumes_binding is not None:
            binding.volumes_binding.cancel()
        if binding.volumes is not None:
            self._volume_work.revert(binding.volumes)
            binding.volumes = None
        return SUCCESS

    def _reserve_volumes(self, binding: Binding) -> Status:
        if binding.plan is None:
            return SUCCESS
        try:
            binding.volumes = self._volume_work.assume(binding.info, binding.node, binding.plan)
        except SimError as conflict:
            return Status(Code.ERROR, (str(conflict),), names.VOLUME_BINDING)
        return SUCCESS

    def _record(self, point: ExtensionPoint, binding: Binding, answers: list[Status]) -> None:
        entries = [status.to_dict() for status in answers]
        for entry, status in zip(entries, answers, strict=True):
            if status.code is Code.WAIT and status.plugin in binding.timeouts:
                entry["timeout"] = binding.timeouts[status.plugin]
        record_of(binding.state)[point.value] = entries
        data = {"point": point.value, "node": binding.node, "plugins": entries}
        texts = ", ".join(_text(status, binding.timeouts) for status in answers)
        self._chronicle.record("PluginsRan", binding.info.pod.id, f"{point.value}: {texts}", data)


def _ask(point: ExtensionPoint, plugin: Plugin, name: str, binding: Binding) -> Status:
    """The answer of one custom plugin; PostBind and Unreserve have none, and count as success."""
    state, node = binding.state, binding.node
    match point:
        case ExtensionPoint.RESERVE:
            return cast("ReservePlugin", plugin).reserve(state, node)
        case ExtensionPoint.PERMIT:
            status, timeout = cast("PermitPlugin", plugin).permit(state, node)
            if status.code is Code.WAIT:
                binding.timeouts[name] = max(min(timeout, MAX_TIMEOUT), 0)
            return status
        case ExtensionPoint.PRE_BIND:
            return cast("PreBindPlugin", plugin).pre_bind(state, node)
        case ExtensionPoint.BIND:
            return cast("BindPlugin", plugin).bind(state, node)
        case ExtensionPoint.POST_BIND:
            cast("PostBindPlugin", plugin).post_bind(state, node)
        case ExtensionPoint.UNRESERVE:
            cast("ReservePlugin", plugin).unreserve(state, node)
        case ExtensionPoint.WAIT_ON_PERMIT:
            raise AssertionError("no plugin is called while a pod waits at Permit")
    return SUCCESS


def _outcome(point: ExtensionPoint, answer: Status, answers: list[Status]) -> Status:
    """The result of an extension point whose last answer is *answer*."""
    if point is ExtensionPoint.BIND:
        return answers[-1] if answers else SKIP
    if point is ExtensionPoint.PERMIT and answer.is_success:
        return next((one for one in answers if one.code is Code.WAIT), answer)
    return answer


def _text(status: Status, timeouts: Mapping[str, int]) -> str:
    if status.code is Code.WAIT and status.plugin in timeouts:
        return f"{status.plugin} asks to wait {go_duration(timeouts[status.plugin])}"
    if status.is_success:
        return status.plugin
    return f"{status.plugin} ({status.code.value}{': ' if status.reasons else ''}{status.message})"
