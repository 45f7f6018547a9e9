"""So many more nodes that a group has room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from engine.diagnosis.candidates import Candidate
from engine.diagnosis.changes.new_nodes import NewNode, new_nodes
from engine.diagnosis.observed.autoscalers import Pools, said_by_autoscaler
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.deciding import Trials
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held
from engine.diagnosis.triage.pending_pods.trying import offered, placed
from engine.diagnosis.triage.report import Change
from engine.framework.explaining.manifests import (
    HOSTNAME,
)
from engine.kernel.sentences import NOTHING, Sentence, say, together
from engine.objects.objects import Manifest, Node

# Per kind, how many changes are tried for a class, and how many nodes at most are added.
_PER_KIND: Final = 3
_MOST_NODES: Final = 64


def more_nodes(evidence: Evidence, trials: Trials, held: Held, *, is_needed: bool) -> Change | None:
    """As many nodes like one that is there as place all pods of the group."""
    first = held.classes[0]
    if first.world is None or not is_needed:
        return None
    pools, limited = Pools(evidence), list[tuple[GroupChange, int]]()
    for new in islice(new_nodes(first.situation), _PER_KIND):
        places = placed(trials, held, _with_nodes(held, new.candidate, 1))
        if not places:
            continue
        change, places = _enough_nodes(trials, held, new.candidate, places)
        obstacle = _not_made(pools, new, change.objects)
        change = replace(
            change, shared=obstacle, note=together(change.note, _heard(evidence, held))
        )
        if not obstacle:
            return offered(evidence, trials, held, change, places)
        limited.append((change, places))
    return offered(evidence, trials, held, *limited[0]) if limited else None


def _not_made(pools: Pools, new: NewNode, nodes: Sequence[Node]) -> Sentence:
    """Why the pool of the model does not make these nodes; "" for a model of no known pool."""
    pool = None if new.model is None else pools.of(new.model.raw)
    if pool is None:
        return NOTHING
    wanted = new.difference
    if wanted.respects:
        taints = tuple({"key": each.key} for each in wanted.without)
        never = pool.lacks(wanted.labels, taints)
        if never:
            return never
    return pool.refusal(nodes[0], len(nodes))


def _heard(evidence: Evidence, held: Held) -> Sentence:
    """What an autoscaler has last said of the pods."""
    heard = [said for pod in held.pods if (said := said_by_autoscaler(evidence, pod.raw))]
    newest = max(heard, key=lambda each: each.last, default=None)
    return (
        say("The autoscaler says ({last}): {text}", last=newest.last, text=newest.text)
        if newest is not None
        else NOTHING
    )


def _enough_nodes(
    trials: Trials, held: Held, candidate: Candidate, of_one: int
) -> tuple[GroupChange, int]:
    """The least number of nodes that places all, or as many as can be afforded."""
    of = len(held.pods)
    number, places = 1, of_one
    while places < of and number < _MOST_NODES:
        step = max(1, -(-(of - places) * number // max(places, 1)))
        number = min(number + step, _MOST_NODES)
        places = placed(trials, held, _with_nodes(held, candidate, number))
    while places == of and number > 1:
        if placed(trials, held, _with_nodes(held, candidate, number - 1)) < of:
            break
        number -= 1
    return _with_nodes(held, candidate, number), places


def _with_nodes(held: Held, candidate: Candidate, number: int) -> GroupChange:
    text, note = candidate.text, candidate.note
    if number > 1:
        text = text.of_number(number)
        note = say("It costs {number} machines, and the time to set them up.", number=number)
    manifest = candidate.command.manifest or {}
    name = f"{manifest['metadata']['name']}-{held.number}"
    nodes = tuple(_named(manifest, f"{name}-{place}") for place in range(1, number + 1))
    return GroupChange(kind="node", text=text, objects=nodes, note=note)


def _named(manifest: Manifest, name: str) -> Node:
    labels = dict(manifest["metadata"].get("labels") or {})
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    return Node({**manifest, "metadata": {**manifest["metadata"], "name": name, "labels": labels}})
