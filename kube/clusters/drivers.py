"""Drives the runs of simulated clusters in threads, in the place of workers."""

import threading

from django.db import connection

from kscope.runs.drive.runner import run_drive
from kscope.runs.drive.slices import run_needs_driver


class Drivers:
    """A thread for each run that has something to do, as long as it has."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._driven: set[int] = set()

    def enqueue(self, run_id: int) -> None:
        """Have the run driven: what `registry.enqueue` is for."""
        with self._lock:
            if run_id in self._driven:
                return
            self._driven.add(run_id)
        name = f"driver of run {run_id}"
        threading.Thread(target=self._drive, args=[run_id], name=name, daemon=True).start()

    def _drive(self, run_id: int) -> None:
        try:
            while True:
                run_drive(run_id)
                with self._lock:
                    # Looked at under the lock: who enqueues later starts a thread again.
                    if not _needs_driver(run_id):
                        self._driven.remove(run_id)
                        return
        except BaseException:
            with self._lock:
                self._driven.discard(run_id)
            raise
        finally:
            connection.close()


def _needs_driver(run_id: int) -> bool:
    with connection.cursor() as cursor:
        return bool(run_needs_driver(cursor, [run_id]))
