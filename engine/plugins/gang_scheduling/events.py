"""The events that may complete a gang."""

from __future__ import annotations

from typing import Any

from engine.framework.cluster_events import POD, POD_GROUP, Action
from engine.framework.pod_groups.groups import group_of
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.objects.objects import ApiObject, Pod


def _is_of_same_group(pod: PodInfo, old: Any, new: Any) -> bool:
    group = group_of(pod.pod)
    return bool(group) and isinstance(new, Pod) and group_of(new) == group


def _is_its_group(pod: PodInfo, old: Any, new: Any) -> bool:
    return isinstance(new, ApiObject) and new.key == group_of(pod.pod)


EVENTS: tuple[Registration, ...] = (
    on(POD, Action.ADD, _is_of_same_group),
    on(POD_GROUP, Action.ADD, _is_its_group),
)
