"""`kscope import`: read files, say what was read, and bring them to a kscope that runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from engine.kernel.units import SECOND
from engine.run_file.contents import RunFile
from kscope.program.asking.handing.server import Server
from kscope.program.asking.play.saving import said_of, short_digest
from kscope.program.asking.reading.sources import read
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen

_PATIENCE_SECONDS: Final = 60.0
_BETWEEN_SECONDS: Final = 0.3


def answer_import(request: Request, screen: Screen) -> int:
    """Read a run, and bring it."""
    names = [*(request["filename"] or []), *request.words]
    source = read(request, screen, names)
    if source.run_file is None:
        raise ProgramError(
            f"{source.words} is no run",
            helps=[
                "bring files of a cluster by the upload form of kscope up, or see what is stuck:"
            ]
            + [f"kscope triage {source.words}"],
        )
    _say_what_it_is(source.run_file, source.words, screen)
    if request["dry_run"]:
        return Status.FINE
    return _brought(Server(request["server"]), Path(names[0]), source.run_file, screen)


def _say_what_it_is(file: RunFile, name: str, screen: Screen) -> None:
    paper = screen.paper()
    paper.paragraph(f"{name} is a run of {file.choices.name}.", style="bold")
    objects, at = len(file.document.get("objects") or ()), file.end.at / SECOND
    paper.paragraph(
        f"{said_of(file)}; {objects:,} objects, {file.end.events:,} events in {at:.1f} s"
    )
    if file.withheld:
        paper.paragraph(f"It was written without {', '.join(file.withheld)}.")
    screen.show(paper)


def _brought(server: Server, path: Path, file: RunFile, screen: Screen) -> int:
    answer = server.upload("scenarios/", [path], {})["run"]
    run, until = int(answer["id"]), time.monotonic() + _PATIENCE_SECONDS
    while _is_playing(answer) and time.monotonic() < until:
        screen.progress(f"kscope plays it again  {answer['head']:,} of {file.end.events:,} events")
        time.sleep(_BETWEEN_SECONDS)
        answer = server.read(f"runs/{run}/")
    paper = screen.paper()
    paper.paragraph(f"kscope has it as run {run}: {server.address(f'runs/{run}/')}")
    screen.show(paper)
    return _say_verdict(answer, file, screen)


def _is_playing(answer: dict[str, Any]) -> bool:
    return (answer.get("imported") or {}).get("verdict") == "playing"


def _say_verdict(answer: dict[str, Any], file: RunFile, screen: Screen) -> int:
    imported = answer.get("imported") or {}
    if imported.get("verdict") == "same":
        screen.note(f"replayed to the same digest, {short_digest(file.end.digest)}")
        return Status.FINE
    if imported.get("verdict") == "playing":
        screen.note("it is still being played; the page says what comes of it")
        return Status.FINE
    for line in _parting(imported):
        screen.warning(line)
    return Status.UNSEEN


def _parting(imported: dict[str, Any]) -> list[str]:
    if imported.get("verdict") != "parted":
        return ["it could not be played again"]
    theirs, mine = imported.get("theirs"), imported.get("mine") or "no such event"
    unknown = "not known: the file was written without --history"
    return [
        f"the file and this kscope part at event {imported['parted_seq']:,}",
        f"in the file: {unknown if theirs is None else theirs or 'no such event'}",
        f"here: {mine}",
    ]
