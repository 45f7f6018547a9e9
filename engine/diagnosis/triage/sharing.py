"""Objects behind several groups: repaired once, they help all of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.diagnosis.observed.evidence import Evidence, condition
from engine.diagnosis.triage.report import Group, SharedCause
from engine.diagnosis.triage.stuck.controllers import KINDS, state_of
from engine.framework.explaining.case import listed
from engine.objects.kinds import split_entity_id


def shared_causes(evidence: Evidence, groups: Sequence[Group]) -> Iterator[SharedCause]:
    """The objects that are facts of two groups or more, in the order of the first of these.

    A workload whose own pods one group holds, and that another group waits for, is one as well.
    """
    resting: dict[str, list[int]] = {}
    for place, group in enumerate(groups):
        for each in (*group.facts, *(f"node/{name}" for name in group.nodes)):
            if place not in resting.setdefault(each, []):
                resting[each].append(place)
    for entity, places in resting.items():
        held = [place for place, group in enumerate(groups) if entity in group.workloads]
        if len({*places, *held}) > 1:
            sentence = _sentence(evidence, entity, places, held, groups)
            together = tuple(sorted({*places, *held}))
            yield SharedCause(object=entity, groups=together, sentence=sentence)


def _sentence(
    evidence: Evidence,
    entity: str,
    places: Sequence[int],
    held: Sequence[int],
    groups: Sequence[Group],
) -> str:
    prefix, key = split_entity_id(entity)
    if prefix == "node":
        return _of_node(evidence, key, places, groups)
    kind = next((each for each in KINDS if each.lower() == prefix), "")
    workload = evidence.find(kind, key) if kind else None
    if workload is not None:
        text = f"{kind} {key} {state_of(evidence, workload)}; {_causes(places)} {_wait(places)} for it."
        return f"{text} Its own pods are held by {_causes(held)}." if held else text
    return f"{prefix[:1].upper()}{prefix[1:]} {key} is part of {_causes(places)}."


def _of_node(evidence: Evidence, name: str, places: Sequence[int], groups: Sequence[Group]) -> str:
    """A node that is down: for whom there would be room on it, and what it holds itself."""
    node = evidence.find("Node", name)
    ready = condition(node, "Ready") if node is not None else None
    state = (
        f"is not ready (Ready={ready.get('status')})"
        if ready is not None
        else "is not in the files"
    )
    away = [place for place in places if groups[place].kind == "pending"]
    itself = [place for place in places if groups[place].kind != "pending"]
    parts = [f"keeps pods of {_causes(away)} away"] if away else []
    parts += [f"is behind {_causes(itself)} itself"] if itself else []
    return f"Node {name} {state}: it {', and '.join(parts)}."


def _causes(places: Sequence[int]) -> str:
    several = "s" if len(places) > 1 else ""
    return f"cause{several} {listed([str(place + 1) for place in places])}"


def _wait(places: Sequence[int]) -> str:
    return "wait" if len(places) > 1 else "waits"
