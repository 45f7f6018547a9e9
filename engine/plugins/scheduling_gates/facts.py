"""The gates that hold a pod back."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items
from engine.objects.objects import Pod


def gate_facts(pod: Pod) -> Iterator[Fact]:
    """Each scheduling gate of the pod."""
    for place, gate in enumerate(items(pod.spec, "schedulingGates")):
        text = say("The gate {name} holds the pod back until it is removed.", name=gate.get("name"))
        yield fact(pod, ("spec", "schedulingGates", place, "name"), text)
