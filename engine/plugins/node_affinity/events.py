"""The events that may help a pod which selects other nodes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, Action
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.objects.selectors import NodeSelector

if TYPE_CHECKING:
    from engine.objects.objects import Manifest, Node, Pod


def affinity_became_matched(
    enforced: NodeSelector | None, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """Upstream: NodeAffinity isSchedulableAfterNodeChange().

    *enforced* is what the scheduler's configuration requires. A term that cannot be read is an error, after which the pod is tried again.
    Whether the old node matched the enforced affinity is not checked.
    """
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


def events_of(enforced: NodeSelector | None) -> tuple[Registration, ...]:
    """The events; *enforced* is what the scheduler's configuration requires of every node."""
    hint = partial(affinity_became_matched, enforced)
    return (on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, hint),)
