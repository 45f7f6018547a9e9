"""The object store: the simulated API server.

Every write is validated against the stored resourceVersion, recorded as one event by its author,
and delivered to the watches, each after its own latency. Components meet only here.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, Unpack, cast

from engine.api_server.store.answers import AnswerTimes
from engine.api_server.store.faults import ApiFaults, Cut
from engine.api_server.store.grouped import GroupedObjects
from engine.api_server.store.object_limit import ObjectLimit
from engine.api_server.store.pods_by_node import PodsByNode
from engine.api_server.store.watches import Watcher, Watches, WatchEvent, new_event
from engine.api_server.store.write_record import Note, WriteRecord
from engine.kernel.errors import AlreadyExists, ApiError, Conflict, NotFound
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import nanoseconds, timestamp
from engine.objects.custom.definition import DEFINITION
from engine.objects.objects import (
    ApiObject,
    Labels,
    Manifest,
    Pod,
    Templates,
    group_resource,
    is_plain,
)
from engine.objects.pods.pod_resources import ResourceRules

# How events name the kinds whose Kubernetes name is a mouthful.
_FACT_NAMES = {
    "PersistentVolumeClaim": "Claim",
    "PersistentVolume": "Volume",
    "StorageClass": "Class",
}

# Kinds whose metadata.generation counts the changes of their spec.
_GENERATED = frozenset(
    {"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"}
    | {"CronJob", DEFINITION, "DeviceTaintRule", "PodDisruptionBudget"}
)

# How a write is recorded: a method of WriteRecord.
_Recording = Callable[[WatchEvent, str, Note], None]


class Guard(Protocol):
    """Judges what components write."""

    def guarded(self, old: ApiObject, new: ApiObject | None, by: str) -> ApiObject | None:
        """*new* as component *by* may write it in the place of *old*; None for a deletion.

        Raises ApiError where it may not.
        """
        ...


def modified(obj: ApiObject) -> str:
    """Why a write that was made from an older version is refused."""
    return (
        f'Operation cannot be fulfilled on {group_resource(obj)} "{obj.name}": the object has '
        "been modified; please apply your changes to the latest version and try again"
    )


class ObjectStore:
    """Objects by kind and key, with one resourceVersion counter over all of them.

    *seed* makes the uids; two runs of the same seed give the same ones. *rules* are those by which
    the requests of pods are shown, of the newest version by default.

    `limit` counts the objects, `answers` says when a write is answered, `record` makes an event of
    it, `watches` deliver it.
    """

    # Made when it is first asked for, and kept up to date from then on.
    _pods_by_node: PodsByNode | None = None

    def __init__(
        self,
        loop: EventLoop,
        recorder: Recorder,
        seed: int = 0,
        rules: ResourceRules | None = None,
    ) -> None:
        self._loop = loop
        self._seed = seed
        self._objects: dict[str, dict[str, ApiObject]] = {}
        # The kinds that ever had an object, in the order they first came.
        self._kinds: dict[str, None] = {}
        # By kind, once somebody has asked; kept up to date from then on.
        self._grouped: dict[str, GroupedObjects] = {}
        self._revision = 0
        self._uids = 0
        self._templates = Templates()
        # What the newest watch has found, until something is written: others find the same.
        self._listed: tuple[str, list[tuple[int, ApiObject]]] | None = None
        self.limit = ObjectLimit(loop, self.find)
        self.answers = AnswerTimes(loop)
        self.record = WriteRecord(recorder, rules, loop.ahead)
        self.watches = Watches(loop)
        self._faults: ApiFaults | None = None
        # Asked about updates and deletions; creations are admitted before they come here.
        self.guard: Guard | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without what is found again by itself."""
        return {**self.__dict__, "_listed": None, "_pods_by_node": None, "_grouped": {}}

    @property
    def loop(self) -> EventLoop:
        """The loop on which its watches deliver."""
        return self._loop

    @property
    def faults(self) -> ApiFaults | None:
        """What is wrong with the API server; None until the first fault."""
        return self._faults

    @faults.setter
    def faults(self, faults: ApiFaults) -> None:
        self._faults = self.answers.faults = self.watches.faults = faults

    # Reading

    def get(self, kind: str, key: str) -> ApiObject:
        """The object; raises NotFound."""
        found = self._objects.get(kind, {}).get(key)
        if found is None:
            raise NotFound(f'{kind} "{key}" not found')
        return found

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The object, or None."""
        of_kind = self._objects.get(kind)
        return None if of_kind is None else of_kind.get(key)

    def objects(self, kind: str) -> list[ApiObject]:
        """Every object of *kind*, in the order of their creation."""
        return [*self._objects.get(kind, {}).values()]

    def newest(self, kind: str) -> Iterator[ApiObject]:
        """The same, the newest first, and none of them copied: nothing may be written meanwhile."""
        return reversed(self._objects.get(kind, {}).values())

    def pods_on(self, node: str) -> list[Pod]:
        """The pods whose spec names *node*, in the order of their creation."""
        pods = self._objects.get(Pod.KIND, {})
        if self._pods_by_node is None:
            self._pods_by_node = PodsByNode(pods.values())
        return [cast("Pod", pods[key]) for key in self._pods_by_node.on(node)]

    def grouped(self, kind: str) -> GroupedObjects:
        """The objects of *kind* by namespace, labels and node."""
        found = self._grouped.get(kind)
        if found is None:
            found = self._grouped[kind] = GroupedObjects(self.live(kind))
        return found

    def kinds(self) -> Iterator[str]:
        """The kinds that ever had an object, in the order they first came."""
        return iter(self._kinds)

    def live(self, kind: str) -> Mapping[str, ApiObject]:
        """The objects of *kind* by key, now and in future. Not to be changed."""
        return self._objects.setdefault(kind, {})

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        return self._loop.now

    @property
    def clock(self) -> int:
        """What clocks show now, in nanoseconds since EPOCH."""
        return self._loop.clock

    @property
    def revision(self) -> int:
        """The newest resourceVersion."""
        return self._revision

    # Watching

    def watch(self, kind: str, watcher: Watcher, latency: int = 0) -> None:
        """Call *watcher*, a bound method, with every later write of *kind*, *latency* ns after it.

        What is in the store already is delivered too, as ADDED, in order of creation.
        """
        if self._listed is None or self._listed[0] != kind:
            listed = self.record.with_causes(self._objects.get(kind, {}).values())
            self._listed = kind, listed
        found = self._listed[1]
        self.watches.add(kind, watcher, latency, found)

    def relist(self, cut: Cut) -> None:
        """Let broken watches list again: they get what has changed since they were cut."""
        self.watches.relist(cut, self.live(cut.kind))

    # Writing

    def create(self, obj: ApiObject, **note: Unpack[Note]) -> ApiObject:
        """Store a new object with a uid, a creation time and a resourceVersion of its own.

        Raises AlreadyExists.
        """
        if self._faults is not None:
            self._faults.write(obj.kind, obj.id, note["by"])
        of_kind = self._objects.setdefault(obj.kind, {})
        if obj.key in of_kind:
            raise AlreadyExists(f'{obj.kind} "{obj.key}" already exists')
        self._kinds.setdefault(obj.kind)
        stored = obj.with_metadata(
            uid=obj.uid or self._new_uid(obj),
            creationTimestamp=obj.creation_timestamp or timestamp(self._loop.clock),
            resourceVersion=self._next_revision(),
        )
        if obj.kind in _GENERATED and not obj.metadata.get("generation"):
            stored = stored.with_metadata(generation=1)
        if isinstance(stored, Pod):
            stored.template = self._templates.shared(stored)
        self._put(None, stored)
        self.limit.created(note["by"])
        write = new_event(WatchEvent, ("ADDED", None, stored, False))
        self._publish(self.record.written, write, note.get("event") or _fact(obj, "Created"), note)
        return stored

    def update(self, obj: ApiObject, **note: Unpack[Note]) -> ApiObject:
        """Replace the stored object by *obj*, if *obj* was made from the newest version.

        An object without a resourceVersion is written unconditionally. When the write takes the last
        finalizer from an object that is being deleted, the object goes. Raises NotFound, Conflict.
        """
        old = self.find(obj.kind, obj.key)
        if old is None:
            raise NotFound(f'{group_resource(obj)} "{obj.name}" not found')
        if self._faults is not None:
            self._faults.write(obj.kind, obj.id, note["by"])
        if obj.resource_version and obj.resource_version != old.resource_version:
            raise Conflict(modified(obj))
        return self._replace(old, obj.stored(old.uid, self._next_revision()), note)

    def patch(self, kind: str, key: str, patch: Manifest, **note: Unpack[Note]) -> ApiObject:
        """Apply a merge patch to the newest version: never a Conflict. Raises NotFound."""
        old = self.get(kind, key)
        if self._faults is not None:
            self._faults.write(kind, old.id, note["by"])
        return self._replace(old, old.revised(patch, self._next_revision()), note)

    def bind(
        self,
        pod: Pod,
        node: str,
        status: Manifest,
        labels: Labels = (),
        **note: Unpack[Note],
    ) -> None:
        """Write the node and the *status* of *pod*, the newest version: the API's pods/binding.

        The pod gets those of *labels* that it has no value for. A pod that is being deleted cannot
        be bound; the caller has checked that.
        """
        if self._faults is not None:
            self._faults.write(pod.kind, pod.id, note["by"])
        new = pod.bound(node, status, self._next_revision(), labels)
        self._put(pod, new)
        write = new_event(WatchEvent, ("MODIFIED", pod, new, is_plain(pod, new)))
        self._publish(self.record.bound, write, note.get("event") or _fact(pod, "Bound"), note)

    def delete(
        self, kind: str, key: str, *, grace_seconds: int = 0, **note: Unpack[Note]
    ) -> ApiObject:
        """Delete the object, or mark it for deletion while finalizers or a grace period hold it.

        Raises NotFound.
        """
        old = self.get(kind, key)
        if self._faults is not None:
            self._faults.write(kind, old.id, note["by"])
        # A deletion that was allowed is brought to its end.
        if self.guard is not None and not old.deletion_timestamp:
            self._guarded(old, None, note["by"])
        if not old.finalizers and not grace_seconds:
            gone = old.with_metadata(resourceVersion=self._next_revision())
            return self._remove(gone, note)
        if old.deletion_timestamp and grace_seconds >= _grace(old):
            return old
        stored = old.with_metadata(
            deletionTimestamp=timestamp(self._loop.clock + nanoseconds(grace_seconds)),
            deletionGracePeriodSeconds=grace_seconds,
            resourceVersion=self._next_revision(),
        )
        if isinstance(old, Pod) and not old.deletion_timestamp:
            # Upstream: rest/delete.go, BeforeDelete().
            stored = stored.with_metadata(generation=old.generation + 1)
        self._put(old, stored)
        self._modified(old, stored, "Terminating", note)
        return stored

    # Inside

    def _put(self, old: ApiObject | None, new: ApiObject) -> None:
        self._objects[new.kind][new.key] = new
        if new.kind in self._grouped:
            self._grouped[new.kind].put(new)
        if self._pods_by_node is not None and isinstance(new, Pod):
            self._pods_by_node.put(old, new)

    def _guarded(self, old: ApiObject, new: ApiObject | None, by: str) -> ApiObject | None:
        assert self.guard is not None, "only asked with a guard"
        try:
            return self.guard.guarded(old, new, by)
        except ApiError as refusal:
            self.record.refused(old.id, by, str(refusal))
            raise

    def _replace(self, old: ApiObject, stored: ApiObject, note: Note) -> ApiObject:
        if self.guard is not None:
            stored = self._guarded(old, stored, note["by"]) or stored
        if stored.deletion_timestamp and not _is_held(stored) and not _has_grace(stored):
            return self._remove(stored, note)
        kind = stored.kind
        if kind in _GENERATED and _is_new_generation(old, stored):
            stored = stored.with_metadata(generation=1 + (old.metadata.get("generation") or 0))
        self._put(old, stored)
        self._modified(old, stored, "Updated", note)
        return stored

    def _modified(self, old: ApiObject, new: ApiObject, verb: str, note: Note) -> None:
        plain = isinstance(new, Pod) and is_plain(old, new)
        write = new_event(WatchEvent, ("MODIFIED", old, new, plain))
        self._publish(self.record.written, write, note.get("event") or _fact(new, verb), note)

    def _remove(self, gone: ApiObject, note: Note) -> ApiObject:
        old = self._objects[gone.kind].pop(gone.key)
        if gone.kind in self._grouped:
            self._grouped[gone.kind].drop(gone.key)
        if self._pods_by_node is not None and isinstance(old, Pod):
            self._pods_by_node.drop(old)
        self.limit.removed()
        write = WatchEvent("DELETED", old, gone)
        self._publish(self.record.removed, write, note.get("event") or _fact(gone, "Deleted"), note)
        return gone

    def _publish(self, record: _Recording, write: WatchEvent, fact: str, note: Note) -> None:
        """Show the write once its author has the answer, which mostly is at once."""
        self._listed = None
        if self._faults is not None:
            at = self.answers.due(write.new, note["by"])
            if at > self._loop.now:
                self._loop.call_at(at, self._show, record, write, fact, note)
                return
        record(write, fact, note)
        self.watches.deliver(write)

    def _show(self, record: _Recording, write: WatchEvent, fact: str, note: Note) -> None:
        self._listed = None
        record(write, fact, note)
        self.watches.deliver(write)

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
