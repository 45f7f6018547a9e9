"""Changes of a node: uncordon it, bring it back, take a taint off, label it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation, patched
from engine.diagnosis.causes import Refused
from engine.framework.explaining.manifests import (
    CONDITION,
    HOSTNAME,
    REQUIRED,
    node_terms,
    taint_of,
    taint_text,
)
from engine.framework.names import NODE_AFFINITY
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node
from engine.objects.selectors import NodeSelector, int64
from engine.plugins.taint_toleration.facts import origin_of

# Labels that state a fact about a machine: where one is missing it may be added, but not changed.
_FACTS = ("topology.kubernetes.io/", "failure-domain.beta.kubernetes.io/", CONDITION)
_NEVER = (HOSTNAME, "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/")


def uncordoned(situation: Situation) -> Iterator[Candidate]:
    """Let pods onto a cordoned node again."""
    for each in situation.refused:
        if situation.world.table.node(each.row).unschedulable:
            command = Command(verb="uncordon", object=f"node/{each.node}")
            yield Candidate(
                kind="uncordon",
                text=f"Uncordon {each.node}",
                command=command,
                note="New pods may be placed on it at once: finish its maintenance first.",
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
            text=f"Bring {each.node} back, so that it is Ready",
            command=patched(node.id, {"status": {"conditions": conditions}}),
            decidable=False,
            note="Its kubelet has to run again: repair the machine or its network.",
        )


def removed_taints(situation: Situation) -> Iterator[Candidate]:
    """Take a node's only untolerated taint off."""
    for each, node in situation.near():
        taints = situation.untolerated(node)
        if len(taints) > 1 + situation.others:
            continue
        for taint in taints:
            if taint.key.startswith(CONDITION):
                continue
            left = [raw for raw in node.taints if taint_of(raw) != taint]
            yield Candidate(
                kind="taint",
                text=f"Remove the taint {taint_text(taint)} from {each.node}",
                command=patched(node.id, {"spec": {"taints": left}}),
                note=f"{origin_of(taint)} Pods that it keeps away may then be placed there.".strip(),
            )


def node_labels(situation: Situation) -> Iterator[Candidate]:
    """One label on a node."""
    for each, node in situation.near():
        wanted = {
            **_labels_for_selector(situation, node),
            **_labels_for_scheduler(situation, node),
            **_labels_for_topology(situation, each),
        }
        for key, value in wanted.items():
            if key.startswith(_NEVER) or (key in node.labels and key.startswith(_FACTS)):
                continue
            if value is None:
                text = f"Remove the label {key} from {each.node}"
                note = "New pods that select the label no longer fit there."
            else:
                text = f"Label {each.node} {key}={value}"
                note = "Other pods that select the label may be placed there, too."
                if key.startswith(_FACTS):
                    note = "The label has to be true of the machine. " + note
            command = patched(node.id, {"metadata": {"labels": {key: value}}})
            yield Candidate(kind="label", text=text, command=command, note=note)


def _labels_for_selector(situation: Situation, node: Node) -> dict[str, str | None]:
    """The label that would make the node one the pod selects, where a single one is enough."""
    pod = situation.pod
    selector: dict[str, str] = pod.spec.get("nodeSelector") or {}
    missing: dict[str, str | None] = {
        key: value for key, value in selector.items() if node.labels.get(key) != value
    }
    return _single_labels(node_terms(pod) or [{}], missing, node, situation.others)


def _labels_for_scheduler(situation: Situation, node: Node) -> dict[str, str | None]:
    """The same for the affinity that the scheduler's configuration adds to every pod's."""
    arguments = situation.world.algorithm.profile.arguments.get(NODE_AFFINITY) or {}
    required = section(arguments, "addedAffinity", REQUIRED)
    terms = items(required, "nodeSelectorTerms")
    return _single_labels(terms, {}, node, situation.others)


def _single_labels(
    terms: list[Manifest], missing: dict[str, str | None], node: Node, others: int
) -> dict[str, str | None]:
    """The labels that each alone, on top of what is *missing*, make one of *terms* hold.

    Up to *others* more may be needed.
    """
    found: dict[str, str | None] = {}
    for term in terms:
        needed = {**missing}
        for expression in term.get("matchExpressions") or ():
            parsed = NodeSelector.parse({"nodeSelectorTerms": [{"matchExpressions": [expression]}]})
            if not parsed.matches(node.labels, node.name):
                needed[expression["key"]] = _satisfying(expression)
        if len(needed) <= 1 + others:
            for key, value in needed.items():
                found.setdefault(key, value)
    return found


def _satisfying(expression: Manifest) -> str | None:
    """A value of the label that satisfies the requirement; None for no such label."""
    operator, values = expression.get("operator"), list(expression.get("values") or ())
    if operator == "In":
        return str(values[0])
    if operator == "Exists":
        return "true"
    if operator in ("Gt", "Lt"):
        bound = int64(values[0])
        return None if bound is None else str(bound + (1 if operator == "Gt" else -1))
    return None


def _labels_for_topology(situation: Situation, refused: Refused) -> dict[str, str | None]:
    """The topology label that the node lacks, with a value that other nodes have."""
    table = situation.world.table
    found: dict[str, str | None] = {}
    for obstacle in refused.obstacles:
        key = obstacle.detail.numbers.get("topologyKey")
        if not isinstance(key, str) or key in table.node(refused.row).labels:
            continue
        values = table.topology(key).values
        if values:
            found[key] = min(values)
    return found


def advertised_devices(situation: Situation) -> Iterator[Candidate]:
    """Let a node whose extended resource has dropped to 0 advertise enough of it again."""
    asked = situation.world.info().resources.fit
    for each, node in situation.near():
        for obstacle in each.obstacles:
            for name in obstacle.detail.numbers:
                amount = asked.get(name) if "/" in name else 0
                if not amount or node.allocatable_units.get(name) != 0:
                    continue
                fields = {"allocatable": {name: str(amount)}, "capacity": {name: str(amount)}}
                yield Candidate(
                    kind="device",
                    text=f"Let {node.name} advertise {amount} {name} again",
                    command=patched(node.id, {"status": fields}),
                    note="Its device plugin reports what it finds: repair that on the machine.",
                )
