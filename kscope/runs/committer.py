"""Writing a slice while the next one is computed: one thread, one connection, one slice ahead.

The engine and the database each take their half of a run's time, and each waits for the other when
they take turns. So the runner hands a finished slice over and goes on computing; it waits only when
the slice before that one is still being written. What a user is waiting for (the outcome of a
command, a step, the end) is written before the runner goes on.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connection

from kscope.runs import slices
from kscope.runs.nudges import publish_head


class Committer:
    """Commits the slices of one ownership of a run, in order, at most one behind the engine."""

    def __init__(self, run_id: int, epoch: int) -> None:
        self._run_id = run_id
        self._epoch = epoch
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"commit-{run_id}")
        self._writing: Future[slices.Controls] | None = None

    def begin(self, head: slices.Head, **slice_: Any) -> slices.Controls | None:
        """Start writing a slice (the arguments are those of `slices.slice_commit`).

        Returns what the user wanted as of the slice before, which is written by now; None when
        there was none. Raises what went wrong with that one: LostLease, or a database error.
        """
        before = self.wait()
        self._writing = self._thread.submit(self._write, head, slice_)
        return before

    def wait(self) -> slices.Controls | None:
        """Until nothing is being written. Returns and raises as `begin`."""
        writing, self._writing = self._writing, None
        return None if writing is None else writing.result()

    def close(self) -> None:
        """End the thread, when what it writes is written. Raises nothing."""
        self._thread.submit(_hang_up)
        self._thread.shutdown(wait=True)

    def _write(self, head: slices.Head, slice_: dict[str, Any]) -> slices.Controls:
        controls = slices.slice_commit(run_id=self._run_id, epoch=self._epoch, head=head, **slice_)
        publish_head(self._run_id, head.seq)
        return controls


def _hang_up() -> None:
    """Close the connection of the thread that runs this."""
    connection.close()
