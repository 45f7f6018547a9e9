"""What an explanation is given: the refusals of one plugin for one reason, and the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.framework.explaining.manifests import CORDON_TAINT
from engine.framework.explaining.view import View
from engine.framework.framework import Detail
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import NOTHING, CountPhrase, Sentence, all_of, in_turn, say, say_count
from engine.objects.objects import Node, Pod

# Nodes and objects for which facts are given one by one; what is beyond that is counted.
FEW = 6
# So many nodes at the most are named when a rule leaves no others.
FEW_LEFT = 3


class Obstacle(Protocol):
    """A filter's refusal of a node."""

    @property
    def name(self) -> str: ...
    @property
    def detail(self) -> Detail: ...


class Refusal(Protocol):
    """A node and every filter that refuses it."""

    @property
    def row(self) -> int: ...
    @property
    def node(self) -> str: ...
    @property
    def obstacles(self) -> Sequence[Obstacle]: ...
    @property
    def obstacle_count(self) -> int:
        """How many things keep the pod off the node; each resource that is short is one of them."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """The refusals of `plugin` that give the same reasons: `refused` with their `details`.

    Both have one entry per node, the closest to fitting first. `everywhere` are the refusals of all
    nodes, by name. In a large cluster these are only the closest; `names` are all that it refused.
    """

    world: View
    plugin: str
    reasons: tuple[str, ...]
    refused: Sequence[Refusal]
    details: Sequence[Detail]
    everywhere: Mapping[str, Refusal]
    names: Sequence[str]

    @property
    def pod(self) -> Pod:
        """The pod that was refused."""
        return self.world.pod

    @property
    def numbers(self) -> Mapping[str, Any]:
        """The figures of the closest node."""
        return self.details[0].numbers

    @property
    def nearest(self) -> Node:
        """The closest node."""
        return self.node(self.refused[0])

    def node(self, refusal: Refusal) -> Node:
        """The object of a node that refused."""
        return self.world.table.node(refusal.row)

    def few(self) -> Iterator[tuple[Node, Detail]]:
        """The closest nodes, with the evidence."""
        for refusal, detail in zip(self.refused[:FEW], self.details, strict=False):
            yield self.node(refusal), detail

    def pods_at(self, row: int) -> list[PodInfo]:
        """The pods of a node, by name."""
        return sorted_by_name(self.world.table.pods[row].values())

    def faults_of(self, nodes: Sequence[Node]) -> Sentence:
        """What keeps the pod off *nodes*: "cordoned", "a (cordoned) and b (no room)" for several.

        It is "" where one of them takes the pod.
        """
        texts: list[Sentence] = []
        for node in nodes:
            refusal = self.everywhere.get(node.name)
            if refusal is None:
                return NOTHING
            reasons = [each.detail.text for each in refusal.obstacles]
            if node.unschedulable and len(reasons) > 1:
                # The taint of a cordon says the same again.
                reasons = [text for text in reasons if CORDON_TAINT not in text]
            fault = in_turn(reasons[:2])
            alone = len(nodes) == 1
            texts.append(fault if alone else say("{node} ({fault})", node=node.name, fault=fault))
        return texts[0] if len(texts) == 1 else listed(texts, 3)

    def overall(self, rule: CountPhrase) -> Sentence:
        """What refuses the pod on the few nodes that *rule*, such as its node selector, leaves.

        The phrase has places for these `nodes`, and for the `faults` that refuse the pod there.
        """
        left = self.world.nodes_beside(self.names)
        faults = self.faults_of(left) if 0 < len(left) <= FEW_LEFT else NOTHING
        if not faults:
            return NOTHING
        return rule.say(len(left), nodes=listed([each.name for each in left]), faults=faults)

    def placed_pods(self) -> Iterator[tuple[Node, PodInfo]]:
        """Every pod that has a node."""
        for row, node in self.world.nodes():
            for info in self.pods_at(row):
                yield node, info


def sorted_by_name(infos: Iterable[PodInfo]) -> list[PodInfo]:
    """The pods in the order of their names."""
    return sorted(infos, key=_key)


def _key(info: PodInfo) -> str:
    return info.key


def pod_and_owner(pod: Pod) -> str:
    """A pod with the workload that it belongs to: "shop/db-0 (of StatefulSet db)"."""
    owner = next((each for each in pod.owner_references if each.get("controller")), None)
    if owner is None:
        return pod.key
    kind, name = str(owner.get("kind")), str(owner.get("name"))
    return say("{pod} (of {kind} {owner})", pod=pod.key, kind=kind, owner=name)


def nodes_text(names: Sequence[str], most: int = 4) -> Sentence:
    """Nodes before a colon: "Node a", "Nodes a, b and c"."""
    return say_count("Node {nodes}", "Nodes {nodes}", len(names), nodes=listed(names, most))


def listed(names: Sequence[str], most: int = FEW) -> Sentence:
    """Names for a sentence: "a, b and c"; beyond *most* the rest is counted."""
    return all_of(names, most)
