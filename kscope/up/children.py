"""Child processes that cannot outlive us.

Each child leads its own process group, so that Ctrl-C in the terminal reaches only `up`, which then
stops them in the right order. On Linux the kernel signals a child when its parent dies, so that
even `kill -9` of `up` leaves nothing; elsewhere the next start sweeps what `run.json` lists.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from kscope.up.processes import Call, Process, forked
from kscope.up.stop_request import StopAsked, obey_stop_request

POLL_S = 0.02
PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


class StartError(Exception):
    """Something could not be started; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class User:
    """An unprivileged account that a server runs as."""

    name: str
    uid: int
    gid: int


class ProcessArguments(TypedDict, total=False):
    """Arguments of `subprocess.Popen` about the context of a process."""

    env: dict[str, str]
    cwd: Path
    process_group: int
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """Where a process runs: its environment, its folder, and its account if not that of `up`."""

    env: Mapping[str, str]
    cwd: Path
    user: User | None = None

    @property
    def arguments(self) -> ProcessArguments:
        """Arguments of `subprocess.Popen`. The process gets a process group of its own."""
        found: ProcessArguments = {"env": dict(self.env), "cwd": self.cwd, "process_group": 0}
        if self.user is not None:
            found |= {"user": self.user.uid, "group": self.user.gid, "extra_groups": []}
        return found


def die_with_parent(signum: int = signal.SIGKILL) -> None:
    """Ask the kernel to send *signum* to this process when the thread that forked it ends."""
    if _LIBC is None:
        return
    parent = os.getppid()
    _LIBC.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:  # it died before the kernel knew
        os.kill(os.getpid(), signum)


@dataclass(slots=True)
class Child:
    """One running child: its name for people, its process, its log, how it is asked to stop."""

    name: str
    process: Process
    log: Path
    stop_signals: Sequence[tuple[int, float]]
    """Signals to try in turn, each with the seconds it gets before the next."""
    asked: bool = False

    @property
    def pid(self) -> int:
        return self.process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative for the number of the signal that ended it."""
        return self.process.poll()

    def ask(self) -> None:
        """Send the first signal and go on, so that several may stop at once."""
        if not self.asked and self.exit_code() is None:
            self.asked = True
            self.process.send_signal(self.stop_signals[0][0])

    def stop(self) -> None:
        """Ask, then insist, then kill; returns when it is gone."""
        self.ask()
        for turn, (signum, patience_s) in enumerate((*self.stop_signals, (signal.SIGKILL, 10.0))):
            if self.exit_code() is not None:
                return
            if turn > 0:
                self.process.send_signal(signum)
            try:
                self.process.wait(patience_s)
            except subprocess.TimeoutExpired:
                continue

    def log_tail(self, lines: int = 12) -> str:
        """The end of its log, indented, for a message."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


def start_child(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    context: ProcessContext,
    stdin: int = subprocess.DEVNULL,
    death_signal: int = signal.SIGKILL,
    stop_signals: Sequence[tuple[int, float]] = ((signal.SIGTERM, 10.0),),
) -> Child:
    """Start *command* with its output in *log*; *death_signal* ends it when `up` is killed.

    Call from the main thread only: the kernel ties the child to the thread that forks it.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = subprocess.Popen(
            [os.fspath(word) for word in command],
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Runs after the change of user, which would clear the death signal.
            preexec_fn=lambda: die_with_parent(death_signal),
            **context.arguments,
        )
    return Child(name, process, log, stop_signals)


def fork_child(
    call: Call,
    *,
    loader: Path,
    log: Path,
    stop_signals: Sequence[tuple[int, float]] = ((signal.SIGTERM, 10.0),),
) -> Child:
    """Have the loader fork the process of *call*, with its output in *log*. Raises OSError."""
    with log.open("ab") as output, Path(os.devnull).open("rb") as nothing:
        files = (nothing.fileno(), output.fileno(), output.fileno())
        return Child(call.name, forked(loader, call, files), log, stop_signals)


def wait_for_end(child: Child, *, failure: str) -> None:
    """Wait until a child has done its work.

    Raises StartError with *failure* and the end of its log when it fails, StopAsked when `up` is
    asked to stop meanwhile; the child is killed then.
    """
    while (code := child.exit_code()) is None:
        try:
            obey_stop_request()
        except StopAsked:
            child.process.send_signal(signal.SIGKILL)
            child.process.wait()
            raise
        time.sleep(POLL_S)
    if code:
        raise StartError(f"{failure}\n{child.log_tail()}\nAll of it is in {child.log}.")


def run_to_end(command: Sequence[str | Path], *, context: ProcessContext, failure: str) -> str:
    """Run a short command and return its output.

    Raises StartError with *failure* and the end of the output when it fails, StopAsked when `up`
    is asked to stop meanwhile; the command is killed then.
    """
    process = subprocess.Popen(
        [os.fspath(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=die_with_parent,
        **context.arguments,
    )
    output = _output_of(process).decode(errors="replace")
    if process.returncode:
        end = "\n".join(f"    {line}" for line in output.splitlines()[-12:])
        raise StartError(f"{failure}\n{end}")
    return output


def _output_of(process: "subprocess.Popen[bytes]") -> bytes:
    while True:
        try:
            return process.communicate(timeout=POLL_S)[0]
        except subprocess.TimeoutExpired:
            try:
                obey_stop_request()
            except StopAsked:
                process.kill()
                process.communicate()
                raise


def wait_until(ready: Callable[[], bool], child: Child, *, patience_s: float, what: str) -> None:
    """Wait until *ready* holds for *child*; if that does not come about, *child* is stopped.

    Raises StartError with the end of its log when it ends or is late, StopAsked when `up` is asked
    to stop meanwhile.
    """
    try:
        _wait_until(ready, child, patience_s=patience_s, what=what)
    except (StartError, StopAsked):
        child.stop()
        raise


def _wait_until(ready: Callable[[], bool], child: Child, *, patience_s: float, what: str) -> None:
    deadline = time.monotonic() + patience_s
    while not ready():
        obey_stop_request()
        code = child.exit_code()
        if code is not None:
            raise StartError(
                f"{child.name} {describe_exit(code)} while starting. Its log, {child.log}, ends:\n"
                f"{child.log_tail()}"
            )
        if time.monotonic() > deadline:
            raise StartError(
                f"{child.name} did not {what} within {patience_s:.0f} s. Its log, {child.log}, ends:\n"
                f"{child.log_tail()}"
            )
        time.sleep(POLL_S)


def describe_exit(code: int) -> str:
    """`exited with status 3` or `was ended by SIGKILL`."""
    if code >= 0:
        return f"exited with status {code}"
    return f"was ended by {signal.Signals(-code).name}"
