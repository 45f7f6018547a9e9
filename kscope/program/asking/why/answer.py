"""`kscope why`: why one object is in its state, and which changes were tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence, is_ready
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.standing import Standing
from engine.kernel.garbage import collector_paused
from kscope.program.asking.reading.kinds import Found, Named, found_object
from kscope.program.asking.reading.sight import Sight
from kscope.program.asking.reading.sources import Source, files_and_object, read, stand
from kscope.program.asking.triage.refusals import first_refusals
from kscope.program.asking.why.blind import Blind, blind_of
from kscope.program.asking.why.document import why_document
from kscope.program.asking.why.outcomes import Outcome, outcomes_of
from kscope.program.asking.why.text import write_why
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import json_lines, written
from kscope.program.speech.of_cluster import document_of_cluster
from kscope.program.speech.screen import Screen
from scheduling.process_forks import forks_of

# What a diagnosis calls an object with which nothing is wrong, beside the phases that say so.
_WELL: Final = ("well", "placed", "kept", "ended", "Bound", "Available", "Active")


@dataclass(frozen=True, slots=True)
class Explained:
    """The answer about one object, of which files, and what came of its changes."""

    source: Source
    standing: Standing
    found: Found
    answer: Answer
    message: str
    outcomes: Mapping[int, Outcome]
    is_wide: bool = False
    # Of an instant of a run: which it is; "" for files that stand.
    at: str = ""

    @property
    def evidence(self) -> Evidence:
        """What the files say."""
        return self.standing.evidence

    @property
    def sight(self) -> Sight:
        """How far the cluster could be seen."""
        return Sight.of(self.source)

    @property
    def blind(self) -> Blind | None:
        """The pod that cannot be decided on, because the nodes were not seen; None for an answer."""
        return blind_of(self)

    @property
    def is_stuck(self) -> bool:
        """Whether something holds the object."""
        answer, diagnosis = self.answer, self.answer.diagnosis
        if answer.groups:
            return True
        holds = any(each.severity in ("blocks", "narrows") for each in answer.causes)
        return (
            holds if diagnosis.state in _WELL else holds or diagnosis.state in ("held", "unminded")
        )


def answer_why(request: Request, screen: Screen) -> int:
    """Ask, and print the answer; the exit status is 1 if the object is stuck."""
    names, named = files_and_object(request)
    if named is None:
        raise ProgramError("no object was named", helps=["kscope why FILE pod/NAME -n NAMESPACE"])
    source = read(request, screen, names, named)
    if request["at"] or (source.loaded.scenario or {}).get("steps"):
        from kscope.program.asking.why.at_instant import answer_why_played

        return answer_why_played(request, screen, source, named)
    with collector_paused():
        explained = _explained(request, screen, source, named)
    print_why(request, screen, explained)
    return _status(explained)


def _status(explained: Explained) -> int:
    """3 where what was not seen may change the answer; what is proven to be stuck is stuck."""
    if explained.blind is not None:
        return Status.UNSEEN
    if explained.is_stuck:
        return Status.BAD
    raw = explained.evidence.find(explained.found.kind, explained.found.key)
    is_seen_well = explained.found.kind == "Pod" and raw is not None and is_ready(raw)
    return Status.FINE if explained.sight.is_whole or is_seen_well else Status.UNSEEN


def _explained(request: Request, screen: Screen, source: Source, named: Named) -> Explained:
    standing = stand(source, request)
    cluster, evidence = standing.cluster, standing.evidence
    found = found_object(named, evidence, request["namespace"] or "", source.words)
    if source.live is None:
        say_what_was_taken(found, screen)
    screen.progress(f"asking about {found.kind.lower()} {found.key}, and trying changes")
    tries = request["changes"] != "none" and Sight.of(source).has_nodes
    answer = explain_as_it_stands(
        cluster, evidence, found.kind, found.key, tries_changes=tries, make_forks=forks_of
    )
    if answer is None:
        raise ProgramError(f"no {found.kind.lower()} {found.key} in {source.words}")
    asked = [found.key] if found.kind == "Pod" and Sight.of(source).has_nodes else ()
    messages = first_refusals(cluster, asked, forks_of)
    outcomes = outcomes_of(cluster, found, answer, forks_of) if tries else {}
    message = messages.get(found.key, "")
    return Explained(source, standing, found, answer, message, outcomes, request.output == "wide")


def say_what_was_taken(found: Found, screen: Screen) -> None:
    """Which namespace was taken, where none was named."""
    if found.taken:
        name = found.key.rpartition("/")[2]
        screen.note(f"{name} is in namespace {found.taken} only; -n {found.taken} was taken")


def print_why(request: Request, screen: Screen, explained: Explained) -> None:
    """Print it in the format that was asked for."""
    if request.output in ("", "wide"):
        paper = screen.paper()
        write_why(paper, explained)
        screen.show(paper)
        return
    document: dict[str, Any] = why_document(explained)
    if screen.is_of_cluster:
        document = document_of_cluster(document)
    if request.output == "ndjson":
        screen.write(json_lines([document]))
    else:
        screen.write(written(document, request.output))
