"""Why nothing is placed on a node, and why it cannot be drained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.budgets import budget_causes_of
from engine.diagnosis.subjects.scene import Scene, cause, deletion_facts
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.objects.manifest_parts import items
from engine.objects.objects import Node, Pod
from engine.plugins.taint_toleration.facts import condition_facts, taint_facts

CONTROLLER: Final = "node-controller"
_HEALTHY: Final = {"Ready": "True"}


def node_causes(scene: Scene, node: Node) -> Iterator[Cause]:
    """What keeps pods off *node*, and what keeps those that it has from leaving."""
    if node.deletion_timestamp:
        yield cause(CONTROLLER, f"Node {node.name} is terminating.", deletion_facts(node))
    if node.unschedulable:
        text = f"Node {node.name} is cordoned: it keeps its pods and takes no new ones."
        yield cause("NodeUnschedulable", text, [fact(node, ("spec", "unschedulable"), text)])
    for condition in items(node.status, "conditions"):
        kind = str(condition.get("type"))
        if condition.get("status") != _HEALTHY.get(kind, "False"):
            sentence = f"Node {node.name} has {kind}={condition.get('status')}."
            yield cause("kubelet", sentence, list(condition_facts(node, kind)), severity="narrows")
    taints = list(taint_facts(node))
    if taints:
        sentence = f"Node {node.name} takes only pods that tolerate its taints."
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
        sentence = f"Node {node.name} has {len(pods)} pods and may have {most}."
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
        count = "1 pod" if len(refused) == 1 else f"{len(refused)} pods"
        sentence = f"A drain of {node.name} waits for {count} whose budgets allow no disruption."
        why = f"{'It is' if len(refused) == 1 else 'They are'} {listed(refused, FEW)}."
        yield cause("disruption-controller", sentence, because, why=why, severity="notes")
