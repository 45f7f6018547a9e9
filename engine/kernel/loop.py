"""The event loop: callbacks in order of virtual time."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from engine.kernel.trace import Trace

# What it returns is ignored.
Callback = Callable[..., object]
Result = TypeVar("Result")
# What only a boundary takes; see engine.kernel.boundary. This is the one module of the engines
# that catches it. A `try` costs nothing until then.
_UNEXPECTED: Final = Exception


class Catcher(Protocol):
    """Takes unexpected exceptions."""

    def caught(
        self,
        error: Exception,
        callback: Callback | None = None,
        args: tuple[Any, ...] = (),
        *,
        held: tuple[str, str] | None = None,
    ) -> bool:
        """Let the run go on without what raised *error*; False: it must be raised again.

        *callback* is what was called, with *args*; *held* is what its caller can leave out.
        """
        ...


class Timer:
    """A callback that is due at a time; `cancel()` makes it do nothing."""

    __slots__ = ("args", "at", "callback", "cause")

    def __init__(self, at: int, callback: Callback, args: tuple[Any, ...], cause: int) -> None:
        self.at = at
        self.callback: Callback | None = callback
        self.args: tuple[Any, ...] = args
        self.cause = cause

    def cancel(self) -> None:
        """Forget the callback. Cancelling twice, or after it ran, is harmless."""
        self.callback = None
        self.args = ()


class EventLoop:
    """Run callbacks in order of virtual time.

    Two callbacks due at the same nanosecond run in the order they were scheduled, so a run is a
    pure function of its scenario and seed. Callbacks must be bound methods of engine objects (or
    module functions): the loop is part of the pickled checkpoint.

    `now` is in nanoseconds. `clock` is what clocks show then, in nanoseconds since EPOCH: timestamps
    in objects are of the clock, and everything that is due is of `now`. `steps` counts the callbacks run so far; together with the pure history
    it names an exact position in the run. `cause` is the sequence number of the recorded event
    that led to what is running now; a callback inherits it from the callback that scheduled it.

    While `halted` is set nothing is run: set in the middle of a callback, it makes that callback the
    last for now. `failure` says why nothing will ever be run again.

    `boundary` takes what callbacks raise; without one it leaves the loop. `held` says what is not to
    be tried before a time: the owner of a queue, and a key. `trace` is None in a run; see
    engine.kernel.trace.
    """

    __slots__ = (
        "_at_once",
        "_before",
        "_pending",
        "_sequence",
        "ahead",
        "boundary",
        "cause",
        "failure",
        "held",
        "halted",
        "now",
        "steps",
        "trace",
    )

    def __init__(self, ahead: int = 0) -> None:
        """Virtual time 0 is *ahead* nanoseconds after EPOCH, in whole seconds."""
        self.now: int = 0
        self.ahead = ahead
        self.steps = 0
        self.halted = False
        self.failure = ""
        self.cause = 0
        self.boundary: Catcher | None = None
        self.held: dict[tuple[str, str], int] = {}
        self.trace: Trace | None = None
        self._sequence = self._before = 0
        self._pending: list[tuple[int, int, Timer]] = []
        # Due at this instant and scheduled since it began: they come after all that was due then.
        self._at_once: deque[Timer] = deque()

    @property
    def clock(self) -> int:
        """What clocks show now, in nanoseconds since EPOCH."""
        return self.now + self.ahead

    def call_at(self, at: int, callback: Callback, *args: Any) -> Timer:
        """Run *callback* once, at virtual time *at*.

        Raises ValueError when *at* lies in the past.
        """
        timer = Timer(at, callback, args, self.cause)
        if at > self.now:
            self._sequence += 1
            heappush(self._pending, (at, self._sequence, timer))
        elif at == self.now:
            self._at_once.append(timer)
        else:
            raise ValueError(f"at is {at}, before now ({self.now}); time only moves forward")
        return timer

    def call_after(self, delay: int, callback: Callback, *args: Any) -> Timer:
        """Run *callback* once, *delay* nanoseconds from now."""
        if delay:
            return self.call_at(self.now + delay, callback, *args)
        timer = Timer(self.now, callback, args, self.cause)
        self._at_once.append(timer)
        return timer

    def call_next(self, callback: Callback, *args: Any) -> Timer:
        """Run *callback* now, before everything else that is due."""
        timer = Timer(self.now, callback, args, self.cause)
        if self._pending and self._pending[0][0] == self.now:
            # Numbers count up from 1: none is less, but for an earlier one of these.
            self._before -= 1
            heappush(self._pending, (self.now, self._before, timer))
        else:
            self._at_once.appendleft(timer)
        return timer

    def is_held(self, owner: str, key: str) -> bool:
        """Whether what failed is not to be tried yet."""
        until = self.held.get((owner, key), 0)
        if until > self.now:
            return True
        self.held.pop((owner, key), None)
        return False

    def tell_each(
        self, watchers: Iterable[Callback], event: Any, of: Any, cause: int | None = None
    ) -> None:
        """Call each of *watchers* with *event*; one that fails does not keep it from the others.

        One that has failed with the object *of* the event, and is held back, is passed over. Each
        begins with *cause*, if given, or with what the one before has left. One boundary for all: a
        write has many watchers, most of which have little to do.
        """
        for watcher in watchers:
            if cause is not None:
                self.cause = cause
            if self.held and self.is_held(held_name(watcher), of.id):
                continue
            try:
                watcher(event)
            except _UNEXPECTED as error:
                if not self._catches(error, watcher, (event,)):
                    raise

    def tried(
        self, callback: Callable[..., Result], one: Any, *args: Any, key: str = ""
    ) -> Result | None:
        """What *callback* returns for *one*; None if it fails, or has failed, and is held back.

        For a pass over many: *one* has an `id`, or is a name, or *key* tells it from the others, which
        are looked at without it. When its delay has passed, its component begins anew and looks at it
        again.
        """
        if self.held and self.is_held(held_name(callback), key or _id_of(one)):
            return None
        try:
            return callback(one, *args)
        except _UNEXPECTED as error:
            args, held = (one, *args), (held_name(callback), key or _id_of(one))
            if self.boundary is None or not self.boundary.caught(error, callback, args, held=held):
                raise
        return None

    def tried_each(self, callback: Callback, many: Iterable[Any], *args: Any) -> None:
        """Call *callback* with each of *many*, as `tried` does."""
        for one in many:
            self.tried(callback, one, *args)

    def _catches(self, error: Exception, callback: Callback, args: tuple[Any, ...]) -> bool:
        return self.boundary is not None and self.boundary.caught(error, callback, args)

    def pending_arguments(self, callback: Callback | None = None) -> Iterator[tuple[Any, ...]]:
        """The arguments of pending calls of *callback*, or of all pending calls; in no fixed order."""
        for timer in self._timers():
            if timer.callback is not None and callback in (None, timer.callback):
                yield timer.args

    def fail(self, reason: str) -> None:
        """Make the running callback the last of all: what has ended nothing works without."""
        self.failure = self.failure or reason
        self.halted = True

    def cancel_of(self, owners: Sequence[object]) -> None:
        """Forget every callback that is a method of one of *owners*: their process has died."""
        for timer in self._timers():
            if is_method_of(timer.callback, owners):
                timer.cancel()

    def _timers(self) -> Iterator[Timer]:
        yield from self._at_once
        for _, _, timer in self._pending:
            yield timer

    @property
    def next_at(self) -> int | None:
        """When the next callback is due, or None when nothing is."""
        at_once, pending = self._at_once, self._pending
        while at_once and at_once[0].callback is None:
            at_once.popleft()
        while pending and pending[0][2].callback is None:
            heappop(pending)
        if at_once:
            return self.now
        return pending[0][0] if pending else None

    def run_next(self) -> bool:
        """Run the next callback, moving time to it; False when there is none, or when halted."""
        due = self.next_at
        if due is None or self.halted:
            return False
        self.run_due(due, self.steps + 1)
        return True

    def run(self, until: int) -> None:
        """Run everything due up to and including *until*, then rest at *until*, unless halted."""
        if self.run_due(until):
            self.rest_at(until)

    def run_due(self, until: int, last_step: int | None = None) -> bool:
        """Run what is due up to and including *until*.

        False when *last_step* was reached first, or when it was halted.
        """
        at_once, pending = self._at_once, self._pending
        limit = NEVER if last_step is None else last_step
        while not self.halted:
            # Calls that were due when this instant began run before those scheduled since, and
            # nothing is added to it.
            begins = bool(pending) and pending[0][0] == self.now
            while at_once and not begins:
                timer = at_once[0]
                callback = timer.callback
                if callback is None:
                    at_once.popleft()
                    continue
                if timer.at > until:
                    return True
                if self.steps >= limit:
                    return False
                at_once.popleft()
                self.steps += 1
                self.cause = timer.cause
                timer.callback = None
                try:
                    callback(*timer.args)
                except _UNEXPECTED as error:
                    if not self._catches(error, callback, timer.args):
                        raise
                if self.halted:
                    return False
            if not pending:
                return True
            at, _, timer = pending[0]
            callback = timer.callback
            if callback is None:
                heappop(pending)
                continue
            if at > until:
                return True
            if self.steps >= limit:
                return False
            heappop(pending)
            self.now = at
            self.steps += 1
            self.cause = timer.cause
            timer.callback = None
            try:
                callback(*timer.args)
            except _UNEXPECTED as error:
                if not self._catches(error, callback, timer.args):
                    raise
        return False

    def rest_at(self, at: int) -> None:
        """Move time to *at* without running anything.

        Raises ValueError when something is still due before *at*.
        """
        due = self.next_at
        if due is not None and due < at:
            raise ValueError(f"cannot rest at {at}: a callback is due at {due}")
        self.now = max(self.now, at)
        self.cause = 0


NEVER: Final = 1 << 62
"""Later than any virtual time."""


def held_name(callback: Callback) -> str:
    """Under this name the boundary holds back that with which *callback* has failed."""
    of = type(getattr(callback, "__self__", None)).__name__
    return f"{of}.{getattr(callback, '__name__', '')}"


class Failed(NamedTuple):
    """What was called has raised an exception."""

    error: Exception


def attempted(call: Callable[..., Result], *args: Any) -> Result | Failed:
    """What *call* returns, or that it failed."""
    try:
        return call(*args)
    except _UNEXPECTED as error:
        return Failed(error)


def _id_of(one: Any) -> str:
    return getattr(one, "id", one)


def is_method_of(callback: object, owners: Sequence[object]) -> bool:
    """Whether *callback* is a bound method of one of *owners*."""
    bound_to = getattr(callback, "__self__", None)
    return bound_to is not None and any(bound_to is owner for owner in owners)
