"""Kubernetes v1.34: the scheduling framework with queueing hints.

Upstream: v1.34 pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from engine.framework import names
from engine.kernel.units import MINUTE, SECOND
from engine.objects.phases import BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER
from engine.versions.default_plugins import DefaultPlugins, InTreePlugin
from engine.versions.gates import LOCKED_ON, OFF, ON
from engine.versions.v1_20 import V1_20

_ALL_FOUR = ("preFilter", "filter", "preScore", "score")
_DEVICES = ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "preBind")
_VOLUMES = ("preFilter", "filter", "reserve", "preBind", "preScore", "score")

V1_34 = V1_20.but(
    name="v1.34",
    summary="The current scheduling framework: queueing hints, scheduling gates, CSI migration.",
    formats=("v1",),
    feature_gates={
        "TTLAfterFinished": None,
        "SchedulerQueueingHints": LOCKED_ON,
        "SchedulerPopFromBackoffQ": ON,
        "MutableCSINodeAllocatableCount": OFF,
        "StorageCapacityScoring": OFF,
    },
    namespaces_have_name_label=True,
    plugins=DefaultPlugins(
        multi_point=(
            InTreePlugin(names.SCHEDULING_GATES, 0, ("preEnqueue",)),
            InTreePlugin(names.PRIORITY_SORT, 0, ("queueSort",)),
            InTreePlugin(names.NODE_UNSCHEDULABLE, 0, ("filter",)),
            InTreePlugin(names.NODE_NAME, 0, ("filter",)),
            InTreePlugin(names.TAINT_TOLERATION, 3, ("filter", "preScore", "score")),
            InTreePlugin(names.NODE_AFFINITY, 2, _ALL_FOUR),
            InTreePlugin(names.NODE_PORTS, 0, ("preFilter", "filter")),
            InTreePlugin(names.NODE_RESOURCES_FIT, 1, _ALL_FOUR),
            InTreePlugin(names.VOLUME_RESTRICTIONS, 0, ("preFilter", "filter")),
            InTreePlugin(names.NODE_VOLUME_LIMITS, 0, ("preFilter", "filter")),
            InTreePlugin(names.VOLUME_BINDING, 0, _VOLUMES),
            InTreePlugin(names.VOLUME_ZONE, 0, ("preFilter", "filter")),
            InTreePlugin(names.POD_TOPOLOGY_SPREAD, 2, _ALL_FOUR),
            InTreePlugin(names.INTER_POD_AFFINITY, 2, _ALL_FOUR),
            InTreePlugin(names.DYNAMIC_RESOURCES, 0, _DEVICES),
            InTreePlugin(names.DEFAULT_PREEMPTION, 0, ("postFilter",)),
            InTreePlugin(names.NODE_RESOURCES_BALANCED_ALLOCATION, 1, ("preScore", "score")),
            InTreePlugin(names.IMAGE_LOCALITY, 1, ("score",)),
            InTreePlugin(names.DEFAULT_BINDER, 0, ("bind",)),
        ),
        # Devices are not allocated in this version.
        unasked=(names.DYNAMIC_RESOURCES,),
        arguments=V1_20.plugins.arguments,
    ),
    settings={
        names.NODE_RESOURCES_FIT: {"gives_up_too_small": True, "compares_all": False},
        names.NODE_RESOURCES_BALANCED_ALLOCATION: {"counts_defaults": False},
        names.IMAGE_LOCALITY: {"counts_as_reported": False},
        names.POD_TOPOLOGY_SPREAD: {"rounds": True, "defaults_need_all_labels": False},
        names.INTER_POD_AFFINITY: {"skips_early": True},
        names.VOLUME_BINDING: {
            "knows_lost_claims": True,
            "awaits_own_claims": True,
            "translates": True,
        },
        names.NODE_VOLUME_LIMITS: {"is_modern": True},
        names.VOLUME_RESTRICTIONS: {"looks_at_claims": True},
    },
    configuration={
        "optional_plugins": (),
        "profile_percentage": True,
        "only_leases": True,
        "checks_preparation": False,
    },
    wording=None,
    cycle={
        "stops_at_first_without_scores": True,
        "tries_nominated_node_first": True,
        "narrows_in_pre_filter": True,
        "checks_preferences_in_pre_score": True,
        "counts_pre_filter_rejections": False,
        "plugins_without_pre_filter": (),
        "post_filter": "reported",
        "ends_empty_reasons": False,
        "fails_on_untranslatable_volumes": True,
        "counts_attachments": True,
        "marks_victims": True,
        "preempted_message": "Preempted by pod {uid}",
        "errors_end_nomination": True,
        "reports_scheduler_errors": True,
        "retries_status_writes": True,
        "activates_pods": True,
        "rejects_at_every_point": True,
        "rejected_binding": "unsaid",
        "requeues_after_failed_binding": True,
        "requeues_after_lost_nomination": True,
        "requeues_after_nominated_binding": True,
        "requeues_after_permit_deletion": True,
        "reports_deleted_pods": False,
    },
    extenders={
        "replaces_reasons": True,
        "omitted_is_unresolvable": True,
        "scores_returned_nodes": True,
        "ignores_failed_binders": True,
    },
    preemption={
        "limits_candidates": True,
        "sorts_victims": True,
        "errors_fail": True,
        "clears_without_candidates": True,
        "trusts_unseen": False,
        "knows_its_victims": True,
        "needs_evictions": True,
        "spares_the_leaving": True,
    },
    queue={
        "backoff": "counts",
        "backoff_window": 1 * SECOND,
        "leftover_age": 5 * MINUTE,
        "update_leaves_backoff": False,
        "status_counts": False,
        "present_errors": {
            "unschedulable": "Pod {pod} is already present in unschedulable queue",
            "gated": "Pod {pod} is already present in unschedulable queue",
            "active": "Pod {pod} is already present in the active queue",
            "backoff": "Pod {pod} is already present in the backoff queue",
        },
    },
    cache={
        "assume_ttl": 0,
        "confirm_replaces_pod": True,
        "removes_assumed": True,
        "errors_name_pod": True,
    },
    resources={"sums_exactly": True},
    admission={
        "pod_totals": True,
        "names_containers": True,
        "cross_namespace_scope": True,
        "scope_updates": True,
        "overhead_without_limit": False,
        "allocated_storage": True,
        "attributes_class_scope": True,
        "changes_attributes_class": True,
        "lowers_storage_requests": True,
        "spares_node_ports": True,
        "gated_condition": True,
        "unready_evictions": True,
        "resizes_pods": True,
    },
    workloads={
        "taints_new_nodes": False,
        "disruption_conditions": True,
        "scaled_from": True,
        "log_scale_down": True,
        "pod_index": True,
        "pending_pods_get_claims": True,
        "job_waits_first": True,
        "tracks_marked_jobs": True,
        "deletes_finished_jobs": True,
        "watches_cron_jobs": True,
        "completed_job_text": "Saw completed job: {job}, condition: {kind}",
        "counts_both_directions": True,
        "guards_scaled_selectors": True,
        "sums_up_metrics": True,
        "budget_resync": 0,
        "monitor_grace": 50 * SECOND,
        "failed_daemons_count": True,
        "heeds_out_of_service": True,
        "claim_retention": True,
        "awaits_claim_deletion": True,
        "retries_ephemeral_claims": True,
    },
    containers={
        "ports_taken": "Predicate NodePorts failed: node(s) didn't have free ports for the "
        "requested pod ports",
        "labels_differ": "Predicate NodeAffinity failed: node(s) didn't match Pod's node "
        "affinity/selector",
        "tainted": "Predicate TaintToleration failed: node(s) had taints that the pod didn't "
        "tolerate",
        "created": "Created container: {name}",
        "waits_to_pull": 'Back-off pulling image "{image}": ErrImagePull: {error}',
        "backing_off": "Back-off restarting failed container {name} in pod {pod}",
    },
    storage={
        "migrates_in_tree": True,
        "recovers_attachments": True,
        "reconstructs_all": True,
        "mounts_protected_claims": True,
        "names_unprocessed_volumes": True,
        "healthy_nodes_keep_volumes": True,
        "keeps_terminated_volumes": False,
        "heeds_out_of_service": True,
        "modifies_volumes": True,
    },
    controller={
        "provisioner_annotations": (BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER),
        "external_provisioning": (
            "Waiting for a volume to be created either by the external provisioner '{}' or "
            "manually by the system administrator. If volume creation is delayed, please verify "
            "that the provisioner is running and correctly registered."
        ),
        "retroactive_default_class": True,
        "honors_reclaim_policy": True,
        "reschedules_lost_node": True,
        "rechecks_claim_uid": True,
    },
    binder={"timed_out": "context deadline exceeded"},
)
