"""Drives the runs of simulated clusters in a thread, in the place of workers."""

import threading
from functools import partial

from django.db import connection

from kscope.runs.drive.hosting.loop import Loop


class Drivers:
    """A loop over the runs that have something to do; its thread begins with the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: Loop | None = None

    def enqueue(self, run_id: int) -> None:
        """Have the run driven: what `registry.enqueue` is for."""
        with self._lock:
            if self._loop is None:
                self._loop = Loop(is_alone=False)
                threading.Thread(target=self._drive, name="drivers", daemon=True).start()
        self._loop.put(partial(self._loop.adopt, run_id))

    def _drive(self) -> None:
        assert self._loop is not None
        try:
            self._loop.run(forever=True)
        finally:
            connection.close()
