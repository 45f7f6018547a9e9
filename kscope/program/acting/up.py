"""`kscope up`: the pages on this machine, until Ctrl-C."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from kscope.program.grammar import Request
from kscope.program.places import ROOM, data_folder
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from kscope.up.children import StartError
from kscope.up.options import Options
from kscope.up.supervisor import serve

# The one line that is the answer.
_ADDRESS = "kscope is at "
_LAST_PORT = 65_535


def answer_up(request: Request, screen: Screen) -> int:
    """Start, and stay until it is asked to stop: 0 then, 4 when a server ended by itself."""
    if request.words:
        raise ProgramError(f"up takes no {request.words[0]}", helps=["kscope up --help"])
    options = _options(request)
    _check_port(options)
    try:
        options.data.mkdir(parents=True, exist_ok=True)
        with _answer_apart():
            status = serve(options)
    except StartError as problem:
        first, *rest = str(problem).splitlines()
        raise ProgramError(first, helps=rest, status=Status.INTERNAL) from problem
    return Status.INTERNAL if status else Status.FINE


def _options(request: Request) -> Options:
    environment = os.environ
    port = request["port"] or environment.get("KSCOPE_PORT") or environment.get("PORT") or "8000"
    given = request["data"]
    return Options(
        room=ROOM,
        data=Path(given).expanduser().resolve() if given else data_folder(),
        host=request["host"] or environment.get("KSCOPE_HOST") or "127.0.0.1",
        port=_number(port, "--port", _LAST_PORT),
        workers=_number(
            request["workers"] or environment.get("KSCOPE_WORKERS") or "2", "--workers", 64
        ),
    )


def _number(text: str, flag: str, highest: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= highest:
        raise ProgramError(f"{flag}: {text!r} is not a number from 1 to {highest:,}")
    return int(text)


def _check_port(options: Options) -> None:
    """Before anything is started: another program on the port would answer in our place."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as problem:
            raise _not_bound(options, problem) from None


def _not_bound(options: Options, problem: OSError) -> ProgramError:
    if problem.errno == errno.EADDRINUSE:
        return ProgramError(
            f"port {options.port} is taken by another program",
            helps=[f"take another port: kscope up --port {min(options.port + 1, _LAST_PORT)}"],
        )
    return ProgramError(f"{options.host}:{options.port} cannot be used: {problem.strerror}")


@contextmanager
def _answer_apart() -> Generator[None]:
    """What is done meanwhile goes to standard error, the address alone to standard output."""
    before = sys.stdout
    sys.stdout = _Apart(before, sys.stderr)  # type: ignore[assignment]
    try:
        yield
    finally:
        sys.stdout = before


class _Apart:
    """A stream that is two: lines with the address go to the first."""

    def __init__(self, answers: TextIO, others: TextIO) -> None:
        self._answers, self._others = answers, others
        self._last = others

    def write(self, text: str) -> int:
        if text != "\n":
            self._last = self._answers if text.startswith(_ADDRESS) else self._others
        return self._last.write(text)

    def flush(self) -> None:
        self._answers.flush()
        self._others.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._answers, name)
