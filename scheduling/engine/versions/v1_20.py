"""Kubernetes v1.20: the scheduling framework with its early defaults.

NodeResourcesLeastAllocated is what NodeResourcesFit scores. NodePreferAvoidPods gives 10 of 10 in
the engine and 100 of 100 upstream, hence its weight.
Upstream: v1.20 pkg/scheduler/algorithmprovider/registry.go getDefaultConfig().
"""

from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine import names
from scheduling.engine.api_server.rules import AdmissionRules
from scheduling.engine.framework.wording import WORDING_1_20
from scheduling.engine.nodes.cache_rules import CacheRules
from scheduling.engine.preemption.dry_run import PreemptionRules
from scheduling.engine.queue.rules import QueueRules
from scheduling.engine.versions.configuration_rules import (
    ConfigurationRules,
    DefaultPlugins,
    OldScore,
)
from scheduling.engine.versions.cycle_rules import CycleRules, ExtenderRules
from scheduling.engine.versions.kubernetes_version import KubernetesVersion
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.actors import StorageRules
from volumes.engine.binding.binder import BinderRules
from volumes.engine.phases import BETA_STORAGE_PROVISIONER
from volumes.engine.pv_controller.rules import ControllerRules

_RESOURCES = ResourceRules(
    sums_exactly=False,
    init_containers_occupy=True,
    overhead=True,
)
_FILTERS = (
    names.NODE_UNSCHEDULABLE,
    names.NODE_NAME,
    names.TAINT_TOLERATION,
    names.NODE_AFFINITY,
    names.NODE_PORTS,
    names.NODE_RESOURCES_FIT,
    names.VOLUME_RESTRICTIONS,
    names.NODE_VOLUME_LIMITS,
    names.VOLUME_BINDING,
    names.VOLUME_ZONE,
    names.POD_TOPOLOGY_SPREAD,
    names.INTER_POD_AFFINITY,
)

V1_20 = KubernetesVersion(
    name="v1.20",
    summary="The scheduling framework with its first defaults; retries by backoff and events of any kind.",
    formats=("v1beta1",),
    feature_gates={},
    namespaces_have_name_label=False,
    plugins=DefaultPlugins(
        pre_enqueues=(),
        filters=_FILTERS,
        scores=(
            (names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
            (names.IMAGE_LOCALITY, 1),
            (names.INTER_POD_AFFINITY, 1),
            (names.NODE_RESOURCES_FIT, 1),
            (names.NODE_AFFINITY, 1),
            (names.NODE_PREFER_AVOID_PODS_PRIORITY, 100_000),
            (names.POD_TOPOLOGY_SPREAD, 2),
            (names.TAINT_TOLERATION, 1),
        ),
        post_filters=(names.DEFAULT_PREEMPTION,),
        reserves=(names.VOLUME_BINDING,),
        pre_binds=(names.VOLUME_BINDING,),
        binds=(names.DEFAULT_BINDER,),
        arguments={
            names.TAINT_TOLERATION: {"names_taint": True},
            names.NODE_RESOURCES_FIT: {
                "gives_up_too_small": False,
                "compares_all": True,
                "delegates_to_devices": False,
            },
            names.NODE_RESOURCES_BALANCED_ALLOCATION: {
                "counts_defaults": True,
                "scores_improvement": False,
            },
            names.IMAGE_LOCALITY: {"counts_as_reported": True, "counts_image_volumes": False},
            names.POD_TOPOLOGY_SPREAD: {"rounds": False, "defaults_need_all_labels": True},
            names.INTER_POD_AFFINITY: {"skips_early": False},
            names.VOLUME_BINDING: {
                "knows_lost_claims": False,
                "awaits_own_claims": False,
                "translates": False,
            },
            names.NODE_VOLUME_LIMITS: {"is_modern": False},
            names.VOLUME_RESTRICTIONS: {"looks_at_claims": False},
        },
    ),
    configuration=ConfigurationRules(
        multi_point=(),
        by_point={
            "queueSort": ((names.PRIORITY_SORT, 0),),
            "preFilter": (
                (names.NODE_RESOURCES_FIT, 0),
                (names.NODE_PORTS, 0),
                (names.POD_TOPOLOGY_SPREAD, 0),
                (names.INTER_POD_AFFINITY, 0),
                (names.VOLUME_BINDING, 0),
            ),
            "filter": tuple((name, 0) for name in _FILTERS),
            "postFilter": ((names.DEFAULT_PREEMPTION, 0),),
            "preScore": (
                (names.INTER_POD_AFFINITY, 0),
                (names.POD_TOPOLOGY_SPREAD, 0),
                (names.TAINT_TOLERATION, 0),
            ),
            "score": (
                (names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
                (names.IMAGE_LOCALITY, 1),
                (names.INTER_POD_AFFINITY, 1),
                ("NodeResourcesLeastAllocated", 1),
                (names.NODE_AFFINITY, 1),
                ("NodePreferAvoidPods", 10_000),
                (names.POD_TOPOLOGY_SPREAD, 2),
                (names.TAINT_TOLERATION, 1),
            ),
            "reserve": ((names.VOLUME_BINDING, 0),),
            "preBind": ((names.VOLUME_BINDING, 0),),
            "bind": ((names.DEFAULT_BINDER, 0),),
        },
        optional_scores=("NodeResourcesMostAllocated",),
        old_scores={
            "NodeResourcesLeastAllocated": OldScore(names.NODE_RESOURCES_FIT, "LeastAllocated"),
            "NodeResourcesMostAllocated": OldScore(names.NODE_RESOURCES_FIT, "MostAllocated"),
            "NodePreferAvoidPods": OldScore(names.NODE_PREFER_AVOID_PODS_PRIORITY, scale=10),
        },
        profile_percentage=False,
        only_leases=False,
        checks_preparation=True,
    ),
    policy=None,
    wording=WORDING_1_20,
    cycle=CycleRules(
        uses_predicates=False,
        examines_all_nodes=False,
        stops_at_first_without_scores=False,
        tries_nominated_node_first=False,
        nominates_before_pre_bind=False,
        decides_with_nomination=True,
        checks_claims_without_nodes=False,
        narrows_in_pre_filter=False,
        checks_preferences_in_pre_score=False,
        counts_pre_filter_rejections=True,
        plugins_without_pre_filter=(names.VOLUME_ZONE,),
        post_filter="silent",
        ends_empty_reasons=True,
        names_extension_points=True,
        fails_on_untranslatable_volumes=False,
        asks_volume_fields=False,
        lists_volumes_by_field=False,
        counts_attachments=False,
        counts_budgets_without_status=True,
        evicts_before_reporting=True,
        marks_victims=False,
        preempted_message="Preempted by {key}",
        errors_end_nomination=False,
        reports_scheduler_errors=False,
        retries_status_writes=False,
        allocates_devices=False,
        activates_pods=False,
        rejects_at_every_point=False,
        rejected_binding="condition",
        requeues_after_failed_binding=False,
        requeues_after_lost_nomination=False,
        requeues_after_permit_deletion=False,
        reports_deleted_pods=True,
        binds_in_rounds=False,
        events_in_series=True,
    ),
    extenders=ExtenderRules(
        restores_nodes=False,
        replaces_reasons=False,
        reads_unresolvable=True,
        omitted_is_unresolvable=False,
        scores_returned_nodes=False,
        score_scale=10,
        exchanges_violations=True,
        requires_victims=True,
        ignores_failed_binders=False,
    ),
    preemption=PreemptionRules(
        budgets_count_down=True,
        needs_victims=True,
        limits_candidates=False,
        sorts_victims=False,
        checks_policy=True,
        errors_fail=False,
        clears_without_candidates=False,
        gives_hopeless_up=True,
        goes_by_start=True,
        trusts_unseen=True,
        knows_its_victims=False,
        needs_evictions=False,
        spares_the_leaving=False,
        candidate_percentage=10,
        min_candidates=100,
    ),
    queue=QueueRules(
        resources=_RESOURCES,
        backoff="attempts",
        initial_backoff=1 * SECOND,
        max_backoff=10 * SECOND,
        backoff_flush_period=1 * SECOND,
        backoff_window=0,
        leftover_age=60 * SECOND,
        leftover_flush_period=30 * SECOND,
        pops_from_backoff=False,
        hints=False,
        update_leaves_backoff=True,
        status_counts=True,
        present_errors={
            "unschedulable": "pod: {pod} is already present in unschedulable queue",
            "gated": "pod: {pod} is already present in unschedulable queue",
            "active": "pod: {pod} is already present in the active queue",
            "backoff": "pod {pod} is already present in the backoff queue",
        },
    ),
    cache=CacheRules(
        resources=_RESOURCES,
        assume_ttl=30 * SECOND,
        clean_period=1 * SECOND,
        beta_zones_only=False,
        confirm_replaces_pod=False,
        removes_assumed=False,
        update_adds_to_tree=True,
        relists_after_any_change=False,
        errors_name_pod=False,
        missing_uid_error="cannot get cache key for pod with empty UID",
    ),
    resources=_RESOURCES,
    admission=AdmissionRules(
        pod_totals=False,
        limit_full_stops=False,
        names_containers=False,
        partial_usage=True,
        scope_selectors=True,
        cross_namespace_scope=False,
        scope_updates=False,
        overhead=True,
        overhead_without_limit=True,
        allocated_storage=False,
        attributes_class_scope=False,
        spares_node_ports=False,
    ),
    workloads=WorkloadRules(
        taints_by_condition=True,
        taints_new_nodes=True,
        disruption_conditions=False,
        scaled_from=False,
        log_scale_down=False,
        pod_index=False,
        pending_pods_get_claims=False,
        makes_resource_claims=False,
        job_waits_first=False,
        budget_resync=30 * SECOND,
        monitor_grace=40 * SECOND,
        warns_pods_of_node=True,
        failed_daemons_count=False,
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
        names_waiting_pods=True,
        reports_taken_volume=True,
        retroactive_default_class=False,
        honors_reclaim_policy=False,
        reschedules_lost_node=False,
        rechecks_claim_uid=False,
    ),
    binder=BinderRules(
        error_prefix="binding volumes: ",
        out_of_reach="no matching NodeSelectorTerms",
        timed_out="timed out waiting for the condition",
        provisioning_failed='provisioning failed for PVC "{name}"',
        pod_gone='pod does not exist any more: pod "{name}" not found',
        only_changes=False,
    ),
)
