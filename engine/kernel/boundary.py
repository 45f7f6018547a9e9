"""Catches unexpected exceptions: the run continues, and the component begins anew.

The loop, the watches and the informers call what belongs to a component; each of these calls is a
boundary: an exception that leaves it is recorded as an event of the object at hand, and the
components on its way, whose state may be half changed, are built anew from the store, as after a
restart. The work that failed is tried again after a delay that doubles, as that of a returned error does.

The loop is the one module of the engines that catches Exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, NamedTuple, Protocol

from engine.kernel.loop import Callback, EventLoop, Failed, attempted
from engine.kernel.recorder import Recorder
from engine.kernel.units import MILLISECOND, SECOND

FAILED: Final = "ComponentFailed"
BASE_DELAY: Final = 5 * MILLISECOND
MAX_DELAY: Final = 1000 * SECOND
# Not of the engine's doing: the process has no memory left, and its owner decides.
_STEERING: Final = (MemoryError,)
_ENGINES: Final = ("engine.", "kscope.", "scheduling.", "volumes.")
_HERE: Final = frozenset((__name__, "engine.kernel.loop"))
_ANEW: Final = "it begins anew from the store"
_LEFT_UNDONE: Final = "what it was doing is left undone"
_REPORT: Final = (
    "from here on not proven; "
    "please report this with the run's scenario, profile, seed and commands"
)


class Frame(NamedTuple):
    """A function on the way of an exception, and its variables; the first has `args` of what was called."""

    module: str
    function: str
    variables: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Blame:
    """Whose exception it is.

    `processes` are to be built anew. `held` is what not to try again before its delay has passed:
    the owner of a queue and a key, or a watcher and the id of an object; without it the processes
    themselves wait. What a watcher is not told meanwhile it learns when its process, which *relists*,
    is built anew once more. `subject` is the id of the object at hand.
    """

    component: str
    processes: tuple[str, ...]
    subject: str
    held: tuple[str, str] | None = None
    relists: bool = False


class Components(Protocol):
    """The components of a cluster, each under a name."""

    def blame(self, frames: Sequence[Frame]) -> Blame:
        """The component whose exception came by *frames*, outermost first."""
        ...

    def stop(self, process: str) -> None:
        """End the process, and forget what it had in memory."""
        ...

    def start(self, process: str) -> None:
        """Let it begin anew from the store."""
        ...


class Failures:
    """Records the exceptions of one cluster. `count` is how many there were."""

    def __init__(self, loop: EventLoop, recorder: Recorder) -> None:
        self._loop = loop
        self._recorder = recorder
        # By what is tried again: how often it has failed, and when it is tried.
        self._tries: dict[object, tuple[int, int]] = {}
        self.count = 0

    def left_out(self, error: Exception, blame: Blame) -> bool:
        """Record *error*, after which nothing is built anew; False: it must be raised."""
        frames = _frames(error.__traceback__)
        if _must_be_raised(error, frames):
            return False
        self.record(error, frames, blame, self.delay(blame.processes))
        return True

    def delay(self, key: object) -> int:
        """Doubles with each failure; begins again after a long time without one."""
        now = self._loop.now
        failures, tried = self._tries.get(key, (0, 0))
        if now - tried > MAX_DELAY:
            failures = 0
        delay = min(BASE_DELAY << min(failures, 40), MAX_DELAY)
        self._tries[key] = failures + 1, now + delay
        return delay

    def record(self, error: Exception, frames: Sequence[Frame], blame: Blame, delay: int) -> None:
        """Count *error*, which came by *frames*, and record it as an event."""
        self.count += 1
        self._recorder.record(
            FAILED,
            blame.subject,
            blame.component,
            f"{_name(error, frames)}: {_ANEW if blame.processes else _LEFT_UNDONE}; {_REPORT}",
            {
                "exception": type(error).__name__,
                "place": _place(frames),
                "restarted": list(blame.processes),
                "delay": delay,
            },
        )


class Boundary:
    """Takes the exceptions of the components of one cluster, and lets these begin anew."""

    # Tests set it: everything that is caught is raised again, and noted here.
    loud: list[str] | None = None

    def __init__(
        self, loop: EventLoop, recorder: Recorder, failures: Failures, components: Components
    ) -> None:
        self._loop = loop
        self._recorder = recorder
        self._failures = failures
        self._components = components
        self._down: dict[str, None] = {}

    def caught(
        self,
        error: Exception,
        callback: Callback | None = None,
        args: tuple[Any, ...] = (),
        *,
        held: tuple[str, str] | None = None,
    ) -> bool:
        """Record *error* and have its components built anew next; False: it must be raised.

        *callback* was called with *args*. With *held* it is known what its caller leaves out until
        its delay has passed.
        """
        frames = _frames(error.__traceback__)
        if (owner := getattr(callback, "__self__", None)) is not None:
            called = getattr(callback, "__name__", "")
            frames.insert(0, Frame(type(owner).__module__, called, {"self": owner, "args": args}))
        if _must_be_raised(error, frames):
            return False
        blame = self._components.blame(frames)
        if held is not None:
            blame = self._held_back_alone(blame, held)
        delay = self._failures.delay(blame.held or blame.processes)
        wait = self._hold(blame, delay)
        self._failures.record(error, frames, blame, delay)
        if blame.processes:
            self._loop.call_next(self._rebuild, blame.processes, wait)
        return True

    def _held_back_alone(self, blame: Blame, held: tuple[str, str]) -> Blame:
        """*blame* for one of many: *held* is left out of the next pass, and its work waits as well."""
        if blame.held is not None:
            until = self._loop.now + self._failures.delay(blame.held)
            self._loop.held[blame.held] = max(until, self._loop.held.get(blame.held, 0))
        return replace(blame, held=held, relists=True)

    def _hold(self, blame: Blame, delay: int) -> int:
        """Hold back what failed, so that the rest goes on; how long its processes wait."""
        now, held = self._loop.now, self._loop.held
        # An object that still fails while it is held back cannot be kept from its processes.
        if blame.held is None or held.get(blame.held, 0) > now:
            return delay
        held[blame.held] = now + delay
        if blame.relists:
            self._loop.call_after(delay, self._rebuild, blame.processes, 0)
        return 0

    def _rebuild(self, processes: tuple[str, ...], delay: int) -> None:
        self._loop.cause = self._recorder.seq
        for process in processes:
            if process in self._down:
                continue
            self._down[process] = None
            # Its unfinished work stays undone: its calls leave the loop and its watches end.
            self._attempted(self._components.stop, process)
            if delay:
                self._loop.call_after(delay, self._start, process)
            else:
                self._start(process)

    def _start(self, process: str) -> None:
        del self._down[process]
        if not self._attempted(self._components.start, process):
            self._down[process] = None
            self._loop.call_after(self._failures.delay(process), self._start, process)

    def _attempted(self, call: Callable[[str], None], process: str) -> bool:
        """Whether *call* raised nothing."""
        end = attempted(call, process)
        if isinstance(end, Failed) and isinstance(end.error, _STEERING):
            raise end.error
        return not isinstance(end, Failed)


def _must_be_raised(error: Exception, frames: Sequence[Frame]) -> bool:
    if isinstance(error, _STEERING):
        return True
    if Boundary.loud is None:
        return False
    Boundary.loud.append(_name(error, frames))
    return True


def _name(error: Exception, frames: Sequence[Frame]) -> str:
    return f"{type(error).__name__} in {_place(frames)}"


def _frames(traceback: TracebackType | None) -> list[Frame]:
    frames: list[Frame] = []
    while traceback is not None:
        frame = traceback.tb_frame
        module = frame.f_globals.get("__name__", "")
        if module not in _HERE:
            frames.append(Frame(module, frame.f_code.co_qualname, frame.f_locals))
        traceback = traceback.tb_next
    return frames


def _place(frames: Sequence[Frame]) -> str:
    """The innermost function of the engines: what they call is another one's."""
    ours = [frame for frame in frames if frame.module.startswith(_ENGINES)] or frames
    return f"{ours[-1].module}:{ours[-1].function}" if ours else "the event loop"
