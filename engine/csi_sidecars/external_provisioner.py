"""External provisioners: make and delete volumes for the classes of CSI drivers.

The PV controller names the provisioner in an annotation of the claim; for a delayed claim the
scheduler has selected a node. The provisioner creates a volume whose claimRef names the claim and
which can be reached from that node. If it fails it emits an Event and, for a delayed claim, removes
the selected node, so that the pod is scheduled again.
Upstream: kubernetes-sigs/sig-storage-lib-external-provisioner controller.go and
kubernetes-csi/external-provisioner pkg/controller/{controller,topology}.go.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.persistent_volumes.in_tree.plugin import (
    ProvisionOptions,
    is_in_tree,
    provisioned_manifest,
)
from engine.controllers.persistent_volumes.trace_steps.syncs import Provisioned
from engine.csi_sidecars.context import SidecarContext
from engine.csi_sidecars.data_sources import DataSources
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.csi_sidecars.known_drivers import check_capabilities
from engine.kernel.errors import AlreadyExists, ApiError, SimError
from engine.kernel.loop import EventLoop
from engine.kernel.units import SECOND
from engine.objects.objects import (
    EMPTY,
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from engine.objects.outside import Outside
from engine.objects.phases import (
    ATTRIBUTES_CLASS,
    BETA_STORAGE_PROVISIONER,
    MIGRATED_TO,
    NO_PROVISIONER,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    VOLUME_RELEASED,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_ref_of,
    protected,
)
from engine.storage.migration import IN_TREE
from engine.storage.ports import NORMAL, WARNING, EventSink
from engine.storage.topology import spread

AUTHOR: Final = "external-provisioner"
# Upstream: the rate limiter of the claim and volume queues, --retry-interval-start and -max.
RETRY_START: Final = 1 * SECOND
RETRY_MAX: Final = 300 * SECOND
# How often a deletion that waits for the volume's attachments looks for them.
ATTACHED_PERIOD: Final = 1 * SECOND

# Upstream: sig-storage-lib-external-provisioner, finalizerPV.
FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"
# The secret with which the driver deletes the volume; none here.
_SECRET: Final = "volume.kubernetes.io/provisioner-deletion-secret-"
_NO_SECRET: Final = {f"{_SECRET}name": "", f"{_SECRET}namespace": ""}

Segment = tuple[tuple[str, str], ...]


class ExternalProvisioners:
    """The external provisioners of all CSI drivers in the cluster, as one component.

    If it *holds_volumes*, as current releases do, volumes that it will delete keep a finalizer
    until their storage is gone, and the storage of an attached volume is not deleted.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("_claims", "_volumes", "_csi_nodes", "_attachments")

    def __init__(
        self,
        context: SidecarContext,
        events: EventSink,
        *,
        faults: DriverFaults | None = None,
        holds_volumes: bool = False,
        watch_latency: int = 0,
        outside: Outside | None = None,
    ) -> None:
        """*outside* has the snapshots of the cluster's files."""
        store, listers = context.store, context.listers
        self._holds_volumes = holds_volumes
        self._loop = context.loop
        self._store = store
        self._listers = listers
        self._sources = DataSources(store, listers, outside or Outside())
        self._events = events
        self._delays = context.delays
        self.faults = faults or DriverFaults()
        # Whether a failed operation is tried again although nothing has changed.
        self.retries = True
        self._csi_nodes: Informer[ApiObject] = Informer(store, "CSINode", watch_latency)
        self._attachments: Informer[ApiObject] | None = (
            Informer(store, "VolumeAttachment", watch_latency) if holds_volumes else None
        )
        self._busy: dict[str, None] = {}
        self._failures: dict[str, int] = {}
        # (driver, class name) → the class and the segments that it allows. Cleared when a node
        # changes.
        self._known: dict[tuple[str, str], tuple[StorageClass, list[Segment]]] = {}
        self._claims = WorkQueue(context.loop, self._sync_claim)
        self._volumes = WorkQueue(context.loop, self._sync_volume)
        listers.claim_informer.on_event(self._on_claim)
        listers.volume_informer.on_event(self._on_volume)
        listers.node_informer.on_event(self._on_node)
        self._csi_nodes.on_event(self._on_csi_node)

    def _on_node(self, event: WatchEvent) -> None:
        if event.type != "MODIFIED" or event.old is None or event.old.labels != event.new.labels:
            self._known.clear()

    def _on_csi_node(self, event: WatchEvent) -> None:
        self._known.clear()

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.new
        if event.type == "DELETED":
            self._failures.pop(claim.id, None)
        elif (
            isinstance(claim, PersistentVolumeClaim)
            and not claim.volume_name
            and _provisioner_of(claim)
        ):
            self._claims.add(claim.key)

    def _on_volume(self, event: WatchEvent) -> None:
        volume = event.new
        if event.type == "DELETED":
            self._failures.pop(volume.id, None)
        elif isinstance(volume, PersistentVolume) and volume.phase == VOLUME_RELEASED:
            self._volumes.add(volume.key)

    def _serves(self, driver: str) -> bool:
        return (
            bool(driver)
            and not is_in_tree(driver)
            and driver != NO_PROVISIONER
            and driver not in self.faults.absent
        )

    # Provisioning

    def _sync_claim(self, key: str) -> None:
        claim = self._listers.claim(key)
        if claim is None or not self._should_provision(claim) or claim.id in self._busy:
            return
        self._busy[claim.id] = None
        self._events.event(
            claim,
            NORMAL,
            "Provisioning",
            f'External provisioner is provisioning volume for claim "{claim.key}"',
        )
        self._loop.call_after(self._delays.draw("provision"), self._provision, claim)

    def _should_provision(self, claim: PersistentVolumeClaim) -> bool:
        """Upstream: shouldProvision()."""
        if claim.volume_name or claim.deletion_timestamp:
            return False
        driver = _provisioner_of(claim)
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None or not self._serves(driver):
            return False
        migrated = IN_TREE.get(storage_class.provisioner)
        if driver not in (storage_class.provisioner, migrated.driver if migrated else ""):
            return False
        delayed = storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER
        return not delayed or bool(claim.selected_node)

    def _provision(self, started: PersistentVolumeClaim) -> None:
        del self._busy[started.id]
        # The driver was called with the claim as it was when the operation began.
        claim = self._listers.claim(started.key)
        if claim is None or claim.uid != started.uid or claim.volume_name:
            return
        try:
            volume = self._make_volume(started)
            stored = self._store.create(
                protected(volume),
                by=AUTHOR,
                event="VolumeProvisioned",
                message=f"for {claim.key} by {_provisioner_of(started)}",
            )
            _write_step(self._loop, started, stored.name, stored.resource_version)
        except AlreadyExists:
            # An earlier attempt created it.
            pass
        except SimError as error:
            _write_step(self._loop, started, error=str(error))
            self._provision_failed(claim, started, str(error))
            return
        self._failures.pop(claim.id, None)
        name = f"pvc-{claim.uid}"
        self._events.event(
            claim, NORMAL, "ProvisioningSucceeded", f"Successfully provisioned volume {name}"
        )

    def _provision_failed(
        self, claim: PersistentVolumeClaim, started: PersistentVolumeClaim, why: str
    ) -> None:
        storage_class = claim_class(claim)
        message = (
            why
            if why.startswith("failed to get target node")
            else f'failed to provision volume with StorageClass "{storage_class}": {why}'
        )
        reschedules = bool(started.selected_node) and "ResourceExhausted" in why
        again = None if reschedules or not self.retries else self._loop.now + self._delay(claim)
        self._events.event(claim, WARNING, "ProvisioningFailed", message, again)
        if reschedules:
            # The scheduler has to select another node.
            try:
                self._store.patch(
                    "PersistentVolumeClaim",
                    claim.key,
                    {"metadata": {"annotations": {SELECTED_NODE: None}}},
                    by=AUTHOR,
                    event="ClaimRescheduled",
                    message=f"node {started.selected_node} did not work out: {why}",
                )
            except ApiError:
                self._retry(self._claims, claim)
        else:
            self._retry(self._claims, claim)

    def _retry(self, queue: WorkQueue, obj: ApiObject) -> None:
        if not self.retries:
            return
        delay = self._delay(obj)
        self._failures[obj.id] = self._failures.get(obj.id, 0) + 1
        queue.add_after(obj.key, delay)

    def _delay(self, obj: ApiObject) -> int:
        """After how many ns what fails now is tried again."""
        return min(RETRY_START << min(self._failures.get(obj.id, 0), 30), RETRY_MAX)

    def _make_volume(self, claim: PersistentVolumeClaim) -> PersistentVolume:
        """The volume that the driver makes. Raises SimError when it cannot."""
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None:
            raise SimError(f'storageclass.storage.k8s.io "{claim_class(claim)}" not found')
        if claim.spec.get("selector") is not None:
            # Upstream: kubernetes-csi/external-provisioner, prepareProvision().
            raise SimError("claim Selector is not supported")
        node: Node | None = None
        if claim.selected_node:
            node = self._listers.node(claim.selected_node)
            if node is None:
                raise SimError(f'failed to get target node: node "{claim.selected_node}" not found')
        fault = self.faults.of(claim, claim.selected_node)
        if fault is not None:
            raise SimError(fault)
        driver = _provisioner_of(claim)
        attributes = self._attributes_class(claim, driver)
        check_capabilities(claim, driver)
        self._sources.check(claim, driver)
        options = ProvisionOptions(
            volume_name=f"pvc-{claim.uid}",
            claim=claim,
            reclaim_policy=storage_class.reclaim_policy,
            parameters=storage_class.raw.get("parameters") or {},
            mount_options=tuple(storage_class.raw.get("mountOptions") or ()),
        )
        manifest = provisioned_manifest(
            options,
            {"csi": _csi_source(driver, options)},
            annotations={PROVISIONED_BY: driver, **(_NO_SECRET if self._holds_volumes else {})},
            node_affinity=self._topology(driver, claim, storage_class, node),
        )
        spec: Manifest = manifest["spec"]
        spec["storageClassName"] = storage_class.name
        spec["claimRef"] = claim_ref_of(claim)
        if attributes:
            spec["volumeAttributesClassName"] = attributes
        if self._holds_volumes and storage_class.reclaim_policy == RECLAIM_DELETE:
            manifest["metadata"]["finalizers"] = [FINALIZER]
        return PersistentVolume(manifest)

    def _attributes_class(self, claim: PersistentVolumeClaim, driver: str) -> str:
        """The VolumeAttributesClass of the claim, or "". Raises SimError when it cannot be used."""
        name: str = claim.spec.get("volumeAttributesClassName") or ""
        if not name:
            return ""
        found = self._store.find(ATTRIBUTES_CLASS, name)
        if found is None:
            raise SimError(f'volumeattributesclasses.storage.k8s.io "{name}" not found')
        of = found.raw.get("driverName")
        if of != driver:
            raise SimError(
                f"VAC {name} referenced in PVC is for driver {of} which does not match driver "
                f"name {driver}"
            )
        return name

    def _topology(
        self,
        driver: str,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        node: Node | None,
    ) -> Manifest | None:
        """The node affinity of the volume. Upstream: GenerateAccessibilityRequirements()."""
        if node is not None:
            keys = self._topology_keys(driver, node.name)
            segment = _segment(node.labels, keys)
            return _affinity(segment)
        segments = self._segments(driver, storage_class)
        asked = self.faults.zones.get(claim.key)
        if not segments or (asked is None and driver in self.faults.anywhere):
            return None
        for segment in segments:
            if asked is not None and asked in dict(segment).values():
                return _affinity(segment)
        return _affinity(segments[spread(claim.name) % len(segments)])

    def _topology_keys(self, driver: str, node: str) -> list[str]:
        csi_node = self._csi_nodes.get(node)
        drivers: list[Manifest] = csi_node.spec.get("drivers") or [] if csi_node else []
        for each in drivers:
            if each.get("name") == driver:
                return each.get("topologyKeys") or []
        return []

    def _segments(self, driver: str, storage_class: StorageClass) -> list[Segment]:
        """The driver's topology segments over all nodes, sorted, that the class allows."""
        known = self._known.get((driver, storage_class.name))
        if known is None or known[0] is not storage_class:
            known = storage_class, self._found_segments(driver, storage_class)
            self._known[driver, storage_class.name] = known
        return known[1]

    def _found_segments(self, driver: str, storage_class: StorageClass) -> list[Segment]:
        found: dict[Segment, None] = {}
        for node in self._listers.node_informer:
            keys = self._topology_keys(driver, node.name)
            segment = _segment(node.labels, keys)
            if segment and _allowed(storage_class, dict(segment)):
                found[segment] = None
        return sorted(found)

    # Deletion

    def _sync_volume(self, key: str) -> None:
        volume = self._listers.volume(key)
        if volume is None or not self._should_delete(volume) or volume.id in self._busy:
            return
        self._busy[volume.id] = None
        self._loop.call_after(self._delays.draw("delete_volume"), self._try_to_delete, volume)

    def _should_delete(self, volume: PersistentVolume) -> bool:
        """Upstream: shouldDelete()."""
        if volume.phase != VOLUME_RELEASED or volume.reclaim_policy != RECLAIM_DELETE:
            return False
        if self._holds_volumes and volume.deletion_timestamp and FINALIZER not in volume.finalizers:
            return False
        driver = volume.annotations.get(PROVISIONED_BY, "")
        return self._serves(volume.annotations.get(MIGRATED_TO) or driver)

    def _try_to_delete(self, started: PersistentVolume) -> None:
        self._loop.tried(self._delete, started)

    def _delete(self, started: PersistentVolume) -> None:
        volume = self._listers.volume(started.key)
        if volume is None or not self._should_delete(volume):
            del self._busy[started.id]
            return
        if self._is_attached(volume):
            self._loop.call_after(ATTACHED_PERIOD, self._try_to_delete, started)
            return
        del self._busy[started.id]
        fault = self.faults.of_deletion(volume)
        if fault is not None:
            self._deletion_failed(volume, fault)
            return
        driver = volume.annotations.get(PROVISIONED_BY, "")
        try:
            self._store.delete(
                "PersistentVolume",
                volume.key,
                by=AUTHOR,
                message=f"its storage is gone ({driver})",
            )
            _remove_finalizer(self._store, volume)
        except ApiError:
            self._retry(self._volumes, volume)

    def _deletion_failed(self, volume: PersistentVolume, why: str) -> None:
        """The volume stays Released. Upstream: deleteVolumeOperation()."""
        again = self._loop.now + self._delay(volume) if self.retries else None
        self._events.event(volume, WARNING, "VolumeFailedDelete", why, again)
        self._retry(self._volumes, volume)

    def _is_attached(self, volume: PersistentVolume) -> bool:
        """Whether a node holds the volume. Upstream: external-provisioner, canDeleteVolume()."""
        if self._attachments is None:
            return False
        sources = (each.spec.get("source") or EMPTY for each in self._attachments)
        return any(source.get("persistentVolumeName") == volume.name for source in sources)


def _remove_finalizer(store: ObjectStore, volume: PersistentVolume) -> None:
    """Remove the finalizer of a volume whose storage is deleted. Raises ApiError."""
    newest = store.find("PersistentVolume", volume.key)
    if newest is None or FINALIZER not in newest.finalizers:
        return
    store.patch(
        "PersistentVolume",
        volume.key,
        {"metadata": {"finalizers": [one for one in newest.finalizers if one != FINALIZER]}},
        by=AUTHOR,
        message="its storage is deleted",
    )


def _provisioner_of(claim: PersistentVolumeClaim) -> str:
    annotations = claim.annotations
    return annotations.get(STORAGE_PROVISIONER) or annotations.get(BETA_STORAGE_PROVISIONER) or ""


def _csi_source(driver: str, options: ProvisionOptions) -> Manifest:
    source: dict[str, Any] = {
        "driver": driver,
        "volumeHandle": f"vol-{options.claim.uid}",
        "volumeAttributes": {"storage.kubernetes.io/csiProvisionerIdentity": driver},
    }
    if (options.claim.spec.get("volumeMode") or "Filesystem") == "Filesystem":
        source["fsType"] = options.parameters.get("csi.storage.k8s.io/fstype") or "ext4"
    return source


def _segment(labels: Mapping[str, str], keys: Sequence[str]) -> Segment:
    return tuple((key, labels[key]) for key in sorted(keys) if key in labels)


def _affinity(segment: Segment) -> Manifest | None:
    if not segment:
        return None
    expressions = [{"key": k, "operator": "In", "values": [value]} for k, value in segment]
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}


def _allowed(storage_class: StorageClass, segment: Mapping[str, str]) -> bool:
    terms: list[Manifest] = storage_class.raw.get("allowedTopologies") or []
    if not terms:
        return True
    return any(
        all(
            segment.get(expression["key"]) in (expression.get("values") or EMPTY)
            for expression in term.get("matchLabelExpressions") or ()
        )
        for term in terms
    )


def _write_step(
    loop: EventLoop,
    claim: PersistentVolumeClaim,
    volume: str = "",
    version: str = "",
    error: str = "",
) -> None:
    """Write to the trace, if there is one, how provisioning for the claim ended."""
    trace = loop.trace
    if trace is not None and trace.follows(claim.id):
        driver = _provisioner_of(claim)
        trace.add(claim.id, Provisioned(driver, volume, version, error, is_external=True))
