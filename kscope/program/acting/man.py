"""`kscope man`: the manual page, made of the texts of help. Read it by `kscope man | man -l -`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kscope.program.grammar import COMMANDS, Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from kscope.program.version import version

_HELPS: Final = Path(__file__).resolve().parents[1] / "helps"
# What a line of roff may not begin with, and what it may not hold, as text.
_BEGINS: Final = re.compile(r"^(?=[.'])", re.MULTILINE)
_FILES: Final = (
    ("~/.kube/config", "the kubeconfig, where neither --kubeconfig nor KUBECONFIG names another"),
    ("~/.local/share/kscope", "the database and the logs of kscope up; KSCOPE_DATA names another"),
    ("~/.local/state/kscope", "what tells of crashes"),
)
_ENVIRONMENT: Final = (
    ("KUBECONFIG", "the kubeconfigs that are read"),
    ("KSCOPE_SERVER, KSCOPE_TOKEN", "the kscope that follow keeps a run in, and its token"),
    ("KSCOPE_DATA", "where kscope up keeps its data"),
    ("NO_COLOR, COLUMNS, TERM", "colours and width of answers"),
)


def answer_man(request: Request, screen: Screen) -> int:
    """Print the page as roff."""
    if request.words:
        raise ProgramError(f"man takes no {request.words[0]}", helps=["kscope man | man -l -"])
    screen.write(man_page())
    return Status.FINE


def man_page() -> str:
    """The whole page. Upstream: man(7)."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    overview = (_HELPS / "commands.txt").read_text()
    first, *_ = overview.splitlines()
    name, _, purpose = first.partition(": ")
    yield f'.TH KSCOPE 1 "" "kscope {version()}" "User Commands"'
    yield from (".SH NAME", f"{name} \\- {_text(purpose.rstrip('.'))}")
    yield from (".SH SYNOPSIS", *_as_it_is("kscope COMMAND [FILE...] [TYPE/NAME] [flags]"))
    yield from (".SH DESCRIPTION", *_as_it_is("\n".join(overview.splitlines()[2:])))
    for command in COMMANDS:
        yield f".SH KSCOPE {command.upper()}"
        yield from _as_it_is((_HELPS / f"{command}.txt").read_text())
    for title, entries in (("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        yield f".SH {title}"
        for what, tells in entries:
            yield from (".TP", f".B {_text(what)}", _text(tells))


def _as_it_is(text: str) -> Iterator[str]:
    """Text whose lines stay as they are."""
    yield from (".nf", _text(text.strip("\n")), ".fi")


def _text(text: str) -> str:
    """*text* with nothing in it that roff takes for more."""
    escaped = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    )
    plain = "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in escaped)
    return _BEGINS.sub(r"\\&", plain)
