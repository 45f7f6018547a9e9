"""How the drivers in the pool of a worker learn that the worker is to stop.

A warm shutdown waits for tasks to end, and the task of a playing run ends only when another run
waits for its turn. So the main process raises a flag that its children see: one byte of memory that
was shared when they were forked. A driver that sees it commits, gives its lease back, and leaves
the run to the next worker.
"""

import mmap

_flag = mmap.mmap(-1, 1)


class Stopping(Exception):
    """This worker is about to end: the run was left as it was last committed."""


def stop_unask() -> None:
    """Begin with a flag that no other worker has seen, in the main process of a worker."""
    # The loader, from which workers are forked, has one as well, and so have those before us.
    global _flag
    _flag = mmap.mmap(-1, 1)


def stop_ask() -> None:
    """Let all drivers of this worker end soon."""
    _flag[0] = 1


def is_stopping() -> bool:
    """Whether this worker was asked to stop."""
    return _flag[0] == 1
