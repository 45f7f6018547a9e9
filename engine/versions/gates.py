"""The feature gates that kscope models: what each does when it is on.

Upstream: pkg/features/kube_features.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.framework import names
from engine.versions.default_plugins import InTreePlugin


class FeatureGate(NamedTuple):
    """A gate of one version: whether it is on by default, and whether it can be changed."""

    default: bool
    is_locked: bool = False

    @property
    def shown(self) -> str:
        """In the table of differences: "on", "off", or "locked on"."""
        return f"{'locked ' if self.is_locked else ''}{'on' if self.default else 'off'}"


ON: Final = FeatureGate(default=True)
OFF: Final = FeatureGate(default=False)
LOCKED_ON: Final = FeatureGate(default=True, is_locked=True)


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate means, and what follows from it in a version: all this is on or off with it.

    `settings` are of plugins, each (plugin, setting); `rules` are those of an area of a version,
    each (field of KubernetesVersion, rule). `plugin` comes after all others at its points, `score`
    after all other scores. `needs` is the gate that has to be on as well.
    """

    sentence: str
    settings: tuple[tuple[str, str], ...] = ()
    rules: tuple[tuple[str, str], ...] = ()
    plugin: InTreePlugin | None = None
    score: tuple[str, int] | None = None
    needs: str = ""


# In this order a version lists its gates.
GATES: Final[Mapping[str, Gate]] = {
    "TaintNodesByCondition": Gate(
        "Node conditions are taints; otherwise predicates read the conditions."
    ),
    "EvenPodsSpread": Gate("Topology spread constraints are obeyed."),
    "ResourceLimitsPriorityFunction": Gate(
        "Nodes with room for the limits of a pod, too, score one point more."
    ),
    "DynamicProvisioningScheduling": Gate("Volumes are provisioned for a chosen node."),
    "TTLAfterFinished": Gate(
        "Jobs are deleted some time after they have finished, if they say so.",
        rules=(("workloads", "deletes_finished_jobs"),),
    ),
    "SchedulerQueueingHints": Gate(
        "Plugins decide whether an event may help a pod that they rejected.",
        rules=(("queue", "hints"),),
    ),
    "SchedulerPopFromBackoffQ": Gate(
        "A pod in backoff is tried early when activeQ is empty.",
        rules=(("queue", "pops_from_backoff"),),
    ),
    "NominatedNodeNameForExpectation": Gate(
        "A pod that waits in Permit, or for its volumes or devices, is nominated to its node.",
        rules=(("cycle", "nominates_before_pre_bind"),),
    ),
    "InPlacePodLevelResourcesVerticalScaling": Gate(
        "Schedulers count what the status of a pod says of the resources of the whole pod.",
        rules=(("resources", "resizes_whole_pods"),),
    ),
    "OpportunisticBatching": Gate(
        "A pod like the one before may go to the next best node, and no other is looked at.",
        rules=(("cycle", "batches_pods"),),
    ),
    "NodeDeclaredFeatures": Gate(
        "The plugin NodeDeclaredFeatures filters nodes.",
        rules=(("queue", "sees_declared_features"),),
        plugin=InTreePlugin(names.NODE_DECLARED_FEATURES, 0, ("preFilter", "filter")),
    ),
    "DRAExtendedResource": Gate(
        "A DeviceClass can stand for an extended resource.",
        settings=(
            (names.NODE_RESOURCES_FIT, "delegates_to_devices"),
            (names.NODE_RESOURCES_BALANCED_ALLOCATION, "delegates_to_devices"),
            (names.DYNAMIC_RESOURCES, "provides_extended"),
        ),
    ),
    "DRAPartitionableDevices": Gate(
        "Devices may consume counters that the devices of their pool share.",
        settings=((names.DYNAMIC_RESOURCES, "partitions_devices"),),
    ),
    "DRAConsumableCapacity": Gate(
        "A device may be allocated to several claims.",
        settings=((names.DYNAMIC_RESOURCES, "shares_capacity"),),
    ),
    "DRADeviceTaints": Gate(
        "Devices may have taints, which keep claims off and evict pods.",
        settings=((names.DYNAMIC_RESOURCES, "taints_devices"),),
        rules=(("workloads", "evicts_by_device_taints"),),
    ),
    "DRADeviceTaintRules": Gate(
        "DeviceTaintRules give taints to devices.",
        settings=((names.DYNAMIC_RESOURCES, "applies_taint_rules"),),
        rules=(
            ("cycle", "watches_taint_rules"),
            ("workloads", "applies_device_taint_rules"),
        ),
        needs="DRADeviceTaints",
    ),
    "DRADeviceBindingConditions": Gate(
        "A pod is bound when its devices have the conditions that they name.",
        settings=((names.DYNAMIC_RESOURCES, "awaits_conditions"),),
    ),
    "TaintTolerationComparisonOperators": Gate(
        "Tolerations with the operators Lt and Gt compare numbers; otherwise they match no taint.",
        rules=(("resources", "compares_tolerations"), ("workloads", "compares_tolerations")),
    ),
    "MutableCSINodeAllocatableCount": Gate(
        "The limit in a CSINode follows its driver, and a pod that exceeds it is refused.",
        rules=(("storage", "updates_limits"),),
    ),
    "VolumeLimitScaling": Gate(
        "A node without the CSI driver of a volume is rejected if the CSIDriver requires that.",
        settings=((names.NODE_VOLUME_LIMITS, "needs_driver"),),
    ),
    "GenericWorkload": Gate(
        "Pods that name a PodGroup are tried together, in one cycle.",
        rules=(("cycle", "schedules_groups"),),
    ),
    "GangScheduling": Gate(
        "Pods of a gang wait until enough of them exist, and get nodes together.",
        plugin=InTreePlugin(names.GANG_SCHEDULING, 0, ("preEnqueue", "permit")),
        needs="GenericWorkload",
    ),
    "StorageCapacityScoring": Gate(
        "Nodes are scored by the storage that the pod's volumes would leave free.",
        settings=((names.VOLUME_BINDING, "scores_capacity"),),
        score=(names.VOLUME_BINDING, 1),
    ),
}
