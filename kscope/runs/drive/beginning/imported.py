"""The replay of a run that came as a file, held against the file slice by slice."""

from collections.abc import Sequence

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from engine.run_file.reading import recorded_event
from engine.run_file.trail import Parting, TrailCheck
from kscope.runs.models import Command, ImportedRun, Run


class ImportCheck:
    """Compares what an engine records with the file of its run; it may begin in the middle."""

    def __init__(self, file: ImportedRun, run: Run) -> None:
        self._file = file
        self._check = TrailCheck(
            bytes(file.trail), file.events, seq=run.head_seq, digest=run.head_digest
        )
        self.parting: Parting | None = None

    def take(self, rows: Sequence[EventRow]) -> bool:
        """Compare the next events; whether they part."""
        if self.parting is None:
            self.parting = self._check.take(rows)
        return self.parting is not None

    def part(self, seq: int) -> None:
        """The engine does not pass where the file stands: they part after event *seq*."""
        if self.parting is None:
            self.parting = Parting(min(seq, self._file.events) + 1, None)

    def note(self) -> None:
        """Note what came of it, before the last slice of the replay is written.

        Killed in between, that slice is computed again identically.
        """
        parting = self.parting or self._check.finish(self._file.digest)
        if parting is None:
            self._file.verdict = ImportedRun.Verdict.SAME
            _close(self._file)
        else:
            self._note(parting)
            self._file.save()

    def settle(self) -> None:
        """Once that slice is written: what was to be repeated after the parting is not."""
        settle_parting(self._file)

    def _note(self, parting: Parting) -> None:
        file = self._file
        theirs = recorded_event(bytes(file.file), parting.seq) if file.file is not None else None
        file.parted_seq = parting.seq
        file.mine = event_text(parting.mine)
        is_known = file.file is not None or parting.seq > file.events
        file.theirs = event_text(theirs) if is_known else None
        if theirs is not None and file.mine == file.theirs and parting.mine is not None:
            file.mine, file.theirs = _whole(parting.mine), _whole(theirs)


def settle_parting(file: ImportedRun) -> None:
    """Say that a run parted from its file, if it did; its recorded commands are not carried out any more."""
    if file.verdict != ImportedRun.Verdict.PLAYING or file.parted_seq is None:
        return
    left = Command.objects.filter(run_id=file.run_id, status=Command.Status.PENDING)
    left.filter(at__isnull=False).delete()
    file.verdict = ImportedRun.Verdict.PARTED
    _close(file)


def _close(file: ImportedRun) -> None:
    """What the replay was held against is not needed any more."""
    file.trail, file.answers, file.file = b"", [], None
    file.save()


def import_check(run: Run) -> ImportCheck | None:
    """The check of a run that came as a file and is being played again; None for any other."""
    file = _playing(run.pk)
    return None if file is None else ImportCheck(file, run)


def settle_left(run_id: int) -> None:
    """Say what came of a replay that is over: a worker was killed just after it had written its last slice."""
    file = _playing(run_id)
    if file is not None:
        settle_parting(file)


def _playing(run_id: int) -> ImportedRun | None:
    playing = ImportedRun.objects.filter(run_id=run_id, verdict=ImportedRun.Verdict.PLAYING)
    return playing.first()


def event_text(row: EventRow | None) -> str:
    """An event as it is told; "" for none."""
    if row is None:
        return ""
    message = f": {row.message}" if row.message else ""
    return f"{row.at / SECOND:.3f} s {row.kind} {row.object}{message}"


def _whole(row: EventRow) -> str:
    return f"{event_text(row)} {row.data or ''} {row.changes or ''}".rstrip()
