"""The events that may complete a gang."""

from __future__ import annotations

from typing import Any

from kscope.sim.objects.objects import ApiObject, Pod
from scheduling.engine.framework.cluster_events import POD, POD_GROUP, Action
from scheduling.engine.framework.registrations import Registration, on
from scheduling.engine.pod_groups.groups import group_of
from scheduling.engine.pods.pod_info import PodInfo


def _is_of_same_group(pod: PodInfo, old: Any, new: Any) -> bool:
    group = group_of(pod.pod)
    return bool(group) and isinstance(new, Pod) and group_of(new) == group


def _is_its_group(pod: PodInfo, old: Any, new: Any) -> bool:
    return isinstance(new, ApiObject) and new.key == group_of(pod.pod)


EVENTS: tuple[Registration, ...] = (
    on(POD, Action.ADD, _is_of_same_group),
    on(POD_GROUP, Action.ADD, _is_its_group),
)
