"""The feature gates that kscope models: what each does when it is on.

Upstream: pkg/features/kube_features.go.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple


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

SENTENCES: Final[Mapping[str, str]] = {
    "TaintNodesByCondition": "Node conditions are taints; otherwise predicates read the conditions.",
    "EvenPodsSpread": "Topology spread constraints are obeyed.",
    "ResourceLimitsPriorityFunction": "Nodes with room for the limits of a pod, too, score one point more.",
    "SchedulerQueueingHints": "Plugins decide whether an event may help a pod that they rejected.",
    "SchedulerPopFromBackoffQ": "A pod in backoff is tried early when activeQ is empty.",
    "NominatedNodeNameForExpectation": "A pod that waits in Permit, or for its volumes or devices, is nominated to its node.",
    "InPlacePodLevelResourcesVerticalScaling": "Schedulers count what the status of a pod says of the resources of the whole pod.",
    "OpportunisticBatching": "A pod like the one before may go to the next best node, and no other is looked at.",
    "NodeDeclaredFeatures": "The plugin NodeDeclaredFeatures filters nodes.",
    "DRAPartitionableDevices": "Devices may consume counters that the devices of their pool share.",
    "DRAConsumableCapacity": "A device may be allocated to several claims.",
    "DRADeviceTaints": "Devices may have taints, which keep claims off and evict pods.",
    "DRADeviceBindingConditions": "A pod is bound when its devices have the conditions that they name.",
    "DRAExtendedResource": "A DeviceClass can stand for an extended resource.",
    "TaintTolerationComparisonOperators": "Tolerations with the operators Lt and Gt compare numbers; otherwise they match no taint.",
    "DynamicProvisioningScheduling": "Volumes are provisioned for a chosen node.",
    "GenericWorkload": "Pods that name a PodGroup are tried together, in one cycle.",
    "GangScheduling": "Pods of a gang wait until enough of them exist, and get nodes together.",
    "StorageCapacityScoring": "Nodes are scored by the storage that the pod's volumes would leave free.",
    "VolumeLimitScaling": "A node without the CSI driver of a volume is rejected if the CSIDriver requires that.",
}
