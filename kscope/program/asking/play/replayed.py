"""What is said of a run that was played again: that it came out the same, or where it parts."""

from __future__ import annotations

from pathlib import Path

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from engine.run_file.contents import RunFile
from engine.run_file.reading import recorded_event
from engine.run_file.trail import Parting
from kscope.program.asking.play.play import Play
from kscope.program.asking.play.saving import short_digest
from kscope.program.speech.errors import Status
from kscope.program.speech.screen import Screen


def say_replayed(play: Play, name: str, screen: Screen) -> int:
    """Say what came of the replay of the file called *name*; the status that it leads to."""
    if play.file is None or play.replayed is None or not play.replayed.is_whole:
        return Status.FINE
    if play.replayed.parting is None:
        if play.replayed.stop is None:
            digest = short_digest(play.file.end.digest)
            screen.note(f"replayed to the same digest, {digest}")
        return Status.FINE
    for line in parting_lines(play.file, play.replayed.parting, Path(name)):
        screen.warning(line)
    return Status.UNSEEN


def parting_lines(file: RunFile, parting: Parting, path: Path) -> list[str]:
    """Where a replay parts from a file, and what each of them has there."""
    theirs = recorded_event(path, parting.seq) if file.has_history else None
    is_theirs_known = file.has_history or parting.seq > file.end.events
    found = [f"{path.name} and this kscope part at event {parting.seq:,}"]
    if file.written_by:
        found[0] += f"; the file was written by {file.written_by}"
    if file.withheld:
        found[0] += f"; it was written without {', '.join(file.withheld)}"
    mine, other = _text(parting.mine), _text(theirs)
    if mine == other and parting.mine is not None and theirs is not None:
        mine, other = _whole(parting.mine), _whole(theirs)
    unknown = "not known: the file was written without --history"
    return [*found, f"in the file: {other if is_theirs_known else unknown}", f"here: {mine}"]


def _text(row: EventRow | None) -> str:
    if row is None:
        return "no such event"
    message = f": {row.message}" if row.message else ""
    return f"{row.at / SECOND:.3f} s {row.kind} {row.object}{message}"


def _whole(row: EventRow) -> str:
    return f"{_text(row)} {row.data or ''} {row.changes or ''}".rstrip()
