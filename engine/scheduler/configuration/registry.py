"""The plugins that a profile can name: those in-tree, and those installed by an entry point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from engine.framework import names
from engine.framework.handle import PluginFactory
from engine.framework.simple import ColumnsFactory, columns_of
from engine.framework.unprepared import Unprepared
from engine.input.reading import Fields
from engine.plugins.check_node_condition.plugin import CheckNodeCondition
from engine.plugins.check_node_condition.pressures import (
    CheckNodeDiskPressure,
    CheckNodeMemoryPressure,
    CheckNodePIDPressure,
)
from engine.plugins.check_node_label_presence.plugin import CheckNodeLabelPresence
from engine.plugins.dynamic_resources.plugin import DynamicResources
from engine.plugins.equal_priority.plugin import EqualPriority
from engine.plugins.gang_scheduling.plugin import GangScheduling
from engine.plugins.general_predicates.parts import (
    HostName,
    MatchNodeSelector,
    PodFitsHostPorts,
    PodFitsResources,
)
from engine.plugins.general_predicates.plugin import GeneralPredicates
from engine.plugins.image_locality.plugin import ImageLocality
from engine.plugins.image_locality.priority import ImageLocalityPriority
from engine.plugins.inter_pod_affinity.joint_predicate import match_inter_pod_affinity
from engine.plugins.inter_pod_affinity.plugin import InterPodAffinity
from engine.plugins.inter_pod_affinity.priority import InterPodAffinityPriority
from engine.plugins.node_affinity.plugin import NodeAffinity
from engine.plugins.node_affinity.priority import NodeAffinityPriority
from engine.plugins.node_declared_features.plugin import NodeDeclaredFeatures
from engine.plugins.node_label_priority.plugin import NodeLabelPriority
from engine.plugins.node_name.plugin import NodeName
from engine.plugins.node_ports.plugin import NodePorts
from engine.plugins.node_prefer_avoid_pods_priority.plugin import NodePreferAvoidPodsPriority
from engine.plugins.node_resources_balanced_allocation.plugin import NodeResourcesBalancedAllocation
from engine.plugins.node_resources_balanced_allocation.priority import BalancedResourceAllocation
from engine.plugins.node_resources_fit.arguments import check_allocated_arguments
from engine.plugins.node_resources_fit.plugin import NodeResourcesFit
from engine.plugins.node_resources_fit.priorities import (
    LeastRequestedPriority,
    MostRequestedPriority,
    RequestedToCapacityRatioPriority,
    ResourceLimitsPriority,
)
from engine.plugins.node_unschedulable.plugin import NodeUnschedulable
from engine.plugins.node_unschedulable.predicate import CheckNodeUnschedulable
from engine.plugins.node_volume_limits.csi_predicate import MaxCSIVolumeCount
from engine.plugins.node_volume_limits.in_tree_predicates import (
    MaxAzureDiskVolumeCount,
    MaxCinderVolumeCount,
    MaxEBSVolumeCount,
    MaxGCEPDVolumeCount,
)
from engine.plugins.node_volume_limits.plugin import NodeVolumeLimits
from engine.plugins.pod_passes_basic_checks.plugin import PodPassesBasicChecks
from engine.plugins.pod_topology_spread.plugin import PodTopologySpread
from engine.plugins.pod_topology_spread.predicate import EvenPodsSpread
from engine.plugins.pod_topology_spread.priority import EvenPodsSpreadPriority
from engine.plugins.selector_spread_priority.plugin import (
    SelectorSpreadPriority,
    ServiceSpreadingPriority,
)
from engine.plugins.service_affinity.plugin import ServiceAffinity
from engine.plugins.service_affinity.predicate import CheckServiceAffinity
from engine.plugins.service_affinity.priority import ServiceAntiAffinityPriority
from engine.plugins.taint_toleration.plugin import TaintToleration
from engine.plugins.taint_toleration.predicates import (
    PodToleratesNodeNoExecuteTaints,
    PodToleratesNodeTaints,
)
from engine.plugins.taint_toleration.priority import TaintTolerationPriority
from engine.plugins.volume_binding.capacity_scoring import volume_binding
from engine.plugins.volume_binding.plugin import VolumeBinding
from engine.plugins.volume_binding.predicate import CheckVolumeBinding
from engine.plugins.volume_restrictions.plugin import VolumeRestrictions
from engine.plugins.volume_restrictions.predicate import NoDiskConflict
from engine.plugins.volume_zone.plugin import VolumeZone
from engine.plugins.volume_zone.predicate import NoVolumeZoneConflict
from engine.scheduler.configuration.preemption_arguments import check_preemption_arguments

ENTRY_POINT_GROUP = "kscope.plugins"
# What errors say about plugins that are not in-tree.
OWN_PLUGINS = f"your own are found as entry points {ENTRY_POINT_GROUP} of installed packages"

_CLASSES: Mapping[str, PluginFactory] = {
    plugin.name: plugin
    for plugin in (
        NodeUnschedulable,
        NodeName,
        TaintToleration,
        NodeAffinity,
        NodePorts,
        NodeResourcesFit,
        VolumeRestrictions,
        VolumeBinding,
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
}
IN_TREE: Mapping[str, PluginFactory] = {
    **_CLASSES,
    names.MATCH_INTER_POD_AFFINITY: match_inter_pod_affinity,
    VolumeBinding.name: volume_binding,
}
# What a configuration can give arguments to, and has no class here.
_ARGUMENTS_ALONE: Mapping[str, Callable[[Fields], None]] = {
    "NodeResourcesLeastAllocated": check_allocated_arguments,
    "NodeResourcesMostAllocated": check_allocated_arguments,
    names.DEFAULT_PREEMPTION: check_preemption_arguments,
}
_MANAGES = Unprepared()


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
    raise UnknownPlugin(f"there is no plugin {name!r}; known are {known}; {OWN_PLUGINS}")


def check_arguments(name: str, fields: Fields) -> None:
    """Raise ConfigurationError where the arguments of in-tree plugin *name* are not what it takes.

    A plugin that is not in-tree checks its own arguments.
    """
    check = _ARGUMENTS_ALONE.get(name) or getattr(_CLASSES.get(name), "check_arguments", None)
    if check is None:
        return
    kind = fields.text("kind")
    if kind and kind != f"{name}Args":
        raise fields.error("kind", f'"{kind}" is not {name}Args')
    check(fields)


def unprepared_of(name: str) -> Unprepared:
    """How plugin *name* fails without its PreFilter or PreScore, if it is in-tree and does."""
    return getattr(_CLASSES.get(name), "unprepared", _MANAGES)


def idle_answer_of(name: str) -> str:
    """What in-tree plugin *name* answers at PostFilter in a version that does not ask it before."""
    return getattr(_CLASSES.get(name), "idle_answer", "")
