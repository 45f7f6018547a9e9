"""What cannot be left in the middle, in pieces: a thread that computes only while it is waited for.

Pickle computes until it is done. But it writes to a file, or reads from one, some dozen kilobytes
at a time, and there it can be made to wait. So it has a thread of its own, and of the two threads
one always waits for the other:

    the loop   ──next──┐ waits        ┌─ others have turns ─next─┐ waits      ┌─ the result
    the thread         └── computes ──┘ waits                    └─ computes ─┘

Nothing is computed at the same time, and nobody sees an engine that another thread is changing.
"""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
Pause = Callable[[], None]

PIECE_SECONDS = 0.01  # after which others should have a turn


class _GivenUp(BaseException):
    """Nobody waits for the rest."""


def in_pieces(compute: Callable[[Pause], T]) -> Generator[None, None, T]:
    """What *compute* returns, in steps: it calls the function that it is given wherever it may wait.

    What it looks at must not change between two steps. Raises what it raises.
    """
    handing, outcome = _Handing(), Future[T]()

    def run() -> None:
        try:
            handing.await_turn()
            outcome.set_result(compute(handing.pause))
        except BaseException as problem:  # noqa: BLE001 the other thread raises it
            outcome.set_exception(problem)
        finally:
            handing.end_turn()

    thread = threading.Thread(target=run, name="pieces", daemon=True)
    thread.start()
    try:
        handing.give_turn()
        while not outcome.done():
            yield
            handing.give_turn()
        return outcome.result()
    finally:
        if not outcome.done():
            handing.give_up()
        thread.join()


class _Handing:
    """Whose turn it is, of two threads."""

    def __init__(self) -> None:
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_given_up = False
        self._since = 0.0

    def give_turn(self) -> None:
        """Let the other thread compute; returns when it pauses or is done."""
        self._go.release()
        self._back.acquire()

    def give_up(self) -> None:
        """Have it end instead."""
        self._is_given_up = True
        self.give_turn()

    def pause(self) -> None:
        """In the other thread: wait for the next turn, if this one has lasted long enough."""
        if time.monotonic() - self._since >= PIECE_SECONDS:
            self.end_turn()
            self.await_turn()

    def await_turn(self) -> None:
        """In the other thread. Raises _GivenUp."""
        self._go.acquire()
        if self._is_given_up:
            raise _GivenUp
        self._since = time.monotonic()

    def end_turn(self) -> None:
        """In the other thread."""
        self._back.release()
