"""`kscope export`: write a run as one file, or for another program."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kscope.exports.encoder import ExportError
from kscope.exports.registry import FORMATS, Format, format_of_path
from kscope.program.asking.handing.played import export_played
from kscope.program.asking.handing.server import Server, export_of_server
from kscope.program.asking.play.output import Output, size_text
from kscope.program.asking.reading.kinds import Named
from kscope.program.asking.reading.sources import STDIN, read
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen

_RUN: Final = re.compile(r"run/([1-9]\d{0,17})")
_ENDINGS: Final = ", ".join(each.ending for each in FORMATS.values())


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be written: sources, or the number of a run of a server, the format, the place."""

    sources: tuple[str, ...]
    run: int | None
    pod: Named | None
    format: Format
    target: str


def answer_export(request: Request, screen: Screen) -> int:
    """Write it, and say what was written."""
    wanted = _wanted(request)
    output = Output(wanted.target, wanted.format, screen)
    try:
        with output:
            if wanted.run is not None:
                server = Server(request["server"])
                said = export_of_server(request, server, wanted.run, wanted.pod, output)
                status = Status.FINE
            else:
                source = read(request, screen, wanted.sources)
                said, status = export_played(request, screen, source, wanted.pod, output)
    except ExportError as error:
        raise ProgramError(str(error)) from error
    if wanted.target != STDIN:
        screen.did(f"wrote {wanted.target} ({said}; {size_text(output.size)})")
    if wanted.format.of == "page":
        screen.note("an engine would be needed to try changes; the file has recorded answers only")
    return status


def _wanted(request: Request) -> Wanted:
    words = list(request.words)
    sources = list(request["filename"] or [])
    target = STDIN
    if words and (len(words) > 1 or sources) and not _is_object(words[-1]):
        target = words.pop()
    elif not request["output"]:
        raise ProgramError(
            "no file to write was named", helps=[f"kscope export {_shown(words)} run.kscope"]
        )
    pod = _popped_object(words)
    runs = [match[1] for word in words if (match := _RUN.fullmatch(word))]
    sources += words
    if not sources:
        raise ProgramError("no run was named", helps=["kscope export scenario.yaml run.kscope"])
    if runs and len(sources) > 1:
        raise ProgramError(f"run/{runs[0]} is exported alone")
    form = _format(request["output"], target)
    if form.of_pod and pod is None:
        helps = [f"kscope export {_shown(sources)} pod/NAME {target}"]
        raise ProgramError("a diagram shows one pod, and none was named", helps=helps)
    return Wanted(tuple(sources), int(runs[0]) if runs else None, pod, form, target)


def _shown(words: Sequence[str]) -> str:
    return " ".join(words) or "run/12"


def _is_object(word: str) -> bool:
    return word.startswith(("pod/", "pods/", "po/")) and not Path(word).exists()


def _popped_object(words: list[str]) -> Named | None:
    if not words or not _is_object(words[-1]):
        return None
    kind, _, name = words.pop().partition("/")
    return Named(kind, name)


def _format(name: str | None, target: str) -> Format:
    if name:
        found = FORMATS[name]
        if target == STDIN and not found.is_text and sys.stdout.isatty():
            raise ProgramError(
                f"{name} is no text, and standard output is a terminal",
                helps=[f"write it to a file: kscope export … run{found.ending}"],
            )
        return found
    if target == STDIN:
        raise ProgramError("which format?", helps=[f"-o {', '.join(FORMATS)}"])
    found = format_of_path(target)
    if found is None:
        ending = Path(target).suffix
        what = f"has the ending {ending}" if ending else f"is picked by {target}"
        raise ProgramError(f"no format {what}", helps=[_ENDINGS])
    return found
