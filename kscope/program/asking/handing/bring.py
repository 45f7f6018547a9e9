"""`kscope import`: read files, say what was read, and bring them to a kscope that runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engine.input.load_result import LoadResult
from engine.kernel.units import SECOND
from engine.run_file.contents import RunFile
from kscope.program.asking.handing.intake import intake_document, intake_lines, write_intake
from kscope.program.asking.handing.sending import as_files, kept_input
from kscope.program.asking.handing.server import Server
from kscope.program.asking.play.saving import said_of, short_digest
from kscope.program.asking.reading.sources import Source, choices, read, single_profile
from kscope.program.grammar import Request
from kscope.program.speech.errors import Status
from kscope.program.speech.formats import json_lines, written
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import size_words

_PATIENCE_SECONDS: Final = 60.0
_BETWEEN_SECONDS: Final = 0.3


def answer_import(request: Request, screen: Screen) -> int:
    """Read, and bring; the exit status is 3 where a question is open, or a saved run parts."""
    names = [*(request["filename"] or []), *request.words]
    with kept_input(names) as stdin:
        source = read(request, screen, names)
        if source.run_file is not None:
            return _bring_run(request, screen, Path(names[0]), source.run_file)
        if request.output in ("", "wide"):
            _say_what_was_read(screen, source, is_wide=request.output == "wide")
        run = None if request["dry_run"] else _bring_files(request, screen, names, stdin)
    if request.output in ("", "wide"):
        if run is not None:
            _say_where(screen, run, [] if stdin else names)
    else:
        screen.write(_documents(request.output, source.loaded, run))
    return Status.UNSEEN if source.loaded.questions else Status.FINE


# -- files of a cluster ------------------------------------------------------------------------------


def _bring_files(
    request: Request, screen: Screen, names: Sequence[str], stdin: Path | None
) -> dict[str, Any]:
    """Send the files, and have a run made of them: its number and its address."""
    server = Server(request["server"])

    def sent(done: int, size: int) -> None:
        screen.progress(f"sending  {size_words(done)} of {size_words(size)}")

    with as_files(names, stdin) as files:
        scenario = server.upload("scenarios/", files, choices(request), sent)
    profile = single_profile(request)
    wanted = {"scenario": scenario["id"]} | ({"profile": profile} if profile else {})
    run = server.send("runs/", wanted)
    return {"id": run["id"], "url": server.address(f"runs/{run['id']}/")}


def _say_what_was_read(screen: Screen, source: Source, *, is_wide: bool) -> None:
    paper = screen.paper()
    write_intake(paper, source.loaded, is_wide=is_wide)
    screen.show(paper)


def _say_where(screen: Screen, run: dict[str, Any], names: Sequence[str]) -> None:
    """Where the run is; and, for files that can be read again, what comes next."""
    paper = screen.paper()
    paper.line()
    paper.line(f"kscope has it as run {run['id']}: {run['url']}")
    if names:
        paper.line(f"{'next':<11}kscope triage {' '.join(names)}")
    screen.show(paper)


def _documents(form: str, loaded: LoadResult, run: dict[str, Any] | None) -> str:
    if form == "ndjson":
        return json_lines(intake_lines(loaded))
    return written(intake_document(loaded, run), form)


# -- a run that was saved ----------------------------------------------------------------------------


def _bring_run(request: Request, screen: Screen, path: Path, file: RunFile) -> int:
    _say_what_it_is(file, path.name, screen)
    if request["dry_run"]:
        return Status.FINE
    return _brought(Server(request["server"]), path, file, screen)


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
