"""Kubernetes v1.37, as read and not as measured: nodes are scored by the storage that they would have left.

It follows the release notes, the libraries that were published with it and the texts of its changes,
and was compared with no kube-scheduler of that release. What could not be read is as in v1.36.

Upstream: v1.37 pkg/scheduler/apis/config/v1/default_plugins.go, pkg/features/kube_features.go.
"""

from engine.framework import names
from engine.versions.gates import LOCKED_ON, ON
from engine.versions.v1_36 import V1_36

V1_37 = V1_36.but(
    name="v1.37",
    is_measured=False,
    summary="As read, not measured: nodes are scored by the storage they would have left.",
    feature_gates={
        "StorageCapacityScoring": ON,
        "VolumeLimitScaling": ON,
        "DRAExtendedResource": LOCKED_ON,
        "DRADeviceTaintRules": ON,
        "NodeDeclaredFeatures": LOCKED_ON,
        # Groups are scheduled otherwise than in v1.36, and how could not be read.
        "GenericWorkload": None,
        "GangScheduling": None,
    },
    settings={
        names.IMAGE_LOCALITY: {"scales_by_volumes": True},
        names.DYNAMIC_RESOURCES: {
            "explains_errors": True,
            "counts_by_driver": True,
            "gives_back": True,
            "compares_all_devices": True,
        },
    },
    preemption={"says_where": True},
    queue={"gated_nominations": True},
    storage={"tells_unused_claims": True},
    resources={"resizes_as_one": True},
)
