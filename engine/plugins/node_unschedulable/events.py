"""The events that may help a pod which a cordon kept out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.framework.cluster_events import NODE, POD, Action
from engine.framework.hints import itself_updated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import parse_tolerations
from engine.framework.registrations import Registration, on
from engine.plugins.node_unschedulable.cordon import UNSCHEDULABLE_TAINT

if TYPE_CHECKING:
    from engine.objects.objects import Node


def itself_tolerates_unschedulable(pod: PodInfo, old: Any, new: Any) -> bool:
    tolerations = parse_tolerations(new.spec, compares=pod.rules.compares_tolerations)
    return itself_updated(pod, old, new) and any(
        one.tolerates(UNSCHEDULABLE_TAINT) for one in tolerations
    )


def became_schedulable(pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    was = old is not None and not old.unschedulable
    return not was and new is not None and not new.unschedulable


EVENTS: tuple[Registration, ...] = (
    on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, became_schedulable),
    on(POD, Action.UPDATE_POD_TOLERATION, itself_tolerates_unschedulable),
)
