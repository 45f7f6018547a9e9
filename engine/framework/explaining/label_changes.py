"""Changes that label a node, as several plugins propose them."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.case import Refusal
from engine.framework.explaining.manifests import CONDITION, HOSTNAME
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.kernel.sentences import say, together
from engine.objects.objects import Node

# Labels that state a fact about a machine: where one is missing it may be added, but not changed.
_FACTS = ("topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/", CONDITION)
_NEVER = (HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/")


def label_change(node: Node, key: str, value: str | None) -> Proposal | None:
    """Give *node* the label, or with None take it away; None for labels that nobody may change."""
    if key.startswith(_NEVER) or (key in node.labels and key.startswith(_FACTS)):
        return None
    if value is None:
        text = say("Remove the label {key} from {node}", key=key, node=node.name)
        note = say("New pods that select the label no longer fit there.")
    else:
        text = say("Label {node} {key}={value}", node=node.name, key=key, value=value)
        note = say("Other pods that select the label may be placed there, too.")
        if key.startswith(_FACTS):
            note = together(say("The label has to be true of the machine."), note)
    patch = {"metadata": {"labels": {key: value}}}
    return Proposal(kind="label", text=text, object=node, patch=patch, note=note)


def topology_labels(refusals: Refusals) -> Iterator[Proposal]:
    """The topology labels that close nodes lack, with a value that other nodes have."""
    for each, node in refusals.near():
        for key, value in _missing_topology(refusals, each, node).items():
            change = label_change(node, key, value)
            if change is not None:
                yield change


def _missing_topology(refusals: Refusals, refused: Refusal, node: Node) -> dict[str, str]:
    found: dict[str, str] = {}
    for obstacle in refused.obstacles:
        key = obstacle.detail.numbers.get("topologyKey")
        if not isinstance(key, str) or key in node.labels:
            continue
        values = refusals.world.table.topology(key).values
        if values:
            found[key] = min(values)
    return found
