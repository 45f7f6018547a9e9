"""The wait at PreBind for the binding conditions of a pod's devices.

Upstream: plugins/dynamicresources/dynamicresources.go PreBind(), isPodReadyForBinding().
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from engine.kernel.loop import EventLoop, Timer
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject
from engine.plugins.dynamic_resources.allocation.binding_conditions import (
    BINDING_TIMEOUT,
    BindingFailed,
    is_ready,
    is_timed_out,
)

POLL_INTERVAL: Final = 5 * SECOND


class DeviceWait:
    """Reads the claims of one pod every five seconds until all their devices are ready.

    *done*, a bound method, is called once: with None, or with the error.
    """

    __slots__ = ("_claims", "_deadline", "_done", "_keys", "_loop", "_timer")

    def __init__(
        self,
        loop: EventLoop,
        claims: Mapping[str, ApiObject],
        keys: Sequence[str],
        done: Callable[[str | None], None],
    ) -> None:
        """*claims* are those that the scheduler knows, by key; *keys* those of the pod, in order."""
        self._loop = loop
        self._claims = claims
        self._keys = keys
        self._done = done
        self._deadline = loop.now + BINDING_TIMEOUT
        self._timer: Timer | None = None

    def start(self) -> None:
        """Read the claims at once, and begin to wait if a device is not ready."""
        self._poll()

    def cancel(self) -> None:
        """Stop waiting; *done* is not called."""
        if self._timer is not None:
            self._timer.cancel()

    def _poll(self) -> None:
        self._timer = None
        if self._loop.now >= self._deadline:
            self._done("device binding timeout")
            return
        try:
            error = self._error()
        except BindingFailed as failure:
            error = str(failure)
        if error is None:
            self._timer = self._loop.call_after(POLL_INTERVAL, self._poll)
        else:
            self._done(error or None)

    def _error(self) -> str | None:
        """Why the pod cannot be bound; "" if it can, None if some device is not ready yet."""
        for key in self._keys:
            claim = self._claims.get(key)
            if claim is None:
                return f'could not find ResourceClaim "{key}"'
            if not is_ready(claim):
                timed_out = is_timed_out(claim, self._loop.clock)
                return f"claim {claim.name} binding timeout" if timed_out else None
        return ""
