"""The settings by which a plugin follows a version: `DefaultPlugins.arguments`."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from engine.framework import names


class Setting(NamedTuple):
    """What a setting is in the oldest version that has the plugin, and what it means."""

    default: Any
    sentence: str


_HOPEFUL: Final = "Reasons for which evictions are tried although they cannot change the node."
_MATCHES_ANY: Final = {
    "matches_any": Setting(
        True, "A pod counts if any of the selectors matches it; otherwise all of them must."
    ),
}
_SIGNS_EXTENDED: Final = {
    "signs_extended_resources": Setting(
        False,
        "While DRAExtendedResource is on, only pods that request such a resource are not batched; otherwise none is.",
    ),
}
_READS_ALLOCATABLE: Final = {
    "reads_allocatable": Setting(False, "The limit is read from the status of the node.")
}

SETTINGS: Final[Mapping[str, Mapping[str, Setting]]] = {
    names.TAINT_TOLERATION: {
        "names_taint": Setting(
            True, "The reason names the taint; otherwise all taints have one reason."
        ),
    },
    names.NODE_RESOURCES_FIT: {
        "gives_up_too_small": Setting(
            False, "Evictions are not tried on a node that would be too small when empty."
        ),
        "delegates_to_devices": Setting(
            False, "A resource that a DeviceClass provides and a node lacks is no obstacle here."
        ),
        **_SIGNS_EXTENDED,
        "compares_all": Setting(
            True, "CPU, memory and disk are compared even if the pod requests only other resources."
        ),
    },
    names.NODE_RESOURCES_BALANCED_ALLOCATION: {
        "counts_defaults": Setting(
            True, "Containers without requests count with default ones, and a full node scores 0."
        ),
        "scores_improvement": Setting(
            False, "The score is how much more evenly a node would be used than it is now."
        ),
        "delegates_to_devices": Setting(
            False, "A DeviceClass may provide a resource; see signs_extended_resources."
        ),
        **_SIGNS_EXTENDED,
    },
    names.IMAGE_LOCALITY: {
        "counts_as_reported": Setting(
            True,
            "The number of nodes with an image is that of the moment when the node last reported it.",
        ),
        "counts_image_volumes": Setting(
            False, "The images of volumes count in addition to those of containers."
        ),
        "scales_by_volumes": Setting(
            False, "The size at which a node scores 100 grows with the images of volumes, too."
        ),
    },
    names.POD_TOPOLOGY_SPREAD: {
        "rounds": Setting(False, "Scores are rounded; otherwise truncated."),
        "defaults_need_all_labels": Setting(
            True, "With default constraints, a node that lacks a topology label is not scored."
        ),
        "complete_pod_hints": Setting(False, "Its hints react to nominated pods, too."),
    },
    names.INTER_POD_AFFINITY: {
        "skips_early": Setting(
            False, "A pod without affinity skips Filter, and does not see nominated pods there."
        ),
        "complete_pod_hints": Setting(
            False,
            "Its hints react to nominated pods, to new labels of the waiting pod, and to the deletion of a pod whose anti-affinity kept it out.",
        ),
    },
    names.VOLUME_BINDING: {
        "knows_lost_claims": Setting(
            False, "A claim in phase Lost rejects the pod; otherwise only its missing volume does."
        ),
        "awaits_own_claims": Setting(
            False, "The claim of an ephemeral volume is awaited and has to belong to the pod."
        ),
        "scores_capacity": Setting(
            False, "Nodes are scored by the storage that the pod's volumes would leave free."
        ),
        "translates": Setting(
            False, "In-tree disks are treated as those of their CSI drivers where the node says so."
        ),
    },
    names.DYNAMIC_RESOURCES: {
        "provides_extended": Setting(
            False, "Devices are allocated for extended resources that a DeviceClass stands for."
        ),
        "partitions_devices": Setting(
            False, "Devices may consume counters that the devices of their pool share."
        ),
        "shares_capacity": Setting(
            False,
            "A device may be allocated to several claims, each of which consumes some of its capacity.",
        ),
        "taints_devices": Setting(
            False, "A device with taints is allocated only to claims that tolerate them."
        ),
        "applies_taint_rules": Setting(
            False, "The taints of DeviceTaintRules count as those of the devices that they select."
        ),
        "awaits_conditions": Setting(
            False, "A pod is bound when the binding conditions of its devices are true."
        ),
        "keeps_alternative": Setting(
            False,
            "An alternative with allocationMode All gets all its devices; otherwise the search goes on with the first alternative after one device.",
        ),
        "explains_errors": Setting(
            False,
            "The error of a selector names the device, and says what to do about a missing key.",
        ),
        "counts_by_driver": Setting(
            False,
            "What is left of shared counters is known by driver and pool; otherwise by the pool's name alone.",
        ),
        "gives_back": Setting(
            False,
            "What a device took of counters is given back whenever the choice is undone; otherwise not always.",
        ),
        "compares_all_devices": Setting(
            False,
            "A distinct attribute differs from that of every device of the claim; otherwise from the last one of each request.",
        ),
    },
    names.NODE_VOLUME_LIMITS: {
        "is_modern": Setting(
            False,
            "All volumes of a driver count, in-tree ones too; otherwise only claims of CSI volumes.",
        ),
        "needs_driver": Setting(
            False,
            "A node without the driver of a volume is rejected if its CSIDriver requires that.",
        ),
        "migrates_portworx": Setting(
            False,
            "Portworx volumes count for their CSI driver on every node that has a CSINode; otherwise only where the node lists their plugin as migrated.",
        ),
    },
    names.VOLUME_RESTRICTIONS: {
        "looks_at_claims": Setting(
            False, "A claim with ReadWriteOncePod that another pod uses rejects the pod."
        ),
    },
    names.CHECK_VOLUME_BINDING: {
        "in_rounds": Setting(
            True, "A claim that names its volume counts as bound, and volumes are bound in rounds."
        ),
        "provisions": Setting(False, "Volumes are provisioned for a chosen node."),
    },
    names.CHECK_NODE_CONDITION: {
        "knows_out_of_disk": Setting(True, "A node with the condition OutOfDisk is rejected."),
        "hopeful_reasons": Setting(("node(s) were out of disk space",), _HOPEFUL),
    },
    names.CHECK_NODE_MEMORY_PRESSURE: {
        "reads_init_containers": Setting(
            False, "A pod whose init containers have requests or limits is not best-effort."
        ),
        "hopeful_reasons": Setting(("node(s) had memory pressure",), _HOPEFUL),
    },
    names.CHECK_NODE_PID_PRESSURE: {
        "hopeful_reasons": Setting(("node(s) had pid pressure",), _HOPEFUL),
    },
    names.CHECK_NODE_DISK_PRESSURE: {
        "hopeful_reasons": Setting(("node(s) had disk pressure",), _HOPEFUL),
    },
    names.MATCH_INTER_POD_AFFINITY: {
        "needs_one_pod": Setting(
            True, "One pod has to match all terms and share all their topologies."
        ),
    },
    names.SELECTOR_SPREAD_PRIORITY: _MATCHES_ANY,
    names.SERVICE_SPREADING_PRIORITY: _MATCHES_ANY,
    names.IMAGE_LOCALITY_PRIORITY: {
        "scales_by_spread": Setting(
            False, "The size of an image is scaled by the share of the nodes that have it."
        ),
    },
    names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: {
        "averages_all": Setting(True, "The score is the plain mean over CPU and memory."),
    },
    names.MAX_EBS_VOLUME_COUNT: _READS_ALLOCATABLE,
    names.MAX_GCE_PD_VOLUME_COUNT: _READS_ALLOCATABLE,
    names.MAX_AZURE_DISK_VOLUME_COUNT: _READS_ALLOCATABLE,
    names.MAX_CINDER_VOLUME_COUNT: _READS_ALLOCATABLE,
}
