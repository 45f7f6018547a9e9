"""Why nothing is placed on a node, and why it cannot be drained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.budgets import budget_causes_of
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import say, say_count
from engine.objects.manifest_parts import items
from engine.objects.objects import Node, Pod
from engine.plugins.taint_toleration.facts import condition_facts, taint_facts

CONTROLLER: Final = "node-controller"
_HEALTHY: Final = {"Ready": "True"}


def node_causes(scene: Scene, node: Node) -> Iterator[Cause]:
    """What keeps pods off *node*, and what keeps those that it has from leaving."""
    if node.deletion_timestamp:
        yield cause(
            CONTROLLER, say("Node {node} is terminating.", node=node.name), deletion_facts(node)
        )
    if node.unschedulable:
        text = say(
            "Node {node} is cordoned: it keeps its pods and takes no new ones.", node=node.name
        )
        yield cause("NodeUnschedulable", text, [fact(node, ("spec", "unschedulable"), text)])
    for condition in items(node.status, "conditions"):
        kind = str(condition.get("type"))
        if condition.get("status") != _HEALTHY.get(kind, "False"):
            sentence = say(
                "Node {node} has {kind}={status}.",
                node=node.name,
                kind=kind,
                status=condition.get("status"),
            )
            yield cause("kubelet", sentence, list(condition_facts(node, kind)), severity="narrows")
    taints = list(taint_facts(node))
    if taints:
        sentence = say("Node {node} takes only pods that tolerate its taints.", node=node.name)
        yield cause("TaintToleration", sentence, taints, severity="narrows")
    yield from _full(scene, node)
    yield from _undrainable(scene, node)


def _pods(scene: Scene, node: Node) -> list[Pod]:
    return sorted((pod for pod in scene.pods() if pod.node_name == node.name), key=_key)


def _key(pod: Pod) -> str:
    return pod.key


def _full(scene: Scene, node: Node) -> Iterator[Cause]:
    pods, most = _pods(scene, node), node.allocatable_units.get("pods", 0)
    if len(pods) >= most:
        sentence = say(
            "Node {node} has {count} pods and may have {most}.",
            node=node.name,
            count=len(pods),
            most=most,
        )
        because = [fact(node, ("status", "allocatable", "pods"), sentence)]
        yield cause("NodeResourcesFit", sentence, because)


def _undrainable(scene: Scene, node: Node) -> Iterator[Cause]:
    refused: list[str] = []
    because: list[Fact] = []
    for pod in _pods(scene, node):
        causes = [each for each in budget_causes_of(scene, pod) if each.because]
        if causes:
            refused.append(pod.key)
            because.extend(causes[0].because[:4])
    if refused:
        sentence = say_count(
            "A drain of {node} waits for 1 pod whose budgets allow no disruption.",
            "A drain of {node} waits for {count} pods whose budgets allow no disruption.",
            len(refused),
            node=node.name,
        )
        pods = listed(refused, FEW)
        why = say_count("It is {pods}.", "They are {pods}.", len(refused), pods=pods)
        yield cause("disruption-controller", sentence, because, why=why, severity="notes")
