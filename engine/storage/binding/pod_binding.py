"""The binding of one pod's volumes. Upstream: the wait in BindPodVolumes()."""

from collections.abc import Callable
from typing import Final

from engine.kernel.errors import SimError
from engine.kernel.loop import EventLoop, Timer
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.storage.binding.binder import (
    DEFAULT_BIND_TIMEOUT,
    PodVolumes,
    VolumeBinder,
    written_versions,
)
from engine.storage.binding.trace_steps import VolumesLooked, VolumesWritten

POLL_INTERVAL: Final = 1 * SECOND


class PodBinding:
    """Writes the bindings decided for a pod, then checks every second whether they are complete.

    *done*, a bound method, is called once: with None, or with the error. The wait ends *timeout* ns
    after the start.
    """

    __slots__ = (
        "_binder",
        "_deadline",
        "_done",
        "_loop",
        "_timer",
        "node_name",
        "pod",
        "volumes",
    )

    def __init__(
        self,
        loop: EventLoop,
        binder: VolumeBinder,
        pod: Pod,
        node_name: str,
        volumes: PodVolumes,
    ) -> None:
        self._loop = loop
        self._binder = binder
        self.pod = pod
        self.node_name = node_name
        self.volumes = volumes
        self._timer: Timer | None = None

    def start(
        self, done: Callable[[str | None], None], timeout: int = DEFAULT_BIND_TIMEOUT
    ) -> None:
        """Write now, and check for the first time in a second."""
        self._done = done
        self._deadline = self._loop.now + timeout
        try:
            self._binder.bind_api_update(self.pod, self.volumes)
        except SimError as error:
            self._tell_written(str(error))
            self._done(str(error))
            return
        self._tell_written("")
        self._wait()

    def cancel(self) -> None:
        """Stop waiting; *done* is not called."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        at = min(self._loop.now + POLL_INTERVAL, self._deadline)
        self._timer = self._loop.call_at(at, self._poll)

    def _poll(self) -> None:
        prefix = self._binder.rules.error_prefix
        try:
            bound = self._binder.check_bindings(self.pod, self.node_name, self.volumes)
        except SimError as error:
            self._tell_look(is_bound=False, error=str(error))
            self._done(f"{prefix}{error}")
            return
        self._tell_look(is_bound=bound, error="")
        if bound:
            self._done(None)
        elif self._loop.now >= self._deadline:
            self._done(f"{prefix}{self._binder.rules.timed_out}")
        else:
            self._wait()

    def _tell_written(self, error: str) -> None:
        trace = self._loop.trace
        if trace is not None and trace.follows(self.pod.id):
            step = VolumesWritten(written_versions(self.volumes), self._deadline, error)
            trace.add(self.pod.id, step)

    def _tell_look(self, *, is_bound: bool, error: str) -> None:
        trace = self._loop.trace
        if trace is not None and trace.follows(self.pod.id):
            step = VolumesLooked(is_bound, error, self._binder.versions(self.pod))
            trace.add(self.pod.id, step)
