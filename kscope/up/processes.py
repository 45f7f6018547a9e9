"""Processes that call one function of kscope.

    start_function ── Call, stdin, stdout, stderr ──▶ loader ── fork ──▶ the process
                   ◀─────── pid, exit status ────────
                   ───────────── signals ───────────▶

Below `up` a loader has loaded kscope already and forks the process from itself, which takes
milliseconds. Elsewhere, or while there is no loader, it is a Python of its own, which takes seconds
to load. Needs only the standard library, because `up` loads nothing else.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

LOADER = "KSCOPE_LOADER"
"""The variable of the environment that names the loader's socket."""
ROOM = Path(__file__).resolve().parents[2]


class Process(Protocol):
    """What is used of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None:
        """The exit status, negative for a signal, or None while it runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once it has ended. Raises subprocess.TimeoutExpired."""
        ...

    def send_signal(self, sig: int, /) -> None:
        """Send a signal, unless it has ended."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """A call of *function* ("module:function") that is to find *words* in `sys.argv`.

    *name* is what lists of processes show. The process ends when its starter does, unless it
    *outlives* that.
    """

    name: str
    function: str
    words: Sequence[str] = ()
    outlives: bool = False

    def to_text(self) -> str:
        """For `from_text`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Call":
        """What `to_text` wrote."""
        return cls(**json.loads(text))

    def carry_out(self) -> None:
        """Call the function: all that this process is there for."""
        module, _, name = self.function.partition(":")
        sys.argv = [self.name, *self.words]
        getattr(import_module(module), name)()


class ForkedProcess:
    """A Process that the loader has forked. It ends when this end of the *link* is closed."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._heard = b""
        self._pid: int | None = None
        self._code: int | None = None
        self._listening = threading.Lock()

    @property
    def pid(self) -> int:
        while self._pid is None and self._code is None:
            self._listen(None)
        return self._pid or 0

    def poll(self) -> int | None:
        """See Process."""
        self._listen(0.0)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """See Process."""
        ends = None if timeout is None else time.monotonic() + timeout
        while self._code is None:
            left = None if ends is None else max(ends - time.monotonic(), 0.0)
            if not self._listen(left):
                assert timeout is not None
                raise subprocess.TimeoutExpired(f"process {self._pid}", timeout)
        return self._code

    def send_signal(self, sig: int, /) -> None:
        """See Process. The loader sends it: it knows whether the process still has its number."""
        if self._code is None:
            with suppress(OSError):
                self._link.settimeout(None)
                self._link.sendall(f"{int(sig)}\n".encode())

    def _listen(self, seconds: float | None) -> bool:
        """Take in what the loader says within *seconds*; whether there is something new."""
        # One thread may wait for the end while another one asks whether it has come.
        if not self._listening.acquire(timeout=-1 if seconds is None else seconds):
            return False
        try:
            return self._code is not None or self._hear(seconds)
        finally:
            self._listening.release()

    def _hear(self, seconds: float | None) -> bool:
        self._link.settimeout(seconds)
        try:
            said = self._link.recv(64)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError:
            said = b""
        self._heard += said
        *lines, self._heard = self._heard.split(b"\n")
        numbers = [int(line) for line in lines]
        if self._pid is None and numbers:
            self._pid = numbers.pop(0)
        if numbers:
            self._code = numbers[0]
        elif not said:
            # The loader has gone, and with it what it had forked.
            self._code = -signal.SIGKILL
        if self._code is not None:
            self._link.close()
        return True


def has_loader() -> bool:
    """Whether there is a loader, so that a process takes milliseconds to start."""
    return bool(os.environ.get(LOADER))


def start_function(call: Call, *, stdin: int, stdout: int) -> Process:
    """Start the process of a call; its stderr is ours."""
    loader = os.environ.get(LOADER)
    if loader:
        with suppress(OSError):
            return forked(Path(loader), call, (stdin, stdout, sys.stderr.fileno()))
    command = [sys.executable, "-m", "kscope.process_loader", call.to_text()]
    return subprocess.Popen(command, stdin=stdin, stdout=stdout, cwd=ROOM)


def forked(loader: Path, call: Call, files: tuple[int, int, int]) -> ForkedProcess:
    """Have the loader at that socket fork the process of a call. Raises OSError.

    *files* become its stdin, stdout and stderr.
    """
    link = socket.socket(socket.AF_UNIX)
    try:
        link.connect(str(loader))
        socket.send_fds(link, [call.to_text().encode() + b"\n"], files)
    except OSError:
        link.close()
        raise
    return ForkedProcess(link)
