"""Pods between Permit and PreBind that wait because a Permit plugin returned WAIT.

    waiting ── every such plugin allows it ───▶ allowed
            ── one rejects it, or its time ends ─▶ rejected

Only the first of these counts. Upstream:
pkg/scheduler/framework/runtime/waiting_pods_map.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from engine.framework.framework import SUCCESS, Code, Status
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.loop import EventLoop, Timer
from engine.kernel.units import MILLISECOND, MINUTE, SECOND

# Upstream: framework.go maxTimeout.
MAX_TIMEOUT = 15 * MINUTE


class WaitingPod:
    """One pod that is assumed on *node*; times in ns. Upstream: waitingPod."""

    __slots__ = ("_loop", "_settled", "_timers", "deadline", "info", "is_settled", "node")

    def __init__(
        self,
        loop: EventLoop,
        info: PodInfo,
        node: str,
        timeouts: Mapping[str, int],
        settled: Callable[[WaitingPod, Status], None],
    ) -> None:
        """*settled*, a bound method, is called once with the result of the wait."""
        self._loop = loop
        self._settled = settled
        self.info = info
        self.node = node
        self.is_settled = False
        self.deadline = loop.now + min(timeouts.values())
        self._timers: dict[str, Timer] = {
            plugin: loop.call_after(timeout, self._time_out, plugin, timeout)
            for plugin, timeout in timeouts.items()
        }

    @property
    def pending_plugins(self) -> list[str]:
        """The plugins that have not allowed the pod yet."""
        return list(self._timers)

    def allow(self, plugin: str) -> None:
        """*plugin* allows the pod; the last plugin to do so ends the wait."""
        timer = self._timers.pop(plugin, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._settle(SUCCESS)

    def reject(self, plugin: str, message: str) -> None:
        """*plugin* rejects the pod, which ends the wait."""
        self._settle(Status(Code.UNSCHEDULABLE, (message,), plugin))

    def cancel(self) -> None:
        """End the wait without calling `settled`."""
        self.is_settled = True
        self._stop_timers()

    def _time_out(self, plugin: str, timeout: int) -> None:
        # The plugin's time is over; no event caused it.
        self._loop.cause = 0
        waited = go_duration(timeout)
        self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")

    def _settle(self, status: Status) -> None:
        if self.is_settled:
            return
        self.is_settled = True
        self._stop_timers()
        # The plugin may call this during another pod's cycle.
        self._loop.call_after(0, self._settled, self, status)

    def _stop_timers(self) -> None:
        for timer in self._timers.values():
            timer.cancel()


class WaitingPods:
    """The waiting pods of one scheduler, for its plugins to allow or reject. By uid."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[WaitingPod]:
        """In the order in which they began to wait. Upstream: IterateOverWaitingPods()."""
        return iter(list(self._pods.values()))

    def get(self, uid: str) -> WaitingPod | None:
        """The pod, or None when it does not wait. Upstream: GetWaitingPod()."""
        return self._pods.get(uid)

    def add(self, pod: WaitingPod) -> None:
        """Add a pod that begins to wait."""
        self._pods[pod.info.uid] = pod

    def remove(self, uid: str) -> WaitingPod | None:
        """Remove and return a pod that no longer waits."""
        return self._pods.pop(uid, None)


def go_duration(duration: int) -> str:
    """*duration* ns as Go writes it: 1m30s, 2.5s, 500ms. Upstream: time.Duration String()."""
    if duration < SECOND:
        for unit, name in ((MILLISECOND, "ms"), (1_000, "µs")):
            if duration >= unit:
                return f"{_decimal(duration, unit)}{name}"
        return f"{duration}ns" if duration else "0s"
    minutes, rest = divmod(duration, MINUTE)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    digits = f"{part:0{len(str(unit)) - 1}d}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
