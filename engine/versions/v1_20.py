"""Kubernetes v1.20: the scheduling framework with its early defaults.

NodeResourcesLeastAllocated is what NodeResourcesFit scores. NodePreferAvoidPods gives 10 of 10 in
the engine and 100 of 100 upstream, hence its scale.
Upstream: v1.20 pkg/scheduler/algorithmprovider/registry.go getDefaultConfig().
"""

from engine.framework import names
from engine.framework.wording import WORDING_1_20
from engine.versions.configuration_rules import ConfigurationRules
from engine.versions.default_plugins import (
    DefaultPlugins,
    InTreePlugin,
    OldScore,
    settings_of,
    unweighted,
)
from engine.versions.v1_16 import V1_16

V1_20 = V1_16.but(
    name="v1.20",
    summary="The scheduling framework with its first defaults; retries by backoff and events of any kind.",
    formats=("v1beta1",),
    feature_gates={
        "TaintNodesByCondition": None,
        "EvenPodsSpread": None,
        "ResourceLimitsPriorityFunction": None,
    },
    plugins=DefaultPlugins(
        by_point={
            "queueSort": unweighted(names.PRIORITY_SORT),
            "preFilter": unweighted(
                names.NODE_RESOURCES_FIT,
                names.NODE_PORTS,
                names.POD_TOPOLOGY_SPREAD,
                names.INTER_POD_AFFINITY,
                names.VOLUME_BINDING,
            ),
            "filter": unweighted(
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
            ),
            "postFilter": unweighted(names.DEFAULT_PREEMPTION),
            "preScore": unweighted(
                names.INTER_POD_AFFINITY, names.POD_TOPOLOGY_SPREAD, names.TAINT_TOLERATION
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
            "reserve": unweighted(names.VOLUME_BINDING),
            "preBind": unweighted(names.VOLUME_BINDING),
            "bind": unweighted(names.DEFAULT_BINDER),
        },
        old_scores={
            "NodeResourcesLeastAllocated": OldScore(names.NODE_RESOURCES_FIT, "LeastAllocated"),
            "NodeResourcesMostAllocated": OldScore(names.NODE_RESOURCES_FIT, "MostAllocated"),
            "NodePreferAvoidPods": OldScore(names.NODE_PREFER_AVOID_PODS_PRIORITY, scale=10),
        },
        arguments=settings_of(
            names.TAINT_TOLERATION,
            names.NODE_RESOURCES_FIT,
            names.NODE_RESOURCES_BALANCED_ALLOCATION,
            names.IMAGE_LOCALITY,
            names.POD_TOPOLOGY_SPREAD,
            names.INTER_POD_AFFINITY,
            names.VOLUME_BINDING,
            names.NODE_VOLUME_LIMITS,
            names.VOLUME_RESTRICTIONS,
        ),
    ),
    configuration=ConfigurationRules(
        optional_plugins=(
            InTreePlugin("NodeResourcesMostAllocated", 1, ("score",)),
            InTreePlugin(names.SERVICE_AFFINITY, 1, ("preFilter", "filter", "score")),
        ),
        checks_preparation=True,
    ),
    policy=None,
    wording=WORDING_1_20,
    cycle={
        "uses_predicates": False,
        "checks_claims_without_nodes": False,
        "counts_pre_filter_rejections": True,
        "plugins_without_pre_filter": (names.VOLUME_ZONE,),
        "post_filter": "silent",
        "names_extension_points": True,
        "asks_volume_fields": False,
        "lists_volumes_by_field": False,
        "evicts_before_reporting": True,
        "rejected_binding": "condition",
        "events_in_series": True,
    },
    extenders={
        "restores_nodes": False,
        "reads_unresolvable": True,
        "score_scale": 10,
        "exchanges_violations": True,
        "requires_victims": True,
    },
    preemption={
        "budgets_count_down": True,
        "needs_victims": True,
        "checks_policy": True,
        "gives_hopeless_up": True,
    },
    queue={
        "backoff": "attempts",
        "status_counts": True,
        "present_errors": {
            "unschedulable": "pod: {pod} is already present in unschedulable queue",
            "gated": "pod: {pod} is already present in unschedulable queue",
            "active": "pod: {pod} is already present in the active queue",
            "backoff": "pod {pod} is already present in the backoff queue",
        },
    },
    cache={
        "beta_zones_only": False,
        "update_adds_to_tree": True,
        "relists_after_any_change": False,
        "missing_uid_error": "cannot get cache key for pod with empty UID",
    },
    resources={"init_containers_occupy": True, "overhead": True},
    admission={"overhead": True, "overhead_without_limit": True, "immutable_data": True},
    containers={
        "ports_taken": "Predicate NodePorts failed",
        "labels_differ": "Predicate NodeAffinity failed",
        "labels_before_ports": True,
    },
    workloads={
        "taints_new_nodes": True,
        "warns_pods_of_node": True,
        "obeys_scaling_behavior": True,
    },
    controller={"names_waiting_pods": True, "reports_taken_volume": True},
    binder={
        "error_prefix": "binding volumes: ",
        "out_of_reach": "no matching NodeSelectorTerms",
        "provisioning_failed": 'provisioning failed for PVC "{name}"',
        "pod_gone": 'pod does not exist any more: pod "{name}" not found',
    },
)
