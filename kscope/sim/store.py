"""The object store: the simulated API server.

Every write is validated against the stored resourceVersion, recorded as one event by its author,
and delivered to the watches, each after its own latency. Components meet only here.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from kscope.sim.errors import AlreadyExists, Conflict, NotFound
from kscope.sim.faults import ApiFaults
from kscope.sim.loop import EventLoop
from kscope.sim.objects import ApiObject, Manifest
from kscope.sim.projection import attributes
from kscope.sim.recorder import Recorder
from kscope.sim.units import SECOND, timestamp
from kscope.sim.view import Attributes, Changes, diff, merge

WatchType = Literal["ADDED", "MODIFIED", "DELETED"]

# How events name the kinds whose Kubernetes name is a mouthful.
_FACT_NAMES = {
    "PersistentVolumeClaim": "Claim",
    "PersistentVolume": "Volume",
    "StorageClass": "Class",
}

# Kinds whose metadata.generation counts the changes of their spec.
_GENERATED = frozenset(
    {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "PodDisruptionBudget"}
)


class WatchEvent(NamedTuple):
    """What a watch delivers. `old` is None for ADDED; for DELETED `new` is the last state."""

    type: WatchType
    old: ApiObject | None
    new: ApiObject


Watcher = Callable[[WatchEvent], None]


class ObjectStore:
    """Objects by kind and key, with one resourceVersion counter over all of them.

    *seed* makes the uids; two runs of the same seed give the same ones.
    """

    def __init__(self, loop: EventLoop, recorder: Recorder, seed: int = 0) -> None:
        self._loop = loop
        self._recorder = recorder
        self._seed = seed
        self._objects: dict[str, dict[str, ApiObject]] = {}
        self._shown: dict[str, Attributes] = {}
        self._told: dict[str, int] = {}
        self._watchers: dict[str, dict[int, list[Watcher]]] = {}
        self._revision = 0
        self._uids = 0
        self.touched: dict[str, Manifest | None] = {}
        self.faults: ApiFaults | None = None
        self._latest: dict[tuple[str, int], int] = {}

    # Reading

    def get(self, kind: str, key: str) -> ApiObject:
        """The object; raises NotFound."""
        found = self._objects.get(kind, {}).get(key)
        if found is None:
            raise NotFound(f'{kind} "{key}" not found')
        return found

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The object, or None."""
        return self._objects.get(kind, {}).get(key)

    def objects(self, kind: str) -> list[ApiObject]:
        """Every object of *kind*, in the order of their creation."""
        return [*self._objects.get(kind, {}).values()]

    def kinds(self) -> Iterator[str]:
        """The kinds that ever had an object, in the order they first came."""
        return iter(self._objects)

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        return self._loop.now

    @property
    def revision(self) -> int:
        """The newest resourceVersion."""
        return self._revision

    # Writing

    def create(
        self,
        obj: ApiObject,
        *,
        by: str,
        event: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
        changes: Changes | None = None,
    ) -> ApiObject:
        """Store a new object with a uid, a creation time and a resourceVersion of its own.

        *changes* is laid over what the object itself shows. Raises AlreadyExists.
        """
        if self.faults is not None:
            self.faults.write(obj.kind, obj.id, by)
        of_kind = self._objects.setdefault(obj.kind, {})
        if obj.key in of_kind:
            raise AlreadyExists(f'{obj.kind} "{obj.key}" already exists')
        stored = obj.with_metadata(
            uid=obj.uid or self._new_uid(obj),
            creationTimestamp=obj.creation_timestamp or timestamp(self._loop.now),
            resourceVersion=self._next_revision(),
        )
        if obj.kind in _GENERATED and not obj.metadata.get("generation"):
            stored = stored.with_metadata(generation=1)
        of_kind[obj.key] = stored
        self._written(
            stored, None, "ADDED", by, event or _fact(obj, "Created"), message, data, changes
        )
        return stored

    def update(
        self,
        obj: ApiObject,
        *,
        by: str,
        event: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
        changes: Changes | None = None,
    ) -> ApiObject:
        """Replace the stored object by *obj*, if *obj* was made from the newest version.

        An object without a resourceVersion is written unconditionally. When the write takes the last
        finalizer from an object that is being deleted, the object goes. Raises NotFound, Conflict.
        """
        old = self.get(obj.kind, obj.key)
        if self.faults is not None:
            self.faults.write(obj.kind, obj.id, by)
        if obj.resource_version and obj.resource_version != old.resource_version:
            raise Conflict(
                f'Operation cannot be fulfilled on {obj.kind} "{obj.key}": the object has been '
                "modified; please apply your changes to the latest version and try again"
            )
        stored = obj.with_metadata(uid=old.uid, resourceVersion=self._next_revision())
        if stored.deletion_timestamp and not _is_held(stored) and not _has_grace(stored):
            return self._remove(stored, by, event, message, data, changes)
        if obj.kind in _GENERATED and _is_new_generation(old, stored):
            stored = stored.with_metadata(generation=1 + (old.metadata.get("generation") or 0))
        self._objects[obj.kind][obj.key] = stored
        fact = event or _fact(obj, "Updated")
        self._written(stored, old, "MODIFIED", by, fact, message, data, changes)
        return stored

    def patch(self, kind: str, key: str, patch: Manifest, *, by: str, **told: Any) -> ApiObject:
        """Apply a merge patch to the newest version: never a Conflict. Raises NotFound."""
        return self.update(self.get(kind, key).patched(patch), by=by, **told)

    def delete(
        self,
        kind: str,
        key: str,
        *,
        by: str,
        grace_seconds: int = 0,
        event: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
        changes: Changes | None = None,
    ) -> ApiObject:
        """Delete the object, or mark it for deletion while finalizers or a grace period hold it.

        Raises NotFound.
        """
        old = self.get(kind, key)
        if self.faults is not None:
            self.faults.write(kind, old.id, by)
        if not old.finalizers and not grace_seconds:
            gone = old.with_metadata(resourceVersion=self._next_revision())
            return self._remove(gone, by, event, message, data, changes)
        if old.deletion_timestamp and grace_seconds >= _grace(old):
            return old
        stored = old.with_metadata(
            deletionTimestamp=timestamp(self._loop.now + grace_seconds * SECOND),
            deletionGracePeriodSeconds=grace_seconds,
            resourceVersion=self._next_revision(),
        )
        self._objects[kind][key] = stored
        fact = event or _fact(old, "Terminating")
        self._written(stored, old, "MODIFIED", by, fact, message, data, changes)
        return stored

    # Watching

    def watch(self, kind: str, watcher: Watcher, latency: int = 0) -> None:
        """Call *watcher*, a bound method, with every later write of *kind*, *latency* ns after it.

        What is in the store already is delivered too, as ADDED, in order of creation.
        """
        self._watchers.setdefault(kind, {}).setdefault(latency, []).append(watcher)
        for obj in self.objects(kind):
            self._loop.cause = self._told.get(obj.id, 0)
            self._loop.call_after(latency, watcher, WatchEvent("ADDED", None, obj))

    # Inside

    def _remove(
        self,
        gone: ApiObject,
        by: str,
        event: str,
        message: str,
        data: dict[str, Any] | None,
        changes: Changes | None,
    ) -> ApiObject:
        old = self._objects[gone.kind].pop(gone.key)
        self._shown.pop(gone.id, None)
        self._told.pop(gone.id, None)
        self.touched[gone.id] = None
        self._recorder.record(
            event or _fact(gone, "Deleted"),
            gone.id,
            by,
            message,
            data,
            {**(changes or {}), gone.id: None},
        )
        self._deliver(gone.kind, WatchEvent("DELETED", old, gone))
        return gone

    def _written(
        self,
        new: ApiObject,
        old: ApiObject | None,
        watch_type: WatchType,
        by: str,
        fact: str,
        message: str,
        data: dict[str, Any] | None,
        changes: Changes | None,
    ) -> None:
        shows = attributes(new)
        patch = diff(self._shown.get(new.id, {}), shows)
        self._shown[new.id] = shows
        self.touched[new.id] = new.raw
        told: Changes = {new.id: patch} if patch or old is None else {}
        for entity, change in (changes or {}).items():
            told[entity] = merge(told.get(entity), change)
        seq = self._recorder.record(fact, new.id, by, message, data, told or None)
        self._told[new.id] = seq
        self._deliver(new.kind, WatchEvent(watch_type, old, new))

    def _deliver(self, kind: str, event: WatchEvent) -> None:
        for latency, watchers in self._watchers.get(kind, {}).items():
            self._loop.call_at(self._delivery(kind, latency), self._call, watchers, event)

    def _delivery(self, kind: str, latency: int) -> int:
        """When a watch hears of a write made now; a watch that lagged keeps its order."""
        at = self._loop.now + latency
        if self.faults is None:
            return at
        at += self.faults.delay(kind)
        at = self._latest[kind, latency] = max(at, self._latest.get((kind, latency), 0))
        return at

    def _call(self, watchers: list[Watcher], event: WatchEvent) -> None:
        cause = self._loop.cause
        for watcher in watchers:
            self._loop.cause = cause
            watcher(event)

    def _next_revision(self) -> str:
        self._revision += 1
        return str(self._revision)

    def _new_uid(self, obj: ApiObject) -> str:
        self._uids += 1
        text = f"{self._seed}/{self._uids}/{obj.id}"
        h = hashlib.sha256(text.encode()).hexdigest()
        return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:32]}"


def _fact(obj: ApiObject, what: str) -> str:
    return f"{_FACT_NAMES.get(obj.kind, obj.kind)}{what}"


def _grace(obj: ApiObject) -> int:
    return obj.metadata.get("deletionGracePeriodSeconds") or 0


def _is_held(obj: ApiObject) -> bool:
    """Whether a finalizer keeps it; those of a namespace are in its spec."""
    return bool(obj.finalizers or (obj.kind == "Namespace" and obj.spec.get("finalizers")))


def _is_new_generation(old: ApiObject, new: ApiObject) -> bool:
    marked = bool(new.deletion_timestamp) and not old.deletion_timestamp
    return marked or (old.spec is not new.spec and old.spec != new.spec)


def _has_grace(obj: ApiObject) -> bool:
    """Whether a kubelet still has to end this pod: its grace period is not used up by the API."""
    return _grace(obj) > 0
