"""The garbage collector: what goes when its owner goes.

Upstream: pkg/controller/garbagecollector (garbagecollector.go, graph_builder.go).
"""

from typing import ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.deletion import BACKGROUND, FOREGROUND, ORPHAN, DeleteOptions, delete
from engine.controllers.shared.listers import WorkloadListers
from engine.controllers.shared.owners import (
    FOREGROUND_FINALIZER,
    ORPHAN_FINALIZER,
    owner_keys,
    ref_key,
    refers_to,
    without_owner,
)
from engine.kernel.errors import ApiError
from engine.objects.custom.definition import (
    DEFINITION,
    CustomDefinition,
    group_of,
    kind_in_group,
)
from engine.objects.objects import ApiObject, Manifest

# Kinds whose objects own or are owned.
GRAPH_KINDS: Final = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "ControllerRevision",
    "CronJob",
    "ReplicationController",
    "ResourceClaim",
)

# Kinds that own nothing by themselves, and may be owned where there are custom kinds.
OWNED_KINDS: Final = (
    *("ConfigMap", "EndpointSlice", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy"),
    *("PodDisruptionBudget", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount"),
    *("ClusterRole", "ClusterRoleBinding", "PodTemplate", "ResourceQuota", "LimitRange"),
)

# A kind that a scenario may leave out, and the kind whose presence shows that it is managed.
_MADE_BY: Final = {"ReplicaSet": "Deployment", "Job": "CronJob"}


class GarbageCollector:
    """Deletes objects whose owners are all gone, and ends foreground and orphaning deletions.

    An owner counts as gone when the cluster knows its kind and does not hold it. A kind of which
    there never was an object lies outside the scenario: its dependents are left alone.
    """

    AUTHOR: ClassVar[str] = "garbage-collector"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_others")

    def __init__(self, context: ControllerContext) -> None:
        self._loop = context.loop
        self._latency = context.watch_latency
        self._store = context.store
        self._listers: WorkloadListers = context.listers
        self._queue = WorkQueue(
            context.loop, self._work, answers=context.store.answers.of(self.AUTHOR)
        )
        # Owner key → ids of what refers to it; id → (kind, key), to find it again.
        self._dependents: dict[str, dict[str, tuple[str, str]]] = {}
        self._listers.pods.on_event(self._on_object, plain=False)
        self._listers.claims.on_event(self._on_object)
        self._listers.nodes.on_event(self._on_owner)
        self._others: list[Informer[ApiObject]] = []
        for kind in GRAPH_KINDS:
            is_other = kind == "ResourceClaim"
            informer = self._follow(kind) if is_other else self._listers.of(kind)
            informer.on_event(self._on_object)
        # The custom kinds that are followed, and what else since there is one.
        self._followed: dict[str, None] = {}
        self._follow(DEFINITION).on_event(self._on_definition)

    def restarted(self, context: ControllerContext) -> "GarbageCollector":
        """The same controller in a new process, which knows nothing yet."""
        return GarbageCollector(context)

    # The graph

    def _on_definition(self, event: WatchEvent) -> None:
        for kind in (CustomDefinition(event.new.raw).stored_kind, *OWNED_KINDS):
            if kind not in self._followed:
                self._followed[kind] = None
                self._follow(kind).on_event(self._on_object)

    def _follow(self, kind: str) -> Informer[ApiObject]:
        informer: Informer[ApiObject] = Informer(self._store, kind, self._latency)
        self._others.append(informer)
        return informer

    def _kind_of(self, ref: Manifest) -> str:
        """What the run calls the kind of an owner."""
        kind = kind_in_group(str(ref.get("kind") or ""), group_of(ref))
        return kind if kind in self._followed else str(ref.get("kind") or "")

    def _on_object(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        if (
            event.type != "DELETED"
            and not new.owner_references
            and not new.deletion_timestamp
            and (old is None or not old.owner_references)
        ):
            # Like most objects: it has no owner and is not being deleted.
            return
        if old is not None and old.owner_references != new.owner_references:
            self._unlink(old)
            self._queue_unblocked(old, new)
        if event.type == "DELETED":
            self._unlink(new)
        elif new.owner_references:
            self._link(new)
            if old is None or old.owner_references != new.owner_references:
                self._check_owners(new)
        self._on_owner(event)

    def _on_owner(self, event: WatchEvent) -> None:
        new = event.new
        if event.type == "DELETED":
            self._queue_dependents(new)
            for ref in new.owner_references:
                # Perhaps it was the last that its owner's foreground deletion waited for.
                self._queue_owner(ref, new.namespace)
        elif new.deletion_timestamp and self._is_waiting(new):
            self._queue.add(_entry(new))

    def _is_waiting(self, obj: ApiObject) -> bool:
        return FOREGROUND_FINALIZER in obj.finalizers or ORPHAN_FINALIZER in obj.finalizers

    def _link(self, obj: ApiObject) -> None:
        for ref in obj.owner_references:
            key = ref_key(ref, obj.namespace)
            self._dependents.setdefault(key, {})[obj.id] = obj.kind, obj.key

    def _unlink(self, obj: ApiObject) -> None:
        for ref in obj.owner_references:
            key = ref_key(ref, obj.namespace)
            held = self._dependents.get(key)
            if held is not None:
                held.pop(obj.id, None)
                if not held:
                    del self._dependents[key]

    def _check_owners(self, obj: ApiObject) -> None:
        for ref in obj.owner_references:
            if self._owner(ref, obj.namespace) is None and self._knows(self._kind_of(ref)):
                self._queue.add(_entry(obj))
                return

    def _queue_dependents(self, owner: ApiObject) -> None:
        for kind, key in self._dependents_of(owner):
            self._queue.add(f"{kind} {key}")

    def _queue_owner(self, ref: Manifest, namespace: str) -> None:
        owner = self._owner(ref, namespace)
        if owner is not None and owner.deletion_timestamp:
            self._queue.add(_entry(owner))

    def _queue_unblocked(self, old: ApiObject, new: ApiObject) -> None:
        """Look again at owners whose foreground deletion *new* no longer blocks, as *old* did.

        Upstream: graph_builder.go, addUnblockedOwnersToDeleteQueue().
        """
        left = [ref_key(ref, new.namespace) for ref in new.owner_references if _is_blocking(ref)]
        for ref in old.owner_references:
            if _is_blocking(ref) and ref_key(ref, old.namespace) not in left:
                self._queue_owner(ref, old.namespace)

    def _dependents_of(self, owner: ApiObject) -> list[tuple[str, str]]:
        return [
            entry for key in owner_keys(owner) for entry in self._dependents.get(key, {}).values()
        ]

    def _owner(self, ref: Manifest, namespace: str) -> ApiObject | None:
        """The live owner, or None when it is gone or another one has its name."""
        kind, name = self._kind_of(ref), ref.get("name", "")
        found = self._store.find(kind, f"{namespace}/{name}") or self._store.find(kind, name)
        return found if found is not None and refers_to(ref, found) else None

    def _knows(self, kind: str) -> bool:
        known = [*self._store.kinds()]
        return kind in known or _MADE_BY.get(kind) in known

    # Collecting

    def _work(self, entry: str) -> None:
        kind, _, key = entry.partition(" ")
        obj = self._store.find(kind, key)
        if obj is None:
            return
        try:
            self._collect(obj)
        except ApiError:
            self._queue.add_rate_limited(entry)
        else:
            self._queue.forget(entry)

    def _collect(self, obj: ApiObject) -> None:
        """Upstream: attemptToDeleteItem()."""
        if obj.deletion_timestamp:
            if FOREGROUND_FINALIZER in obj.finalizers:
                self._delete_dependents_first(obj)
            elif ORPHAN_FINALIZER in obj.finalizers:
                self._orphan_dependents(obj)
            return
        if not obj.owner_references:
            return
        solid: list[Manifest] = []
        waiting: list[Manifest] = []
        for ref in obj.owner_references:
            owner = self._owner(ref, obj.namespace)
            if owner is None:
                if not self._knows(self._kind_of(ref)):
                    solid.append(ref)
            elif owner.deletion_timestamp and FOREGROUND_FINALIZER in owner.finalizers:
                waiting.append(ref)
            else:
                solid.append(ref)
        if solid:
            if len(solid) < len(obj.owner_references):
                patch: Manifest = {"metadata": {"ownerReferences": solid}}
                self._store.update(obj.patched(patch), by=self.AUTHOR)
            return
        if waiting and self._closes_circle(obj):
            self._unblock_owners(obj)
        propagation = BACKGROUND
        if ORPHAN_FINALIZER in obj.finalizers:
            propagation = ORPHAN
        elif FOREGROUND_FINALIZER in obj.finalizers or (waiting and self._dependents_of(obj)):
            propagation = FOREGROUND
        why = "its owner waits for it" if waiting else "its owner is gone"
        delete(
            self._store,
            obj,
            by=self.AUTHOR,
            options=DeleteOptions(propagation=propagation),
            message=why,
        )

    def _closes_circle(self, obj: ApiObject) -> bool:
        """Whether a dependent waits for *obj*, for which its owner waits."""
        found = (self._store.find(kind, key) for kind, key in self._dependents_of(obj))
        return any(
            each is not None and each.deletion_timestamp and FOREGROUND_FINALIZER in each.finalizers
            for each in found
        )

    def _unblock_owners(self, obj: ApiObject) -> None:
        """Upstream: patch.go, unblockOwnerReferencesStrategicMergePatch()."""
        refs = [{**ref, "blockOwnerDeletion": False} for ref in obj.owner_references]
        patch: Manifest = {"metadata": {"ownerReferences": refs}}
        self._store.patch(obj.kind, obj.key, patch, by=self.AUTHOR)

    def _delete_dependents_first(self, obj: ApiObject) -> None:
        """Upstream: processDeletingDependentsItem()."""
        blocking = [
            dependent
            for kind, key in self._dependents_of(obj)
            if (dependent := self._store.find(kind, key)) is not None and _blocks(dependent, obj)
        ]
        if not blocking:
            self._drop_finalizer(obj, FOREGROUND_FINALIZER)
        for dependent in blocking:
            if not dependent.deletion_timestamp:
                self._queue.add(_entry(dependent))

    def _orphan_dependents(self, obj: ApiObject) -> None:
        """Upstream: orphanDependents(); it goes once the graph shows that nothing refers to it."""
        dependents = [self._store.find(kind, key) for kind, key in self._dependents_of(obj)]
        bound = [
            each
            for each in dependents
            if each is not None and any(refers_to(ref, obj) for ref in each.owner_references)
        ]
        for each in bound:
            patch: Manifest = {"metadata": {"ownerReferences": without_owner(each, obj)}}
            event = f"{each.kind}Orphaned"
            self._store.update(each.patched(patch), by=self.AUTHOR, event=event)
        if bound:
            self._queue.add_after(_entry(obj), 4 * self._latency)
        else:
            self._drop_finalizer(obj, ORPHAN_FINALIZER)

    def _drop_finalizer(self, obj: ApiObject, finalizer: str) -> None:
        left = [name for name in obj.finalizers if name != finalizer]
        self._store.update(obj.patched({"metadata": {"finalizers": left or None}}), by=self.AUTHOR)


def _entry(obj: ApiObject) -> str:
    return f"{obj.kind} {obj.key}"


def _blocks(dependent: ApiObject, owner: ApiObject) -> bool:
    return any(_is_blocking(ref) and refers_to(ref, owner) for ref in dependent.owner_references)


def _is_blocking(ref: Manifest) -> bool:
    return bool(ref.get("blockOwnerDeletion"))
