"""One more node like one that is there, or as unlike it as the pod needs it to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.manifests import CONDITION, HOSTNAME, taint_of, taint_text
from engine.framework.explaining.refusals import NODES
from engine.kernel.sentences import Sentence, enumerated, say, say_count
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node
from engine.objects.pods.tolerations import Taint

# For how many of the shapes there are a node that differs is tried.
_UNLIKE = 3
_MACHINE = say("It costs one more machine, and the time to set it up.")


@dataclass(frozen=True, slots=True)
class Difference:
    """What a new node has that its model has not: labels, sizes, and no such taints."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    without: tuple[Taint, ...] = ()

    @property
    def respects(self) -> int:
        """In how many respects it differs. In more than one it would not be like its model."""
        return sum(map(bool, (self.labels, self.sizes, self.without)))

    def change(self, like: str) -> Sentence:
        """The addition of a node like the one of that name, but for this."""
        parts = [f"{key}={value}" for key, value in sorted(self.labels.items())]
        parts += [f"{format_amount(name, n)} {name}" for name, n in sorted(self.sizes.items())]
        added, taints = enumerated(parts), enumerated(list(map(taint_text, self.without)))
        if added and taints:
            return say_count(
                "Add one more node like {node}, but with {added} and without {taints}",
                "Add {count} nodes like {node}, but with {added} and without {taints}",
                1,
                node=like,
                added=added,
                taints=taints,
            )
        if added:
            return say_count(
                "Add one more node like {node}, but with {added}",
                "Add {count} nodes like {node}, but with {added}",
                1,
                node=like,
                added=added,
            )
        if taints:
            return say_count(
                "Add one more node like {node}, but without {taints}",
                "Add {count} nodes like {node}, but without {taints}",
                1,
                node=like,
                taints=taints,
            )
        return say_count(
            "Add one more node like {node}", "Add {count} nodes like {node}", 1, node=like
        )


@dataclass(frozen=True, slots=True)
class NewNode:
    """One more node as a change: like `model`, but for `difference`; without a model in an empty cluster."""

    candidate: Candidate
    model: Node | None = None
    difference: Difference = field(default_factory=Difference)


def more_nodes(situation: Situation) -> Iterator[Candidate]:
    """One more node like one that is there: close ones first, each shape once."""
    for each in new_nodes(situation):
        yield each.candidate


def new_nodes(situation: Situation) -> Iterator[NewNode]:
    """The same, each with its model."""
    shapes: dict[bytes, Node] = {}
    for _, node in situation.near(len(situation.refused)):
        shapes.setdefault(_shape(node), node)
        if len(shapes) >= NODES:
            break
    models = list(shapes.values())
    for model in models:
        yield NewNode(_one_more(situation, model, Difference()), model)
    for model in models[:_UNLIKE]:
        difference = _needed(situation, model)
        if difference.respects == 1:
            yield NewNode(_one_more(situation, model, difference), model, difference)
    if not situation.world.table.rows:
        yield NewNode(_first_node(situation))


def _shape(node: Node) -> bytes:
    labels = {key: value for key, value in node.labels.items() if key != HOSTNAME}
    shape = (dict(node.allocatable), labels, node.taints)
    return orjson.dumps(shape, option=orjson.OPT_SORT_KEYS)


def _needed(situation: Situation, model: Node) -> Difference:
    """How a node like *model* would have to differ for the pod to be allowed there."""
    wanted = _labels_of_volumes(situation) or _selected_label(situation)
    missing = {key: value for key, value in wanted.items() if model.labels.get(key) != value}
    without = tuple(
        taint for taint in situation.untolerated(model) if not taint.key.startswith(CONDITION)
    )
    return Difference(missing, _larger(situation, model), without)


def _selected_label(situation: Situation) -> dict[str, str]:
    """The one label that the pod selects nodes by, if it is a single one."""
    selector: dict[str, str] = situation.pod.spec.get("nodeSelector") or {}
    return selector if len(selector) == 1 and HOSTNAME not in selector else {}


def _one_more(situation: Situation, like: Node, difference: Difference) -> Candidate:
    name = _free_name(situation, f"{like.name}-more")
    own = {HOSTNAME: name} if HOSTNAME in like.labels else {}
    sizes = {key: f"{n}m" if key == "cpu" else str(n) for key, n in difference.sizes.items()}
    taints = [
        raw
        for raw in like.taints
        if not str(raw.get("key")).startswith(CONDITION) and taint_of(raw) not in difference.without
    ]
    labels = {**like.labels, **difference.labels, **own}
    manifest = _node_manifest(name, labels, {**like.allocatable, **sizes}, taints)
    return Candidate(
        kind="node",
        text=difference.change(like.name),
        command=Command(verb="create", manifest=manifest),
        note=_MACHINE,
    )


def _first_node(situation: Situation) -> Candidate:
    """A node just as large as the pod, for a cluster that has none."""
    wanted = situation.world.info().resources.fit
    amounts = {"cpu": f"{wanted.milli_cpu}m", "memory": str(wanted.memory), "pods": "110"}
    if wanted.ephemeral_storage:
        amounts["ephemeral-storage"] = str(wanted.ephemeral_storage)
    amounts |= {name: str(amount) for name, amount in wanted.scalars}
    labels: dict[str, str] = {**(situation.pod.spec.get("nodeSelector") or {}), HOSTNAME: "node-1"}
    cpu, memory = (format_amount(name, wanted.get(name)) for name in ("cpu", "memory"))
    manifest = _node_manifest("node-1", labels, amounts, [])
    return Candidate(
        kind="node",
        text=say("Add a node with at least {cpu} cpu and {memory} memory", cpu=cpu, memory=memory),
        command=Command(verb="create", manifest=manifest),
        note=_MACHINE,
    )


def _node_manifest(
    name: str, labels: Mapping[str, str], amounts: Mapping[str, Any], taints: list[Manifest]
) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {"taints": taints} if taints else {},
        "status": {
            "capacity": dict(amounts),
            "allocatable": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _larger(situation: Situation, node: Node) -> dict[str, int]:
    """Where the pod asks for more than all of the node, what it asks for."""
    table, row = situation.world.table, situation.world.table.rows[node.name]
    return {
        table.resource_names[column]: amount
        for column, amount in table.amounts(situation.world.info().resources.fit)
        if amount > int(table.allocatable[column][row])
    }


def _labels_of_volumes(situation: Situation) -> dict[str, str]:
    """The labels that the pod's bound volumes need their node to have."""
    world, pod = situation.world, situation.pod
    labels: dict[str, str] = {}
    for name in pod.claim_names:
        claim = world.listers.claim(f"{pod.namespace}/{name}")
        volume = world.listers.volume(claim.volume_name) if claim and claim.volume_name else None
        if volume is None:
            continue
        terms = items(section(volume.spec, "nodeAffinity", "required"), "nodeSelectorTerms")
        for expression in items(terms[0], "matchExpressions") if terms else ():
            if expression.get("operator") == "In" and expression["key"] != HOSTNAME:
                labels[expression["key"]] = str(expression["values"][0])
    return labels


def _free_name(situation: Situation, wanted: str) -> str:
    name, number = wanted, 2
    while name in situation.world.table.rows:
        name, number = f"{wanted}-{number}", number + 1
    return name
