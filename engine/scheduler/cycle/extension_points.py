"""The extension points from Reserve to PostBind, and the plugins of one profile at each of them.

Upstream: pkg/scheduler/framework/runtime/framework.go Run…Plugins().
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.framework import names
from engine.framework.framework import Code, Plugin, Status
from engine.framework.messages import fit_error
from engine.objects.objects import Pod
from engine.plugins.dynamic_resources.protocol import AllocatesDevices
from engine.scheduler.configuration.profiles import Profile


class ExtensionPoint(enum.StrEnum):
    """One step between the chosen node and the bound pod; the value is upstream's name."""

    RESERVE = "Reserve"
    PERMIT = "Permit"
    WAIT_ON_PERMIT = "WaitOnPermit"
    PRE_BIND = "PreBind"
    BIND = "Bind"
    POST_BIND = "PostBind"
    UNRESERVE = "Unreserve"


# The answers after which the next plugin of the point is asked; any other ends the point. At Bind
# the first plugin that does not skip has bound the pod, or has failed.
CONTINUES_AFTER: Final[Mapping[ExtensionPoint, tuple[Code, ...]]] = {
    ExtensionPoint.RESERVE: (Code.SUCCESS,),
    ExtensionPoint.PERMIT: (Code.SUCCESS, Code.WAIT),
    ExtensionPoint.PRE_BIND: (Code.SUCCESS,),
    ExtensionPoint.BIND: (Code.SKIP,),
    ExtensionPoint.POST_BIND: (Code.SUCCESS,),
    ExtensionPoint.UNRESERVE: (Code.SUCCESS,),
}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a pod lost its node: the message and the reason of its condition, and who rejected it.

    `event` is the text of the Event, where it is not the message. `pending` are the plugins that
    answered Pending.
    """

    message: str
    reason: str = "SchedulerError"
    plugins: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    event: str = ""

    @property
    def is_rejection(self) -> bool:
        """Whether a plugin rejected the pod; otherwise something failed."""
        return self.reason == "Unschedulable"


class BindingPlugins:
    """The plugins of one profile from Reserve to PostBind, and what their refusals mean.

    With `has_custom` some of them are not in-tree. Otherwise VolumeBinding and DefaultBinder do all
    the work, and only their failures are recorded.
    """

    def __init__(
        self,
        profile: Profile,
        custom: Mapping[str, Plugin],
        devices: AllocatesDevices | None = None,
    ) -> None:
        """*custom* has the plugins of *profile* by name; nothing if all of them are in-tree.

        *devices* is the plugin that allocates devices, if they are allocated.
        """
        self.devices = devices
        self.has_custom = bool(custom)
        self._profile = profile
        self._rules = profile.rules
        self._custom = custom
        # The names of the plugins at each point, in the order in which they are asked.
        self.at: Mapping[ExtensionPoint, tuple[str, ...]] = _in_tree(devices is not None)
        if custom:
            self.at = {
                ExtensionPoint.RESERVE: profile.reserves,
                ExtensionPoint.PERMIT: profile.permits,
                ExtensionPoint.PRE_BIND: profile.pre_binds,
                ExtensionPoint.BIND: profile.binds,
                ExtensionPoint.POST_BIND: profile.post_binds,
                ExtensionPoint.UNRESERVE: tuple(reversed(profile.reserves)),
            }

    def in_tree_only(self) -> BindingPlugins:
        """The same without custom plugins, once their process has died."""
        return BindingPlugins(self._profile, {}, self.devices)

    def plugin(self, name: str) -> Plugin | None:
        """The custom plugin called *name*; None if the scheduler itself does its work."""
        return self._custom.get(name)

    def failure(self, point: ExtensionPoint, status: Status, pod: Pod) -> Failure:
        """What *pod* fails with when *point* ended with *status*."""
        text = status.message
        if not self._rules.names_extension_points:
            return self._classic_failure(point, text)
        if status.code.is_rejection:
            return self._rejection(point, status, pod)
        if point is ExtensionPoint.WAIT_ON_PERMIT:
            return Failure(f"waiting on permit for pod: {text}")
        prefix = ""
        if point is ExtensionPoint.BIND and self._rules.rejected_binding == "condition":
            prefix = "binding rejected: "
        if not status.plugin or (status.code is Code.SKIP and point is ExtensionPoint.BIND):
            return Failure(prefix + text)
        return Failure(f'{prefix}running {point.value} plugin "{status.plugin}": {text}')

    def _rejection(self, point: ExtensionPoint, status: Status, pod: Pod) -> Failure:
        text, plugin = status.message, status.plugin
        if not self._rules.rejects_at_every_point:
            return _rejection_1_20(point, status, pod)
        if point in (ExtensionPoint.PRE_BIND, ExtensionPoint.BIND):
            return Failure(text, "Unschedulable")
        reasons = {reason: status.reasons.count(reason) for reason in status.reasons}
        plugins = (plugin,) if plugin else ()
        pending = plugins if status.code is Code.PENDING else ()
        return Failure(fit_error(1, reasons), "Unschedulable", plugins, pending)

    def _classic_failure(self, point: ExtensionPoint, text: str) -> Failure:
        """In v1.16 and v1.11 the Event says more than the condition."""
        if point is ExtensionPoint.RESERVE:
            return Failure(text, event=f"AssumePodVolumes failed: {text}")
        if point is ExtensionPoint.PRE_BIND:
            return Failure(text, "VolumeBindingFailed")
        event = f"Binding rejected: {text}"
        if self._rules.rejected_binding == "event only":
            return Failure("", "BindingRejected", event=event)
        return Failure(text, event=event)


def _in_tree(allocates_devices: bool) -> Mapping[ExtensionPoint, tuple[str, ...]]:
    """The in-tree plugins from Reserve to PostBind."""
    devices = (names.DYNAMIC_RESOURCES,) if allocates_devices else ()
    return {
        ExtensionPoint.RESERVE: (names.VOLUME_BINDING, *devices),
        ExtensionPoint.PERMIT: (),
        ExtensionPoint.PRE_BIND: (names.VOLUME_BINDING, *devices),
        ExtensionPoint.BIND: (names.DEFAULT_BINDER,),
        ExtensionPoint.POST_BIND: (),
        ExtensionPoint.UNRESERVE: (*devices, names.VOLUME_BINDING),
    }


def _rejection_1_20(point: ExtensionPoint, status: Status, pod: Pod) -> Failure:
    """v1.20 writes "Unschedulable" into the condition at Permit only."""
    text, plugin = status.message, status.plugin
    if point is ExtensionPoint.PERMIT:
        text = f'rejected pod "{pod.name}" by permit plugin "{plugin}": {text}'
        return Failure(text, "Unschedulable")
    if point is ExtensionPoint.WAIT_ON_PERMIT:
        text = f'pod "{pod.name}" rejected while waiting on permit: {text}'
        return Failure(text, "Unschedulable")
    prefix = "binding rejected: " if point is ExtensionPoint.BIND else ""
    return Failure(f'{prefix}running {point.value} plugin "{plugin}": {text}')
