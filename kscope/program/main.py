"""The entry point: words become a request, a request an answer and its exit status."""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from kscope.program.grammar import Request, parsed
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen, discard

Answer = Callable[[Request, Screen], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status of one call of `kscope`: docs/command-line.md."""
    screen = Screen.of_process()
    try:
        return _answered(sys.argv[1:] if arguments is None else arguments, screen)
    except KeyboardInterrupt:
        discard(sys.stdout, sys.stderr)
        return Status.INTERRUPTED


def _answered(arguments: Sequence[str], screen: Screen) -> int:
    try:
        request = parsed(arguments)
        screen.color, screen.is_quiet = request["color"] or "auto", bool(request["quiet"])
        return _spoken(request, screen)
    except ProgramError as problem:
        screen.error(problem)
        return problem.status
    except OSError as problem:
        if problem.errno not in (errno.ENOSPC, errno.EDQUOT):
            return _went_wrong(screen, problem)
        screen.error(ProgramError(f"the answer could not be written: {problem.strerror}"))
        return Status.INTERNAL
    except Exception as problem:  # noqa: BLE001 the trace goes to a file, never to the screen
        return _went_wrong(screen, problem)


def _spoken(request: Request, screen: Screen) -> int:
    if request["help"] or not request.command:
        screen.write(_help(request))
        return Status.FINE
    return _answer_of(request.command)(request, screen)


def _help(request: Request) -> str:
    if request["version"]:
        from kscope.program.version import version_text

        return version_text()
    name = request.command or ("commands" if request["help"] else "kscope")
    return (Path(__file__).with_name("helps") / f"{name}.txt").read_text()


def _answer_of(command: str) -> Answer:
    """What answers; each is loaded only when it is asked."""
    if command in ("triage", "why", "test", "diff", "simulate", "export", "import", "mcp"):
        from kscope.program.asking.commands import ANSWERS
    else:
        from kscope.program.acting.commands import ANSWERS
    return ANSWERS[command]


def _went_wrong(screen: Screen, problem: Exception) -> int:
    """Say so, and write the trace into a file."""
    text = "".join(traceback.format_exception(problem))
    helps = [f"report it with this file: {_kept(text)}"]
    message = f"kscope went wrong: {type(problem).__name__}: {problem}"
    screen.error(ProgramError(message, helps=helps))
    return Status.INTERNAL


def _kept(text: str) -> str:
    """Where the trace is."""
    import time

    from kscope.program.places import state_folder

    folder = state_folder()
    file = folder / f"crash-{time.strftime('%Y-%m-%dT%H-%M-%S', time.gmtime())}.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    except OSError as problem:
        return f"{file} (which could not be written: {problem.strerror})"
    return str(file)
