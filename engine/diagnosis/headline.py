"""The first sentence about a pod that fits no node: the obstacle and the objects that it comes from."""

from __future__ import annotations

from collections.abc import Sequence

from engine.diagnosis.causes import Refused
from engine.diagnosis.explaining import family_of
from engine.diagnosis.report import Cause
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import CORDON_TAINT
from engine.plugins.taint_toleration.facts import tainted_everywhere


def headline(world: World, refused: Sequence[Refused], causes: Sequence[Cause]) -> str:
    """Why none of the *refused* nodes, the closest first, takes the pod.

    What all nodes have in common comes first, then a rule that leaves only a few nodes, and
    otherwise the closest node.
    """
    count, nearest = len(world.table), refused[0]
    lead = next((each.lead for each in causes if each.severity == "blocks" and each.lead), "")
    texts = "; ".join(_without_cordon_taint([each.detail.text for each in nearest.obstacles]))
    here = [each for each in causes if nearest.node in each.nodes]
    more = next(filter(None, (each.lead or each.why for each in here)), "")
    if count == 1:
        what = _lowered(lead) if lead else f"{texts}. {more}".rstrip()
        return f"Does not fit {nearest.node}, the only node: {what}"
    lead = lead or tainted_everywhere(world, refused) or _overall(world, causes)
    if lead:
        return f"Fits none of {count} nodes: {_lowered(lead)}"
    return f"Fits none of {count} nodes; closest is {nearest.node}: {texts}. {more}".rstrip()


def _without_cordon_taint(texts: Sequence[str]) -> Sequence[str]:
    """Without the taint of a cordon, where the cordon itself is named."""
    kept = [text for text in texts if CORDON_TAINT not in text]
    return kept or texts


def _overall(world: World, causes: Sequence[Cause]) -> str:
    """Of the rules that leave few nodes a volume's first: it cannot be changed on the pod."""
    found = [each for each in causes if each.overall]
    found.sort(key=lambda each: family_of(world, each.plugin) != "volume")
    return found[0].overall if found else ""


def _lowered(sentence: str) -> str:
    """The sentence as it goes on after a colon; abbreviations keep their capitals."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence
