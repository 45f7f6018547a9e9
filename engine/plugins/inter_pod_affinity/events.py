"""The events that may help a pod which the affinity of pods kept out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, POD, Action
from engine.framework.hints import has_place
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.framework.registrations import Registration, on

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod


def affinity_of_pods_changed(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: InterPodAffinity isSchedulableAfterPodChange().

    v1.34 does not see that a deleted pod's own anti-affinity may have kept this one out
    (kubernetes#134393, corrected in v1.36): such a pod waits for another event, or for the flush.
    """
    if any(thing is not None and not thing.node_name for thing in (old, new)):
        return False
    return _affinity_changed(pod, old, new)


def affinity_of_pods_changed_1_36(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: InterPodAffinity isSchedulableAfterPodChange() (v1.36)."""
    if old is not None and new is not None and new.uid == pod.uid and new.labels != old.labels:
        return True
    if not all(thing is None or has_place(thing) for thing in (old, new)):
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


def affinity_topology_changed(pod: PodInfo, old: Node | None, new: Node | None) -> bool:
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


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    # No terms match nothing. Hints do not look namespaces up: a namespaceSelector is asked about
    # no labels at all. Upstream: podMatchesAllAffinityTerms().
    return bool(terms) and all(term.matches(pod.namespace, pod.labels) for term in terms)


_POD_ACTIONS = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE


def events_of(*, complete: bool) -> tuple[Registration, ...]:
    """The events; with *complete* hints, as since v1.36, they see all that may help."""
    of_pods = affinity_of_pods_changed_1_36 if complete else affinity_of_pods_changed
    return (
        on(POD, _POD_ACTIONS, of_pods),
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, affinity_topology_changed),
    )
