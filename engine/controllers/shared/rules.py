"""How the workload controllers differ between Kubernetes versions, as data."""

from dataclasses import dataclass

from engine.kernel.units import SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRules:
    """What the controllers of one version do. Durations are nanoseconds.

    By default, as in the oldest version.
    """

    taints_by_condition: bool = False
    """Nodes are tainted by condition and pods evicted by taint; otherwise the node controller deletes the pods."""
    taints_new_nodes: bool = False
    """A node that is created during the run arrives not ready, and the node controller adds its labels and the Event RegisteredNode."""
    disruption_conditions: bool = False
    """Evicted pods have the condition DisruptionTarget, and budgets have DisruptionAllowed."""
    scaled_from: bool = False
    """The Event ScalingReplicaSet says the old size too."""
    log_scale_down: bool = False
    """Scaling down treats pods of about the same age as equal and orders them by uid."""
    pod_index: bool = False
    """Pods of a StatefulSet carry their ordinal as a label."""
    pending_pods_get_claims: bool = False
    """A StatefulSet creates the claims that its pending pods lack."""
    makes_resource_claims: bool = False
    """Resource claims are created from templates, and deallocated when no pod uses them."""
    job_waits_first: bool = False
    """The first retry of a failed pod of a Job backs off too."""
    tracks_job_pods: bool = False
    """A finalizer holds the pods of a Job until its status counts them; pod failure policies, indexes and success policies apply."""
    tracks_marked_jobs: bool = False
    """The same for Jobs that need it and were read or written since kscope follows them."""
    deletes_finished_jobs: bool = False
    """Jobs are deleted when their TTL after they have finished is over."""
    watches_cron_jobs: bool = False
    """A CronJob is looked at when it is due or has changed, and its time zone is obeyed; otherwise all are every ten seconds."""
    completed_job_text: str = "Saw completed job: {job}"
    """What the Event of a CronJob says when a Job of it has finished."""
    autoscaler_period: int = 30 * SECOND
    """How often an autoscaler is looked at."""
    stabilizes_scaling: bool = False
    """An autoscaler scales down to its highest recommendation of the last five minutes; otherwise it scales neither up for three nor down for five minutes after a change."""
    counts_failed_metrics: bool = False
    """An autoscaler looks at its other metrics, too, when one fails, and its Event counts those that do."""
    obeys_scaling_behavior: bool = False
    """Autoscalers obey spec.behavior, and go by the replicas that their targets should have; otherwise by those that there are."""
    counts_both_directions: bool = False
    """The behaviour of an autoscaler counts changes in the other direction, too."""
    guards_scaled_selectors: bool = False
    """An autoscaler scales nothing while another one selects its pods, too."""
    sums_up_metrics: bool = False
    """The Event of an autoscaler without metrics says twice which one fails."""
    budget_resync: int = 30 * SECOND
    """How often the disruption controller syncs unchanged budgets; 0 is never."""
    monitor_grace: int = 40 * SECOND
    """How long a node may be silent before its state is unknown."""
    warns_pods_of_node: bool = False
    """The pods of a node that becomes unknown get an Event."""
    failed_daemons_count: bool = False
    """The status of a DaemonSet is written even when a pod of it was refused."""
    reports_spared_pods: bool = False
    """A pod that is deleted while it tolerates a NoExecute taint for a time gets the Event that its eviction is cancelled."""
    heeds_out_of_service: bool = False
    """Pods that are terminating on a node that is not ready and has the taint out-of-service are deleted by force."""
    pods_leave_namespace_first: bool = False
    """The pods of a deleted namespace are deleted first, and everything else once no pod is left."""
    claim_retention: bool = False
    """The claims of a StatefulSet are deleted with it, or with its pods, where its retention policy says so."""
    awaits_claim_deletion: bool = False
    """A StatefulSet creates no pod for a claim that is being deleted."""
    capital_events: bool = False
    """The Events of a StatefulSet begin with a capital letter."""
    retries_ephemeral_claims: bool = False
    """The ephemeral volume controller retries while another claim has the name of its claim."""
    evicts_by_device_taints: bool = False
    """Pods are evicted whose claims do not tolerate a NoExecute taint of their devices."""
    applies_device_taint_rules: bool = False
    """Taints of DeviceTaintRules evict pods, too, and the rules say in their status how far that is."""
    compares_tolerations: bool = False
    """Tolerations with the operators Lt and Gt compare numbers; otherwise they match no taint."""
