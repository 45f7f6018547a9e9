"""The interfaces through which the volume controllers reach the cluster.

The controllers use four things: the API server (`VolumeApi`), their own stale view of it
(`Listers`), the sink of Kubernetes Events (`EventSink`) and their work queues (`KeyQueue`). A run
provides the object store and informers; conformance tests provide upstream's fakes.
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.objects.phases import protected

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

EventType = Literal["Normal", "Warning"]

Obj = TypeVar("Obj", bound=ApiObject)


class WriteEvent(NamedTuple):
    """The event that a write is recorded as. Without a *kind* the store chooses one."""

    kind: str
    message: str = ""
    data: dict[str, Any] | None = None


class EventSink(Protocol):
    """Where Kubernetes Events go. Upstream: record.EventRecorder."""

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        """Emit an Event on *obj*; *type* is "Normal" or "Warning".

        What failed is tried again at *retry_at*, in virtual ns, where its component knows. *missed*
        are the Events of the same reason that were dropped since the last one.
        """
        ...


class KeyQueue(Protocol):
    """A work queue of object keys."""

    def add(self, key: str) -> None:
        """Queue *key*, unless it is queued already."""
        ...

    def add_rate_limited(self, key: str) -> None:
        """Queue *key* after a delay that doubles with each failure."""
        ...

    def forget(self, key: str) -> None:
        """Begin again with the shortest delay after the next failure of *key*."""
        ...


class VolumeApi(Protocol):
    """The API server's side of volumes and claims. Every method may raise ApiError."""

    def get_volume(self, name: str) -> PersistentVolume:
        """The volume as the API server has it; raises NotFound."""
        ...

    def get_claim(self, key: str) -> PersistentVolumeClaim:
        """The claim as the API server has it; raises NotFound."""
        ...

    def create_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        """Create; raises AlreadyExists."""
        ...

    def update_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        """Replace; raises Conflict, NotFound."""
        ...

    def update_volume_status(
        self, volume: PersistentVolume, record_as: WriteEvent
    ) -> PersistentVolume:
        """Replace the status; raises Conflict, NotFound."""
        ...

    def delete_volume(self, name: str, record_as: WriteEvent) -> None:
        """Delete, or mark for deletion; raises NotFound."""
        ...

    def update_claim(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        """Replace; raises Conflict, NotFound."""
        ...

    def update_claim_status(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        """Replace the status; raises Conflict, NotFound."""
        ...


class Listers(Protocol):
    """A component's informer caches, which may be stale."""

    def volume(self, name: str) -> PersistentVolume | None:
        """The volume, or None."""
        ...

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """The claim, or None."""
        ...

    def volumes(self) -> Iterable[PersistentVolume]:
        """All volumes."""
        ...

    def claims(self) -> Iterable[PersistentVolumeClaim]:
        """All claims."""
        ...

    def storage_class(self, name: str) -> StorageClass | None:
        """The class, or None."""
        ...

    def storage_classes(self) -> Iterable[StorageClass]:
        """All classes."""
        ...

    def node(self, name: str) -> Node | None:
        """The node, or None."""
        ...

    def pods_of_claim(self, key: str) -> list[Pod]:
        """Pods that mention the claim, sorted by name."""
        ...


class StoreVolumeApi:
    """VolumeApi on the object store, every write signed by its author."""

    __slots__ = ("_by", "_store")

    def __init__(self, store: ObjectStore, by: str) -> None:
        self._store = store
        self._by = by

    def get_volume(self, name: str) -> PersistentVolume:
        """See VolumeApi."""
        return cast("PersistentVolume", self._store.get("PersistentVolume", name))

    def get_claim(self, key: str) -> PersistentVolumeClaim:
        """See VolumeApi."""
        return cast("PersistentVolumeClaim", self._store.get("PersistentVolumeClaim", key))

    def create_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        """See VolumeApi."""
        # Protection is the only admission that matters to a volume. No client sets a status at
        # creation.
        bare = PersistentVolume({**volume.raw, "status": {"phase": "Pending"}})
        stored = self._store.create(
            protected(bare),
            by=self._by,
            event=record_as.kind,
            message=record_as.message,
            data=record_as.data,
        )
        return cast("PersistentVolume", stored)

    def update_volume(self, volume: PersistentVolume, record_as: WriteEvent) -> PersistentVolume:
        """See VolumeApi."""
        return self._update(volume, record_as)

    def update_volume_status(
        self, volume: PersistentVolume, record_as: WriteEvent
    ) -> PersistentVolume:
        """See VolumeApi."""
        return self._update(volume, record_as)

    def delete_volume(self, name: str, record_as: WriteEvent) -> None:
        """See VolumeApi."""
        self._store.delete(
            "PersistentVolume", name, by=self._by, event=record_as.kind, message=record_as.message
        )

    def update_claim(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        """See VolumeApi."""
        return self._update(claim, record_as)

    def update_claim_status(
        self, claim: PersistentVolumeClaim, record_as: WriteEvent
    ) -> PersistentVolumeClaim:
        """See VolumeApi."""
        return self._update(claim, record_as)

    def _update(self, obj: Obj, record_as: WriteEvent) -> Obj:
        stored: Any = self._store.find(obj.kind, obj.key)
        if stored is None or stored.raw != obj.raw:
            # The API server does not write what is there already.
            kind, message, data = record_as
            stored = self._store.update(obj, by=self._by, event=kind, message=message, data=data)
        return stored


class InformerListers:
    """Listers on informers of one component. Pods are indexed by the claims they mention."""

    __slots__ = (
        "_classes",
        "_pods_by_claim",
        "claim_informer",
        "class_informer",
        "node_informer",
        "pod_informer",
        "volume_informer",
    )

    def __init__(self, store: ObjectStore, latency: int = 0) -> None:
        self._pods_by_claim: dict[str, dict[str, None]] = {}
        # Classes that were written without a binding mode, and as the API server completes them.
        self._classes: dict[str, tuple[StorageClass, StorageClass]] = {}
        # Upstream starts the informers together. Here the kinds that others refer to come first.
        self.class_informer: Informer[StorageClass] = Informer(store, "StorageClass", latency)
        self.node_informer: Informer[Node] = Informer(store, "Node", latency)
        self.pod_informer: Informer[Pod] = Informer(store, "Pod", latency)
        self.volume_informer: Informer[PersistentVolume] = Informer(
            store, "PersistentVolume", latency
        )
        self.claim_informer: Informer[PersistentVolumeClaim] = Informer(
            store, "PersistentVolumeClaim", latency
        )
        self.pod_informer.on_event(self._index_pod, plain=False)

    def informers(self) -> list[Informer[Any]]:
        """All of them."""
        return [
            self.class_informer,
            self.node_informer,
            self.pod_informer,
            self.volume_informer,
            self.claim_informer,
        ]

    def volume(self, name: str) -> PersistentVolume | None:
        """See Listers."""
        return self.volume_informer.get(name)

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """See Listers."""
        return self.claim_informer.get(key)

    def volumes(self) -> Iterable[PersistentVolume]:
        """See Listers."""
        return self.volume_informer

    def claims(self) -> Iterable[PersistentVolumeClaim]:
        """See Listers."""
        return self.claim_informer

    def storage_class(self, name: str) -> StorageClass | None:
        """See Listers. It has the API server's default binding mode."""
        found = self.class_informer.get(name)
        if found is None or "volumeBindingMode" in found.raw:
            return found
        known = self._classes.get(name)
        if known is None or known[0] is not found:
            whole = found.replaced(volumeBindingMode=found.binding_mode)
            known = self._classes[name] = found, whole
        return known[1]

    def storage_classes(self) -> Iterable[StorageClass]:
        """See Listers."""
        return self.class_informer

    def node(self, name: str) -> Node | None:
        """See Listers."""
        return self.node_informer.get(name)

    def pods_of_claim(self, key: str) -> list[Pod]:
        """See Listers."""
        found = [self.pod_informer.get(pod) for pod in sorted(self._pods_by_claim.get(key, ()))]
        return [pod for pod in found if pod is not None]

    def _index_pod(self, event: WatchEvent) -> None:
        pod = event.new
        if not isinstance(pod, Pod) or not pod.claim_names:
            return
        for name in pod.claim_names:
            key = f"{pod.namespace}/{name}"
            if event.type != "DELETED":
                self._pods_by_claim.setdefault(key, {})[pod.key] = None
            elif key in self._pods_by_claim:
                self._pods_by_claim[key].pop(pod.key, None)
                if not self._pods_by_claim[key]:
                    del self._pods_by_claim[key]
