"""v1.34's queueing hints: which events each plugin listens to, and whether one helps a pod.

A hint gets the pod that the plugin rejected and the object before and after the event, and says
whether it is worth trying the pod again. Upstream: EventsToRegister() of each plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kscope.sim.objects.pod_resources import Resources, is_scalar_resource_name
from kscope.sim.objects.quantity import parse
from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine.dynamic_resources.claims import ClaimMissing, allocation_of, claims_of
from scheduling.engine.plugins.volumes.volume_restrictions import disks_conflict, restricted_disks
from scheduling.engine.plugins.volumes.volume_zone import volume_topologies
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo
from scheduling.engine.pods.pod_template import SpreadConstraint, spread_constraints
from scheduling.engine.queue.events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    STORAGE_CLASS,
    VOLUME_ATTACHMENT,
    Action,
    ClusterEvent,
)
from volumes.engine.matching.storage_capacity import volume_limit
from volumes.engine.migration import IN_TREE
from volumes.engine.translation import csi_handle, in_tree_plugin

if TYPE_CHECKING:
    from kscope.sim.objects.objects import ApiObject, Node, PersistentVolume, Pod

Manifest = Mapping[str, Any]


class HintWorld:
    """What hints may ask about the cluster; a subclass answers from its informers."""

    def enforced_node_affinity(self) -> NodeSelector | None:
        """What the configuration adds to every pod's required node affinity."""
        return None

    def default_spread_constraints(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        """The DoNotSchedule constraints that a pod without any gets from the configuration."""
        return ()

    def resource_claims(self) -> Mapping[str, ApiObject]:
        """The resource claims by key."""
        return {}


Hint = Callable[[HintWorld, PodInfo, Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Registration:
    """An event that a plugin listens to; without a hint, it always helps."""

    event: ClusterEvent
    hint: Hint | None = None


@runtime_checkable
class EnqueueExtensions(Protocol):
    """A plugin that says which events may help a pod that it turned away.

    Upstream: framework.EnqueueExtensions.
    """

    def events_to_register(self) -> Sequence[Registration]:
        """What it listens to; a hint must be a function of a module."""
        ...


class QueueingHints:
    """The registrations of the plugins of one profile, by plugin name."""

    __slots__ = ("_by_event", "_registrations", "_world")

    def __init__(
        self,
        registrations: Mapping[str, Iterable[Registration]] | None = None,
        world: HintWorld | None = None,
    ) -> None:
        source = IN_TREE_HINTS if registrations is None else registrations
        self._registrations = {
            plugin: _with_node_taints(entries) for plugin, entries in source.items()
        }
        self._world = world or HintWorld()
        self._by_event: dict[ClusterEvent, dict[str, tuple[Hint | None, ...]]] = {}

    def registered_for(self, event: ClusterEvent) -> Mapping[str, tuple[Hint | None, ...]]:
        """The plugins that listen to the event, with their hints."""
        found = self._by_event.get(event)
        if found is None:
            found = {}
            for plugin, entries in self._registrations.items():
                hints = tuple(entry.hint for entry in entries if entry.event.covers(event))
                if hints:
                    found[plugin] = hints
            self._by_event[event] = found
        return found

    def queues(self, plugin: str, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        """Does the plugin find the pod worth a new attempt after this event?"""
        return any(
            hint is None or hint(self._world, pod, old, new)
            for hint in self.registered_for(event).get(plugin, ())
        )


def _with_node_taints(entries: Iterable[Registration]) -> tuple[Registration, ...]:
    """Who listens to new nodes but not to taints hears of each change of a node's taints as well.

    It made up for new nodes that a check before the hints had kept from them, and outlived it
    (kubernetes#109437). Upstream: scheduler.go buildQueueingHintMap().
    """
    registered = tuple(entries)
    actions = Action.NONE
    for entry in registered:
        if entry.event.resource == NODE:
            actions |= entry.event.action
    if actions & Action.ADD and not actions & Action.UPDATE_NODE_TAINT:
        return (*registered, _on(NODE, Action.UPDATE_NODE_TAINT))
    return registered


# -- gates, names, taints ------------------------------------------------------------------------


def _itself_updated(world: HintWorld, pod: PodInfo, old: Any, new: Any) -> bool:
    return new is not None and new.uid == pod.uid


def _itself_tolerates_unschedulable(world: HintWorld, pod: PodInfo, old: Any, new: Any) -> bool:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return _itself_updated(world, pod, old, new) and _tolerates(new, taint)


def _node_became_schedulable(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    was = old is not None and not old.unschedulable
    return not was and new is not None and not new.unschedulable


def _node_became_tolerated(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    was = old is not None and _tolerates_all(pod.pod, old)
    return not was and new is not None and _tolerates_all(pod.pod, new)


def _node_affinity_became_matched(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """Upstream: NodeAffinity isSchedulableAfterNodeChange().

    A term that cannot be read is an error, after which the pod is tried again.
    Whether the old node was what the configuration enforces is not asked.
    """
    enforced = world.enforced_node_affinity()
    if new is None or (enforced is not None and not enforced.matches(new.labels, new.name)):
        return False
    if not _matches_node_affinity(pod.pod, new):
        return _is_unreadable(pod.pod, new)
    return old is None or not _matches_node_affinity(pod.pod, old)


# -- resources and ports -------------------------------------------------------------------------


def _port_was_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    if old is None or not (old.node_name or old.nominated_node_name):
        return False
    freed = PodInfo(old, pod.rules).ports
    return any(
        wanted.protocol == port.protocol
        and wanted.port == port.port
        and (wanted.ip == port.ip or "0.0.0.0" in (wanted.ip, port.ip))
        for wanted in pod.ports
        for port in freed
    )


def _resources_were_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        # Upstream, isSchedulableAfterPodEvent(): deletion of a pod that holds, or is promised,
        # a node.
        return old is not None and bool(old.node_name or old.nominated_node_name)
    if new.uid == pod.uid:
        return True
    if not new.node_name or old is None:
        return False
    before, after = PodInfo(old, pod.rules).resources, PodInfo(new, pod.rules).resources
    return any(
        before.requested.get(name) > after.requested.get(name)
        for name in _wanted_names(pod.resources.requested)
    )


def _node_fits_now(world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    if new is None:
        return False
    wanted = pod.resources.fit
    names = _wanted_names(wanted)
    capacity = _allocatable(new)
    if capacity.get("pods", 0) < 1 or any(
        capacity.get(name, 0) < wanted.get(name) for name in names
    ):
        return False
    if old is None:
        return True
    before = _allocatable(old)
    return any(capacity.get(name, 0) > before.get(name, 0) for name in ("pods", *names))


# -- other pods ----------------------------------------------------------------------------------


def _affinity_of_pods_changed(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: InterPodAffinity isSchedulableAfterPodChange().

    v1.34 does not see that a deleted pod's own anti-affinity may have kept this one out
    (kubernetes#134393, mended later): such a pod waits for another event, or for the flush.
    """
    if any(thing is not None and not thing.node_name for thing in (old, new)):
        return False
    wanted, unwanted = pod.affinity.required, pod.affinity.required_anti
    if old is None:
        return new is not None and _matches_all(wanted, new)
    if new is None:
        return _matches_all(unwanted, old)
    return (_matches_all(wanted, new) and not _matches_all(wanted, old)) or (
        _matches_all(unwanted, old) and not _matches_all(unwanted, new)
    )


def _affinity_topology_changed(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    if new is None:
        return False
    for term in pod.affinity.required:
        value = new.labels.get(term.topology_key)
        if value is not None and (old is None or old.labels.get(term.topology_key) != value):
            return True
    if old is None:
        # Which pods share the new node's domain is not looked at.
        return bool(pod.affinity.required_anti)
    # A node that left its domain took unwanted pods with it; one that joined frees nothing.
    keys = [term.topology_key for term in pod.affinity.required_anti]
    return any(key in old.labels and old.labels[key] != new.labels.get(key) for key in keys)


def _spread_of_pods_changed(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    involved = all(
        thing is None
        or thing.uid == pod.uid
        or (thing.node_name and thing.namespace == pod.pod.namespace)
        for thing in (old, new)
    )
    if not involved:
        return False
    constraints = _spread_constraints(world, pod)
    if old is None or new is None:
        labels = (new or old or pod.pod).labels
        return any(_counts(constraint, labels) for constraint in constraints)
    if (
        new.uid == pod.uid
        and (new.spec.get("tolerations") or []) != (old.spec.get("tolerations") or [])
        and any(constraint.honors_taints for constraint in constraints)
    ):
        return True
    return any(
        _counts(constraint, old.labels) != _counts(constraint, new.labels)
        for constraint in constraints
    )


def _spread_domains_changed(
    world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    keys = [constraint.topology_key for constraint in _spread_constraints(world, pod)]
    was = old is not None and all(key in old.labels for key in keys)
    matches = new is not None and all(key in new.labels for key in keys)
    if old is None or new is None:
        return matches or was
    if was != matches:
        return True
    return matches and (
        any(old.labels.get(key) != new.labels.get(key) for key in keys) or old.taints != new.taints
    )


# -- volumes -------------------------------------------------------------------------------------


def _claim_is_its_own(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.claim_names
    )


def _claim_is_named(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """The same without the claims of ephemeral volumes, which these plugins do not look at."""
    return (
        new is not None and new.namespace == pod.pod.namespace and new.name in pod.pod.named_claims
    )


def _volume_was_released(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: VolumeRestrictions isSchedulableAfterPodDeleted()."""
    if old is None or old.namespace != pod.pod.namespace:
        return False
    used = old.named_claims
    return any(name in used for name in pod.pod.named_claims) or disks_conflict(
        restricted_disks(pod.pod), restricted_disks(old)
    )


def _attachment_was_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    """Upstream: NodeVolumeLimits isSchedulableAfterPodDeleted()."""
    return (
        old is not None
        and bool(old.node_name or old.nominated_node_name)
        and any(map(_may_be_attached, old.volumes))
    )


def _attachment_was_deleted(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterVolumeAttachmentDeleted(), which forgets ephemeral volumes."""
    attacher = None if old is None else old.spec.get("attacher")
    return any(_may_have_held(volume, attacher) for volume in pod.pod.volumes)


def _may_have_held(volume: Manifest, attacher: object) -> bool:
    if volume.get("persistentVolumeClaim"):
        return True
    plugin = in_tree_plugin(volume)
    if plugin is None:
        return False
    # A disk that cannot be translated is an error of the hint, upon which the pod is queued.
    return IN_TREE[plugin].driver == attacher or not csi_handle(plugin, volume, None)


def _limit_was_raised(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSINodeUpdated(), to which no limit is one of none."""
    if new is None:
        return False
    before = {} if old is None else _driver_limits(old)
    return any(limit > before.get(name, 0) for name, limit in _driver_limits(new).items())


def _migration_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    annotation = "storage.alpha.kubernetes.io/migrated-plugins"
    return (
        old is None
        or new is None
        or old.annotations.get(annotation, "") != new.annotations.get(annotation, "")
    )


def _class_topology_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return (
        old is None
        or new is None
        or (old.raw.get("allowedTopologies") or []) != (new.raw.get("allowedTopologies") or [])
    )


def _class_waits_for_consumer(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    return new is not None and new.raw.get("volumeBindingMode") == "WaitForFirstConsumer"


def _driver_stopped_capacity_checks(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSIDriverChange(), which looks for the driver in the pod itself."""
    if old is None or new is None or not old.spec.get("storageCapacity"):
        return False
    sources: list[Manifest] = [volume.get("csi") or {} for volume in pod.pod.volumes]
    return not new.spec.get("storageCapacity") and any(
        source.get("driver") == new.name for source in sources
    )


def _storage_capacity_grew(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: isSchedulableAfterCSIStorageCapacityChange()."""
    if old is None or new is None:
        return True
    before, now = volume_limit(old), volume_limit(new)
    return now is not None and (before is None or now > before)


def _volume_topology_changed(
    world: HintWorld,
    pod: PodInfo,
    old: PersistentVolume | None,
    new: PersistentVolume | None,
) -> bool:
    return old is None or new is None or volume_topologies(old) != volume_topologies(new)


# -- what the hints ask --------------------------------------------------------------------------


def _wanted_names(wanted: Resources) -> list[str]:
    names = ("cpu", "memory", "ephemeral-storage", *(name for name, _ in wanted.scalars))
    return [name for name in names if wanted.get(name)]


def _allocatable(node: Node) -> dict[str, int]:
    return {
        name: parse(amount).milli_value if name == "cpu" else parse(amount).value
        for name, amount in node.allocatable.items()
        if name in ("cpu", "memory", "ephemeral-storage", "pods") or is_scalar_resource_name(name)
    }


def _matches_all(terms: tuple[AffinityTerm, ...], pod: Pod) -> bool:
    # No terms match nothing. Hints do not look namespaces up: a namespaceSelector is asked about
    # no labels at all. Upstream: podMatchesAllAffinityTerms().
    return bool(terms) and all(term.matches(pod.namespace, pod.labels) for term in terms)


def _spread_constraints(world: HintWorld, pod: PodInfo) -> Sequence[SpreadConstraint]:
    """Upstream: getConstraints()."""
    if not pod.pod.spec.get("topologySpreadConstraints"):
        return world.default_spread_constraints(pod)
    return [constraint for constraint in spread_constraints(pod) if constraint.is_hard]


def _counts(constraint: SpreadConstraint, labels: Mapping[str, str]) -> bool:
    return constraint.selector is not None and constraint.selector.matches(labels)


def _matches_node_affinity(pod: Pod, node: Node) -> bool:
    labels = node.labels
    selector: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in selector.items()):
        return False
    affinity: Manifest = pod.spec.get("affinity") or {}
    node_affinity: Manifest = affinity.get("nodeAffinity") or {}
    required: Manifest | None = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or NodeSelector.parse(required).matches(labels, node.name)


def _is_unreadable(pod: Pod, node: Node) -> bool:
    """Whether an error, and not the node's labels, keeps node affinity from matching: see Match()."""
    selector: Mapping[str, str] = pod.spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    affinity: Manifest = pod.spec.get("affinity") or {}
    node_affinity: Manifest = affinity.get("nodeAffinity") or {}
    required: Manifest | None = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = () if required is None else NodeSelector.parse(required).terms
    return any(one.is_unreadable for term in terms for one in term.expressions)


def _tolerates_all(pod: Pod, node: Node) -> bool:
    return all(
        _tolerates(pod, taint)
        for taint in node.taints
        if taint.get("effect") in ("NoSchedule", "NoExecute")
    )


def _tolerates(pod: Pod, taint: Manifest) -> bool:
    """Upstream: v1.Toleration.ToleratesTaint()."""
    tolerations: list[Manifest] = pod.spec.get("tolerations") or []
    for toleration in tolerations:
        key, effect = toleration.get("key") or "", toleration.get("effect") or ""
        if (effect and effect != taint.get("effect")) or (key and key != taint.get("key")):
            continue
        operator = toleration.get("operator") or "Equal"
        if operator == "Exists" or (
            operator == "Equal" and (toleration.get("value") or "") == (taint.get("value") or "")
        ):
            return True
    return False


def _may_be_attached(volume: Manifest) -> bool:
    claimed = volume.get("persistentVolumeClaim") or volume.get("ephemeral") is not None
    return bool(claimed) or in_tree_plugin(volume) is not None


def _driver_limits(csi_node: ApiObject) -> dict[str, int]:
    drivers: list[Manifest] = csi_node.spec.get("drivers") or []
    allocatable: list[tuple[str, Manifest]] = [
        (driver.get("name") or "", driver.get("allocatable") or {}) for driver in drivers
    ]
    return {name: limits.get("count") or 0 for name, limits in allocatable}


def _resource_claim_changed(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """Upstream: DynamicResources isSchedulableAfterClaimChange()."""
    if new is None:
        return False
    try:
        claims = claims_of(pod.pod, world.resource_claims())
    except ClaimMissing:
        return False
    if old is not None and allocation_of(old) is not None and allocation_of(new) is None:
        return True
    if all(claim.uid != new.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def _claims_were_generated(
    world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None
) -> bool:
    """Upstream: DynamicResources isSchedulableAfterPodChange()."""
    if new is None or new.uid != pod.uid:
        return False
    try:
        claims_of(new, world.resource_claims())
    except ClaimMissing:
        return False
    return True


def _on(resource: str, action: Action, hint: Hint | None = None) -> Registration:
    return Registration(ClusterEvent(resource, action), hint)


_ADD_OR_UPDATE = Action.ADD | Action.UPDATE

# What a plugin hears of that does not say what it waits for, and what pods hear of that an
# extender turned away. Upstream: types.go UnrollWildCardResource().
EVERYTHING: tuple[Registration, ...] = tuple(
    _on(resource, Action.ALL)
    for resource in (
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
    )
)

# Who listens to what in v1.34, with the feature gates that are on by default.
IN_TREE_HINTS: Mapping[str, tuple[Registration, ...]] = {
    "SchedulingGates": (_on(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, _itself_updated),),
    "NodeUnschedulable": (
        _on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _node_became_schedulable),
        _on(POD, Action.UPDATE_POD_TOLERATION, _itself_tolerates_unschedulable),
    ),
    "NodeName": (_on(NODE, Action.ADD),),
    "TaintToleration": (
        _on(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _node_became_tolerated),
        _on(POD, Action.UPDATE_POD_TOLERATION, _itself_updated),
    ),
    "NodeAffinity": (
        _on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, _node_affinity_became_matched),
    ),
    "NodePorts": (
        _on(POD, Action.DELETE, _port_was_freed),
        _on(NODE, Action.ADD),
    ),
    "NodeResourcesFit": (
        _on(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, _resources_were_freed),
        _on(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, _node_fits_now),
        _on(DEVICE_CLASS, _ADD_OR_UPDATE),
    ),
    "DynamicResources": (
        _on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        _on(RESOURCE_CLAIM, _ADD_OR_UPDATE, _resource_claim_changed),
        _on(POD, Action.UPDATE_POD_GENERATED_RESOURCE_CLAIM, _claims_were_generated),
        _on(DEVICE_CLASS, _ADD_OR_UPDATE),
        _on(RESOURCE_SLICE, _ADD_OR_UPDATE),
    ),
    "NodeDeclaredFeatures": (_on(NODE, Action.ADD | Action.UPDATE),),
    "VolumeRestrictions": (
        _on(POD, Action.DELETE, _volume_was_released),
        _on(NODE, Action.ADD),
        _on(PERSISTENT_VOLUME_CLAIM, Action.ADD, _claim_is_named),
    ),
    "NodeVolumeLimits": (
        _on(CSI_NODE, Action.ADD),
        _on(CSI_NODE, Action.UPDATE, _limit_was_raised),
        _on(POD, Action.DELETE, _attachment_was_freed),
        _on(PERSISTENT_VOLUME_CLAIM, Action.ADD, _claim_is_its_own),
        _on(VOLUME_ATTACHMENT, Action.DELETE, _attachment_was_deleted),
    ),
    "VolumeBinding": (
        _on(STORAGE_CLASS, _ADD_OR_UPDATE, _class_topology_changed),
        _on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, _claim_is_its_own),
        _on(PERSISTENT_VOLUME, _ADD_OR_UPDATE),
        _on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        _on(CSI_NODE, _ADD_OR_UPDATE, _migration_changed),
        _on(CSI_DRIVER, Action.UPDATE, _driver_stopped_capacity_checks),
        _on(CSI_STORAGE_CAPACITY, _ADD_OR_UPDATE, _storage_capacity_grew),
    ),
    "VolumeZone": (
        _on(STORAGE_CLASS, Action.ADD, _class_waits_for_consumer),
        _on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL),
        _on(PERSISTENT_VOLUME_CLAIM, _ADD_OR_UPDATE, _claim_is_named),
        _on(PERSISTENT_VOLUME, _ADD_OR_UPDATE, _volume_topology_changed),
    ),
    "PodTopologySpread": (
        _on(
            POD,
            Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE,
            _spread_of_pods_changed,
        ),
        _on(
            NODE,
            Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT,
            _spread_domains_changed,
        ),
    ),
    "InterPodAffinity": (
        _on(
            POD,
            Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE,
            _affinity_of_pods_changed,
        ),
        _on(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, _affinity_topology_changed),
    ),
}
