"""Writing slices while the next ones are computed: in a few threads, or by a process.

The engine and the database each take their part of a run's time, and each waits for the other when
they take turns. So a driver hands a finished slice over and goes on computing; it waits only when
the slice before that one is still being written. It waits for what a user waits for (the outcome of a
command, a step, the end) before it continues. See docs/adr/0014.

Where the database cannot be reached, the slice is written once more (outage.py).
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, repeat
from weakref import WeakSet

from django.conf import settings
from django.db import connection
from psycopg import Connection
from psycopg.rows import TupleRow

from kscope.runs.drive import outage, slices
from kscope.runs.drive.writer import Writer, slice_write
from kscope.runs.nudges import publish_slice

# A run with slices of so many events keeps a core busy, and gets a process to write them.
BIG_SLICE = settings.WRITER_EVENTS

# One for all the runs of this process; it writes one slice after the other.
_writer: Writer | None = None
_writer_lock = threading.Lock()


class Committer:
    """Commits slices of the runs of one loop; of each run one at a time."""

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="commit")
        self._links: WeakSet[Connection[TupleRow]] = WeakSet()

    def write(
        self, run_id: int, epoch: int, commit: slices.Commit, written: Callable[[], None]
    ) -> "Future[slices.Controls]":
        """Begin to write a slice. *written* is called in another thread, however it ends.

        What comes of it is what the user wants as of the commit, LostLease, or a database error.
        """
        writing = self._threads.submit(self._write, run_id, epoch, commit)
        writing.add_done_callback(lambda _: written())
        return writing

    def _write(self, run_id: int, epoch: int, commit: slices.Commit) -> slices.Controls:
        attempts = chain([self._try], repeat(self._try_again))
        return outage.waited_for(
            lambda: next(attempts)(run_id, epoch, commit), f"a slice of run {run_id}"
        )

    def _try_again(self, run_id: int, epoch: int, commit: slices.Commit) -> slices.Controls:
        """As `_try`, after an attempt that may have been written though no answer came."""
        try:
            return self._try(run_id, epoch, commit)
        except slices.LostLease:
            controls = slices.controls_at(run_id, epoch, commit.head)
            if controls is None:
                raise
            publish_slice(run_id, commit.outcomes)
            return controls

    def _try(self, run_id: int, epoch: int, commit: slices.Commit) -> slices.Controls:
        writer = _writer_for(commit)
        if writer is not None:
            with _writer_lock:
                writer.send(run_id, epoch, commit)
                return writer.answer()
        try:
            return slice_write(run_id, epoch, commit)
        finally:
            if connection.connection is not None:
                self._links.add(connection.connection)

    def close(self) -> None:
        """Let what is being written be finished, and end the threads. Raises nothing."""
        self._threads.shutdown(wait=True)
        for link in list(self._links):
            link.close()


def writer_close() -> None:
    """End the process that writes big slices, if there is one."""
    global _writer
    writer, _writer = _writer, None
    if writer is not None:
        writer.close()


def _writer_for(commit: slices.Commit) -> Writer | None:
    """The process, once it is there; a first big slice has it started, and does not wait.

    A first state is large in any case, and no slice need follow it.
    """
    global _writer
    with _writer_lock:
        if _writer is not None and not _writer.is_alive:
            writer_close()
        if _writer is None and commit.head.steps and len(commit.packed.rows) >= BIG_SLICE:
            _writer = Writer()
        return _writer if _writer is not None and _writer.is_ready else None
