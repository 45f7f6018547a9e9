"""Saves a run as a `.kscope` file while it is played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from engine.cluster.cluster import Slice
from engine.run_file.contents import Choices, End, RunFile
from engine.run_file.trail import Trail
from engine.run_file.writing import RunFileWriter
from kscope.program.asking.play.play import Play
from kscope.program.speech.words import counted
from kscope.program.version import version


class Saver:
    """Writes to *out* what it hears; with *history* also events and evidence."""

    def __init__(self, out: IO[bytes], *, history: bool) -> None:
        self._out, self._has_history = out, history
        self._writer, self._trail = RunFileWriter(), Trail()
        self._answers: list[dict[str, Any]] = []
        self.size = 0

    def hear(self, taken: Slice) -> None:
        """Go on with what was recorded."""
        self._trail.take(taken.rows)
        self._answers += [
            event.data for event in taken.events if event.kind == "ExtenderCalled" and event.data
        ]
        if self._has_history:
            self._writer.evidence(evidence_of(taken))
            self._put(self._writer.events(taken.rows))

    def finish(self, play: Play) -> RunFile:
        """Write the end; the file is of the run as far as it was played."""
        cluster = play.cluster
        file = RunFile(
            choices=_choices(play),
            document=play.scenario.to_dict() if play.file is None else play.file.document,
            commands=() if play.file is None else play.file.commands,
            end=End(cluster.seq, cluster.steps, cluster.now, cluster.digest()),
            answers=tuple(self._answers),
            trail=bytes(self._trail.bytes),
            has_history=self._has_history,
            written_by=f"kscope {version()}",
        )
        for piece in self._writer.finish(file):
            self._put(piece)
        return file

    def _put(self, piece: bytes) -> None:
        self.size += len(piece)
        self._out.write(piece)


def said_of(file: RunFile) -> str:
    """What is in a file, in words."""
    parts = ["scenario", file.choices.profile, f"seed {file.choices.seed}", "gates"]
    parts += [counted(len(file.commands), "command")]
    parts += [f"{file.end.events:,} events with evidence"] if file.has_history else []
    return ", ".join([*parts, f"digest {short_digest(file.end.digest)}"])


def short_digest(digest: str) -> str:
    """The ends of a digest."""
    return f"sha256:{digest[:4]}…{digest[-4:]}"


def _choices(play: Play) -> Choices:
    if play.file is not None:
        return play.file.choices
    scenario = play.scenario
    return Choices(
        name=scenario.name,
        profile=play.cluster.profile,
        seed=scenario.seed,
        tie_break=play.tie_break,
        feature_gates=scenario.feature_gates,
        external_scheduler=scenario.external_scheduler,
        external_controllers=scenario.external_controllers,
    )


def evidence_of(taken: Slice, *, in_all: bool = False) -> Iterator[dict[str, Any]]:
    """The attempts of a slice with their evidence; with *in_all* also those of which none was kept."""
    for each in taken.attempts:
        if each.evidence is not None or in_all:
            yield {
                "pod": each.pod,
                "number": each.number,
                "seq": each.seq,
                "at": each.at,
                "cycle": each.cycle,
                "result": each.result,
                "node": each.node,
                "evidence": _in_full(each.evidence),
            }


def _in_full(evidence: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if evidence is None else {**evidence, "scores": _scores(evidence)}


def _scores(evidence: dict[str, Any]) -> Any:
    """The scores in full, as docs/evidence.md has them: an engine keeps them as columns."""
    scores = evidence.get("scores")
    return dict(scores) if isinstance(scores, Mapping) else scores
