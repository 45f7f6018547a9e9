"""Which in-tree plugin listens to which events, with which hint.

Upstream: EventsToRegister() of each plugin (v1.34), with the feature gates that are on by default.
"""

from __future__ import annotations

from collections.abc import Mapping

from scheduling.engine.framework.cluster_events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_GROUP,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    Action,
)
from scheduling.engine.framework.registrations import Registration, on
from scheduling.engine.queue.hints import devices, nodes, pods, resources, volumes
from scheduling.engine.queue.rules import QueueRules

_ADD_OR_UPDATE = Action.ADD | Action.UPDATE
_AFFINITY_ACTIONS = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
_SPREAD_ACTIONS = _AFFINITY_ACTIONS | Action.UPDATE_POD_TOLERATION
_AFFINITY_DOMAINS = on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, pods.affinity_topology_changed)
_SPREAD_DOMAINS = on(
    NODE,
    Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
    pods.spread_domains_changed,
)

# Upstream: types.go UnrollWildCardResource().
_EVERYTHING: tuple[Registration, ...] = tuple(
    on(resource, Action.ALL)
    for resource in (
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
    )
)
_ALL_OF_GROUPS = on(POD_GROUP, Action.ALL)


IN_TREE_HINTS: Mapping[str, tuple[Registration, ...]] = {
    "SchedulingGates": (
        on(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, nodes.itself_updated),
    ),
    "NodeUnschedulable": (
        on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, nodes.became_schedulable),
        on(POD, Action.UPDATE_POD_TOLERATION, nodes.itself_tolerates_unschedulable),
    ),
    "NodeName": (on(NODE, Action.ADD),),
    "TaintToleration": (
        on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, nodes.became_tolerated),
        on(POD, Action.UPDATE_POD_TOLERATION, nodes.itself_updated),
    ),
    "NodeAffinity": (
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, nodes.affinity_became_matched),
    ),
    "NodePorts": (
        on(POD, Action.DELETE, resources.port_was_freed),
        on(NODE, Action.ADD),
    ),
    "NodeResourcesFit": (
        on(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, resources.resources_were_freed),
        on(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, resources.node_fits_now),
        on(DEVICE_CLASS, _ADD_OR_UPDATE, resources.device_class_stands_for_more),
    ),
    "DynamicResources": (
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE),
        on(RESOURCE_CLAIM, _ADD_OR_UPDATE, devices.resource_claim_changed),
        on(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, devices.claims_were_generated),
        on(DEVICE_CLASS, _ADD_OR_UPDATE),
        on(RESOURCE_SLICE, _ADD_OR_UPDATE),
    ),
    # Upstream it also listens to updates of the pod, but no update changes what a pod needs.
    "NodeDeclaredFeatures": (on(NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE),),
    "VolumeRestrictions": (
        on(POD, Action.DELETE, volumes.volume_was_released),
        on(NODE, Action.ADD),
        on(PERSISTENT_VOLUME_CLAIM, Action.ADD, volumes.claim_is_named),
    ),
    "NodeVolumeLimits": (
        on(CSI_NODE, Action.ADD),
        on(CSI_NODE, Action.UPDATE, volumes.limit_was_raised),
        on(POD, Action.DELETE, volumes.attachment_was_freed),
        on(PERSISTENT_VOLUME_CLAIM, Action.ADD, volumes.claim_is_its_own),
        on(VOLUME_ATTACHMENT, Action.DELETE, volumes.attachment_was_deleted),
    ),
    "VolumeBinding": (
        on(STORAGE_CLASS, _ADD_OR_UPDATE, volumes.class_topology_changed),
        on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, volumes.claim_is_its_own),
        on(PERSISTENT_VOLUME, _ADD_OR_UPDATE),
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        on(CSI_NODE, _ADD_OR_UPDATE, volumes.migration_changed),
        on(CSI_DRIVER, Action.UPDATE, volumes.driver_stopped_capacity_checks),
        on(CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, volumes.storage_capacity_grew),
    ),
    "VolumeZone": (
        on(STORAGE_CLASS, Action.ADD, volumes.class_waits_for_consumer),
        on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, volumes.claim_is_named),
        on(PERSISTENT_VOLUME, _ADD_OR_UPDATE, volumes.volume_topology_changed),
    ),
    "PodTopologySpread": (
        on(POD, _SPREAD_ACTIONS, pods.spread_of_pods_changed),
        _SPREAD_DOMAINS,
    ),
    "InterPodAffinity": (
        on(POD, _AFFINITY_ACTIONS, pods.affinity_of_pods_changed),
        _AFFINITY_DOMAINS,
    ),
    # For the preemptor, which a gate holds until its last victim is being deleted (since v1.35).
    "DefaultPreemption": (on(POD, Action.DELETE),),
}

# Since v1.36.
_COMPLETE_POD_HINTS: Mapping[str, tuple[Registration, ...]] = {
    "PodTopologySpread": (
        on(POD, _SPREAD_ACTIONS, pods.spread_of_pods_changed_1_36),
        _SPREAD_DOMAINS,
    ),
    "InterPodAffinity": (
        on(POD, _AFFINITY_ACTIONS, pods.affinity_of_pods_changed_1_36),
        _AFFINITY_DOMAINS,
    ),
}


def in_tree_hints(rules: QueueRules) -> dict[str, tuple[Registration, ...]]:
    """The registrations of the version that has these *rules*, by plugin name."""
    if rules.complete_pod_hints:
        return {**IN_TREE_HINTS, **_COMPLETE_POD_HINTS}
    return {**IN_TREE_HINTS}


def everything(*, groups: bool) -> tuple[Registration, ...]:
    """The registrations of a plugin that makes none; *groups* is whether there are PodGroups."""
    return (*_EVERYTHING, _ALL_OF_GROUPS) if groups else _EVERYTHING
