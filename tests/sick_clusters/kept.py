"""Facts of the files after the run was played: each is shown as it was, or with a mark."""

from collections.abc import Iterator
from typing import Any

from engine.diagnosis.observed.evidence import key_of
from engine.diagnosis.triage.observed_facts import ObservedFact, facts_after_play, facts_of
from engine.objects.kinds import entity_id
from tests.sick_clusters.standing import Sick

Manifest = dict[str, Any]


def lost_facts(sick: Sick) -> list[str]:
    """Facts that are gone or altered, that hide what play did, or that have a mark for nothing."""
    return [fault for each in sick.evidence.everything() for fault in _faults(sick, each)]


def _faults(sick: Sick, raw: Manifest) -> Iterator[str]:
    name = f"{raw['kind']} {key_of(raw)}"
    before = facts_of(sick.evidence, raw)
    after = facts_after_play(sick.cluster, sick.evidence, raw["kind"], key_of(raw))
    if [_plain(each) for each in after] != [_plain(each) for each in before]:
        yield f"{name}: its facts were {before}, and are {after}"
    present = sick.cluster.store.find(raw["kind"], key_of(raw))
    is_played = sick.cluster.store.record.events_of(entity_id(raw["kind"], key_of(raw)))
    for fact in after:
        mark = fact.superseded_by
        if mark is not None and not (0 < mark.seq <= sick.cluster.seq and mark.text):
            yield f"{name}: {fact.text} is superseded by nothing that happened: {mark}"
        if fact.source != "status.phase" or mark is not None:
            continue
        if (
            is_played.created
            and present is not None
            and present.raw["status"]["phase"] not in fact.text
        ):
            yield f"{name}: {fact.text} has no mark, and its phase is {present.raw['status']}"


def _plain(fact: ObservedFact) -> tuple[str, str, str]:
    return fact.text, fact.at, fact.source
