"""Writing a slice while the next one is computed: one slice behind, in a thread or a process.

The engine and the database each take their part of a run's time, and each waits for the other when
they take turns. So the runner hands a finished slice over and goes on computing; it waits only when
the slice before that one is still being written. The runner writes what a user waits for (the outcome of a
command, a step, the end) before it continues. See docs/adr/0014.
"""

from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import OperationalError, connection

from kscope.runs.drive import slices
from kscope.runs.drive.writer import Writer, slice_write

# A run with slices of so many events keeps a core busy, and gets a process to write them.
BIG_SLICE = settings.WRITER_EVENTS

# One for all the runs that this worker drives, one after the other.
_writer: Writer | None = None


class Committer:
    """Commits the slices of one ownership of a run, in order, at most one behind the engine."""

    def __init__(self, run_id: int, epoch: int) -> None:
        self._owned = run_id, epoch
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"commit-{run_id}")
        self._writing: Future[slices.Controls] | Writer | None = None

    def begin(self, commit: slices.Commit) -> slices.Controls | None:
        """Start writing a slice.

        Returns what the user wanted as of the slice before, which is written by now; None when
        there was none. Raises what went wrong with that one: LostLease, or a database error.
        """
        before = self.wait()
        # A first state is large, and comes once.
        writer = _writer_for(commit.packed) if commit.head.steps else None
        if writer is None:
            self._writing = self._thread.submit(slice_write, *self._owned, commit)
        else:
            writer.send(*self._owned, commit)
            self._writing = writer
        return before

    def wait(self) -> slices.Controls | None:
        """Until nothing is being written. Returns and raises as `begin`."""
        writing, self._writing = self._writing, None
        if writing is None:
            return None
        return writing.answer() if isinstance(writing, Writer) else writing.result()

    def close(self) -> None:
        """Let what is being written be finished, and end the thread. Raises nothing."""
        if isinstance(self._writing, Writer):
            try:
                self.wait()
            except (OperationalError, slices.LostLease, RuntimeError):
                writer_close()
        self._thread.submit(_hang_up)
        self._thread.shutdown(wait=True)


def writer_close() -> None:
    """End the process that writes big slices, if there is one."""
    global _writer
    writer, _writer = _writer, None
    if writer is not None:
        writer.close()


def _writer_for(piece: slices.Packed) -> Writer | None:
    """The process, once it is there; a first big slice has it started, and does not wait."""
    global _writer
    if _writer is not None and not _writer.is_alive:
        writer_close()
    if _writer is None and len(piece.rows) >= BIG_SLICE:
        _writer = Writer()
    return _writer if _writer is not None and _writer.is_ready else None


def _hang_up() -> None:
    """Close the connection of the thread that runs this."""
    connection.close()
