"""All nodes of a cluster, by why they refuse the pods of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from engine.diagnosis.causes import Obstacle, Refused, check_of
from engine.diagnosis.report import Check
from engine.diagnosis.triage.deciding import Deciding
from engine.diagnosis.triage.drawn import NodesByReason
from engine.diagnosis.triage.pending_pods.held import Held, PodClass
from engine.diagnosis.world import World
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import CORDON_TAINT
from engine.kernel.sentences import NOTHING, Sentence, in_turn, say

# A page names no more, and in a large cluster each group would carry every name.
_MOST_NAMES: Final = 100
_TAINT: Final = "untolerated taint "
# What the taints of the node lifecycle controller and of a cordon say about a node.
_STATES: Final = {
    "node.kubernetes.io/unreachable": say("unreachable"),
    "node.kubernetes.io/not-ready": say("not ready"),
    CORDON_TAINT: say("cordoned"),
}
# Filters that refuse a node, each with what it says.
_Rules = tuple[tuple[str, str], ...]


def nodes_by_reason(deciding: Deciding, held: Held) -> tuple[NodesByReason, ...]:
    """The nodes, those closest to taking the pods first, then the most numerous.

    They are those of the first of the pods: of several workloads it is the one that the cause names.
    """
    first, table = held.classes[0], deciding.cluster.handle.table
    everything = table.names(table.active.tolist())
    if first.world is None:
        return _together(say("not looked at"), everything, first)
    if first.fits:
        return ()
    closest = _closest(held, first)
    found = [
        _shown(
            first, list(names), closest if closest is not None and closest.node in names else None
        )
        for names in _by_rules(first, everything).values()
    ]
    return tuple(sorted(found, key=_closest_first))


def _together(reason: Sentence, names: Sequence[str], found: PodClass) -> tuple[NodesByReason, ...]:
    if not names:
        return ()
    shown = tuple(names[:_MOST_NAMES])
    return (NodesByReason(reason=reason, nodes=shown, count=len(names), pod=found.pod.key),)


def _by_rules(found: PodClass, everything: Sequence[str]) -> Mapping[object, dict[str, None]]:
    """The nodes that the same filters refuse for the same reasons."""
    rules: dict[str, object] = {each.node: _rules(each) for each in found.refused}
    if len(rules) < len(everything):
        # Only the closest were looked at one by one: of the others the reasons alone are known.
        # They are the bits of a number: a cluster of thousands of nodes has few sets of them.
        causes = dict.fromkeys(everything, 0)
        for place, cause in enumerate(found.causes):
            for name in cause.nodes:
                causes[name] |= 1 << place
        rules = dict(causes)
    groups: defaultdict[object, dict[str, None]] = defaultdict(dict)
    for name in everything:
        groups[rules[name]][name] = None
    return groups


def _rules(refused: Refused) -> _Rules:
    return tuple((each.name, _said(each)) for each in refused.obstacles)


def _said(obstacle: Obstacle) -> str:
    """What a filter says, without the amounts of the one node."""
    if obstacle.detail.short is None:
        return obstacle.detail.text
    return ", ".join(obstacle.status.reasons)


def _closest(held: Held, first: PodClass) -> Check | None:
    """The check that the closest node fails: one that a volume leaves, else that of the cause."""
    family, *left = held.signature
    if family == "volume" and left:
        for each in first.refused:
            if each.node == left[0]:
                return check_of(each, each.obstacles[0])
    return held.main.check if held.main is not None else None


def _shown(found: PodClass, names: list[str], closest: Check | None) -> NodesByReason:
    """One group of nodes; *closest* is given for the one with the closest node."""
    mine = frozenset(names)
    looked_at = [each for each in found.refused if each.node in mine]
    is_measured = closest is not None and closest.node in mine and closest.allocatable is not None
    return NodesByReason(
        reason=_reason(found, names, looked_at),
        nodes=tuple(names[:_MOST_NAMES]),
        count=len(names),
        is_closest=closest is not None,
        detail=_has(found, names, closest) if closest is not None else NOTHING,
        check=closest if is_measured else None,
        pod=found.pod.key,
    )


def _reason(found: PodClass, names: list[str], looked_at: list[Refused]) -> Sentence:
    """What refuses there: the words of the filters, or upstream's where no node was looked at."""
    if not looked_at:
        reasons = {
            reason: None
            for cause in found.causes
            if names[0] in cause.nodes
            for reason in cause.reasons
        }
        return in_turn(list(reasons))
    texts = list(dict.fromkeys(_text(each) for each in looked_at))
    if len(texts) == 1:
        return texts[0]
    return say("closest is {node}: {faults}", node=looked_at[0].node, faults=texts[0])


def _text(refused: Refused) -> Sentence:
    texts = (_short_taint(each.detail.text) for each in refused.obstacles)
    return in_turn(list(dict.fromkeys(texts)))


def _short_taint(text: Sentence) -> Sentence:
    """A taint by its key alone; those of sick nodes say what the nodes are."""
    if not text.startswith(_TAINT):
        return text
    key = text.removeprefix(_TAINT).partition(":")[0].partition("=")[0]
    return _STATES.get(key, say("taint {key}", key=key))


def _has(found: PodClass, names: list[str], closest: Check) -> Sentence:
    """What the nodes have of what is measured there, else of special resources that are wanted."""
    if closest.allocatable is not None and closest.free is not None and closest.node in names:
        used, whole = (
            format_amount(closest.unit, amount)
            for amount in (closest.allocatable - closest.free, closest.allocatable)
        )
        return say(
            "{used} of {whole} {unit} requested on {node}",
            used=used,
            whole=whole,
            unit=closest.unit,
            node=closest.node,
        )
    world = found.world
    assert world is not None
    rows = [world.table.rows[name] for name in names]
    parts = [_free(world, rows, name) for name in sorted(dict(world.info().resources.fit.scalars))]
    return listed([each for each in parts if each])


def _free(world: World, rows: Sequence[int], name: str) -> Sentence:
    """How much of a resource is free on the nodes; "" where they have none."""
    whole = sum(world.table.node(row).allocatable_units.get(name, 0) for row in rows)
    used = sum(world.table.requested_at(row).get(name, 0) for row in rows)
    if not whole:
        return NOTHING
    return say(
        "{free} of {whole} {resource} free",
        free=format_amount(name, whole - used),
        whole=format_amount(name, whole),
        resource=name,
    )


def _closest_first(found: NodesByReason) -> tuple[bool, int, str]:
    return not found.is_closest, -found.count, found.nodes[0]
