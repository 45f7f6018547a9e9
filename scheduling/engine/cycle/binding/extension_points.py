"""The plugins of one profile from Reserve to PostBind, and what their refusals mean for the pod.

Upstream: pkg/scheduler/framework/runtime/framework.go Run…Plugins().
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.configuration.profiles import Profile, default_profile
from scheduling.engine.framework.framework import (
    Code,
    Plugin,
    Status,
)
from scheduling.engine.framework.messages import fit_error
from scheduling.engine.versions.registry import NEWEST


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
        self._rules = profile.rules
        self.reserves = profile.reserves
        self.permits = profile.permits
        self.pre_binds = profile.pre_binds
        self.binds = profile.binds
        self.post_binds = profile.post_binds

    @property
    def _bind_prefix(self) -> str:
        return "binding rejected: " if self._rules.rejected_binding == "condition" else ""

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
        prefix = self._bind_prefix if point == "Bind" else ""
        if status.code is Code.SKIP and point == "Bind":
            return Failure(prefix + text)
        return Failure(f'{prefix}running {point} plugin "{status.plugin}": {text}')

    def _rejection(self, point: str, status: Status, pod: Pod) -> Failure:
        text, plugin = status.message, status.plugin
        if self._rules.rejects_at_every_point:
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
        prefix = self._bind_prefix if point == "Bind" else ""
        return Failure(f'{prefix}running {point} plugin "{plugin}": {text}')


NO_POINTS = Points(
    replace(default_profile(NEWEST), name="", filters=(), scores=(), binds=(), pre_binds=()), {}
)


def is_plugged(profiles: Iterable[Profile]) -> bool:
    """Whether any profile has plugins of somebody else's, which may ask for what is done here."""
    return any(profile.custom_plugins for profile in profiles)
