"""The object store: the simulated API server.

Every write is validated against the stored resourceVersion, recorded as one event by its author,
and delivered to the watches, each after its own latency. Components meet only here.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from kscope.sim.api_server.answers import Answers
from kscope.sim.api_server.faults import ApiFaults, Cut
from kscope.sim.errors import AlreadyExists, Conflict, NotFound
from kscope.sim.kernel.loop import EventLoop, is_method_of
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.units import nanoseconds, timestamp
from kscope.sim.kernel.view import Attributes, Changes, merge
from kscope.sim.objects.objects import (
    ApiObject,
    Manifest,
    Pod,
    Templates,
    group_resource,
    is_plain,
)
from kscope.sim.objects.pod_resources import ResourceRules
from kscope.sim.objects.projection import advanced, bound

WatchType = Literal["ADDED", "MODIFIED", "DELETED"]

# How events name the kinds whose Kubernetes name is a mouthful.
_FACT_NAMES = {
    "PersistentVolumeClaim": "Claim",
    "PersistentVolume": "Volume",
    "StorageClass": "Class",
}

# Kinds whose metadata.generation counts the changes of their spec.
_GENERATED = frozenset(
    {"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"}
    | {"PodDisruptionBudget"}
)


# Of a count of objects or events that is not limited.
UNLIMITED = 1 << 62


class Excess(NamedTuple):
    """An object, as of one generation, for which more objects are missing than there may be."""

    kind: str
    key: str
    uid: str
    generation: int
    missing: int


class WatchEvent(NamedTuple):
    """What a watch delivers. `old` is None for ADDED; for DELETED `new` is the last state."""

    type: WatchType
    old: ApiObject | None
    new: ApiObject
    # Only the progress of a pod without owner and volumes changed, not its labels.
    plain: bool = False

    @property
    def final_state_unknown(self) -> bool:
        """A deletion that no watch saw: `new` is what was known last, and may be out of date."""
        return self.type == "DELETED" and self.old is self.new


# As WatchEvent(…), without the detour that NamedTuple's own constructor takes.
_new: Callable[..., Any] = cast("Any", tuple).__new__

# A watch that finds more objects than that has them delivered in batches, not one by one: nobody
# steps through thousands of them, and each callback of its own costs as much as what it does.
_FEW = 1_000
_BATCH = 20

Watcher = Callable[[WatchEvent], None]

_NOBODY: dict[int, list[Watcher]] = {}


class ObjectStore:
    """Objects by kind and key, with one resourceVersion counter over all of them.

    *seed* makes the uids; two runs of the same seed give the same ones. *rules* are those by which
    the requests of pods are shown, of the newest version by default.
    """

    def __init__(
        self,
        loop: EventLoop,
        recorder: Recorder,
        seed: int = 0,
        rules: ResourceRules | None = None,
    ) -> None:
        self._loop = loop
        self._recorder = recorder
        self._seed = seed
        self._rules = rules
        self._objects: dict[str, dict[str, ApiObject]] = {}
        # The kinds that ever had an object, in the order they first came.
        self._kinds: dict[str, None] = {}
        self._shown: dict[str, Attributes] = {}
        self._told: dict[str, int] = {}
        self._watchers: dict[str, dict[int, list[Watcher]]] = {}
        self._revision = 0
        self._uids = 0
        self.touched: dict[str, Manifest | None] = {}
        # How many objects there are, and how many there may be.
        self.count = 0
        self.most = UNLIMITED
        self._made_by: dict[str, int] = {}
        # For whom objects are still to be made, by id.
        self._missing: dict[str, Excess] = {}
        self.faults: ApiFaults | None = None
        self._templates = Templates()
        self._latest: dict[tuple[str, int], int] = {}
        # Slow writes: who waits for answers, which callback's writes take until when, and when
        # what was written of an object is there for all to see.
        self._answers: dict[str, Answers] = {}
        self._callback = (-1, "")
        self._answered = 0
        self._seen_at: dict[str, int] = {}

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
        self._kinds.setdefault(obj.kind)
        stored = obj.with_metadata(
            uid=obj.uid or self._new_uid(obj),
            creationTimestamp=obj.creation_timestamp or timestamp(self._loop.now),
            resourceVersion=self._next_revision(),
        )
        if obj.kind in _GENERATED and not obj.metadata.get("generation"):
            stored = stored.with_metadata(generation=1)
        if isinstance(stored, Pod):
            stored.template = self._templates.shared(stored)
        of_kind[obj.key] = stored
        self.count += 1
        self._made_by[by] = self._made_by.get(by, 0) + 1
        if self.count > self.most:
            self._loop.halted = True
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
        old = self.find(obj.kind, obj.key)
        if old is None:
            raise NotFound(f'{group_resource(obj)} "{obj.name}" not found')
        if self.faults is not None:
            self.faults.write(obj.kind, obj.id, by)
        if obj.resource_version and obj.resource_version != old.resource_version:
            raise Conflict(
                f'Operation cannot be fulfilled on {group_resource(obj)} "{obj.name}": the object has '
                "been modified; please apply your changes to the latest version and try again"
            )
        stored = obj.stored(old.uid, self._next_revision())
        return self._replace(old, stored, by, event, message, data, changes)

    def patch(
        self,
        kind: str,
        key: str,
        patch: Manifest,
        *,
        by: str,
        event: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
        changes: Changes | None = None,
    ) -> ApiObject:
        """Apply a merge patch to the newest version: never a Conflict. Raises NotFound."""
        old = self.get(kind, key)
        if self.faults is not None:
            self.faults.write(kind, old.id, by)
        stored = old.revised(patch, self._next_revision())
        return self._replace(old, stored, by, event, message, data, changes)

    def bind(
        self,
        pod: Pod,
        node: str,
        conditions: list[Manifest],
        *,
        by: str,
        event: str,
        message: str,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Write the node and the conditions of *pod*, the newest version: the API's pods/binding.

        A pod that is being deleted cannot be bound; the caller has seen to that.
        """
        if self.faults is not None:
            self.faults.write(pod.kind, pod.id, by)
        new = pod.bound(node, conditions, self._next_revision())
        self._objects[pod.kind][pod.key] = new
        if self.faults is None:
            self._tell_bound(new, pod, by, event, message, data)
        else:
            self._when_due(new, by, self._tell_bound, new, pod, by, event, message, data)

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
            deletionTimestamp=timestamp(self._loop.now + nanoseconds(grace_seconds)),
            deletionGracePeriodSeconds=grace_seconds,
            resourceVersion=self._next_revision(),
        )
        self._objects[kind][key] = stored
        fact = event or _fact(old, "Terminating")
        self._written(stored, old, "MODIFIED", by, fact, message, data, changes)
        return stored

    # How many there may be

    def still_to_make(self, owner: ApiObject, missing: int) -> None:
        """A controller is going to make so many more objects for *owner*, as it stands.

        When there may never be so many, this step is the last for now: what comes of it is known.
        """
        if missing <= 0:
            self._missing.pop(owner.id, None)
            return
        generation = owner.metadata.get("generation") or 0
        self._missing[owner.id] = Excess(owner.kind, owner.key, owner.uid, generation, missing)
        if self.count + missing > self.most:
            self._loop.halted = True

    @property
    def excess(self) -> Excess | None:
        """An object that asks for more than there may be, and was not changed since."""
        return next((each for each in self._missing.values() if self._is_excess(each)), None)

    def _is_excess(self, asked: Excess) -> bool:
        owner = self.find(asked.kind, asked.key)
        if owner is None or owner.deletion_timestamp or self.count + asked.missing <= self.most:
            return False
        generation = owner.metadata.get("generation") or 0
        return (owner.uid, generation) == (asked.uid, asked.generation)

    @property
    def busiest(self) -> tuple[str, int]:
        """Who has created the most objects so far, and how many."""
        return max(self._made_by.items(), key=_made, default=("", 0))

    # Slow writes

    def answers(self, author: str) -> Answers:
        """Until when *author* waits. An author that calls this makes its writes one after the other."""
        return self._answers.setdefault(author, Answers())

    def hang_up(self, author: str) -> None:
        """*author* has died; later writes in its name do not wait for earlier ones."""
        self._answers.pop(author, None)

    def answered_at(self, author: str) -> int:
        """When what *author* has written in the current callback is answered; now if nothing."""
        if self.faults is not None and self._callback == (self._loop.steps, author):
            return max(self._answered, self._loop.now)
        return self._loop.now

    def _due(self, obj: ApiObject, by: str) -> int:
        """When a write made now is answered, and there for all to see.

        The order of writes is that in which they are made. A slow one is delivered late, to
        the watches and on the record; later writes of the same object are not delivered before it, and
        the author's own next write waits for its answer.
        """
        now = self._loop.now
        if self.faults is None or not self.faults.slows:
            return now
        waits = self._answers.get(by)
        start = max(self.answered_at(by), now if waits is None else waits.until)
        at = start + self.faults.slowness(obj.kind, by)
        at = max(at, self._seen_at.get(obj.id, 0))
        self._callback, self._answered = (self._loop.steps, by), at
        if waits is not None:
            waits.until = at
        if at > now:
            self._seen_at[obj.id] = at
        else:
            self._seen_at.pop(obj.id, None)
        return at

    # Watching

    def watch(self, kind: str, watcher: Watcher, latency: int = 0) -> None:
        """Call *watcher*, a bound method, with every later write of *kind*, *latency* ns after it.

        What is in the store already is delivered too, as ADDED, in order of creation.
        """
        self._watchers.setdefault(kind, {}).setdefault(latency, []).append(watcher)
        found = self.objects(kind)
        if len(found) > _FEW:
            causes = [(self._told.get(obj.id, 0), obj) for obj in found]
            for start in range(0, len(causes), _BATCH):
                batch = causes[start : start + _BATCH]
                self._loop.call_after(latency, self._call_each, [watcher], batch)
            return
        for obj in found:
            self._loop.cause = self._told.get(obj.id, 0)
            self._loop.call_after(latency, watcher, WatchEvent("ADDED", None, obj))

    def unwatch(self, owners: Sequence[object]) -> None:
        """End every watch whose watcher is a method of one of *owners*, deliveries under way too."""
        lists = [each for of_kind in self._watchers.values() for each in of_kind.values()]
        # What is under way when watches are cut has lists of its own.
        for call in (self._call, self._call_each):
            lists += [arguments[0] for arguments in self._loop.pending_arguments(call)]
        for watchers in lists:
            watchers[:] = [one for one in watchers if not is_method_of(one, owners)]

    def watchers_of(
        self, kind: str, owners: Sequence[object] | None = None
    ) -> dict[int, list[Watcher]]:
        """Who watches *kind*, by latency; with *owners* only those that are methods of theirs."""
        return {
            latency: [one for one in watchers if owners is None or is_method_of(one, owners)]
            for latency, watchers in self._watchers.get(kind, {}).items()
        }

    def relist(self, cut: Cut) -> None:
        """Deliver the result of a new list to broken watches: only the current state.

        What was written several times is delivered once, what came and went not at all, and what has
        gone with the last state that was known. Upstream: client-go, DeltaFIFO.Replace() and
        DeletedFinalStateUnknown.
        """
        events = self._news(cut)
        for latency, deaf in cut.watchers.items():
            there = self._watchers.get(cut.kind, {}).get(latency, [])
            watchers = [one for one in deaf if one in there]
            for event in events:
                self._loop.call_at(self._delivery(cut.kind, latency), self._call, watchers, event)

    def _news(self, cut: Cut) -> list[WatchEvent]:
        found: list[WatchEvent] = []
        gone: list[WatchEvent] = []
        for key, old in cut.known.items():
            new = self.find(cut.kind, key)
            if old is not None and (new is None or new.uid != old.uid):
                # Another object of its name is first seen without it here; informers make one
                # update of both, which their handlers then take apart.
                (gone if new is None else found).append(WatchEvent("DELETED", old, old))
                old = None
            if new is not None:
                found.append(WatchEvent("MODIFIED" if old else "ADDED", old, new))
        return [*found, *gone]

    # Inside

    def _replace(
        self,
        old: ApiObject,
        stored: ApiObject,
        by: str,
        event: str,
        message: str,
        data: dict[str, Any] | None,
        changes: Changes | None,
    ) -> ApiObject:
        if stored.deletion_timestamp and not _is_held(stored) and not _has_grace(stored):
            return self._remove(stored, by, event, message, data, changes)
        kind = stored.kind
        if kind in _GENERATED and _is_new_generation(old, stored):
            stored = stored.with_metadata(generation=1 + (old.metadata.get("generation") or 0))
        self._objects[kind][stored.key] = stored
        fact = event or _fact(stored, "Updated")
        self._written(stored, old, "MODIFIED", by, fact, message, data, changes)
        return stored

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
        self.count -= 1
        told = old, gone, by, event or _fact(gone, "Deleted"), message, data, changes
        self._when_due(gone, by, self._tell_removed, *told)
        return gone

    def _tell_removed(
        self,
        old: ApiObject,
        gone: ApiObject,
        by: str,
        fact: str,
        message: str,
        data: dict[str, Any] | None,
        changes: Changes | None,
    ) -> None:
        self._shown.pop(gone.id, None)
        self._told.pop(gone.id, None)
        self.touched[gone.id] = None
        self._recorder.record(
            fact,
            gone.id,
            by,
            message,
            data,
            {**(changes or {}), gone.id: None},
        )
        self._deliver(gone.kind, WatchEvent("DELETED", old, gone))

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
        if self.faults is None:
            self._tell_written(new, old, watch_type, by, fact, message, data, changes)
        else:
            told = new, old, watch_type, by, fact, message, data, changes
            self._when_due(new, by, self._tell_written, *told)

    def _when_due(self, obj: ApiObject, by: str, tell: Callable[..., None], *told: Any) -> None:
        """Deliver a write of *obj* when its author has the answer, which mostly is at once."""
        at = self._due(obj, by)
        if at > self._loop.now:
            self._loop.call_at(at, tell, *told)
        else:
            tell(*told)

    def _tell_written(
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
        entity = new.id
        shown = self._shown.get(entity)
        shows, patch = advanced(shown, old, new, self._rules)
        self._shown[entity] = shows
        self.touched[entity] = new.raw
        told: Changes = {entity: patch} if patch or old is None else {}
        if changes:
            for other, change in changes.items():
                told[other] = merge(told.get(other), change)
        self._told[entity] = self._recorder.record(fact, entity, by, message, data, told or None)
        plain = isinstance(new, Pod) and old is not None and is_plain(old, new)
        self._deliver(new.kind, _new(WatchEvent, (watch_type, old, new, plain)))

    def _tell_bound(
        self, new: Pod, old: Pod, by: str, fact: str, message: str, data: dict[str, Any] | None
    ) -> None:
        entity = new.id
        self._shown[entity], patch = bound(self._shown[entity], new)
        self.touched[entity] = new.raw
        self._told[entity] = self._recorder.record(fact, entity, by, message, data, {entity: patch})
        self._deliver(new.kind, _new(WatchEvent, ("MODIFIED", old, new, is_plain(old, new))))

    def _deliver(self, kind: str, event: WatchEvent) -> None:
        loop, faults = self._loop, self.faults
        for latency, watchers in self._watchers.get(kind, _NOBODY).items():
            at = loop.now + latency if faults is None else self._delivery(kind, latency)
            if faults is not None and faults.cuts:
                watchers = faults.hearing(latency, watchers, event.new, event.old)
            loop.call_at(at, self._call, watchers, event)

    def _delivery(self, kind: str, latency: int) -> int:
        """When a watch hears of a write made now; a watch that lagged keeps its order."""
        at = self._loop.now + latency
        if self.faults is not None:
            at += self.faults.delay(kind)
        at = self._latest[kind, latency] = max(at, self._latest.get((kind, latency), 0))
        return at

    def _call(self, watchers: list[Watcher], event: WatchEvent) -> None:
        loop, cause = self._loop, self._loop.cause
        for watcher in watchers:
            loop.cause = cause
            watcher(event)

    def _call_each(self, watchers: list[Watcher], found: list[tuple[int, ApiObject]]) -> None:
        """What a watch finds, each with the event that is its cause."""
        for cause, obj in found:
            for watcher in watchers:
                self._loop.cause = cause
                watcher(_new(WatchEvent, ("ADDED", None, obj, False)))

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


def _made(entry: tuple[str, int]) -> int:
    return entry[1]


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
