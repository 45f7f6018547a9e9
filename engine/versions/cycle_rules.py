"""How the scheduling and binding cycles of versions differ, and how they call extenders.

They stand here and not beside their code because `configuration` and `cycle`, which follow them,
are above the versions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

PostFilterRule = Literal["absent", "silent", "reported"]
RejectedBinding = Literal["unsaid", "condition", "event", "event only"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRules:
    """What one version does from taking a pod off the queue to binding it, and what it reports.

    By default, as in the oldest version.
    """

    uses_predicates: bool = True
    """Predicates filter nodes and priorities score them from 0 to 10; there is no scheduling framework."""
    examines_all_nodes: bool = True
    """Every search examines all nodes; there is no percentageOfNodesToScore."""
    takes_turns: bool = True
    """The nodes with the highest total are chosen in turn, by name; otherwise at random."""
    stops_at_first_without_scores: bool = False
    """Without Score plugins a search stops at the first feasible node."""
    tries_nominated_node_first: bool = False
    """The node that a pod is nominated to is tried before all others."""
    nominates_before_pre_bind: bool = False
    """A pod that waits in Permit, or whose volumes or devices are yet to be bound, is nominated to its node until it is bound."""
    decides_with_nomination: bool = True
    """In decisions mode a preemptor is tried again on the node that it is nominated to, before others."""
    checks_claims_without_nodes: bool = True
    """The claims of a pod are checked even when the cluster has no nodes."""
    narrows_in_pre_filter: bool = False
    """A PreFilter plugin may name the only nodes to examine, and preemption may help a pod that it rejects."""
    checks_preferences_in_pre_score: bool = False
    """Unreadable node preferences of a pod fail in PreScore, all at once; otherwise the first fails in Score."""
    counts_pre_filter_rejections: bool = False
    """The message counts a rejection in PreFilter as one by every node."""
    plugins_without_pre_filter: tuple[str, ...] = ()
    """Plugins that have no PreFilter in this version, only in later ones."""
    post_filter: PostFilterRule = "absent"
    """Whether there is a PostFilter extension point, and whether the message of the pod reports it."""
    ends_empty_reasons: bool = True
    """A message without reasons still ends in a full stop."""
    names_extension_points: bool = False
    """Errors name the extension point and the plugin that failed."""
    fails_on_untranslatable_volumes: bool = False
    """A volume that cannot be translated for its CSI driver fails the attempt."""
    asks_volume_fields: bool = True
    """A volume whose node affinity uses matchFields can be reached from no node."""
    lists_volumes_by_field: bool = True
    """Volumes are listed by the class in their spec, not by the one in their beta annotation."""
    counts_attachments: bool = False
    """NodeVolumeLimits counts the VolumeAttachments of a node too."""
    counts_budgets_without_status: bool = False
    """A disruption budget without a status is counted as its controller would count it."""
    evicts_before_reporting: bool = False
    """Victims are evicted before the failure of their preemptor is reported; otherwise after."""
    marks_victims: bool = False
    """Victims get the condition DisruptionTarget."""
    preempted_message: str = "by {key}"
    """The Event of a victim; {key} and {uid} are those of the preemptor."""
    returns_binding_victims: bool = False
    """A victim that waits in Permit or in PreBind goes back to the queue, and its Event says so."""
    evicts_last_victim_alone: bool = False
    """The last victim is evicted once the API server has answered for the others; a gate holds the preemptor until then."""
    deleted_pods_free_room: bool = False
    """A pod that is deleted while it is being bound frees its room at once; otherwise when its binding fails."""
    errors_end_nomination: bool = False
    """A pod loses its nomination when its attempt fails with an error."""
    reports_scheduler_errors: bool = False
    """After an error the reason in the condition of the pod is SchedulerError; otherwise Unschedulable."""
    retries_status_writes: bool = False
    """A write of the status of a pod is retried after an internal error of the API server."""
    allocates_devices: bool = False
    """Devices are allocated to resource claims; otherwise pods with claims stay pending."""
    activates_pods: bool = False
    """A plugin may have other pods tried at once (PodsToActivate)."""
    schedules_groups: bool = False
    """All waiting pods of a PodGroup are tried in one cycle, and bound only if enough of them fit."""
    batches_pods: bool = False
    """A pod like the one before, which does not fit where that one went, is tried on the next best node alone."""
    rejects_at_every_point: bool = False
    """A plugin may reject a pod at any point from Reserve to Bind; otherwise only in Permit."""
    rejected_binding: RejectedBinding = "event only"
    """Where the text "binding rejected" appears for a pod that could not be bound."""
    requeues_after_failed_binding: bool = False
    """The queue may requeue other pods when a binding fails and frees its room."""
    requeues_after_lost_nomination: bool = False
    """The queue may requeue other pods when a nominated pod is deleted or loses its nomination."""
    requeues_after_nominated_binding: bool = False
    """The queue may requeue other pods when a nominated pod is bound."""
    requeues_after_permit_deletion: bool = False
    """The queue may requeue other pods when a pod is deleted that waits in Permit."""
    reports_deleted_pods: bool = True
    """A pending pod that is deleted gets the Event "skip schedule deleting pod"."""
    binds_in_rounds: bool = True
    """Volumes are bound before the pod is, which is scheduled again until all of them are bound."""
    watches_taint_rules: bool = False
    """A DeviceTaintRule changes what the scheduler knows of devices."""
    events_in_series: bool = False
    """Events that repeat are counted in a series (events.k8s.io)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderRules:
    """What one version asks of extenders and accepts from them; by default, as the oldest does."""

    restores_nodes: bool = True
    """An extender may return, by name, nodes that were rejected before."""
    replaces_reasons: bool = False
    """The reason of an extender for a node that was rejected before replaces the earlier reason."""
    reads_unresolvable: bool = False
    """An extender may say that evictions cannot help on a node (failedAndUnresolvableNodes)."""
    omitted_is_unresolvable: bool = False
    """Evictions cannot help on a node that an extender leaves out without a reason."""
    scores_returned_nodes: bool = False
    """Nodes that an extender sends back in full are scored as if they had no pods."""
    score_scale: int = 1
    """What the scores of an extender, 0 to 10, are multiplied by."""
    exchanges_violations: bool = False
    """The number of violated disruption budgets is sent to extenders and read from their answers."""
    requires_victims: bool = False
    """A node for which an extender names no victims is an error."""
    ignores_failed_binders: bool = False
    """When an ignorable extender fails to bind a pod, the next one or the scheduler binds it."""
