"""How the scheduling queues of versions differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.framework.cluster_events import ClusterEvent
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.pods.pod_resources import ResourceRules

BackoffRule = Literal["pause", "record", "attempts", "counts"]
ActiveOrder = Literal["arrival", "heap"]


def _first_present_errors() -> Mapping[str, str]:
    return {
        "unschedulable": "pod is already present in unschedulableQ",
        "gated": "pod is already present in unschedulableQ",
        "active": "pod is already present in the activeQ",
        "backoff": "pod is already present in the backoffQ",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """How the scheduling queue of one version behaves. Durations are nanoseconds.

    By default, as in the oldest version.
    """

    resources: ResourceRules = ResourceRules()
    backoff: BackoffRule = "pause"
    """What the backoff grows with: a record by pod name, the attempts, or the counts of failures and errors in a row; every move of a pod ends a "pause"."""
    initial_backoff: int = 100 * MILLISECOND
    """How long a pod waits after its first failure."""
    max_backoff: int = 1 * SECOND
    """How long a pod waits at most after a failure."""
    backoff_flush_period: int = 1
    """How often the backoff queue is checked."""
    backoff_window: int = 0
    """The backoff queue is ordered and flushed in steps of this length; 0 is for exact times."""
    leftover_age: int = 0
    """After this time a pod leaves the unschedulable pods without an event; 0 is never."""
    leftover_flush_period: int = 30 * SECOND
    """How often the unschedulable pods are checked for those that waited too long."""
    heartbeat_period: int = 10 * SECOND
    """How often kubelets report their status, if each report moves all unschedulable pods; 0 if it does not."""
    compares_nodes: bool = False
    """An update of a node moves pods only if it changes what matters to scheduling."""
    sees_declared_features: bool = False
    """A change of the features that a node declares is an event for the queue."""
    ignored_kinds: tuple[str, ...] = (
        "PersistentVolume",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/CSINode",
    )
    """Kinds whose events move no pod, unlike in later versions."""
    active_order: ActiveOrder = "heap"
    """Pods of equal priority are tried in order of "arrival", or as they come out of Go's "heap"."""
    retries_other_failures: bool = True
    """A pod is tried again at once if it failed for a reason other than that no node fits."""
    pops_from_backoff: bool = False
    """An idle scheduler takes a pod out of the backoff queue early (SchedulerPopFromBackoffQ)."""
    gated_nominations: bool = False
    """A pod that comes with a nomination holds its room while it waits at a gate, too, as it did before there were gates."""
    hints: bool = False
    """Plugins decide which events requeue a pod that they rejected (SchedulerQueueingHints)."""
    update_leaves_backoff: bool = True
    """An update of a pod moves it from the backoff queue to the active queue."""
    status_counts: bool = False
    """A write of the status of a pod counts as an update of the pod, and requeues it."""
    present_errors: Mapping[str, str] = field(default_factory=_first_present_errors)
    """The errors for a pod that is added twice, by the queue that holds it; {pod} is namespace/name."""

    def event_name(self, event: ClusterEvent) -> str:
        """What this version calls the event."""
        return event.label if self.hints else event.classic_label
