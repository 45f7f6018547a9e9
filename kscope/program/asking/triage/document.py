"""The document `Triage`: what -o json and -o yaml print. docs/command-line.md has the promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.diagnosis.triage.report import Change, Group, Together
from kscope.program.asking.reading.sources import now
from kscope.program.asking.triage.changes import document_kind, words_of
from kscope.program.asking.triage.refusals import shared_message
from kscope.program.speech.formats import document

if TYPE_CHECKING:
    from kscope.program.asking.triage.answer import Triaged


def triage_document(triaged: Triaged) -> dict[str, Any]:
    """Unknown is null, none is []; no field is left out."""
    found = triaged.found
    return document(
        "Triage",
        complete=triaged.sight.is_whole,
        profile=found.profile,
        instant=found.instant or now(),
        instant_from=_instant_from(triaged),
        headline=found.headline.rstrip("."),
        counts=_counts(triaged),
        unseen=triaged.sight.unseen_documents(),
        groups=[_group(triaged, each) for each in found.groups],
        together=_together(found.together, found.groups),
        shared_causes=[each.to_dict() for each in found.shared_causes],
        looked_for=[{"what": each.what, "found": each.found} for each in found.looked_for],
        not_counted=[{"what": each.what, "found": each.found} for each in found.not_counted],
    )


def _instant_from(triaged: Triaged) -> str:
    """What the instant is: when a cluster was read, the newest time in files, or the time of now."""
    if triaged.source.collection is not None:
        return "cluster"
    return "files" if triaged.found.instant else "import"


def _counts(triaged: Triaged) -> dict[str, Any]:
    counts, groups = triaged.evidence.counts, triaged.found.groups
    return {
        "nodes": counts.get("Node", 0) if triaged.sight.has_nodes else None,
        "pods": counts.get("Pod", 0),
        "claims": counts.get("PersistentVolumeClaim", 0),
        "held": {
            "pods": sum(len(each.pods) for each in groups),
            "claims": sum(len(each.claims) for each in groups),
        },
        "pods_missing": sum(each.pods_missing for each in groups),
    }


def _group(triaged: Triaged, group: Group) -> dict[str, Any]:
    message, _ = shared_message(triaged.messages, group.pods)
    return {
        "kind": group.kind,
        "cause": group.cause.rstrip("."),
        "by": group.by,
        "observed": group.observed.rstrip(".") or None,
        "predicted": message or group.predicted or None,
        "contradicts": group.contradicts,
        "since": group.since or None,
        "pods": list(group.pods),
        "pods_missing": group.pods_missing,
        "claims": list(group.claims),
        "workloads": list(group.workloads),
        "namespaces": list(group.namespaces),
        "objects": list(dict.fromkeys((*group.objects, *group.facts))),
        "changes": [_change(each) for each in group.changes],
        "nodes": list(group.nodes),
        "nodes_by_reason": [
            {"reason": each.reason, "count": each.count, "nodes": list(each.nodes)}
            for each in group.nodes_by_reason
        ],
        "because": list(group.because),
        "assumed": list(group.assumed),
        "conclusion": group.conclusion or None,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "text": words_of(change),
        "kind": document_kind(change),
        "places": change.places,
        "of": change.of,
        "after": [],
        "loses": change.loses or None,
        "shared": bool(change.shared),
        "note": change.note or None,
    }


def _together(together: Together | None, groups: tuple[Group, ...]) -> dict[str, Any] | None:
    """The changes by the places of their groups, and of the changes in these."""
    if together is None:
        return None
    chosen = [(place, _place(groups, place, text)) for place, text, _ in together.changes]
    lost = [groups[place].changes[number].loses for place, number in chosen if number is not None]
    return {
        "changes": [list(each) for each in chosen],
        "places": together.places,
        "of": together.of,
        # Schedulers decide on what waits: nothing that runs is moved.
        "moves": 0,
        "loses": "; ".join(filter(None, lost)) or None,
    }


def _place(groups: tuple[Group, ...], place: int, text: str) -> int | None:
    if place >= len(groups):
        return None
    return next((n for n, each in enumerate(groups[place].changes) if each.text == text), None)
