"""Asks the plugins of a profile what their refusals come from."""

from __future__ import annotations

from engine.diagnosis.world import World
from engine.framework.explaining.case import Case
from engine.framework.explaining.explains import Explains, ExplainsOutright, Grouped, SaysInShort
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.messages import NO_NODES
from engine.kernel.sentences import NOTHING, Sentence, say


def explain(world: World, case: Case) -> Explanation:
    """What the refusals of *case* come from; empty for a plugin that does not say."""
    plugin = world.plugin(case.plugin)
    return plugin.explain_refusals(case) if isinstance(plugin, Explains) else Explanation()


def family_of(world: World, plugin: str) -> str:
    """What the refusals of *plugin* are about; "" for a plugin that does not say."""
    asked = world.plugin(plugin)
    return asked.family if isinstance(asked, Grouped) else ""


def short_of_plugin(world: World, plugin: str) -> Sentence:
    """Why pods that *plugin* refuses have no node, in a few words; "" if it does not say."""
    asked = world.plugin(plugin)
    return asked.short if isinstance(asked, SaysInShort) else NOTHING


def outright_facts(world: World, plugin: str, reasons: tuple[str, ...]) -> tuple[Fact, ...]:
    """The fields that made *plugin* refuse the pod on all nodes."""
    pod = world.pod
    if NO_NODES in reasons:
        text = say("Pod {pod} has no node: the cluster has none.", pod=pod.key)
        return (fact(pod, ("spec", "nodeName"), text),)
    asked = world.plugin(plugin)
    return tuple(asked.explain_outright(pod)) if isinstance(asked, ExplainsOutright) else ()
