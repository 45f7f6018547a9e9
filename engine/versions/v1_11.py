"""Kubernetes v1.11: predicates, node conditions instead of taints, volumes bound in rounds.

The oldest version that is simulated: every rule and setting has its default here.

TaintNodesByCondition is off by default, so nodes are judged by their conditions. CSI volumes are
not counted, and ImageLocalityPriority is no default. Nothing is provisioned for a chosen node while
the alpha gate DynamicProvisioningScheduling is off. The gate AttachVolumeLimit is off, so what a
node says of its limits is not read. PodOverhead is an alpha gate and off.
Upstream: v1.11 pkg/scheduler/algorithmprovider/defaults/defaults.go.
"""

from engine.framework import names
from engine.versions.configuration_rules import PolicyRules
from engine.versions.default_plugins import DefaultPlugins, settings_of, unweighted
from engine.versions.gates import OFF
from engine.versions.kubernetes_version import KubernetesVersion

V1_11 = KubernetesVersion(
    name="v1.11",
    summary="Predicates and priorities; volumes are bound in rounds, before the pod.",
    formats=("v1alpha1", "componentconfig/v1alpha1", "Policy"),
    feature_gates={
        "TaintNodesByCondition": OFF,
        "ResourceLimitsPriorityFunction": OFF,
        "DynamicProvisioningScheduling": OFF,
    },
    plugins=DefaultPlugins(
        by_point={
            "filter": unweighted(
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
            "postFilter": unweighted(names.DEFAULT_PREEMPTION),
            "score": (
                (names.SELECTOR_SPREAD_PRIORITY, 1),
                (names.INTER_POD_AFFINITY_PRIORITY, 1),
                (names.LEAST_REQUESTED_PRIORITY, 1),
                (names.BALANCED_RESOURCE_ALLOCATION, 1),
                (names.NODE_PREFER_AVOID_PODS_PRIORITY, 10_000),
                (names.NODE_AFFINITY_PRIORITY, 1),
                (names.TAINT_TOLERATION_PRIORITY, 1),
            ),
        },
        arguments=settings_of(
            names.CHECK_VOLUME_BINDING,
            names.CHECK_NODE_CONDITION,
            names.CHECK_NODE_MEMORY_PRESSURE,
            names.CHECK_NODE_PID_PRESSURE,
            names.CHECK_NODE_DISK_PRESSURE,
            names.MATCH_INTER_POD_AFFINITY,
            names.SELECTOR_SPREAD_PRIORITY,
            names.SERVICE_SPREADING_PRIORITY,
            names.IMAGE_LOCALITY_PRIORITY,
            names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
            names.MAX_EBS_VOLUME_COUNT,
            names.MAX_GCE_PD_VOLUME_COUNT,
            names.MAX_AZURE_DISK_VOLUME_COUNT,
            names.MAX_CINDER_VOLUME_COUNT,
        ),
    ),
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
)
