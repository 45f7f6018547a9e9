"""The namespace controller: a deleted namespace goes when everything in it is gone.

Upstream: pkg/controller/namespace (namespace_controller.go, deletion/).
"""

from contextlib import suppress
from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.deletion import delete
from engine.kernel.errors import NotFound
from engine.kernel.units import SECOND, nanoseconds, timestamp
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.storage.ports import EventSink

# Writes that were under way when the namespace was deleted may still arrive.
GRACE: Final = 5 * SECOND

FINALIZER: Final = "kubernetes"

_FIRST: Final = (
    *("Pod", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job", "ReplicaSet"),
    "ReplicationController",
)


class NamespaceController(Controller):
    """Empties namespaces that are being deleted."""

    AUTHOR: ClassVar[str] = "namespace-controller"
    KIND: ClassVar[str] = "Namespace"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._listers.of("Namespace").on_event(self._on_namespace)

    def _on_namespace(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and event.new.deletion_timestamp:
            self._queue.add_after(event.new.key, GRACE)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: namespaced_resources_deleter.go, Delete()."""
        namespace = self._store.find("Namespace", key)
        if namespace is None or not namespace.deletion_timestamp:
            return
        left = self._content(namespace)
        if self._rules.pods_leave_namespace_first:
            left = self._emptied(left)
        first = next((obj.kind for obj in left if not obj.deletion_timestamp), "")
        if first:
            # One kind after the other, and others react meanwhile to what has gone.
            for obj in left:
                if obj.kind == first and not obj.deletion_timestamp:
                    with suppress(NotFound):
                        delete(self._store, obj, by=self.AUTHOR)
            self._queue.add_after(key, 2 * self._context.watch_latency)
            return
        conditions = self._conditions(namespace, left)
        if conditions != namespace.status.get("conditions"):
            status: Manifest = {**namespace.status, "conditions": conditions}
            namespace = self._write_status(namespace, status)
        if left:
            # The status that was just written brings the namespace back here.
            if any(obj.finalizers or obj.deletion_timestamp for obj in left):
                self._queue.add_after(key, self._estimate(left))
            return
        finalizers: list[str] = namespace.spec.get("finalizers") or []
        others = [name for name in finalizers if name != FINALIZER]
        self._store.update(
            namespace.patched({"spec": {"finalizers": others or None}}), by=self.AUTHOR
        )

    def _emptied(self, left: list[ApiObject]) -> list[ApiObject]:
        """The objects that remain after a pass, which deletes the pods, or everything else once no pod is left.

        Upstream: deleteAllContent(), OrderedNamespaceDeletion.
        """
        pods = [obj for obj in left if isinstance(obj, Pod)]
        for obj in pods or left:
            if not obj.deletion_timestamp:
                with suppress(NotFound):
                    delete(self._store, obj, by=self.AUTHOR)
        newest = (self._store.find(obj.kind, obj.key) for obj in pods or left)
        return [obj for obj in newest if obj is not None and obj.deletion_timestamp]

    def _content(self, namespace: ApiObject) -> list[ApiObject]:
        kinds = [*self._store.kinds()]
        ordered = [*(k for k in _FIRST if k in kinds), *(k for k in kinds if k not in _FIRST)]
        return [
            obj
            for kind in ordered
            for obj in self._store.grouped(kind).in_namespace(namespace.name)
        ]

    def _estimate(self, left: list[ApiObject]) -> int:
        """How long to wait before the next look. Upstream: ResourcesRemainingError.Estimate."""
        seconds = 15 if any(obj.finalizers for obj in left) else 0
        for obj in left:
            if isinstance(obj, Pod):
                seconds = max(seconds, obj.grace_period_seconds)
        return nanoseconds(seconds // 2 + 1)

    def _conditions(self, namespace: ApiObject, left: list[ApiObject]) -> list[Manifest]:
        remaining = _counted([_resource(obj) for obj in left])
        finalizers = _counted([name for obj in left for name in obj.finalizers])
        conditions = [
            (
                "NamespaceDeletionDiscoveryFailure",
                "",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            (
                "NamespaceContentRemaining",
                ", ".join(f"{what} has {n} resource instances" for what, n in remaining),
                "SomeResourcesRemain" if remaining else "ContentRemoved",
                "Some resources are remaining: "
                if remaining
                else "All content successfully removed",
            ),
            (
                "NamespaceFinalizersRemaining",
                ", ".join(f"{what} in {n} resource instances" for what, n in finalizers),
                "SomeFinalizersRemain" if finalizers else "ContentHasNoFinalizers",
                "Some content in the namespace has finalizers remaining: "
                if finalizers
                else "All content-preserving finalizers finished",
            ),
        ]
        before: dict[str, Manifest] = {
            each["type"]: each for each in namespace.status.get("conditions") or ()
        }
        made: list[Manifest] = []
        for kind, what, reason, text in conditions:
            state, message = "True" if what else "False", text + what
            old = before.get(kind)
            since = timestamp(self._loop.clock)
            if old is not None and old.get("status") == state:
                since = old.get("lastTransitionTime", since)
            condition: Manifest = {"type": kind, "status": state, "lastTransitionTime": since}
            made.append({**condition, "reason": reason, "message": message})
        return made


def _resource(obj: ApiObject) -> str:
    kind, _, group = obj.kind.lower().partition(".")
    return f"{kind}s.{group}"


def _counted(names: list[str]) -> list[tuple[str, int]]:
    return [(name, names.count(name)) for name in sorted(dict.fromkeys(names))]
