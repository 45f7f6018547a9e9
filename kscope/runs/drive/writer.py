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
from typing import IO, Any

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


def slice_write(run_id: int, epoch: int, commit: slices.Commit) -> slices.Controls:
    """Commit a slice and publish the new head. Raises what `slices.slice_commit` raises."""
    seq = commit.head.seq
    with bound(run=run_id, epoch=epoch, seq=seq):
        controls = slices.slice_commit(run_id, epoch, commit)
        publish_slice(run_id, commit.outcomes)
    return controls


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
        message = {"database": database_name(), "slice": (run_id, epoch, commit)}
        try:
            _put(self._to, message)
        except OSError as broken:
            raise OperationalError(f"the writing process has ended: {broken}") from broken

    def answer(self) -> slices.Controls:
        """What came of the slice sent last. Raises LostLease, OperationalError, RuntimeError."""
        found = _get(self._from)
        if found is None:
            raise OperationalError("the writing process has ended without an answer")
        what, value = found
        if what == "lost":
            raise slices.LostLease(value)
        if what == "database":
            raise OperationalError(value)
        if what == "problem":
            raise RuntimeError(value)
        controls: slices.Controls = value
        return controls

    def close(self) -> None:
        """Let it end."""
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()
        self._child.wait()


def _put(pipe: IO[bytes], message: Any) -> None:
    text = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(text)))
    pipe.write(text)
    pipe.flush()


def _get(pipe: IO[bytes]) -> Any:
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    size = _LENGTH.unpack(head)[0]
    text = pipe.read(size)
    return pickle.loads(text) if len(text) == size else None


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
    requests = sys.stdin.buffer
    while select.select([requests], [], [], IDLE_SECONDS)[0]:
        message = _get(requests)
        if message is None:
            return
        _put(answers, _written(message))
        if not select.select([requests], [], [], 1.0)[0]:
            connection.close()


def _written(message: dict[str, Any]) -> tuple[str, Any]:
    database_use(message["database"])
    try:
        controls = slice_write(*message["slice"])
    except slices.LostLease as lost:
        return "lost", str(lost)
    except (OperationalError, InterfaceError) as problem:
        note_if_full(problem)
        connection.close()
        return "database", str(problem)
    except Exception:  # noqa: BLE001 the worker reports any of them
        return "problem", traceback.format_exc()
    return "written", controls
