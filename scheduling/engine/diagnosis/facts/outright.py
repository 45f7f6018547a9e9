"""Refusals before any node was evaluated, and gates: the fields of the pod that cause them."""

from __future__ import annotations

from collections.abc import Iterator

from kscope.sim.objects.manifest_parts import items
from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.diagnosis.facts.fact import Fact, fact
from scheduling.engine.diagnosis.facts.labels import conflicting_names
from scheduling.engine.framework.messages import NO_NODES


def outright_facts(pod: Pod, plugin: str, reasons: tuple[str, ...]) -> tuple[Fact, ...]:
    """The fields that made a plugin refuse *pod* on all nodes."""
    if NO_NODES in reasons:
        return (
            fact(pod, ("spec", "nodeName"), f"Pod {pod.key} has no node: the cluster has none."),
        )
    if plugin == names.NODE_AFFINITY:
        return tuple(conflicting_names(pod))
    return ()


def gate_facts(pod: Pod) -> Iterator[Fact]:
    """Each scheduling gate of the pod."""
    for place, gate in enumerate(items(pod.spec, "schedulingGates")):
        text = f"The gate {gate.get('name')} holds the pod back until it is removed."
        yield fact(pod, ("spec", "schedulingGates", place, "name"), text)
