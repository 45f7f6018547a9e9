"""Objects behind several groups: repaired once, they help all of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.diagnosis.observed.evidence import Evidence, condition
from engine.diagnosis.triage.report import Group, SharedCause
from engine.diagnosis.triage.stuck.controllers import KINDS, stands
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count, together, unstopped
from engine.objects.kinds import spelled, split_entity_id


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
) -> Sentence:
    prefix, key = split_entity_id(entity)
    if prefix == "node":
        return _of_node(evidence, key, places, groups)
    kind = next((each for each in KINDS if each.lower() == prefix), "")
    workload = evidence.find(kind, key) if kind else None
    if workload is not None:
        text = say_count(
            "{state}; {causes} waits for it.",
            "{state}; {causes} wait for it.",
            len(places),
            state=unstopped(stands(evidence, workload)),
            causes=_causes(places),
        )
        own = say("Its own pods are held by {causes}.", causes=_causes(held)) if held else NOTHING
        return together(text, own)
    return say(
        "{kind} {key} is part of {causes}.",
        kind=spelled(prefix),
        key=key,
        causes=_causes(places),
    )


def _of_node(
    evidence: Evidence, name: str, places: Sequence[int], groups: Sequence[Group]
) -> Sentence:
    """A node that is down: for whom there would be room on it, and what it holds itself."""
    node = evidence.find("Node", name)
    ready = condition(node, "Ready") if node is not None else None
    state = say("Node {node} is not in the files", node=name)
    if ready is not None:
        status = ready.get("status")
        state = say("Node {node} is not ready (Ready={status})", node=name, status=status)
    away = [place for place in places if groups[place].kind == "pending"]
    itself = [place for place in places if groups[place].kind != "pending"]
    if away and itself:
        return say(
            "{state}: it keeps pods of {away} away, and is behind {causes} itself.",
            state=state,
            away=_causes(away),
            causes=_causes(itself),
        )
    if away:
        return say("{state}: it keeps pods of {away} away.", state=state, away=_causes(away))
    return say("{state}: it is behind {causes} itself.", state=state, causes=_causes(itself))


def _causes(places: Sequence[int]) -> Sentence:
    numbers = listed([str(place + 1) for place in places])
    return say_count("cause {numbers}", "causes {numbers}", len(places), numbers=numbers)
