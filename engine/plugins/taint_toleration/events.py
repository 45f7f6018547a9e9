"""The events that may help a pod which a taint kept out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, POD, Action
from engine.framework.hints import itself_updated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import parse_tolerations
from engine.framework.registrations import Registration, on
from engine.objects.pods.tolerations import Taint

if TYPE_CHECKING:
    from engine.objects.objects import Node


def became_tolerated(pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    was = old is not None and _tolerates_all(pod, old)
    return not was and new is not None and _tolerates_all(pod, new)


def _tolerates_all(pod: PodInfo, node: Node) -> bool:
    if not node.taints:
        return True
    tolerations = parse_tolerations(pod.pod.spec, compares=pod.rules.compares_tolerations)
    return all(
        any(one.tolerates(taint) for one in tolerations)
        for taint in map(Taint.parse, node.taints)
        if taint.effect in ("NoSchedule", "NoExecute")
    )


EVENTS: tuple[Registration, ...] = (
    on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, became_tolerated),
    on(POD, Action.UPDATE_POD_TOLERATION, itself_updated),
)
