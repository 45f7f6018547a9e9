"""Changes of a node, whatever refuses it: uncordon it, bring it back."""

from __future__ import annotations

from collections.abc import Iterator

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation, patched
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items


def uncordoned(situation: Situation) -> Iterator[Candidate]:
    """Let pods onto a cordoned node again."""
    for each in situation.refused:
        if situation.world.table.node(each.row).unschedulable:
            command = Command(verb="uncordon", object=f"node/{each.node}")
            yield Candidate(
                kind="uncordon",
                text=say("Uncordon {node}", node=each.node),
                command=command,
                note=say("New pods may be placed on it at once: finish its maintenance first."),
            )


def recovered_nodes(situation: Situation) -> Iterator[Candidate]:
    """Bring back a node that is not ready; the node controller then takes its taints off."""
    for each in situation.refused:
        node = situation.world.table.node(each.row)
        if node.is_ready:
            continue
        conditions = [
            {**condition, "status": "True"} if condition.get("type") == "Ready" else condition
            for condition in items(node.status, "conditions")
        ]
        yield Candidate(
            kind="ready",
            text=say("Bring {node} back, so that it is Ready", node=each.node),
            command=patched(node.id, {"status": {"conditions": conditions}}),
            decidable=False,
            note=say("Its kubelet has to run again: repair the machine or its network."),
        )
