"""Waiting in a thread for what a worker will write, while enough threads stay free for others."""

import time
from collections.abc import Iterator
from threading import BoundedSemaphore

from django.db import close_old_connections

from kscope.runs.capacity import requests_at_once

MOST = 32  # threads that wait; further ones do not wait
_SHORTEST, _LONGEST, _GROWTH = 0.03, 0.25, 1.3
_threads = BoundedSemaphore(MOST)


def moments(seconds: float) -> Iterator[None]:
    """The moments at which to look again, for *seconds*; none when too many wait already.

    Between them the thread holds neither its place among the requests nor a connection.
    """
    if not _threads.acquire(blocking=False):
        return
    try:
        deadline, pause = time.monotonic() + seconds, _SHORTEST
        yield
        requests_at_once.leave()
        while time.monotonic() < deadline:
            close_old_connections()
            time.sleep(pause)
            pause = min(pause * _GROWTH, _LONGEST)
            yield
    finally:
        _threads.release()
