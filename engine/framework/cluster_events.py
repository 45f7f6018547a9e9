"""Cluster events: what may make a pod schedulable that was not.

Upstream: kube-scheduler/framework/types.go, pkg/scheduler/framework/events.go (v1.34);
internal/queue/events.go (v1.20, names only).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from engine.objects.manifest_parts import items, section
from engine.objects.pods.pod_resources import ResourceRules, may_resize, pod_resources
from engine.objects.values.quantity import Quantity, parse

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod


class Action(enum.IntFlag):
    """What happened to the object. Upstream: ActionType."""

    NONE = 0
    ADD = enum.auto()
    DELETE = enum.auto()
    UPDATE_NODE_ALLOCATABLE = enum.auto()
    UPDATE_NODE_LABEL = enum.auto()
    UPDATE_NODE_TAINT = enum.auto()
    UPDATE_NODE_CONDITION = enum.auto()
    UPDATE_NODE_ANNOTATION = enum.auto()
    UPDATE_NODE_DECLARED_FEATURE = enum.auto()
    UPDATE_POD_LABEL = enum.auto()
    UPDATE_POD_SCALE_DOWN = enum.auto()
    UPDATE_POD_TOLERATION = enum.auto()
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = enum.auto()
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = enum.auto()
    # Any other change of a pod, which only plugins that register for every update hear of.
    UPDATE_POD_OTHER = enum.auto()
    # An update of an object, where the kinds of changes are not distinguished.
    UPDATE = (
        UPDATE_NODE_ALLOCATABLE
        | UPDATE_NODE_LABEL
        | UPDATE_NODE_TAINT
        | UPDATE_NODE_CONDITION
        | UPDATE_NODE_ANNOTATION
        | UPDATE_NODE_DECLARED_FEATURE
        | UPDATE_POD_LABEL
        | UPDATE_POD_SCALE_DOWN
        | UPDATE_POD_TOLERATION
        | UPDATE_POD_SCHEDULING_GATES_ELIMINATED
        | UPDATE_POD_GENERATED_RESOURCE_CLAIM
        | UPDATE_POD_OTHER
    )
    ALL = ADD | DELETE | UPDATE


POD = "Pod"
ASSIGNED_POD = "AssignedPod"
UNSCHEDULABLE_POD = "UnschedulablePod"
NODE = "Node"
PERSISTENT_VOLUME = "PersistentVolume"
PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
STORAGE_CLASS = "storage.k8s.io/StorageClass"
CSI_NODE = "storage.k8s.io/CSINode"
CSI_DRIVER = "storage.k8s.io/CSIDriver"
CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
DEVICE_CLASS = "resource.k8s.io/DeviceClass"
POD_GROUP = "scheduling.k8s.io/PodGroup"
SERVICE = "Service"
WILD_CARD = "*"

# Moves that no cluster event caused. Upstream: events.go, the special event labels.
SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
POP_FROM_BACKOFF_Q = "PopFromBackoffQ"
FORCE_ACTIVATE = "ForceActivate"
UNSCHEDULABLE_TIMEOUT = "UnschedulableTimeout"

_ACTION_NAMES = {
    Action.ADD: "Add",
    Action.DELETE: "Delete",
    Action.UPDATE: "Update",
    Action.ALL: "All",
    Action.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Action.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    Action.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    Action.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    Action.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    Action.UPDATE_NODE_DECLARED_FEATURE: "UpdateNodeDeclaredFeature",
    Action.UPDATE_POD_LABEL: "UpdatePodLabel",
    Action.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    Action.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM: "UpdatePodGeneratedResourceClaim",
    Action.UPDATE_POD_OTHER: "Update",
}

# What v1.20 calls the same. Upstream: internal/queue/events.go.
_CLASSIC_NAMES: Mapping[tuple[str, Action], str] = {
    (UNSCHEDULABLE_POD, Action.ADD): "PodAdd",
    (UNSCHEDULABLE_POD, Action.UPDATE): "PodUpdate",
    (ASSIGNED_POD, Action.ADD): "AssignedPodAdd",
    (ASSIGNED_POD, Action.UPDATE): "AssignedPodUpdate",
    (ASSIGNED_POD, Action.DELETE): "AssignedPodDelete",
    (PERSISTENT_VOLUME, Action.ADD): "PvAdd",
    (PERSISTENT_VOLUME, Action.UPDATE): "PvUpdate",
    (PERSISTENT_VOLUME_CLAIM, Action.ADD): "PvcAdd",
    (PERSISTENT_VOLUME_CLAIM, Action.UPDATE): "PvcUpdate",
    (STORAGE_CLASS, Action.ADD): "StorageClassAdd",
    (SERVICE, Action.ADD): "ServiceAdd",
    (SERVICE, Action.UPDATE): "ServiceUpdate",
    (SERVICE, Action.DELETE): "ServiceDelete",
    (CSI_NODE, Action.ADD): "CSINodeAdd",
    (CSI_NODE, Action.UPDATE): "CSINodeUpdate",
    (NODE, Action.ADD): "NodeAdd",
    (NODE, Action.UPDATE_NODE_ALLOCATABLE): "NodeAllocatableChange",
    (NODE, Action.UPDATE_NODE_LABEL): "NodeLabelChange",
    (NODE, Action.UPDATE_NODE_TAINT): "NodeTaintChange",
    (NODE, Action.UPDATE_NODE_CONDITION): "NodeConditionChange",
}


def _action_name(action: Action) -> str:
    known = _ACTION_NAMES.get(action)
    if known is not None:
        return known
    return "|".join(name for bit, name in _ACTION_NAMES.items() if bit & action == bit)


class ClusterEvent:
    """Something happened to a kind of object; *custom_label* replaces the name made of both.

    There is one object for each such event, which is therefore looked up by its identity: every pod
    that moves asks for the listeners. `label` is the name v1.34 gives it, as in its metrics,
    `classic_label` that of v1.20; v1.16 has no names and borrows these. `is_wild_card` says that it
    concerns every pod, no matter which plugin rejected it.
    """

    __slots__ = ("action", "classic_label", "custom_label", "is_wild_card", "label", "resource")
    _known: ClassVar[dict[tuple[str, Action, str], ClusterEvent]] = {}

    resource: str
    action: Action
    custom_label: str
    label: str
    classic_label: str
    is_wild_card: bool

    def __new__(cls, resource: str, action: Action, custom_label: str = "") -> ClusterEvent:
        """The one that there is, or a new one."""
        identity = resource, action, custom_label
        known = cls._known.get(identity)
        if known is not None:
            return known
        new = cls._known[identity] = super().__new__(cls)
        new.resource, new.action, new.custom_label = identity
        new.label = custom_label or resource + _action_name(action)
        new.classic_label = custom_label or _CLASSIC_NAMES.get((resource, action), new.label)
        new.is_wild_card = resource == WILD_CARD and action == Action.ALL
        return new

    def __reduce__(self) -> tuple[Any, ...]:
        return (ClusterEvent, (self.resource, self.action, self.custom_label))

    def __repr__(self) -> str:
        return f"ClusterEvent({self.label!r})"

    def covers(self, incoming: ClusterEvent) -> bool:
        """Whether a registration for this event also covers *incoming*. Upstream: MatchClusterEvents()."""
        if self.is_wild_card:
            return True
        # A registration for one kind of update does not cover an event that is several kinds at once.
        heard = bool(self.action & incoming.action) and incoming.action <= self.action
        return heard and (
            self.resource in (WILD_CARD, incoming.resource)
            or (self.resource == POD and incoming.resource in (ASSIGNED_POD, UNSCHEDULABLE_POD))
        )


ASSIGNED_POD_ADD = ClusterEvent(ASSIGNED_POD, Action.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(ASSIGNED_POD, Action.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(ASSIGNED_POD, Action.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(UNSCHEDULABLE_POD, Action.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(UNSCHEDULABLE_POD, Action.UPDATE)
UNSCHEDULED_POD_DELETE = ClusterEvent(UNSCHEDULABLE_POD, Action.DELETE)
UNSCHEDULED_POD_LABEL_UPDATE = ClusterEvent(UNSCHEDULABLE_POD, Action.UPDATE_POD_LABEL)
NODE_ADD = ClusterEvent(NODE, Action.ADD)
NODE_DELETE = ClusterEvent(NODE, Action.DELETE)
# v1.16 and v1.20 distinguish an uncordoned node from an untainted one; v1.34 does not.
NODE_SPEC_UNSCHEDULABLE_CHANGE = ClusterEvent(
    NODE, Action.UPDATE_NODE_TAINT, "NodeSpecUnschedulableChange"
)
VOLUME_ADD = ClusterEvent(PERSISTENT_VOLUME, Action.ADD)
VOLUME_UPDATE = ClusterEvent(PERSISTENT_VOLUME, Action.UPDATE)
VOLUME_DELETE = ClusterEvent(PERSISTENT_VOLUME, Action.DELETE)
CLAIM_ADD = ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.ADD)
CLAIM_UPDATE = ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.UPDATE)
CLAIM_DELETE = ClusterEvent(PERSISTENT_VOLUME_CLAIM, Action.DELETE)
STORAGE_CLASS_ADD = ClusterEvent(STORAGE_CLASS, Action.ADD)
STORAGE_CLASS_UPDATE = ClusterEvent(STORAGE_CLASS, Action.UPDATE)
STORAGE_CLASS_DELETE = ClusterEvent(STORAGE_CLASS, Action.DELETE)
CSI_NODE_ADD = ClusterEvent(CSI_NODE, Action.ADD)
CSI_NODE_UPDATE = ClusterEvent(CSI_NODE, Action.UPDATE)
CSI_NODE_DELETE = ClusterEvent(CSI_NODE, Action.DELETE)
CSI_DRIVER_ADD = ClusterEvent(CSI_DRIVER, Action.ADD)
CSI_DRIVER_UPDATE = ClusterEvent(CSI_DRIVER, Action.UPDATE)
CSI_DRIVER_DELETE = ClusterEvent(CSI_DRIVER, Action.DELETE)
STORAGE_CAPACITY_ADD = ClusterEvent(CSI_STORAGE_CAPACITY, Action.ADD)
STORAGE_CAPACITY_UPDATE = ClusterEvent(CSI_STORAGE_CAPACITY, Action.UPDATE)
STORAGE_CAPACITY_DELETE = ClusterEvent(CSI_STORAGE_CAPACITY, Action.DELETE)
VOLUME_ATTACHMENT_DELETE = ClusterEvent(VOLUME_ATTACHMENT, Action.DELETE)
RESOURCE_CLAIM_ADD = ClusterEvent(RESOURCE_CLAIM, Action.ADD)
RESOURCE_CLAIM_UPDATE = ClusterEvent(RESOURCE_CLAIM, Action.UPDATE)
RESOURCE_CLAIM_DELETE = ClusterEvent(RESOURCE_CLAIM, Action.DELETE)
RESOURCE_SLICE_ADD = ClusterEvent(RESOURCE_SLICE, Action.ADD)
RESOURCE_SLICE_UPDATE = ClusterEvent(RESOURCE_SLICE, Action.UPDATE)
RESOURCE_SLICE_DELETE = ClusterEvent(RESOURCE_SLICE, Action.DELETE)
DEVICE_CLASS_ADD = ClusterEvent(DEVICE_CLASS, Action.ADD)
DEVICE_CLASS_UPDATE = ClusterEvent(DEVICE_CLASS, Action.UPDATE)
DEVICE_CLASS_DELETE = ClusterEvent(DEVICE_CLASS, Action.DELETE)
POD_GROUP_ADD = ClusterEvent(POD_GROUP, Action.ADD)
POD_GROUP_UPDATE = ClusterEvent(POD_GROUP, Action.UPDATE)
POD_GROUP_DELETE = ClusterEvent(POD_GROUP, Action.DELETE)
SERVICE_ADD = ClusterEvent(SERVICE, Action.ADD)
SERVICE_UPDATE = ClusterEvent(SERVICE, Action.UPDATE)
SERVICE_DELETE = ClusterEvent(SERVICE, Action.DELETE)
# v1.20's name for a node update that was not examined.
NODE_UNKNOWN_CHANGE = ClusterEvent(NODE, Action.UPDATE, "Unknown")
TIMEOUT = ClusterEvent(WILD_CARD, Action.ALL, UNSCHEDULABLE_TIMEOUT)
ACTIVATION = ClusterEvent(WILD_CARD, Action.ALL, FORCE_ACTIVATE)


def pod_scheduling_properties_change(
    new: Pod, old: Pod | None, rules: ResourceRules
) -> list[ClusterEvent]:
    """The events that an update of a pod amounts to. Upstream: PodSchedulingPropertiesChange()."""
    new_spec = section(new.raw, "spec")
    resource = ASSIGNED_POD if new_spec.get("nodeName") else UNSCHEDULABLE_POD
    if old is None:
        return [ClusterEvent(resource, Action.UPDATE_POD_OTHER)]
    old_spec = section(old.raw, "spec")
    actions: list[Action] = []
    if new.labels != old.labels:
        actions.append(Action.UPDATE_POD_LABEL)
    if _scaled_down(new, old, rules):
        actions.append(Action.UPDATE_POD_SCALE_DOWN)
    if old_spec.get("schedulingGates") and not new_spec.get("schedulingGates"):
        actions.append(Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    # Tolerations can only be added, so a change of their number is a change of them.
    if len(new_spec.get("tolerations") or ()) != len(old_spec.get("tolerations") or ()):
        actions.append(Action.UPDATE_POD_TOLERATION)
    if any(
        (section(new.raw, "status").get(name) or None)
        != (section(old.raw, "status").get(name) or None)
        for name in ("resourceClaimStatuses", "extendedResourceClaimStatus")
    ):
        actions.append(Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM)
    return [ClusterEvent(resource, action) for action in actions or (Action.UPDATE_POD_OTHER,)]


def node_scheduling_properties_change(
    new: Node, old: Node, *, sees_features: bool = False
) -> list[ClusterEvent]:
    """The events that an update of a node amounts to. Upstream: NodeSchedulingPropertiesChange().

    The same content in another form is not a change: the API server would not have stored it.
    *sees_features* is whether what the node declares counts (NodeDeclaredFeatures).
    """
    new_spec, old_spec = section(new.raw, "spec"), section(old.raw, "spec")
    actions: list[Action] = []
    if old_spec.get("unschedulable") and not new_spec.get("unschedulable"):
        actions.append(Action.UPDATE_NODE_TAINT)
    if _allocatable(new) != _allocatable(old):
        actions.append(Action.UPDATE_NODE_ALLOCATABLE)
    if new.labels != old.labels:
        actions.append(Action.UPDATE_NODE_LABEL)
    if _taints(new) != _taints(old):
        actions.append(Action.UPDATE_NODE_TAINT)
    if _conditions(new) != _conditions(old):
        actions.append(Action.UPDATE_NODE_CONDITION)
    if new.annotations != old.annotations:
        actions.append(Action.UPDATE_NODE_ANNOTATION)
    if sees_features and _declared_features(new) != _declared_features(old):
        actions.append(Action.UPDATE_NODE_DECLARED_FEATURE)
    return [ClusterEvent(NODE, action) for action in actions]


def classic_node_change(new: Node, old: Node) -> ClusterEvent | None:
    """The one event v1.16 and v1.20 see in an update of a node, or None.

    Upstream: eventhandlers.go nodeSchedulingPropertiesChange(): the first difference decides.
    """
    if section(old.raw, "spec").get("unschedulable") and not section(new.raw, "spec").get(
        "unschedulable"
    ):
        return NODE_SPEC_UNSCHEDULABLE_CHANGE
    wanted = (
        Action.UPDATE_NODE_ALLOCATABLE,
        Action.UPDATE_NODE_LABEL,
        Action.UPDATE_NODE_TAINT,
        Action.UPDATE_NODE_CONDITION,
    )
    return next(
        (event for event in node_scheduling_properties_change(new, old) if event.action in wanted),
        None,
    )


def moves_classic_queue(event: ClusterEvent, new: Any) -> bool:
    """Did the event handlers of v1.16 and v1.20 move the unschedulable pods on this event?

    They had none for what was deleted, pods and services aside. Upstream: eventhandlers.go.
    """
    if event.is_wild_card:
        return True
    if event.resource == STORAGE_CLASS:
        # onStorageClassAdd(): no pod waits for a class that binds immediately.
        return (
            event.action == Action.ADD
            and new is not None
            and new.raw.get("volumeBindingMode") == "WaitForFirstConsumer"
        )
    return (event.resource, event.action) in _CLASSIC_NAMES


def _scaled_down(new: Pod, old: Pod, rules: ResourceRules) -> bool:
    if new.template is old.template and not (may_resize(new.status) or may_resize(old.status)):
        return False
    now, before = (pod_resources(pod.raw, rules).requested for pod in (new, old))
    if now is before:
        return False
    names = ("cpu", "memory", "ephemeral-storage", *(name for name, _ in before.scalars))
    return any(now.get(name) < before.get(name) for name in names)


def _allocatable(node: Node) -> dict[str, Quantity]:
    amounts = section(node.raw, "status", "allocatable")
    return {name: parse(amount) for name, amount in amounts.items()}


def _taints(node: Node) -> list[dict[str, Any]]:
    return [{key: value for key, value in taint.items() if value} for taint in node.taints]


def _declared_features(node: Node) -> list[str]:
    return node.status.get("declaredFeatures") or []


def _conditions(node: Node) -> dict[str, str]:
    conditions = items(node.status, "conditions")
    return {condition.get("type") or "": condition.get("status") or "" for condition in conditions}
