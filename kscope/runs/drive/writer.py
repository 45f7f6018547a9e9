"""Writing slices in a process beside the worker's: for runs that fill a core with computing alone.

A thread that writes needs the interpreter dozens of times per slice, and each time it takes it from
the engine. This process takes finished slices from a pipe instead, one after the other, and answers
each with what the user wanted as of its commit. It is the worker's own child: it ends with it.
"""

import contextlib
import os
import pickle
import select
import signal
import struct
import sys
import traceback
from dataclasses import dataclass
from typing import IO, Literal, TypeVar

from django.db import InterfaceError, OperationalError, connection

from kscope.logs import bound
from kscope.runs.app_registry import registry
from kscope.runs.drive import slices
from kscope.runs.drive.same_database import database_name, database_use
from kscope.runs.nudges import note_if_full, publish_slice
from kscope.up.processes import Call, start_function

IDLE_SECONDS = 120.0
_LENGTH = struct.Struct("!Q")
_READY = b"!"
T = TypeVar("T")


def slice_write(run_id: int, epoch: int, commit: slices.Commit) -> slices.Controls:
    """Commit a slice and publish the new head. Raises what `slices.slice_commit` raises."""
    seq = commit.head.seq
    with bound(run=run_id, epoch=epoch, seq=seq):
        controls = slices.slice_commit(run_id, epoch, commit)
        publish_slice(run_id, commit.outcomes)
    return controls


@dataclass(frozen=True, slots=True)
class Order:
    """A slice that the process is to write, and the database that has its run."""

    database: str
    run_id: int
    epoch: int
    commit: slices.Commit


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a slice was not written: see `Writer.answer`."""

    by: Literal["lease", "database", "problem"]
    reason: str

    def error(self) -> Exception:
        """What the worker raises."""
        if self.by == "lease":
            return slices.LostLease(self.reason)
        return (OperationalError if self.by == "database" else RuntimeError)(self.reason)


Answer = slices.Controls | Refusal


class Writer:
    """The worker's end of the pipe. Slices do not wait for the process to start, which may take a second."""

    def __init__(self) -> None:
        slices_out, answers_out = os.pipe(), os.pipe()
        call = Call("writer", "kscope.runs.drive.writer:main", outlives=True)
        self._child = start_function(call, stdin=slices_out[0], stdout=answers_out[1])
        os.close(slices_out[0])
        os.close(answers_out[1])
        self._to: IO[bytes] = os.fdopen(slices_out[1], "wb")
        self._from: IO[bytes] = os.fdopen(answers_out[0], "rb")
        self._ready = False

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._child.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it has started and waits for slices."""
        if not self._ready and self.is_alive and select.select([self._from], [], [], 0)[0]:
            self._ready = self._from.read(1) == _READY
        return self._ready and self.is_alive

    def send(self, run_id: int, epoch: int, commit: slices.Commit) -> None:
        """Begin to write a slice.

        Raises OperationalError when the process has ended.
        """
        try:
            _put(self._to, Order(database_name(), run_id, epoch, commit))
        except OSError as broken:
            raise OperationalError(f"the writing process has ended: {broken}") from broken

    def answer(self) -> slices.Controls:
        """What came of the slice sent last. Raises LostLease, OperationalError, RuntimeError."""
        found = _get(self._from, slices.Controls, Refusal)
        if found is None:
            raise OperationalError("the writing process has ended without an answer")
        if isinstance(found, Refusal):
            raise found.error()
        return found

    def close(self) -> None:
        """Let it end."""
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()
        self._child.wait()


def _put(pipe: IO[bytes], message: Order | Answer) -> None:
    text = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(text)))
    pipe.write(text)
    pipe.flush()


def _get(pipe: IO[bytes], *kinds: type[T]) -> T | None:
    """The next message, which is of one of these *kinds*; None at the end."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    text = pipe.read(size)
    if len(text) < size:
        return None
    found = pickle.loads(text)
    assert isinstance(found, kinds), f"the pipe carries a {type(found).__name__}"
    return found


# The child.


def main() -> None:
    """Write slices until none comes for a while, or the worker has ended."""
    # Who stops the worker lets it finish its slice; that slice is this process's work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Stray prints must not come between the answers.
    os.dup2(2, 1)
    answers.write(_READY)
    answers.flush()
    registry.process_began("writer")
    orders = sys.stdin.buffer
    while select.select([orders], [], [], IDLE_SECONDS)[0]:
        order = _get(orders, Order)
        if order is None:
            return
        _put(answers, _written(order))
        if not select.select([orders], [], [], 1.0)[0]:
            connection.close()


def _written(order: Order) -> Answer:
    database_use(order.database)
    try:
        return slice_write(order.run_id, order.epoch, order.commit)
    except slices.LostLease as lost:
        return Refusal("lease", str(lost))
    except (OperationalError, InterfaceError) as problem:
        note_if_full(problem)
        connection.close()
        return Refusal("database", str(problem))
    except Exception:  # noqa: BLE001 the worker reports any of them
        return Refusal("problem", traceback.format_exc())
