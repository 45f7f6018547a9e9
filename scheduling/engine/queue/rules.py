"""How the scheduling queues of versions differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine.queue.events import ClusterEvent

BackoffRule = Literal["pause", "record", "attempts", "counts"]
ActiveOrder = Literal["arrival", "heap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRules:
    """How the scheduling queue of one version behaves. Durations are nanoseconds."""

    resources: ResourceRules
    backoff: BackoffRule
    """What the backoff grows with: a record by pod name, the attempts, or the counts of failures and errors in a row; every move of a pod ends a "pause"."""
    initial_backoff: int
    """How long a pod waits after its first failure."""
    max_backoff: int
    """How long a pod waits at most after a failure."""
    backoff_flush_period: int
    """How often the backoff queue is checked."""
    backoff_window: int
    """The backoff queue is ordered and flushed in steps of this length; 0 is for exact times."""
    leftover_age: int
    """After this time a pod leaves the unschedulable pods without an event; 0 is never."""
    leftover_flush_period: int
    """How often the unschedulable pods are checked for those that waited too long."""
    heartbeat_period: int
    """How often kubelets report their status, if each report moves all unschedulable pods; 0 if it does not."""
    compares_nodes: bool
    """An update of a node moves pods only if it changes what matters to scheduling."""
    sees_declared_features: bool
    """A change of the features that a node declares is an event for the queue."""
    ignored_kinds: tuple[str, ...]
    """Kinds whose events move no pod, unlike in later versions."""
    active_order: ActiveOrder
    """Pods of equal priority are tried in order of "arrival", or as they come out of Go's "heap"."""
    retries_other_failures: bool
    """A pod is tried again at once if it failed for a reason other than that no node fits."""
    pops_from_backoff: bool
    """An idle scheduler takes a pod out of the backoff queue early (SchedulerPopFromBackoffQ)."""
    hints: bool
    """Plugins decide which events requeue a pod that they rejected (SchedulerQueueingHints)."""
    complete_pod_hints: bool
    """The hints of InterPodAffinity and PodTopologySpread also react to nominated pods; that of InterPodAffinity also to new labels of the waiting pod, and to the deletion of a pod whose anti-affinity kept it out."""
    update_leaves_backoff: bool
    """An update of a pod moves it from the backoff queue to the active queue."""
    status_counts: bool
    """A write of the status of a pod counts as an update of the pod, and requeues it."""
    present_errors: Mapping[str, str]
    """The errors for a pod that is added twice, by the queue that holds it; {pod} is namespace/name."""

    def event_name(self, event: ClusterEvent) -> str:
        """What this version calls the event."""
        return event.label if self.hints else event.classic_label
