"""Waiting for an event in a test.

A busy machine may be slow by any factor, so a test waits for what it wants to see and not for a
time. The guard only ends a test that would otherwise hang for ever.
"""

import os
import time
from collections.abc import Callable

HANG_SECONDS = float(os.environ.get("KSCOPE_TEST_PATIENCE") or 300)


def wait_for(
    holds: Callable[[], object], what: Callable[[], object] | str = "", *, every: float = 0.02
) -> None:
    """Return as soon as *holds* is true; AssertionError with *what* when that never comes."""
    guard = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < guard, what() if callable(what) else what
        time.sleep(every)
