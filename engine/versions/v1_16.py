"""Kubernetes v1.16: predicates and priorities, with nodes tainted by condition.

Upstream: v1.16 pkg/scheduler/algorithmprovider/defaults, DefaultProvider.
"""

from engine.framework import names
from engine.kernel.units import SECOND
from engine.versions.gates import OFF, ON
from engine.versions.v1_11 import V1_11

V1_16 = V1_11.but(
    name="v1.16",
    summary="Predicates and priorities; nodes are tainted by condition, volumes are bound with the pod.",
    formats=("v1alpha1", "Policy"),
    feature_gates={
        "TaintNodesByCondition": ON,
        "EvenPodsSpread": OFF,
        "TTLAfterFinished": OFF,
        "DynamicProvisioningScheduling": None,
    },
    plugins=V1_11.plugins.without(
        names.CHECK_NODE_MEMORY_PRESSURE,
        names.CHECK_NODE_PID_PRESSURE,
        names.CHECK_NODE_DISK_PRESSURE,
    )
    .in_place_of(names.CHECK_NODE_CONDITION, names.CHECK_NODE_UNSCHEDULABLE)
    .after(names.MAX_GCE_PD_VOLUME_COUNT, names.MAX_CSI_VOLUME_COUNT)
    .after(names.TAINT_TOLERATION_PRIORITY, names.IMAGE_LOCALITY_PRIORITY, weight=1),
    settings={
        names.CHECK_VOLUME_BINDING: {"in_rounds": False, "provisions": True},
        names.CHECK_NODE_CONDITION: {"knows_out_of_disk": False, "hopeful_reasons": ()},
        names.CHECK_NODE_MEMORY_PRESSURE: {
            "reads_init_containers": True,
            "hopeful_reasons": (),
        },
        names.CHECK_NODE_PID_PRESSURE: {"hopeful_reasons": ()},
        names.CHECK_NODE_DISK_PRESSURE: {"hopeful_reasons": ()},
        names.MATCH_INTER_POD_AFFINITY: {"needs_one_pod": False},
        names.SELECTOR_SPREAD_PRIORITY: {"matches_any": False},
        names.SERVICE_SPREADING_PRIORITY: {"matches_any": False},
        names.IMAGE_LOCALITY_PRIORITY: {"scales_by_spread": True},
        names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: {"averages_all": False},
        names.MAX_EBS_VOLUME_COUNT: {"reads_allocatable": True},
        names.MAX_GCE_PD_VOLUME_COUNT: {"reads_allocatable": True},
        names.MAX_AZURE_DISK_VOLUME_COUNT: {"reads_allocatable": True},
        names.MAX_CINDER_VOLUME_COUNT: {"reads_allocatable": True},
    },
    policy={
        "unknown": (),
        "mandatory": (names.CHECK_NODE_UNSCHEDULABLE, names.POD_TOLERATES_NODE_TAINTS),
        "limits_priority_by_default": True,
        "ratio_arguments": {},
        "ratio_reads_resources": True,
    },
    cycle={
        "examines_all_nodes": False,
        "takes_turns": False,
        "counts_budgets_without_status": True,
        "preempted_message": "Preempted by {key}",
        "rejected_binding": "event",
        "binds_in_rounds": False,
    },
    preemption={"goes_by_start": True},
    queue={
        "backoff": "record",
        "initial_backoff": 1 * SECOND,
        "max_backoff": 10 * SECOND,
        "backoff_flush_period": 1 * SECOND,
        "leftover_age": 60 * SECOND,
        "heartbeat_period": 0,
        "compares_nodes": True,
        "ignored_kinds": (),
        "active_order": "arrival",
        "retries_other_failures": False,
    },
    admission={"limit_full_stops": False, "partial_usage": True, "scope_selectors": True},
    workloads={
        "taints_by_condition": True,
        "completed_job_text": "Saw completed job: {job}, status: {kind}",
        "autoscaler_period": 15 * SECOND,
        "stabilizes_scaling": True,
        "counts_failed_metrics": True,
    },
    containers={"created": "Created container {name}", "started": "Started container {name}"},
    binder={"only_changes": False},
)
