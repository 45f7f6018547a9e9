"""Kubernetes v1.35: devices are allocated, and nodes scored as in v1.34.

Upstream: v1.35 pkg/scheduler/apis/config/v1/default_plugins.go.
"""

from engine.framework import names
from engine.versions.default_plugins import InTreePlugin
from engine.versions.gates import OFF, ON
from engine.versions.v1_34_9 import V1_34_9

_DEVICES = ("preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind")

V1_35 = V1_34_9.but(
    name="v1.35",
    is_measured=False,
    summary="Devices are allocated to resource claims; pods are nominated to the node they are about to be bound to.",
    feature_gates={
        "NominatedNodeNameForExpectation": ON,
        "InPlacePodLevelResourcesVerticalScaling": OFF,
        "OpportunisticBatching": ON,
        "NodeDeclaredFeatures": OFF,
        "DRAExtendedResource": OFF,
        "DRAPartitionableDevices": OFF,
        "DRAConsumableCapacity": OFF,
        "DRADeviceTaints": OFF,
        "DRADeviceTaintRules": OFF,
        "DRADeviceBindingConditions": OFF,
        "TaintTolerationComparisonOperators": OFF,
        "MutableCSINodeAllocatableCount": ON,
        "VolumeLimitScaling": OFF,
    },
    plugins=V1_34_9.plugins.with_plugin(InTreePlugin(names.DYNAMIC_RESOURCES, 2, _DEVICES)),
    settings={names.DYNAMIC_RESOURCES: {}},
    cycle={
        "decides_with_nomination": False,
        "evicts_last_victim_alone": True,
        "deleted_pods_free_room": True,
        "allocates_devices": True,
        "requeues_after_nominated_binding": False,
    },
    admission={"topology_labels": True, "clears_nomination": True, "marks_evicted": True},
    workloads={
        "taints_new_nodes": True,
        "makes_resource_claims": True,
        "tracks_job_pods": True,
        "tracks_marked_jobs": False,
        "reports_spared_pods": True,
        "pods_leave_namespace_first": True,
        "capital_events": True,
    },
    containers={"created": "Container created", "started": "Container started"},
    storage={
        "provisioners_hold_volumes": True,
        "expanding_event": ("Normal", "waiting for an external controller to expand this PVC"),
        "announces_resizes": True,
    },
)
