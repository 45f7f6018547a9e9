"""Hints about nodes: cordons, taints, labels; and tolerations, which are the pod's own side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine.framework.registrations import HintWorld
from scheduling.engine.plugins.node_unschedulable.plugin import UNSCHEDULABLE_TAINT
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.pods.pod_template import Taint, parse_tolerations

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Manifest, Node, Pod


def itself_updated(world: HintWorld, pod: PodInfo, old: Any, new: Any) -> bool:
    return new is not None and new.uid == pod.uid


def itself_tolerates_unschedulable(world: HintWorld, pod: PodInfo, old: Any, new: Any) -> bool:
    tolerations = parse_tolerations(new.spec, compares=pod.rules.compares_tolerations)
    return itself_updated(world, pod, old, new) and any(
        one.tolerates(UNSCHEDULABLE_TAINT) for one in tolerations
    )


def became_schedulable(world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    was = old is not None and not old.unschedulable
    return not was and new is not None and not new.unschedulable


def became_tolerated(world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    was = old is not None and _tolerates_all(pod, old)
    return not was and new is not None and _tolerates_all(pod, new)


def affinity_became_matched(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """Upstream: NodeAffinity isSchedulableAfterNodeChange().

    A term that cannot be read is an error, after which the pod is tried again.
    Whether the old node matched the enforced affinity is not checked.
    """
    enforced = world.enforced_node_affinity()
    if new is None or (enforced is not None and not enforced.matches(new.labels, new.name)):
        return False
    if not _matches_node_affinity(pod.pod, new):
        return _is_unreadable(pod.pod, new)
    return old is None or not _matches_node_affinity(pod.pod, old)


def _matches_node_affinity(pod: Pod, node: Node) -> bool:
    required = _required_node_affinity(pod)
    return _matches_node_selector(pod, node) and (
        required is None or required.matches(node.labels, node.name)
    )


def _is_unreadable(pod: Pod, node: Node) -> bool:
    """Whether node affinity fails to match by an error, not by the node's labels: see Match()."""
    if not _matches_node_selector(pod, node):
        return False
    required = _required_node_affinity(pod)
    terms = () if required is None else required.terms
    return any(one.is_unreadable for term in terms for one in term.expressions)


def _matches_node_selector(pod: Pod, node: Node) -> bool:
    selector: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
    return all(node.labels.get(key) == value for key, value in selector.items())


def _required_node_affinity(pod: Pod) -> NodeSelector | None:
    affinity: Manifest = pod.spec.get("affinity") or {}
    node_affinity: Manifest = affinity.get("nodeAffinity") or {}
    required: Manifest | None = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return None if required is None else NodeSelector.parse(required)


def _tolerates_all(pod: PodInfo, node: Node) -> bool:
    if not node.taints:
        return True
    tolerations = parse_tolerations(pod.pod.spec, compares=pod.rules.compares_tolerations)
    return all(
        any(one.tolerates(taint) for one in tolerations)
        for taint in map(Taint.parse, node.taints)
        if taint.effect in ("NoSchedule", "NoExecute")
    )
