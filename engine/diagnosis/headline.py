"""The first sentence about a pod that fits no node: the obstacle and the objects that it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.diagnosis.causes import Refused
from engine.diagnosis.explaining import family_of
from engine.diagnosis.report import Cause
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import CORDON_TAINT
from engine.kernel.sentences import (
    NOTHING,
    Argument,
    Listed,
    Sentence,
    clause,
    count_phrase,
    in_turn,
    phrase,
    say_count,
    together,
    verbatim,
)
from engine.plugins.taint_toleration.facts import tainted_everywhere

_ONLY_NODE: Final = phrase("Does not fit {node}, the only node: {why}")
_ONLY_NODE_REFUSES: Final = phrase("Does not fit {node}, the only node: {why}.")
_NO_NODE: Final = phrase("Fits none of {nodes} nodes: {why}")
_CLOSEST: Final = phrase("Fits none of {nodes} nodes; closest is {node}: {why}.")


def headline(world: World, refused: Sequence[Refused], causes: Sequence[Cause]) -> Sentence:
    """Why none of the *refused* nodes, the closest first, takes the pod.

    What all nodes have in common comes first, then a rule that leaves only a few nodes, and
    otherwise the closest node.
    """
    count, nearest = len(world.table), refused[0]
    leads = (each.lead for each in causes if each.severity == "blocks" and each.lead)
    lead = next(leads, NOTHING)
    texts = in_turn(_without_cordon_taint([each.detail.text for each in nearest.obstacles]))
    here = [each for each in causes if nearest.node in each.nodes]
    more = next(filter(None, (each.lead or each.why for each in here)), NOTHING)
    if count == 1:
        if lead:
            why = clause(lead)
            return _ONLY_NODE.say(node=nearest.node, why=why)
        return together(_ONLY_NODE_REFUSES.say(node=nearest.node, why=texts), more)
    lead = lead or tainted_everywhere(world, refused) or _overall(world, causes)
    if lead:
        return _NO_NODE.say(nodes=count, why=clause(lead))
    return together(_CLOSEST.say(nodes=count, node=nearest.node, why=texts), more)


# The same with the pods as their subject.
_OF_PODS: Final = {
    _ONLY_NODE: count_phrase(
        "{pods} does not fit {node}, the only node: {why}",
        "{pods} do not fit {node}, the only node: {why}",
    ),
    _ONLY_NODE_REFUSES: count_phrase(
        "{pods} does not fit {node}, the only node: {why}.",
        "{pods} do not fit {node}, the only node: {why}.",
    ),
    _NO_NODE: count_phrase(
        "{pods} fits none of {nodes} nodes: {why}", "{pods} fit none of {nodes} nodes: {why}"
    ),
    _CLOSEST: count_phrase(
        "{pods} fits none of {nodes} nodes; closest is {node}: {why}.",
        "{pods} fit none of {nodes} nodes; closest is {node}: {why}.",
    ),
}


def headline_of_pods(sentence: Sentence, pods: Sentence, number: int) -> Sentence:
    """A headline, or another sentence on why a pod has no node, of a *number* of *pods*."""
    first, *rest = sentence.items if isinstance(sentence, Listed) else (sentence,)
    first = _as_sentence(first)
    known = next((text for one, text in _OF_PODS.items() if one.pattern == first.id), None)
    if known is None:
        return say_count(
            "{pods} finds no node: {sentence}",
            "{pods} find no node: {sentence}",
            number,
            pods=pods,
            sentence=sentence,
        )
    said = known.say(number, pods=pods, **first.arguments)
    return together(said, *map(_as_sentence, rest))


def _as_sentence(text: Argument) -> Sentence:
    return text if isinstance(text, Sentence) else verbatim(str(text))


def _without_cordon_taint(texts: Sequence[str]) -> Sequence[str]:
    """Without the taint of a cordon, where the cordon itself is named."""
    kept = [text for text in texts if CORDON_TAINT not in text]
    return kept or texts


def _overall(world: World, causes: Sequence[Cause]) -> Sentence:
    """Of the rules that leave few nodes a volume's first: it cannot be changed on the pod."""
    found = [each for each in causes if each.overall]
    found.sort(key=lambda each: family_of(world, each.plugin) != "volume")
    return found[0].overall if found else NOTHING
