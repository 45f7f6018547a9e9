"""The attach/detach controller, and the external attacher that does its bidding for CSI volumes.

What pods need on nodes (desired) is attached; what nodes have and no pod needs (actual) is detached,
once the node's status no longer says that it is in use, or after six minutes of waiting for that.

    (absent) ──attach──▶ uncertain ──done──▶ attached ──no pod──▶ waiting for unmount
        ▲                    │ error                                │ not in use, or 6 min
        └────────────────────┴──────────detached◀──detach───────────┘

Upstream: pkg/controller/volume/attachdetach (attach_detach_controller.go, reconciler, cache,
statusupdater), pkg/volume/csi/csi_attacher.go.
"""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Protocol, cast

from kscope.sim.api_server.store import ObjectStore, WatchEvent
from kscope.sim.errors import AlreadyExists, ApiError, NotFound
from kscope.sim.kernel.loop import EventLoop, Timer
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.units import MILLISECOND, MINUTE, SECOND
from kscope.sim.kernel.view import Attributes, Changes, diff
from kscope.sim.objects.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    from_manifest,
)
from volumes.engine.kubelet.operations import messages
from volumes.engine.kubelet.operations.executor import ATTACHED, FAILED_ATTACH
from volumes.engine.kubelet.operations.pending import (
    Entry,
    NestedPendingOperations,
    OperationKey,
    next_tick,
    shows,
)
from volumes.engine.kubelet.plugins import CSI
from volumes.engine.kubelet.spec import (
    Answer,
    VolumeError,
    VolumePlugin,
    VolumePlugins,
    VolumeSpec,
    text_at,
    unique_volume_name,
)
from volumes.engine.kubelet.volume_manager import is_controller_managed
from volumes.engine.ports import NORMAL, WARNING, EventSink

COMPONENT: Final = "attach-detach"
ATTACHER: Final = "csi-attacher"

# Upstream: DefaultTimerConfig.
RECONCILER_LOOP_PERIOD: Final = 100 * MILLISECOND
MAX_WAIT_FOR_UNMOUNT: Final = 6 * MINUTE

NODE_ID_ANNOTATION: Final = "csi.alpha.kubernetes.io/node-id"
KEEP_TERMINATED_ANNOTATION: Final = "volumes.kubernetes.io/keep-terminated-pod-volumes"

# The external attacher tries again after 1 s, doubled with every failure up to five minutes.
_ATTACHER_RETRY: Final = SECOND
_ATTACHER_MAX_RETRY: Final = 5 * MINUTE


def attachment_name(volume_handle: str, driver: str, node: str) -> str:
    """The name of a VolumeAttachment. Upstream: csi_attacher.go, getAttachmentName."""
    digest = hashlib.sha256(f"{volume_handle}{driver}{node}".encode()).hexdigest()
    return f"csi-{digest}"


def is_multi_attach_forbidden(spec: VolumeSpec) -> bool:
    """Whether the volume may be attached to one node only. Upstream: util.IsMultiAttachAllowed."""
    if spec.volume is not None:
        # Of the inline volumes these are known to be exclusive.
        return "azureDisk" in spec.volume or "cinder" in spec.volume
    modes: list[str] = spec.source.get("accessModes") or []
    # Without a mode the attacher has to decide.
    return bool(modes) and not any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes)


@dataclass(slots=True)
class VolumeToAttach:
    """A volume that pods of a node need."""

    name: str
    node: str
    spec: VolumeSpec
    # Volumes of a node come in the order in which they were first wanted.
    place: int = 0
    pods: dict[str, Pod] = field(default_factory=dict[str, Pod])
    # Since when each of the pods wants it.
    since: dict[str, int] = field(default_factory=dict[str, int])
    multi_attach_error_reported: bool = False


@dataclass(slots=True)
class NodeAttachment:
    """A volume on a node that has it, or may have it."""

    name: str
    node: str
    spec: VolumeSpec
    device_path: str = ""
    is_attached: bool = True
    # A node is assumed to have it mounted until its status says otherwise.
    mounted_by_node: bool = True
    detach_requested_at: int | None = None
    deadline: Timer | None = None

    def forget_detach_request(self) -> None:
        """It is needed again, or gone: nobody waits for its unmount any more."""
        self.detach_requested_at = None
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


class DesiredStateOfWorld:
    """Which volumes should be attached to which nodes. Upstream: cache/desired_state_of_world.go.

    `changed` holds the (volume, node) pairs of which something changed, until whoever minds empties
    it.
    """

    __slots__ = ("_added", "_nodes", "_pods", "_volumes", "changed")

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, VolumeToAttach]] = {}
        self._volumes: dict[str, dict[str, VolumeToAttach]] = {}
        self._pods: dict[str, dict[str, VolumeToAttach]] = {}
        self._added = 0
        self.changed: dict[tuple[str, str], None] = {}

    def add_pod(self, pod: Pod, name: str, spec: VolumeSpec, node: str, now: int) -> None:
        """Want the volume on *node* for *pod*."""
        volumes = self._nodes.setdefault(node, {})
        volume = volumes.get(name)
        if volume is None:
            self._added += 1
            volume = volumes[name] = VolumeToAttach(name, node, spec, self._added)
            self._volumes.setdefault(name, {})[node] = volume
        if pod.uid not in volume.pods:
            volume.since[pod.uid] = now
            self.changed[name, node] = None
        volume.pods[pod.uid] = pod
        self._pods.setdefault(pod.uid, {})[name] = volume

    def delete_pod(self, uid: str, node: str) -> list[str]:
        """Stop wanting anything for the pod; the names of the volumes that it wanted."""
        found = sorted(self._pods.pop(uid, {}).values(), key=_place_of)
        for volume in found:
            del volume.pods[uid], volume.since[uid]
            self.changed[volume.name, node] = None
            if not volume.pods:
                _discard(self._nodes, node, volume.name)
                _discard(self._volumes, volume.name, node)
        return [volume.name for volume in found]

    def volume_exists(self, name: str, node: str) -> bool:
        """Whether a pod of *node* needs the volume."""
        return name in self._nodes.get(node, ())

    def find(self, name: str, node: str) -> VolumeToAttach | None:
        """The volume as pods of *node* need it, or None."""
        return self._nodes.get(node, {}).get(name)

    def volumes_of_node(self, node: str) -> list[VolumeToAttach]:
        """What pods of *node* need."""
        return [*self._nodes.get(node, {}).values()]

    def volumes_to_attach(self, name: str) -> list[VolumeToAttach]:
        """The nodes that should have the volume, each with its pods."""
        return [*self._volumes.get(name, {}).values()]

    def volume_pods_on_nodes(self, nodes: Iterable[str], name: str) -> list[Pod]:
        """The pods that need the volume on one of *nodes*."""
        found = [self._nodes.get(node, {}).get(name) for node in nodes]
        return [pod for volume in found if volume is not None for pod in volume.pods.values()]


def _place_of(volume: VolumeToAttach) -> int:
    return volume.place


def _discard(table: dict[str, dict[str, Any]], outer: str, inner: str) -> None:
    held = table.get(outer, {})
    held.pop(inner, None)
    if not held:
        table.pop(outer, None)


class ActualStateOfWorld:
    """Which volumes are attached to which nodes, and what the nodes' status should say of it.

    `changed` holds the (volume, node) pairs that were marked, until whoever minds empties it.
    Upstream: cache/actual_state_of_world.go.
    """

    __slots__ = ("_nodes", "_reports", "_volumes", "changed", "needs_update")

    def __init__(self) -> None:
        self._volumes: dict[str, dict[str, NodeAttachment]] = {}
        self._nodes: dict[str, dict[str, NodeAttachment]] = {}
        self._reports: dict[str, dict[str, str]] = {}
        self.needs_update: dict[str, None] = {}
        self.changed: dict[tuple[str, str], None] = {}

    def mark_volume_as_attached(
        self, name: str, node: str, spec: VolumeSpec, device_path: str = ""
    ) -> None:
        """Note that the node has the volume; what was asked of it before is void."""
        found = self._find_or_add(name, node, spec)
        found.is_attached, found.device_path = True, device_path
        found.mounted_by_node = True
        found.forget_detach_request()
        self.add_volume_to_report_as_attached(name, node)

    def mark_volume_as_uncertain(self, name: str, node: str, spec: VolumeSpec) -> NodeAttachment:
        """Note that an attach was begun whose outcome is not known."""
        found = self._find_or_add(name, node, spec)
        found.is_attached = False
        return found

    def mark_volume_as_detached(self, name: str, node: str) -> None:
        """Forget that the node has the volume."""
        found = self.find(name, node)
        if found is not None:
            found.forget_detach_request()
            self.changed[name, node] = None
        _discard(self._volumes, name, node)
        _discard(self._nodes, node, name)
        self.remove_volume_from_report_as_attached(name, node)

    def find(self, name: str, node: str) -> NodeAttachment | None:
        """The attachment, certain or not, or None."""
        return self._volumes.get(name, {}).get(node)

    def attached_volumes(self) -> list[NodeAttachment]:
        """Every attachment, certain or not."""
        return [found for nodes in self._volumes.values() for found in nodes.values()]

    def attachments_of(self, name: str) -> list[NodeAttachment]:
        """The nodes that have, or may have, the volume."""
        return [*self._volumes.get(name, {}).values()]

    def attached_to_node(self, node: str) -> list[NodeAttachment]:
        """What the node has."""
        return [*self._nodes.get(node, {}).values()]

    def nodes_for_attached_volume(self, name: str) -> list[str]:
        """The nodes that have, or may have, the volume."""
        return [*self._volumes.get(name, ())]

    def add_volume_to_report_as_attached(self, name: str, node: str) -> None:
        """Have the node's status say that the volume is attached and may be mounted."""
        found = self.find(name, node)
        if found is not None and found.is_attached:
            self._reports.setdefault(node, {})[name] = found.device_path
            self.needs_update[node] = None

    def remove_volume_from_report_as_attached(self, name: str, node: str) -> None:
        """Have the node's status no longer say so: it must not be mounted any more."""
        if self._reports.get(node, {}).pop(name, None) is not None:
            self.needs_update[node] = None

    def report(self, node: str) -> list[Manifest]:
        """What status.volumesAttached should be, by name."""
        return [
            {"devicePath": path, "name": name}
            for name, path in sorted(self._reports.get(node, {}).items())
        ]

    def _find_or_add(self, name: str, node: str, spec: VolumeSpec) -> NodeAttachment:
        found = self.find(name, node)
        if found is None:
            found = NodeAttachment(name, node, spec)
            self._volumes.setdefault(name, {})[node] = found
            self._nodes.setdefault(node, {})[name] = found
        self.changed[name, node] = None
        return found


class Controller(Protocol):
    """What an operation needs of its controller."""

    def run_attach(self, operation: "AttachOperation") -> None:
        """Begin to attach."""
        ...

    def run_detach(self, operation: "DetachOperation") -> None:
        """Begin to detach."""
        ...


@dataclass(slots=True)
class AttachOperation:
    """An attach that runs or backs off."""

    controller: Controller
    key: OperationKey
    volume: VolumeToAttach
    name: str = "volume_attach"

    @property
    def node(self) -> str:
        """Where it attaches to."""
        return self.volume.node

    def begin(self) -> None:
        """See pending.Operation."""
        self.controller.run_attach(self)


@dataclass(slots=True)
class DetachOperation:
    """A detach that runs or backs off; *verify* looks first whether the node uses the volume."""

    controller: Controller
    key: OperationKey
    attachment: NodeAttachment
    verify: bool
    name: str = "volume_detach"

    @property
    def node(self) -> str:
        """Where it detaches from."""
        return self.attachment.node

    def begin(self) -> None:
        """See pending.Operation."""
        self.controller.run_detach(self)


class AttachDetachController:
    """Attaches and detaches for the nodes that leave it to the controller.

    Its loop of 100 ms runs only when there is something to do.
    """

    PARTS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        plugins: VolumePlugins,
        *,
        events: EventSink | None = None,
        watch_latency: int = 0,
        max_wait_for_unmount: int = MAX_WAIT_FOR_UNMOUNT,
        recovers_attachments: bool = True,
    ) -> None:
        """*recovers_attachments*: at its start it minds every VolumeAttachment it finds (1.21)."""
        self._loop = loop
        self._store = store
        self._recorder = recorder
        self._plugins = plugins
        self._events = events
        self._max_wait = max_wait_for_unmount
        self.desired = DesiredStateOfWorld()
        self.actual = ActualStateOfWorld()
        self._pending = NestedPendingOperations(loop)
        self._attaching: dict[str, AttachOperation] = {}
        self._detaching: dict[str, DetachOperation] = {}
        self._users: dict[str, dict[str, Pod]] = {}
        # Pods whose volumes were all there when they were last looked at.
        self._settled: dict[str, None] = {}
        self._dirty: dict[str, None] = {}
        self._timer: Timer | None = None
        self._show_timer: Timer | None = None
        # By node and volume; of the (volume, node) pairs of `_unshown` the view may say otherwise.
        self._shown: dict[str, dict[str, Attributes]] = {}
        self._unshown: dict[tuple[str, str], None] = {}
        self._stopped = False
        self._populate_actual_state(recovers_attachments)
        store.watch("Node", self.observe_node, watch_latency)
        store.watch("PersistentVolume", self.observe_volume, watch_latency)
        store.watch("PersistentVolumeClaim", self.observe_claim, watch_latency)
        store.watch("Pod", self.observe_pod, watch_latency)
        store.watch("VolumeAttachment", self.observe_attachment, watch_latency)
        self._show_soon()

    # What it hears

    def observe_pod(self, event: WatchEvent) -> None:
        """Take a watch event of a pod."""
        pod = cast("Pod", event.new)
        if not pod.node_name or not pod.volumes:
            return
        if event.type == "DELETED" or self._is_done_with_volumes(pod):
            for name in pod.claim_names:
                _discard(self._users, f"{pod.namespace}/{name}", pod.uid)
            self._settled.pop(pod.uid, None)
            for name in self.desired.delete_pod(pod.uid, pod.node_name):
                self._wake(name)
            self._show_soon()
            return
        for name in pod.claim_names:
            self._users.setdefault(f"{pod.namespace}/{name}", {})[pod.uid] = pod
        self._add_pod(pod)

    def observe_claim(self, event: WatchEvent) -> None:
        """A claim was written: pods that use it may now have a volume."""
        claim, old = event.new, event.old
        if claim.key not in self._users or event.type == "DELETED":
            return
        if claim.status.get("phase") == "Bound":
            was_bound = old is not None and old.status.get("phase") == "Bound"
            self._add_users(claim.key, was_bound and old is not None and old.spec is claim.spec)

    def observe_volume(self, event: WatchEvent) -> None:
        """A volume was written: pods that use its claim may now have it."""
        volume, old = cast("PersistentVolume", event.new), event.old
        if event.type != "DELETED" and volume.claim_key in self._users:
            self._add_users(volume.claim_key, old is not None and old.spec is volume.spec)

    def observe_node(self, event: WatchEvent) -> None:
        """The node's status says which volumes it has mounted. A deleted node says its last."""
        node = cast("Node", event.new)
        if event.type == "DELETED":
            self._shown.pop(node.name, None)
        elif event.type == "ADDED":
            self._show_node(node.name)
        attached = self.actual.attached_to_node(node.name)
        if not attached:
            return
        in_use: dict[str, None] = dict.fromkeys(node.status.get("volumesInUse") or ())
        for attachment in attached:
            mounted = attachment.name in in_use
            if attachment.mounted_by_node and not mounted:
                self._wake(attachment.name)
            if attachment.mounted_by_node is not mounted:
                self.actual.changed[attachment.name, node.name] = None
            attachment.mounted_by_node = mounted
        self._show_soon()

    def observe_attachment(self, event: WatchEvent) -> None:
        """A VolumeAttachment was written: an operation may have come to its end."""
        name, status = event.new.name, event.new.status
        attach = self._attaching.get(name)
        if attach is not None:
            # Upstream: csi_attacher.go, verifyAttachmentStatus(); what is going is no attachment.
            if event.type == "DELETED":
                self._attach_failed(name, attach, "volume attachment has been deleted")
            elif event.new.deletion_timestamp:
                self._attach_failed(name, attach, "volume attachment is being deleted")
            elif status.get("attached"):
                self._attached(name, attach, Answer())
            elif status.get("attachError"):
                self._attach_failed(name, attach, status["attachError"].get("message", ""))
        detach = self._detaching.get(name)
        if detach is not None and event.type == "DELETED":
            self._detached(name, detach, Answer())

    # Desired state. Upstream: util.ProcessPodVolumes.

    def _is_done_with_volumes(self, pod: Pod) -> bool:
        if not pod.is_terminated:
            return False
        node = self._store.find("Node", pod.node_name)
        keeps = node is not None and node.annotations.get(KEEP_TERMINATED_ANNOTATION) == "true"
        return not keeps

    def _add_users(self, claim: str, is_same: bool) -> None:
        """Look again at the pods of a claim; if it *is_same* only at those that miss a volume."""
        for uid, pod in [*self._users[claim].items()]:
            if not (is_same and uid in self._settled):
                self._add_pod(pod)

    def _add_pod(self, pod: Pod) -> None:
        uid, node_name = pod.uid, pod.node_name
        self._settled.pop(uid, None)
        node = self._store.find("Node", node_name)
        if node is None or not is_controller_managed(node):
            return
        missing = False
        for pod_volume in pod.volumes:
            spec = self._spec_of(pod, pod_volume)
            if spec is None:
                missing = True
                continue
            plugin = self._plugins.find_by_spec(spec)
            if plugin is None or not plugin.is_attachable(spec):
                continue
            name = unique_volume_name(plugin, spec)
            if not self.desired.volume_exists(name, node_name):
                self._wake(name)
            self.desired.add_pod(pod, name, spec, node_name, self._loop.now)
        if not missing:
            self._settled[uid] = None
        self._show_soon()

    def _spec_of(self, pod: Pod, pod_volume: Manifest) -> VolumeSpec | None:
        """Upstream: util.CreateVolumeSpec; what is not bound yet is added when it is."""
        source: Manifest | None = pod_volume.get("persistentVolumeClaim")
        name = source["claimName"] if source else f"{pod.name}-{pod_volume['name']}"
        if source is None and "ephemeral" not in pod_volume:
            return VolumeSpec(volume=pod_volume)
        claim = self._store.find("PersistentVolumeClaim", f"{pod.namespace}/{name}")
        if not isinstance(claim, PersistentVolumeClaim) or claim.status.get("phase") != "Bound":
            return None
        volume = self._store.find("PersistentVolume", claim.volume_name)
        if not isinstance(volume, PersistentVolume) or volume.claim_ref is None:
            return None
        if (volume.claim_ref.get("uid") or "") != claim.uid:
            return None
        read_only = bool(source and source.get("readOnly"))
        return VolumeSpec(persistent_volume=volume.raw, read_only=read_only)

    # The loop. Upstream: reconciler.reconcile.

    def _wake(self, volume: str) -> None:
        """Have the next pass look at *volume*."""
        self._dirty[volume] = None
        self._arm()

    def _arm(self) -> None:
        """Let there be a next pass; passes fall on multiples of the period."""
        if self._timer is None:
            at = next_tick(self._loop.now, RECONCILER_LOOP_PERIOD)
            self._timer = self._loop.call_at(at, self._reconcile)

    def _wake_at(self, at: int, volume: str) -> Timer:
        """As `_wake`, but not before *at*."""
        return self._loop.call_at(next_tick(at, RECONCILER_LOOP_PERIOD), self._wake, volume)

    def _reconcile(self) -> None:
        """Detach first: what moves to another node must leave the old one before."""
        self._timer = None
        dirty, self._dirty = self._dirty, {}
        for name in dirty:
            for attachment in self.actual.attachments_of(name):
                if not self.desired.volume_exists(name, attachment.node):
                    self._detach_if_unused(attachment)
        for name in dirty:
            for volume in self.desired.volumes_to_attach(name):
                self._attach_if_free(volume)
        self._update_node_statuses()
        self._show_soon()

    def _detach_if_unused(self, attachment: NodeAttachment) -> None:
        key = _key(attachment.name, attachment.node, attachment.spec)
        if self._pending.is_operation_pending(key):
            return
        now = self._loop.now
        if attachment.detach_requested_at is None:
            attachment.detach_requested_at = now
            self.actual.changed[attachment.name, attachment.node] = None
            if attachment.mounted_by_node:
                deadline = now + self._max_wait + 1
                attachment.deadline = self._wake_at(deadline, attachment.name)
        timeout = now - attachment.detach_requested_at > self._max_wait
        if attachment.mounted_by_node and not timeout:
            # Wait for the node's status, but not for ever.
            return
        if self._holds(key, "volume_detach"):
            return
        # The node learns that it must not mount the volume before it loses it.
        self.actual.remove_volume_from_report_as_attached(attachment.name, attachment.node)
        if not self._update_node_statuses():
            # The node may not have heard of it: not yet.
            self._wake(attachment.name)
            return
        if timeout and attachment.mounted_by_node:
            self._recorder.record(
                "VolumeDetachForced",
                f"node/{attachment.node}",
                COMPONENT,
                f"{attachment.name} was in use for {self._max_wait // SECOND} s after its last pod",
                {"volume": attachment.name},
            )
        self._pending.run(DetachOperation(self, key, attachment, not timeout))

    def _attach_if_free(self, volume: VolumeToAttach) -> None:
        forbidden = is_multi_attach_forbidden(volume.spec)
        key = _key(volume.name, volume.node, volume.spec)
        if self._pending.is_operation_pending(key):
            return
        found = self.actual.find(volume.name, volume.node)
        if found is not None and found.is_attached:
            # Needed again before it was detached.
            if found.detach_requested_at is not None:
                self.actual.changed[found.name, found.node] = None
            found.forget_detach_request()
            return
        others = [n for n in self.actual.nodes_for_attached_volume(volume.name) if n != volume.node]
        if forbidden and others:
            if not volume.multi_attach_error_reported:
                volume.multi_attach_error_reported = True
                self.desired.changed[volume.name, volume.node] = None
                self._report_multi_attach_error(volume, others)
            return
        if not self._holds(key, "volume_attach"):
            self._pending.run(AttachOperation(self, key, volume))

    def _holds(self, key: OperationKey, name: str) -> bool:
        """Whether a backoff holds; what failed has asked to be looked at when it has passed."""
        return any(
            entry.name == name and entry.key == key and entry.backoff.holds(self._loop.now)
            for entry in self._pending.entries(key.volume_name)
        )

    def _report_multi_attach_error(self, volume: VolumeToAttach, others: list[str]) -> None:
        # Users of one namespace are not told names from another.
        users = self.desired.volume_pods_on_nodes(others, volume.name)
        for pod in volume.pods.values():
            local = [user.name for user in users if user.namespace == pod.namespace]
            elsewhere = len(users) - len(local)
            if not users:
                why = (
                    "Volume is already exclusively attached to one node and can't be attached to "
                    "another"
                )
            elif not local:
                why = f"Volume is already used by {elsewhere} pod(s) in different namespaces"
            else:
                why = f"Volume is already used by pod(s) {', '.join(local)}"
                if elsewhere:
                    why = f"{why} and {elsewhere} pod(s) in different namespaces"
            self._emit(pod, WARNING, FAILED_ATTACH, "Multi-Attach error", volume.spec.name, why)

    def _update_node_statuses(self) -> bool:
        """Write what was announced; False when a write failed, which the next pass tries again."""
        # Upstream: statusupdater.UpdateNodeStatuses; a node that is gone is passed over.
        failed: list[str] = []
        for name in sorted(self.actual.needs_update):
            node = self._store.find("Node", name)
            report = self.actual.report(name)
            if node is not None and report != (node.status.get("volumesAttached") or []):
                try:
                    self._store.patch(
                        "Node",
                        name,
                        {"status": {"volumesAttached": report or None}},
                        by=COMPONENT,
                        event="NodeVolumesAttachedReported",
                        message=f"{len(report)} volumes are attached",
                    )
                except ApiError:
                    failed.append(name)
        self.actual.needs_update = dict.fromkeys(failed)
        if failed:
            self._arm()
        return not failed

    # Attaching

    def run_attach(self, operation: AttachOperation) -> None:
        """See Controller."""
        if self._stopped:
            return
        volume = operation.volume
        plugin = self._plugins.find_by_spec(volume.spec)
        assert plugin is not None
        if plugin.name != CSI:
            pod = next(iter(volume.pods.values()), None)
            answer = plugin.call("Attach", volume.spec, pod, volume.node)
            self._loop.call_after(answer.latency, self._attached, "", operation, answer)
            return
        csi = volume.spec.source["csi"]
        name = attachment_name(csi["volumeHandle"], csi["driver"], volume.node)
        self._attaching[name] = operation
        existing = self._store.find("VolumeAttachment", name)
        if existing is None:
            try:
                self._create_attachment(name, volume, csi["driver"])
            except ApiError as refusal:
                self._attach_failed(name, operation, str(refusal))
        else:
            self.observe_attachment(WatchEvent("MODIFIED", None, existing))

    def _create_attachment(self, name: str, volume: VolumeToAttach, driver: str) -> None:
        made = from_manifest(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": name},
                "spec": {
                    "attacher": driver,
                    "nodeName": volume.node,
                    "source": {"persistentVolumeName": volume.spec.name},
                },
                "status": {"attached": False},
            }
        )
        message = f"{volume.spec.name} to {volume.node}"
        data = {"volume": volume.spec.name, "node": volume.node}
        with_event = {"event": "VolumeAttachmentCreated", "message": message, "data": data}
        try:
            self._store.create(made, by=COMPONENT, **cast("dict[str, Any]", with_event))
        except AlreadyExists:
            return

    def _attached(self, attachment: str, operation: AttachOperation, answer: Answer) -> None:
        volume = operation.volume
        if answer.error is not None:
            self._attach_failed(attachment, operation, answer.error.text)
            return
        self._attaching.pop(attachment, None)
        self.actual.mark_volume_as_attached(volume.name, volume.node, volume.spec, answer.value)
        for pod in volume.pods.values():
            name = volume.spec.name
            self._emit(pod, NORMAL, ATTACHED, "AttachVolume.Attach succeeded", name, "")
        self._pending.complete(operation, None)
        self._show_outcome("VolumeAttached", operation, f"{volume.spec.name} to {volume.node}")
        self._wake(volume.name)

    def _attach_failed(self, attachment: str, operation: AttachOperation, error: str) -> None:
        self._attaching.pop(attachment, None)
        volume, prefix = operation.volume, "AttachVolume.Attach failed"
        for pod in volume.pods.values():
            suffix = messages.error_suffix(error)
            self._emit(pod, WARNING, FAILED_ATTACH, prefix, volume.spec.name, suffix)
        # Something may have been done: if no pod needs it any more, it has to be undone.
        found = self.actual.mark_volume_as_uncertain(volume.name, volume.node, volume.spec)
        found.mounted_by_node = self._is_in_use(found)
        entry = self._pending.complete(operation, error)
        assert entry is not None
        self._show_outcome("VolumeOperationFailed", operation, error)
        self._wake_at(entry.backoff.at + entry.backoff.delay + 1, volume.name)

    # Detaching

    def run_detach(self, operation: DetachOperation) -> None:
        """See Controller."""
        if self._stopped:
            return
        attachment = operation.attachment
        if operation.verify and self._is_in_use(attachment):
            self._detach_failed("", operation)
            return
        plugin = self._plugins.find_by_spec(attachment.spec)
        if plugin is not None and plugin.name != CSI:
            answer = plugin.call("Detach", attachment.spec, None, attachment.node)
            self._loop.call_after(answer.latency, self._detached, "", operation, answer)
            return
        name = self._attachment_of(attachment)
        self._detaching[name] = operation
        try:
            self._store.delete(
                "VolumeAttachment",
                name,
                by=COMPONENT,
                event="VolumeAttachmentTerminating",
                message=f"{attachment.spec.name} from {attachment.node}",
            )
        except NotFound:
            self._detached(name, operation, Answer())
        except ApiError as refusal:
            self._detach_failed(name, operation, str(refusal))

    def _is_in_use(self, attachment: NodeAttachment) -> bool:
        # Upstream: verifyVolumeIsSafeToDetach; a node that is gone uses nothing.
        node = self._store.find("Node", attachment.node)
        return node is not None and attachment.name in (node.status.get("volumesInUse") or ())

    def _detached(self, attachment: str, operation: DetachOperation, answer: Answer) -> None:
        if answer.error is not None:
            self._detach_failed(attachment, operation, answer.error.text)
            return
        self._detaching.pop(attachment, None)
        found = operation.attachment
        self.actual.mark_volume_as_detached(found.name, found.node)
        self._pending.complete(operation, None)
        self._show_outcome("VolumeDetached", operation, f"{found.spec.name} from {found.node}")
        self._wake(found.name)

    def _detach_failed(
        self, attachment: str, operation: DetachOperation, error: str = "still in use"
    ) -> None:
        self._detaching.pop(attachment, None)
        found = operation.attachment
        # It is still there, and may be mounted again.
        self.actual.add_volume_to_report_as_attached(found.name, found.node)
        self._arm()
        entry = self._pending.complete(operation, error)
        assert entry is not None
        self._show_outcome("VolumeOperationFailed", operation, error)
        self._wake_at(entry.backoff.at + entry.backoff.delay + 1, found.name)

    def _attachment_of(self, attachment: NodeAttachment) -> str:
        source = attachment.spec.source
        handle = text_at(source, "csi", "volumeHandle") or ""
        return attachment_name(handle, text_at(source, "csi", "driver") or "", attachment.node)

    # What is there when the controller starts. Upstream: populateActualStateOfWorld.

    def stop(self) -> None:
        """The process dies; operations that are about to begin do not."""
        self._stopped = True

    def _populate_actual_state(self, recovers_attachments: bool) -> None:
        volumes = self._specs_by_unique_name()
        for found in self._store.objects("Node"):
            for attached in cast("list[Manifest]", found.status.get("volumesAttached") or ()):
                spec = volumes.get(attached["name"])
                if spec is not None:
                    path = attached.get("devicePath", "")
                    self.actual.mark_volume_as_attached(attached["name"], found.name, spec, path)
        if recovers_attachments:
            self._process_volume_attachments()
        for attachment in self.actual.attached_volumes():
            # The first pass comes after the pods have been heard of.
            self._wake_at(self._loop.now + RECONCILER_LOOP_PERIOD, attachment.name)

    def _process_volume_attachments(self) -> None:
        """What no node reports may yet be attached: an attach or a detach was under way."""
        for found in self._store.objects("VolumeAttachment"):
            name, node = (
                found.spec["source"].get("persistentVolumeName", ""),
                found.spec["nodeName"],
            )
            volume = self._store.find("PersistentVolume", name)
            if volume is None:
                continue
            spec = VolumeSpec(persistent_volume=volume.raw)
            plugin = self._plugins.find_by_spec(spec)
            if plugin is None:
                continue
            unique = unique_volume_name(plugin, spec)
            if self.actual.find(unique, node) is None:
                self.actual.mark_volume_as_uncertain(unique, node, spec)

    def _specs_by_unique_name(self) -> dict[str, VolumeSpec]:
        specs: dict[str, VolumeSpec] = {}
        for volume in self._store.objects("PersistentVolume"):
            spec = VolumeSpec(persistent_volume=volume.raw)
            plugin = self._plugins.find_by_spec(spec)
            if plugin is not None and plugin.is_attachable(spec):
                specs[unique_volume_name(plugin, spec)] = spec
        return specs

    # The view

    def continue_view(self, before: "AttachDetachController") -> None:
        """What is shown is what *before*, which this one takes the place of, has told."""
        self._shown = before._shown
        for node, volumes in self._shown.items():
            self._unshown |= {(name, node): None for name in volumes}
        self._show_soon()

    def held_view(self, node: str) -> Attributes:
        """What the view must show of the attachments of *node*, by volume."""
        names = {volume.name: None for volume in self.desired.volumes_of_node(node)}
        names |= {found.name: None for found in self.actual.attached_to_node(node)}
        return {name: self._describe(name, node) for name in names}

    def _show_node(self, node: str) -> None:
        """Show what is held of a node that has just come, or is heard of for the first time."""
        for volume in self.desired.volumes_of_node(node):
            self._unshown[volume.name, node] = None
        for found in self.actual.attached_to_node(node):
            self._unshown[found.name, node] = None
        self._show_soon()

    def _show_soon(self) -> None:
        """Show at this instant what is not the outcome of an operation."""
        if self._show_timer is None and self._has_changes():
            self._show_timer = self._loop.call_after(0, self._show_changes)

    def _has_changes(self) -> bool:
        changed = self.desired.changed, self.actual.changed, self._pending.changed
        return bool(self._unshown) or any(changed)

    def _show_changes(self) -> None:
        self._show_timer = None
        for entity, patch in self._changes().items():
            assert patch is not None
            shown = self._shown.get(entity.removeprefix("node/"), {})
            message = messages.changed(
                {name: shown.get(name) for name in patch["attachments"] or ()}
            )
            message = message or "nothing is attached, or is to be, any more"
            part: Changes = {entity: patch}
            self._recorder.record("VolumesReconciled", entity, COMPONENT, message, None, part)

    def _show_outcome(
        self, fact: str, operation: AttachOperation | DetachOperation, message: str
    ) -> None:
        """Record how an operation ended, with all that has changed."""
        data: dict[str, Any] = {"operation": operation.name, "volume": operation.key.volume_name}
        entry = self._entry_of(operation.key.volume_name, operation.node)
        if entry is not None:
            data["error"] = entry.backoff.error
            data["retry_at"] = shows(entry, RECONCILER_LOOP_PERIOD)["retry_at"]
        about = f"node/{operation.node}"
        changes = self._changes() or None
        self._recorder.record(fact, about, COMPONENT, message, data, changes)

    def _changes(self) -> Changes:
        """The patches of the nodes of which not all is shown; from now on it is."""
        changes: Changes = {}
        for name, node in self._take_unshown():
            # A node that is gone is not to come back into the view.
            if self._store.find("Node", node) is None:
                self._shown.pop(node, None)
                continue
            shown, now = self._shown.get(node, {}).get(name), self._describe(name, node)
            if shown == now:
                continue
            patch = changes.setdefault(f"node/{node}", {"attachments": {}})
            assert patch is not None
            if now is not None:
                patch["attachments"][name] = now if shown is None else diff(shown, now)
                self._shown.setdefault(node, {})[name] = now
                continue
            patch["attachments"][name] = None
            _discard(self._shown, node, name)
        for entity, patch in changes.items():
            if patch is not None and entity.removeprefix("node/") not in self._shown:
                patch["attachments"] = None
        return changes

    def _take_unshown(self) -> list[tuple[str, str]]:
        for changed in (self.desired.changed, self.actual.changed):
            self._unshown |= changed
            changed.clear()
        for key in self._pending.changed:
            self._unshown |= {(key.volume_name, node): None for node in self._nodes_of(key)}
        self._pending.changed.clear()
        taken, self._unshown = self._unshown, {}
        return [*taken]

    def _nodes_of(self, key: OperationKey) -> list[str]:
        """The nodes that an operation may be shown for, or is."""
        if key.node_name:
            return [key.node_name]
        name = key.volume_name
        return [
            *(volume.node for volume in self.desired.volumes_to_attach(name)),
            *self.actual.nodes_for_attached_volume(name),
        ]

    def _describe(self, name: str, node: str) -> Attributes | None:
        """Desired and actual state of an attachment side by side; absent says no."""
        wanted, found = self.desired.find(name, node), self.actual.find(name, node)
        either = wanted or found
        if either is None:
            return None
        shown: Attributes = {"name": either.spec.name}
        if wanted is not None:
            pods = wanted.pods.items()
            shown["desired"] = {pod.key: wanted.since[uid] for uid, pod in pods}
            if wanted.multi_attach_error_reported:
                shown["multi_attach_error_reported"] = True
        if found is not None:
            shown |= _attachment_attributes(found)
        entry = self._entry_of(name, node)
        if entry is not None:
            shown["operation"] = shows(entry, RECONCILER_LOOP_PERIOD)
        return shown

    def _entry_of(self, name: str, node: str) -> Entry | None:
        """What runs or backs off for the volume on that node."""
        for entry in self._pending.entries(name):
            operation = entry.operation
            if isinstance(operation, AttachOperation | DetachOperation) and operation.node == node:
                return entry
        return None

    def _emit(
        self, pod: Pod, type: str, reason: str, prefix: str, volume: str, suffix: str
    ) -> None:
        if self._events is not None:
            self._events.event(pod, type, reason, messages.simple(prefix, volume, suffix))


def _attachment_attributes(found: NodeAttachment) -> Attributes:
    shown: Attributes = {"attached" if found.is_attached else "uncertain": True}
    if found.mounted_by_node:
        shown["mounted_by_node"] = True
    if found.detach_requested_at is not None:
        shown["detach_requested"] = found.detach_requested_at
        if found.deadline is not None:
            shown["deadline"] = found.deadline.at
    return shown


def _key(volume: str, node: str, spec: VolumeSpec) -> OperationKey:
    # What may be on several nodes is attached to them in parallel.
    return OperationKey(volume, node_name="" if is_multi_attach_forbidden(spec) else node)


class CsiAttacher:
    """The external attachers of all CSI drivers: they act on VolumeAttachments.

    Upstream: kubernetes-csi/external-attacher, pkg/controller/csi_handler.go.
    """

    PARTS: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        plugins: VolumePlugins,
        *,
        watch_latency: int = 0,
    ) -> None:
        self._loop = loop
        self._store = store
        self._plugin: VolumePlugin | None = plugins.find_by_name(CSI)
        self._busy: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        # Names of the attachments of each volume.
        self._by_volume: dict[str, dict[str, None]] = {}
        for found in store.objects("VolumeAttachment"):
            self._by_volume.setdefault(_volume_of(found), {})[found.name] = None
        store.watch("VolumeAttachment", self.observe, watch_latency)
        store.watch("PersistentVolume", self.observe_volume, watch_latency)

    def observe(self, event: WatchEvent) -> None:
        """Take a watch event of a VolumeAttachment."""
        name, volume = event.new.name, _volume_of(event.new)
        if event.type == "DELETED":
            self._failures.pop(name, None)
            _discard(self._by_volume, volume, name)
            self._release(volume)
        else:
            self._by_volume.setdefault(volume, {})[name] = None
            self._sync(name)

    def observe_volume(self, event: WatchEvent) -> None:
        """A deleted volume is let go once nothing is attached."""
        if event.type != "DELETED" and event.new.deletion_timestamp:
            self._release(event.new.name)

    def _sync(self, name: str) -> None:
        found = self._store.find("VolumeAttachment", name)
        if found is None or name in self._busy:
            return
        deleting = bool(found.deletion_timestamp)
        if not deleting and found.status.get("attached"):
            return
        if deleting and not found.finalizers:
            return
        self._busy[name] = None
        try:
            if not deleting:
                self._hold(found)
        except ApiError:
            self._retry(name)
            return
        answer = self._call("Detach" if deleting else "Attach", found)
        done = self._detached if deleting else self._attached
        self._loop.call_after(answer.latency, done, name, answer)

    def _hold(self, attachment: ApiObject) -> None:
        """Let neither go before what is begun now is undone. Upstream: csiAttach()."""
        finalizer = _finalizer(attachment.spec["attacher"])
        volume = self._volume(attachment)
        if volume is not None and finalizer not in volume.finalizers:
            held = {"metadata": {"finalizers": [*volume.finalizers, finalizer]}}
            self._store.patch("PersistentVolume", volume.key, held, by=ATTACHER)
        if finalizer not in attachment.finalizers:
            node = attachment.spec["nodeName"]
            metadata = {"finalizers": [finalizer], "annotations": {NODE_ID_ANNOTATION: node}}
            self._store.patch(
                "VolumeAttachment", attachment.key, {"metadata": metadata}, by=ATTACHER
            )

    def _call(self, call: str, attachment: ApiObject) -> Answer:
        volume = self._volume(attachment)
        if self._plugin is None or volume is None:
            return Answer()
        refusal = self._refusal(attachment, volume) if call == "Attach" else None
        if refusal is not None:
            return refusal
        return self._plugin.call(
            call, VolumeSpec(persistent_volume=volume.raw), None, attachment.spec["nodeName"]
        )

    def _refusal(self, attachment: ApiObject, volume: ApiObject) -> Answer | None:
        """What a driver says that has the volume published to another node.

        CSI specification: ControllerPublishVolume, "Volume published to another node".
        """
        spec = VolumeSpec(persistent_volume=volume.raw)
        if not is_multi_attach_forbidden(spec):
            return None
        for key in self._by_volume.get(volume.name, ()):
            other = self._store.find("VolumeAttachment", key)
            # Attachments may have any name; a second one to the same node does no harm.
            if other is None or other.spec["nodeName"] == attachment.spec["nodeName"]:
                continue
            if other.spec["nodeName"] == attachment.spec["nodeName"]:
                continue
            if other.spec["source"] == attachment.spec["source"] and other.status.get("attached"):
                handle, node = spec.source["csi"]["volumeHandle"], other.spec["nodeName"]
                text = f"volume {handle} is published to another node {node}"
                text = f"rpc error: code = FailedPrecondition desc = {text}"
                return Answer(error=VolumeError(text))
        return None

    def _volume(self, attachment: ApiObject) -> ApiObject | None:
        return self._store.find("PersistentVolume", _volume_of(attachment))

    def _attached(self, name: str, answer: Answer) -> None:
        del self._busy[name]
        found = self._store.find("VolumeAttachment", name)
        if found is None:
            return
        if found.deletion_timestamp:
            self._sync(name)
            return
        volume = self._volume(found)
        if answer.error is None and volume is not None:
            # Another attach may have been quicker.
            answer = self._refusal(found, volume) or answer
        if answer.error is not None:
            self._failed(name, "attachError", answer.error.text)
            return
        node = found.spec["nodeName"]
        try:
            self._store.patch(
                "VolumeAttachment",
                name,
                {"status": {"attached": True, "attachError": None}},
                by=ATTACHER,
                event="VolumeAttachmentAttached",
                message=f"{found.spec['source'].get('persistentVolumeName', '')} to {node}",
            )
        except ApiError:
            self._retry(name)
        else:
            self._failures.pop(name, None)

    def _detached(self, name: str, answer: Answer) -> None:
        del self._busy[name]
        found = self._store.find("VolumeAttachment", name)
        if found is None:
            return
        if answer.error is not None:
            self._failed(name, "detachError", answer.error.text)
            return
        status = {"status": {"attached": False, "detachError": None}}
        let_go = {"metadata": {"finalizers": None}}
        try:
            self._store.patch("VolumeAttachment", name, status, by=ATTACHER)
            self._store.patch("VolumeAttachment", name, let_go, by=ATTACHER)
        except ApiError:
            self._retry(name)

    def _failed(self, name: str, where: str, error: str) -> None:
        status = {"status": {where: {"message": error}}}
        with suppress(ApiError):
            self._store.patch("VolumeAttachment", name, status, by=ATTACHER)
        self._retry(name)

    def _retry(self, name: str) -> None:
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        delay = min(_ATTACHER_RETRY << (failures - 1), _ATTACHER_MAX_RETRY)
        self._busy[name] = None
        self._loop.call_after(delay, self._try_again, name)

    def _try_again(self, name: str) -> None:
        self._busy.pop(name, None)
        self._sync(name)

    def _release(self, volume_name: str) -> None:
        """Take the finalizer from a deleted volume that is attached nowhere."""
        volume = self._store.find("PersistentVolume", volume_name)
        if volume is None or not volume.deletion_timestamp:
            return
        for key in self._by_volume.get(volume_name, ()):
            if self._store.find("VolumeAttachment", key) is not None:
                return
        kept = [f for f in volume.finalizers if not f.startswith("external-attacher/")]
        if len(kept) != len(volume.finalizers):
            patch = {"metadata": {"finalizers": kept or None}}
            try:
                self._store.patch("PersistentVolume", volume_name, patch, by=ATTACHER)
            except ApiError:
                self._loop.call_after(_ATTACHER_RETRY, self._release, volume_name)


def _volume_of(attachment: ApiObject) -> str:
    return attachment.spec["source"].get("persistentVolumeName", "")


def _finalizer(driver: str) -> str:
    return f"external-attacher/{driver.replace('.', '-')}"
