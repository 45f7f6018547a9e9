"""Kubernetes v1.11: predicates, node conditions instead of taints, volumes bound in rounds.

TaintNodesByCondition is off by default, so nodes are judged by their conditions. CSI volumes are
not counted, and ImageLocalityPriority is no default. Nothing is provisioned for a chosen node while
the alpha gate DynamicProvisioningScheduling is off. The gate AttachVolumeLimit is off, so what a
node says of its limits is not read. PodOverhead is an alpha gate and off.
Upstream: v1.11 pkg/scheduler/algorithmprovider/defaults/defaults.go.
"""

from kscope.sim.kernel.units import MILLISECOND, SECOND
from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine import names
from scheduling.engine.api_server.rules import AdmissionRules
from scheduling.engine.nodes.cache_rules import CacheRules
from scheduling.engine.preemption.dry_run import PreemptionRules
from scheduling.engine.queue.rules import QueueRules
from scheduling.engine.versions.configuration_rules import DefaultPlugins, PolicyRules
from scheduling.engine.versions.cycle_rules import CycleRules, ExtenderRules
from scheduling.engine.versions.gate_names import OFF
from scheduling.engine.versions.kubernetes_version import KubernetesVersion
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.actors import StorageRules
from volumes.engine.binding.binder import BinderRules
from volumes.engine.phases import BETA_STORAGE_PROVISIONER
from volumes.engine.pv_controller.rules import ControllerRules

_RESOURCES = ResourceRules(
    sums_exactly=False,
    init_containers_occupy=False,
    overhead=False,
    compares_tolerations=False,
)

V1_11 = KubernetesVersion(
    name="v1.11",
    summary="Predicates and priorities; volumes are bound in rounds, before the pod.",
    formats=("v1alpha1", "Policy"),
    feature_gates={
        "TaintNodesByCondition": OFF,
        "ResourceLimitsPriorityFunction": OFF,
        "DynamicProvisioningScheduling": OFF,
    },
    namespaces_have_name_label=False,
    plugins=DefaultPlugins(
        pre_enqueues=(),
        filters=(
            names.POD_PASSES_BASIC_CHECKS,
            names.CHECK_NODE_CONDITION,
            names.GENERAL_PREDICATES,
            names.NO_DISK_CONFLICT,
            names.POD_TOLERATES_NODE_TAINTS,
            names.MAX_EBS_VOLUME_COUNT,
            names.MAX_GCE_PD_VOLUME_COUNT,
            names.MAX_AZURE_DISK_VOLUME_COUNT,
            names.CHECK_VOLUME_BINDING,
            names.NO_VOLUME_ZONE_CONFLICT,
            names.CHECK_NODE_MEMORY_PRESSURE,
            names.CHECK_NODE_PID_PRESSURE,
            names.CHECK_NODE_DISK_PRESSURE,
            names.MATCH_INTER_POD_AFFINITY,
        ),
        scores=(
            (names.SELECTOR_SPREAD_PRIORITY, 1),
            (names.INTER_POD_AFFINITY_PRIORITY, 1),
            (names.LEAST_REQUESTED_PRIORITY, 1),
            (names.BALANCED_RESOURCE_ALLOCATION, 1),
            (names.NODE_PREFER_AVOID_PODS_PRIORITY, 10_000),
            (names.NODE_AFFINITY_PRIORITY, 1),
            (names.TAINT_TOLERATION_PRIORITY, 1),
        ),
        post_filters=(names.DEFAULT_PREEMPTION,),
        reserves=(names.VOLUME_BINDING,),
        pre_binds=(names.VOLUME_BINDING,),
        binds=(names.DEFAULT_BINDER,),
        arguments={
            names.CHECK_VOLUME_BINDING: {"in_rounds": True, "provisions": False},
            names.CHECK_NODE_CONDITION: {
                "knows_out_of_disk": True,
                "hopeful_reasons": ("node(s) were out of disk space",),
            },
            names.CHECK_NODE_MEMORY_PRESSURE: {
                "reads_init_containers": False,
                "hopeful_reasons": ("node(s) had memory pressure",),
            },
            names.CHECK_NODE_PID_PRESSURE: {"hopeful_reasons": ("node(s) had pid pressure",)},
            names.CHECK_NODE_DISK_PRESSURE: {"hopeful_reasons": ("node(s) had disk pressure",)},
            names.MATCH_INTER_POD_AFFINITY: {"needs_one_pod": True},
            names.SELECTOR_SPREAD_PRIORITY: {"matches_any": True},
            names.SERVICE_SPREADING_PRIORITY: {"matches_any": True},
            names.IMAGE_LOCALITY_PRIORITY: {"scales_by_spread": False},
            names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: {"averages_all": True},
            names.MAX_EBS_VOLUME_COUNT: {"reads_allocatable": False},
            names.MAX_GCE_PD_VOLUME_COUNT: {"reads_allocatable": False},
            names.MAX_AZURE_DISK_VOLUME_COUNT: {"reads_allocatable": False},
            names.MAX_CINDER_VOLUME_COUNT: {"reads_allocatable": False},
        },
    ),
    configuration=None,
    policy=PolicyRules(
        unknown=(
            names.CHECK_NODE_UNSCHEDULABLE,
            names.MAX_CSI_VOLUME_COUNT,
            names.EVEN_PODS_SPREAD,
            names.EVEN_PODS_SPREAD_PRIORITY,
        ),
        mandatory=(names.POD_TOLERATES_NODE_TAINTS,),
        limits_priority_by_default=False,
        ratio_arguments={"averages_all": True},
        ratio_reads_resources=False,
    ),
    wording=None,
    cycle=CycleRules(
        uses_predicates=True,
        examines_all_nodes=True,
        takes_turns=True,
        stops_at_first_without_scores=False,
        tries_nominated_node_first=False,
        nominates_before_pre_bind=False,
        decides_with_nomination=True,
        checks_claims_without_nodes=True,
        narrows_in_pre_filter=False,
        checks_preferences_in_pre_score=False,
        counts_pre_filter_rejections=False,
        plugins_without_pre_filter=(),
        post_filter="absent",
        ends_empty_reasons=True,
        names_extension_points=False,
        fails_on_untranslatable_volumes=False,
        asks_volume_fields=True,
        lists_volumes_by_field=True,
        counts_attachments=False,
        counts_budgets_without_status=False,
        evicts_before_reporting=False,
        marks_victims=False,
        preempted_message="by {key}",
        errors_end_nomination=False,
        reports_scheduler_errors=False,
        retries_status_writes=False,
        allocates_devices=False,
        activates_pods=False,
        rejects_at_every_point=False,
        rejected_binding="event only",
        requeues_after_failed_binding=False,
        requeues_after_lost_nomination=False,
        requeues_after_permit_deletion=False,
        reports_deleted_pods=True,
        binds_in_rounds=True,
        events_in_series=False,
    ),
    extenders=ExtenderRules(
        restores_nodes=True,
        replaces_reasons=False,
        reads_unresolvable=False,
        omitted_is_unresolvable=False,
        scores_returned_nodes=False,
        score_scale=1,
        exchanges_violations=False,
        requires_victims=False,
        ignores_failed_binders=False,
    ),
    preemption=PreemptionRules(
        budgets_count_down=False,
        needs_victims=False,
        limits_candidates=False,
        sorts_victims=False,
        checks_policy=False,
        errors_fail=False,
        clears_without_candidates=False,
        gives_hopeless_up=False,
        goes_by_start=False,
        trusts_unseen=True,
        knows_its_victims=False,
        needs_evictions=False,
        spares_the_leaving=False,
        candidate_percentage=10,
        min_candidates=100,
    ),
    queue=QueueRules(
        resources=_RESOURCES,
        backoff="pause",
        initial_backoff=100 * MILLISECOND,
        max_backoff=1 * SECOND,
        backoff_flush_period=1,
        backoff_window=0,
        leftover_age=0,
        leftover_flush_period=30 * SECOND,
        heartbeat_period=10 * SECOND,
        compares_nodes=False,
        ignored_kinds=("PersistentVolume", "storage.k8s.io/StorageClass", "storage.k8s.io/CSINode"),
        active_order="heap",
        retries_other_failures=True,
        pops_from_backoff=False,
        hints=False,
        update_leaves_backoff=True,
        status_counts=False,
        present_errors={
            "unschedulable": "pod is already present in unschedulableQ",
            "gated": "pod is already present in unschedulableQ",
            "active": "pod is already present in the activeQ",
            "backoff": "pod is already present in the backoffQ",
        },
    ),
    cache=CacheRules(
        resources=_RESOURCES,
        assume_ttl=30 * SECOND,
        clean_period=1 * SECOND,
        beta_zones_only=True,
        confirm_replaces_pod=False,
        removes_assumed=False,
        update_adds_to_tree=False,
        relists_after_any_change=True,
        errors_name_pod=False,
        missing_uid_error="Cannot get cache key for pod with empty UID",
    ),
    resources=_RESOURCES,
    admission=AdmissionRules(
        pod_totals=False,
        limit_full_stops=True,
        names_containers=False,
        partial_usage=False,
        scope_selectors=False,
        cross_namespace_scope=False,
        scope_updates=False,
        overhead=False,
        overhead_without_limit=False,
        allocated_storage=False,
        attributes_class_scope=False,
        spares_node_ports=False,
    ),
    workloads=WorkloadRules(
        taints_by_condition=False,
        taints_new_nodes=False,
        disruption_conditions=False,
        scaled_from=False,
        log_scale_down=False,
        pod_index=False,
        pending_pods_get_claims=False,
        makes_resource_claims=False,
        job_waits_first=False,
        budget_resync=30 * SECOND,
        monitor_grace=40 * SECOND,
        warns_pods_of_node=False,
        failed_daemons_count=False,
        compares_tolerations=False,
    ),
    storage=StorageRules(
        migrates_in_tree=False,
        recovers_attachments=False,
        reconstructs_all=False,
    ),
    controller=ControllerRules(
        provisioner_annotations=(BETA_STORAGE_PROVISIONER,),
        external_provisioning=(
            'waiting for a volume to be created, either by external provisioner "{}" or manually '
            "created by system administrator"
        ),
        names_waiting_pods=False,
        reports_taken_volume=False,
        retroactive_default_class=False,
        honors_reclaim_policy=False,
        reschedules_lost_node=False,
        rechecks_claim_uid=False,
    ),
    binder=BinderRules(
        error_prefix="",
        out_of_reach="No matching NodeSelectorTerms",
        timed_out="timed out waiting for the condition",
        provisioning_failed=(
            'selectedNode annotation value "{has}" not set to scheduled node "{node}"'
        ),
        pod_gone='pod "{key}" does not exist any more',
        only_changes=True,
    ),
)
