"""The plugins that a profile can name: those in-tree, and those installed by an entry point."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from scheduling.engine import names
from scheduling.engine.dynamic_resources.plugin import DynamicResources
from scheduling.engine.framework.handle import PluginFactory
from scheduling.engine.framework.simple import ColumnsFactory, columns_of
from scheduling.engine.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from scheduling.engine.plugins.classic.classic_predicates import (
    CheckNodeUnschedulable,
    CheckVolumeBinding,
    GeneralPredicates,
    MaxCSIVolumeCount,
    NoDiskConflict,
    NoVolumeZoneConflict,
    PodPassesBasicChecks,
    PodToleratesNodeNoExecuteTaints,
    PodToleratesNodeTaints,
)
from scheduling.engine.plugins.classic.classic_priorities import (
    BalancedResourceAllocation,
    EqualPriority,
    ImageLocalityPriority,
    InterPodAffinityPriority,
    LeastRequestedPriority,
    MostRequestedPriority,
    NodeAffinityPriority,
    NodePreferAvoidPodsPriority,
    SelectorSpreadPriority,
    TaintTolerationPriority,
)
from scheduling.engine.plugins.classic.joint_pod_affinity import match_inter_pod_affinity
from scheduling.engine.plugins.classic.optional_predicates import (
    CheckNodeCondition,
    CheckNodeDiskPressure,
    CheckNodeLabelPresence,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
    CheckServiceAffinity,
    EvenPodsSpread,
    HostName,
    MatchNodeSelector,
    PodFitsHostPorts,
    PodFitsResources,
)
from scheduling.engine.plugins.classic.optional_priorities import (
    EvenPodsSpreadPriority,
    NodeLabelPriority,
    RequestedToCapacityRatioPriority,
    ResourceLimitsPriority,
    ServiceAntiAffinityPriority,
    ServiceSpreadingPriority,
)
from scheduling.engine.plugins.classic.service_affinity import ServiceAffinity
from scheduling.engine.plugins.classic.volume_counts import (
    MaxAzureDiskVolumeCount,
    MaxCinderVolumeCount,
    MaxEBSVolumeCount,
    MaxGCEPDVolumeCount,
)
from scheduling.engine.plugins.image_locality import ImageLocality
from scheduling.engine.plugins.inter_pod_affinity import InterPodAffinity
from scheduling.engine.plugins.node_affinity import NodeAffinity
from scheduling.engine.plugins.node_declared_features import NodeDeclaredFeatures
from scheduling.engine.plugins.node_name import NodeName
from scheduling.engine.plugins.node_ports import NodePorts
from scheduling.engine.plugins.node_resources_fit import NodeResourcesFit
from scheduling.engine.plugins.node_unschedulable import NodeUnschedulable
from scheduling.engine.plugins.pod_topology_spread import PodTopologySpread
from scheduling.engine.plugins.taint_toleration import TaintToleration
from scheduling.engine.plugins.volumes.capacity_scoring import volume_binding
from scheduling.engine.plugins.volumes.node_volume_limits import NodeVolumeLimits
from scheduling.engine.plugins.volumes.volume_restrictions import VolumeRestrictions
from scheduling.engine.plugins.volumes.volume_zone import VolumeZone
from scheduling.engine.pod_groups.gang_scheduling import GangScheduling

ENTRY_POINT_GROUP = "kscope.plugins"

IN_TREE: Mapping[str, PluginFactory] = {
    plugin.name: plugin
    for plugin in (
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        NodeVolumeLimits,
        VolumeZone,
        PodTopologySpread,
        InterPodAffinity,
        NodeResourcesBalancedAllocation,
        ImageLocality,
        DynamicResources,
        NodeDeclaredFeatures,
        GangScheduling,
        PodPassesBasicChecks,
        CheckNodeUnschedulable,
        GeneralPredicates,
        NoDiskConflict,
        PodToleratesNodeTaints,
        PodToleratesNodeNoExecuteTaints,
        MaxCSIVolumeCount,
        CheckVolumeBinding,
        NoVolumeZoneConflict,
        SelectorSpreadPriority,
        InterPodAffinityPriority,
        LeastRequestedPriority,
        MostRequestedPriority,
        BalancedResourceAllocation,
        NodePreferAvoidPodsPriority,
        NodeAffinityPriority,
        TaintTolerationPriority,
        ImageLocalityPriority,
        EqualPriority,
        CheckNodeCondition,
        CheckNodeMemoryPressure,
        CheckNodeDiskPressure,
        CheckNodePIDPressure,
        ColumnsFactory(CheckNodeLabelPresence),
        CheckServiceAffinity,
        ServiceAffinity,
        HostName,
        MatchNodeSelector,
        PodFitsHostPorts,
        PodFitsResources,
        MaxEBSVolumeCount,
        MaxGCEPDVolumeCount,
        MaxAzureDiskVolumeCount,
        MaxCinderVolumeCount,
        EvenPodsSpread,
        EvenPodsSpreadPriority,
        ColumnsFactory(NodeLabelPriority),
        RequestedToCapacityRatioPriority,
        ColumnsFactory(ResourceLimitsPriority),
        ServiceAntiAffinityPriority,
        ServiceSpreadingPriority,
    )
} | {
    names.MATCH_INTER_POD_AFFINITY: match_inter_pod_affinity,
    names.VOLUME_BINDING: volume_binding,
}


class UnknownPlugin(ValueError):
    """A profile names a plugin that does not exist."""


def factory_of(name: str) -> PluginFactory:
    """The factory of plugin *name*: in-tree, or installed under the entry point group.

    Raises:
        UnknownPlugin: there is none.
    """
    found = IN_TREE.get(name)
    if found is not None:
        return found
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        if entry.name == name:
            return columns_of(entry.load())
    known = ", ".join(sorted(IN_TREE))
    raise UnknownPlugin(f"there is no plugin {name!r}; known are {known}")
