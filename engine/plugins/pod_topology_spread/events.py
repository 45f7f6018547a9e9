"""The events that may help a pod which its spread constraints kept out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, POD, Action
from engine.framework.hints import has_place
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import SpreadConstraint, spread_constraints
from engine.framework.registrations import Registration, on

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod


def spread_of_pods_changed(
    defaults: Defaults, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: PodTopologySpread isSchedulableAfterPodChange()."""
    return all(
        thing is None or thing.uid == pod.uid or bool(thing.node_name) for thing in (old, new)
    ) and _spread_changed(defaults, pod, old, new)


def spread_of_pods_changed_1_36(
    defaults: Defaults, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: PodTopologySpread isSchedulableAfterPodChange() (v1.36)."""
    return all(
        thing is None or thing.uid == pod.uid or has_place(thing) for thing in (old, new)
    ) and _spread_changed(defaults, pod, old, new)


def _spread_changed(defaults: Defaults, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Whether a pod that has a place, or the waiting *pod* itself, changed what is counted."""
    if any(
        thing is not None and thing.uid != pod.uid and thing.namespace != pod.pod.namespace
        for thing in (old, new)
    ):
        return False
    constraints = _spread_constraints(defaults, pod)
    if old is None or new is None:
        labels = (new or old or pod.pod).labels
        return any(_counts(constraint, labels) for constraint in constraints)
    if (
        new.uid == pod.uid
        and (new.spec.get("tolerations") or []) != (old.spec.get("tolerations") or [])
        and any(constraint.honors_taints for constraint in constraints)
    ):
        return True
    return any(
        _counts(constraint, old.labels) != _counts(constraint, new.labels)
        for constraint in constraints
    )


def spread_domains_changed(
    defaults: Defaults, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    keys = [constraint.topology_key for constraint in _spread_constraints(defaults, pod)]
    was = old is not None and all(key in old.labels for key in keys)
    matches = new is not None and all(key in new.labels for key in keys)
    if old is None or new is None:
        return matches or was
    if was != matches:
        return True
    return matches and (
        any(old.labels.get(key) != new.labels.get(key) for key in keys) or old.taints != new.taints
    )


def _spread_constraints(defaults: Defaults, pod: PodInfo) -> Sequence[SpreadConstraint]:
    """Upstream: getConstraints()."""
    if not pod.pod.spec.get("topologySpreadConstraints"):
        return defaults(pod)
    return [constraint for constraint in spread_constraints(pod) if constraint.is_hard]


def _counts(constraint: SpreadConstraint, labels: Mapping[str, str]) -> bool:
    return constraint.selector is not None and constraint.selector.matches(labels)


Defaults = Callable[[PodInfo], Sequence[SpreadConstraint]]
"""The DoNotSchedule constraints that a pod without any gets from the configuration."""

_POD_ACTIONS = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE | Action.UPDATE_POD_TOLERATION
_NODE_ACTIONS = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT


def events_of(defaults: Defaults, *, complete: bool) -> tuple[Registration, ...]:
    """The events; with *complete* hints, as since v1.36, nominated pods count as well."""
    of_pods = spread_of_pods_changed_1_36 if complete else spread_of_pods_changed
    return (
        on(POD, _POD_ACTIONS, partial(of_pods, defaults)),
        on(NODE, _NODE_ACTIONS, partial(spread_domains_changed, defaults)),
    )
