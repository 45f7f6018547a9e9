"""Priority classes with which the pod evicts others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.diagnosis.candidates import Candidate, Situation, replaced
from engine.kernel.sentences import say
from engine.objects.objects import ApiObject, Manifest


def priorities(situation: Situation) -> Iterator[Candidate]:
    """A priority class that lets the pod evict others; the lowest that does."""
    world, pod = situation.world, situation.pod
    if not situation.refused:
        return
    higher = [
        each for each in world.listers.all("PriorityClass") if each.raw["value"] > pod.priority
    ]
    for each in sorted(higher, key=_value):
        fields: Manifest = {"priorityClassName": each.name, "priority": each.raw["value"]}
        if each.raw.get("preemptionPolicy"):
            fields["preemptionPolicy"] = each.raw["preemptionPolicy"]
        text = say(
            "Give it the priority class {each} ({value}), so that it evicts others",
            each=each.name,
            value=each.raw["value"],
        )
        yield replace(replaced(pod, fields, kind="priority", text=text), evicts=True)
    if pod.spec.get("preemptionPolicy") == "Never":
        fields = {"preemptionPolicy": "PreemptLowerPriority"}
        text = say("Let it evict pods of lower priority (preemptionPolicy PreemptLowerPriority)")
        yield replace(replaced(pod, fields, kind="priority", text=text), evicts=True)


def _value(priority_class: ApiObject) -> tuple[int, str]:
    return priority_class.raw["value"], priority_class.name
