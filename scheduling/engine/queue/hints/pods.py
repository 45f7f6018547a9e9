"""Hints about other pods: inter-pod affinity and topology spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from scheduling.engine.framework.registrations import HintWorld
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo
from scheduling.engine.pods.pod_template import SpreadConstraint, spread_constraints

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node, Pod


def affinity_of_pods_changed(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: InterPodAffinity isSchedulableAfterPodChange().

    v1.34 does not see that a deleted pod's own anti-affinity may have kept this one out
    (kubernetes#134393, corrected in v1.36): such a pod waits for another event, or for the flush.
    """
    if any(thing is not None and not thing.node_name for thing in (old, new)):
        return False
    return _affinity_changed(pod, old, new)


def affinity_of_pods_changed_1_36(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: InterPodAffinity isSchedulableAfterPodChange() (v1.36)."""
    if old is not None and new is not None and new.uid == pod.uid and new.labels != old.labels:
        return True
    if not all(thing is None or _has_place(thing) for thing in (old, new)):
        return False
    if old is not None and new is None:
        repelling = PodInfo(old, pod.rules).affinity.required_anti
        if _matches_all(repelling, pod.pod):
            return True
    return _affinity_changed(pod, old, new)


def _affinity_changed(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Whether another pod began to match the affinity of *pod*, or no longer matches its anti-affinity.

    Several terms of anti-affinity must match together, although one of them keeps the pod out
    (kubernetes#139161, corrected after v1.36).
    """
    wanted, unwanted = pod.affinity.required, pod.affinity.required_anti
    if old is None:
        return new is not None and _matches_all(wanted, new)
    if new is None:
        return _matches_all(unwanted, old)
    return (_matches_all(wanted, new) and not _matches_all(wanted, old)) or (
        _matches_all(unwanted, old) and not _matches_all(unwanted, new)
    )


def affinity_topology_changed(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    if new is None:
        return False
    for term in pod.affinity.required:
        value = new.labels.get(term.topology_key)
        if value is not None and (old is None or old.labels.get(term.topology_key) != value):
            return True
    if old is None:
        # The pods that share the new node's domain are not looked at.
        return bool(pod.affinity.required_anti)
    # A node that left its domain took unwanted pods with it; one that joined frees nothing.
    keys = [term.topology_key for term in pod.affinity.required_anti]
    return any(key in old.labels and old.labels[key] != new.labels.get(key) for key in keys)


def spread_of_pods_changed(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: PodTopologySpread isSchedulableAfterPodChange()."""
    return all(
        thing is None or thing.uid == pod.uid or bool(thing.node_name) for thing in (old, new)
    ) and _spread_changed(world, pod, old, new)


def spread_of_pods_changed_1_36(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: PodTopologySpread isSchedulableAfterPodChange() (v1.36)."""
    return all(
        thing is None or thing.uid == pod.uid or _has_place(thing) for thing in (old, new)
    ) and _spread_changed(world, pod, old, new)


def _spread_changed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Whether a pod that has a place, or the waiting *pod* itself, changed what is counted."""
    if any(
        thing is not None and thing.uid != pod.uid and thing.namespace != pod.pod.namespace
        for thing in (old, new)
    ):
        return False
    constraints = _spread_constraints(world, pod)
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
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    keys = [constraint.topology_key for constraint in _spread_constraints(world, pod)]
    was = old is not None and all(key in old.labels for key in keys)
    matches = new is not None and all(key in new.labels for key in keys)
    if old is None or new is None:
        return matches or was
    if was != matches:
        return True
    return matches and (
        any(old.labels.get(key) != new.labels.get(key) for key in keys) or old.taints != new.taints
    )


def _has_place(pod: Pod) -> bool:
    """Whether the pod has a node, or is nominated to one."""
    return bool(pod.node_name or pod.nominated_node_name)


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    # No terms match nothing. Hints do not look namespaces up: a namespaceSelector is asked about
    # no labels at all. Upstream: podMatchesAllAffinityTerms().
    return bool(terms) and all(term.matches(pod.namespace, pod.labels) for term in terms)


def _spread_constraints(world: HintWorld, pod: PodInfo) -> Sequence[SpreadConstraint]:
    """Upstream: getConstraints()."""
    if not pod.pod.spec.get("topologySpreadConstraints"):
        return world.default_spread_constraints(pod)
    return [constraint for constraint in spread_constraints(pod) if constraint.is_hard]


def _counts(constraint: SpreadConstraint, labels: Mapping[str, str]) -> bool:
    return constraint.selector is not None and constraint.selector.matches(labels)
