"""`kscope triage`: what is stuck in a cluster, by cause, and the best change for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Change, Triage
from engine.diagnosis.triage.standing import Standing
from engine.diagnosis.triage.triage import triage
from engine.kernel.garbage import collector_paused
from kscope.program.asking.reading.narrowing import Narrowing
from kscope.program.asking.reading.sight import Sight
from kscope.program.asking.reading.sources import Source, files_and_object, read, stand
from kscope.program.asking.triage.blind import as_seen, is_proven
from kscope.program.asking.triage.document import triage_document
from kscope.program.asking.triage.refusals import first_refusals
from kscope.program.asking.triage.text import write_triage
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import json_lines, written
from kscope.program.speech.of_cluster import document_of_cluster
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted
from scheduling.process_forks import forks_of


@dataclass(frozen=True, slots=True)
class Triaged:
    """What triage found, of which files, and what the schedulers say of the pods."""

    source: Source
    standing: Standing
    found: Triage
    messages: Mapping[str, str]
    is_wide: bool = False

    @property
    def evidence(self) -> Evidence:
        """What the files say."""
        return self.standing.evidence

    @property
    def sight(self) -> Sight:
        """How far the cluster could be seen."""
        return Sight.of(self.source)


def answer_triage(request: Request, screen: Screen) -> int:
    """Ask, and print the answer; the exit status is 1 if anything is stuck, 3 if that cannot be said."""
    names, named = files_and_object(request)
    if named is not None:
        raise ProgramError(
            f"triage asks about the whole cluster, not about {named.word}/{named.name}",
            helps=[f"kscope why {' '.join(names) or 'FILE'} {named.word}/{named.name}"],
        )
    with collector_paused():
        triaged = _triaged(request, screen, names)
    _say_what_is_not_known(triaged, screen)
    _print(request, screen, triaged)
    return _status(triaged)


def _status(triaged: Triaged) -> int:
    """3 where what was not seen may change the answer; what is proven to be stuck is stuck."""
    found = triaged.found
    if any(map(is_proven, found.groups)):
        return Status.BAD
    is_open = bool(found.groups or found.unanswerable) or not triaged.sight.is_whole
    return Status.UNSEEN if is_open else Status.FINE


def _triaged(request: Request, screen: Screen, names: list[str]) -> Triaged:
    source = read(request, screen, names)
    standing = stand(source, request)
    sight = Sight.of(source)
    tries = request["changes"] != "none" and sight.has_nodes
    screen.progress("looking for what is stuck, and trying changes")
    found = triage(standing.cluster, standing.evidence, tries_changes=tries)
    found = as_seen(found, standing.evidence, sight)
    narrowing = Narrowing.of(request, standing.evidence, _own_namespace(request, source))
    groups = tuple(narrowing.groups(found.groups))
    _say_what_is_elsewhere(request, screen, narrowing.namespace, len(found.groups) - len(groups))
    found = _in_order(replace(found, groups=groups))
    pods = {key for group in found.groups if group.kind == "pending" for key in group.pods}
    messages = first_refusals(standing.cluster, pods if sight.has_nodes else (), forks_of)
    return Triaged(source, standing, found, messages, request.output == "wide")


def _own_namespace(request: Request, source: Source) -> str:
    """The namespace of the context that is read; "" for files, which have none."""
    if source.collection is None or not request["context"]:
        return ""
    return source.collection.namespace


def _say_what_is_elsewhere(request: Request, screen: Screen, namespace: str, more: int) -> None:
    """That nobody chose the namespace, and what is stuck in others."""
    if not request["context"] or request["namespace"] or not namespace:
        return
    told = f"namespace {namespace}, that of the context, was asked about"
    if more:
        screen.note(f"{told}; {counted(more, 'cause')} elsewhere: -A tells all")
    else:
        screen.note(f"{told}; -A asks about all")


def _in_order(found: Triage) -> Triage:
    """Within each cause: the best change, then what costs nobody anything, then what is shared or lost."""
    groups = tuple(
        replace(group, changes=tuple(sorted(group.changes, key=_price))) for group in found.groups
    )
    return replace(found, groups=groups)


def _price(change: Change) -> tuple[bool, bool]:
    return bool(change.loses), bool(change.shared)


def _say_what_is_not_known(triaged: Triaged, screen: Screen) -> None:
    groups, evidence = triaged.found.groups, triaged.evidence
    is_live = triaged.source.collection is not None
    if (
        groups
        and not is_live
        and not evidence.has_events
        and not any(each.since for each in groups)
    ):
        screen.note(
            "no times and no Events are in this file, so since when anything waits is not known"
            if len(triaged.source.names) == 1
            else "no times and no Events are in these files, so since when anything waits is not known"
        )


def _print(request: Request, screen: Screen, triaged: Triaged) -> None:
    if request.output in ("", "wide"):
        paper = screen.paper()
        write_triage(paper, triaged)
        screen.show(paper)
        return
    document = triage_document(triaged)
    if screen.is_of_cluster:
        document = document_of_cluster(document)
    if request.output == "ndjson":
        screen.write(json_lines(_lines(document)))
    else:
        screen.write(written(document, request.output))


def _lines(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """First the head without groups, then one group a line."""
    groups = document["groups"]
    yield {**document, "groups": []}
    yield from groups
