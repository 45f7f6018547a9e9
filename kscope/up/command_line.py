"""How a command ends when its reader has gone or its user interrupts it: without a traceback.

Needs only the standard library, because `manage.py up` loads nothing else.
"""

import errno
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import TextIO

INTERRUPTED = 128 + signal.SIGINT
READER_GONE = 128 + signal.SIGPIPE
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def run_command(command: Callable[[], int]) -> int:
    """The exit status of *command*; 141 when the reader of its output has gone (`| head`)."""
    try:
        return _flushed(command)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        discard_output(sys.stdout)
        return INTERRUPTED
    except OSError as problem:
        if isinstance(problem, BrokenPipeError) and _reader_has_gone():
            discard_output(sys.stdout, sys.stderr)
            return READER_GONE
        if problem.errno in _DISK_FULL:
            discard_output(sys.stdout)
            print(f"The output could not be written: {problem.strerror}.", file=sys.stderr)
            return 1
        raise


def say(text: str, stream: TextIO | None = None) -> None:
    """Print a line of a command that continues even when its output is no longer read."""
    output: TextIO = stream or sys.stdout
    try:
        print(text, file=output, flush=True)
    except OSError:
        discard_output(output)


def discard_output(*streams: TextIO) -> None:
    """Let what was and what will be printed to *streams* go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _flushed(command: Callable[[], int]) -> int:
    """Flush now rather than while the interpreter ends, where an error could not be caught."""
    try:
        status = command()
    except SystemExit:
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return status


def _reader_has_gone() -> bool:
    """Whether a pipe that we print to is closed at its other end; else a socket was meant."""
    poll = select.poll()
    for stream in (sys.stdout, sys.stderr):
        poll.register(stream.fileno(), 0)
    return any(found & select.POLLERR for _, found in poll.poll(0))
