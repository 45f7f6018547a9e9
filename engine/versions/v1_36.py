"""Kubernetes v1.36: nodes are scored by how much more evenly they would be used.

Upstream: v1.36 pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from engine.framework import names
from engine.versions.gates import LOCKED_ON, OFF, ON
from engine.versions.v1_35 import V1_35

V1_36 = V1_35.but(
    name="v1.36",
    is_measured=True,
    summary="Devices are allocated to resource claims, and nodes scored by how much more even they would be.",
    feature_gates={
        "InPlacePodLevelResourcesVerticalScaling": ON,
        "NodeDeclaredFeatures": ON,
        "DRAExtendedResource": ON,
        "DRAPartitionableDevices": ON,
        "DRAConsumableCapacity": ON,
        "DRADeviceTaints": ON,
        "DRADeviceTaintRules": OFF,
        "DRADeviceBindingConditions": ON,
        "MutableCSINodeAllocatableCount": LOCKED_ON,
        "GenericWorkload": OFF,
        "GangScheduling": OFF,
    },
    settings={
        names.NODE_RESOURCES_FIT: {"signs_extended_resources": True},
        names.NODE_RESOURCES_BALANCED_ALLOCATION: {
            "scores_improvement": True,
            "signs_extended_resources": True,
        },
        names.IMAGE_LOCALITY: {"counts_image_volumes": True},
        names.POD_TOPOLOGY_SPREAD: {"complete_pod_hints": True},
        names.INTER_POD_AFFINITY: {"complete_pod_hints": True},
        names.DYNAMIC_RESOURCES: {"keeps_alternative": True},
        names.NODE_VOLUME_LIMITS: {"migrates_portworx": True},
    },
    cycle={"returns_binding_victims": True},
    admission={
        "resizes_whole_pods": True,
        "resize_fits_node": True,
        "mutable_job_resources": True,
    },
    controller={"retries_failed_syncs": True},
)
