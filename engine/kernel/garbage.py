"""When Python looks for garbage, which nothing here makes much of."""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """While objects are read, or an engine is made, computes, is frozen or thawed.

    These are millions of new objects and no garbage among them: collections would double the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
