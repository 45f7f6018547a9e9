"""The services of a pod, and how their pods are spread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.framework.nodes.arrays import Codes, IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.objects.selectors import LabelSelector, Requirement


def service_selectors(pod: PodInfo, listers: Listers) -> list[LabelSelector]:
    """The selectors of the services that select the pod. Upstream: GetPodServices()."""
    found: list[LabelSelector] = []
    for service in listers.in_namespace("Service", pod.pod.namespace):
        pairs: dict[str, str] = service.spec.get("selector") or {}
        if pairs and all(pod.pod.labels.get(key) == value for key, value in pairs.items()):
            found.append(
                LabelSelector(tuple(Requirement(key, "In", (pairs[key],)) for key in sorted(pairs)))
            )
    return found


def service_pods(pod: PodInfo, listers: Listers, table: NodeTable) -> IntArray:
    """How many live pods of the pod's first service are on each row."""
    selectors = service_selectors(pod, listers)
    if not selectors:
        return np.zeros(table.capacity, np.int64)
    term = AffinityTerm(
        namespaces=frozenset((pod.pod.namespace,)),
        selector=selectors[0],
        topology_key="",
        namespace_selector=None,
    )
    counter = table.pod_counts.counter(PodMatcher((term,), live_only=True))
    return counter.tally.counts.astype(np.int64)


def spread_scores(codes: Codes, counts: IntArray, highest: float) -> npt.NDArray[np.float64]:
    """*highest* where a domain has no pods, 0 where all are or the node is in none."""
    total = int(counts.sum())
    labelled = codes >= 0
    if total == 0 or not labelled.any():
        return np.where(labelled, highest, 0.0)
    per_value = np.bincount(codes[labelled], weights=counts[labelled])
    share = (total - per_value[np.where(labelled, codes, 0)]) / float(total)
    return np.where(labelled, highest * share, 0.0)
