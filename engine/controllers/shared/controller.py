"""What all workload controllers share: a work queue, claiming of pods, writes of the status."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Self

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.expectations import Expectations
from engine.controllers.shared.listers import WorkloadListers
from engine.controllers.shared.owners import controller_ref, is_controlled_by, without_owner
from engine.controllers.shared.pods import pod_of_template
from engine.controllers.shared.rules import WorkloadRules
from engine.controllers.shared.selection import selector_of
from engine.kernel.errors import ApiError, Denied, Invalid, NamespaceTerminating, NotFound
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop
from engine.kernel.rng import Stream
from engine.objects.naming import generated_name
from engine.objects.objects import ApiObject, Manifest, Pod, from_manifest
from engine.objects.selectors import LabelSelector
from engine.storage.ports import NORMAL, WARNING, EventSink

# For one Job or StatefulSet. Upstream: job_controller.go, MaxPodCreateDeletePerSync; StatefulSets and
# older Jobs have no limit except that of their client.
MOST_PODS_PER_SYNC: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerContext:
    """What a controller works with: the cluster as one component sees it.

    Names of pods are drawn from *names*. Watches deliver after *watch_latency* ns. `silent_nodes` maps
    the nodes that have stopped posting their status to the time of their last post.
    """

    loop: EventLoop
    store: ObjectStore
    listers: WorkloadListers
    admission: Admission
    names: Stream
    rules: WorkloadRules
    watch_latency: int
    latencies: Latencies
    silent_nodes: dict[str, int] = field(default_factory=dict[str, int])


class Controller:
    """Syncs queued keys one by one; a sync whose write is refused is tried again after a backoff."""

    AUTHOR: ClassVar[str]
    KIND: ClassVar[str]
    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)
    # What an adopted pod gets, too.
    ADOPTED_FINALIZER: ClassVar[str] = ""

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        self._context = context
        self._loop = context.loop
        self._store = context.store
        self._listers = context.listers
        self._rules = context.rules
        self._events = events
        self._queue = WorkQueue(
            context.loop, self._work, answers=context.store.answers.of(self.AUTHOR)
        )

    def restarted(self, context: ControllerContext) -> Self:
        """The same controller in a new process, without its memory."""
        return type(self)(context, self._events)

    def sync(self, key: str) -> None:
        """Bring the objects that *key* owns closer to its spec. Raises ApiError."""
        raise NotImplementedError

    def await_creation(self, key: str) -> None:
        """Do as one that has not seen all yet of what it has created for *key*."""

    def _work(self, key: str) -> None:
        try:
            self.sync(key)
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    # Pods

    def _create_pod(self, owner: ApiObject, template: Manifest, prefix: str = "") -> Pod:
        """Create a pod of *owner* with a generated name; emits Events. Raises ApiError.

        Without *prefix* its name begins with that of *owner*.
        """
        context = self._context
        prefix = prefix or f"{owner.name}-"
        name = generated_name(prefix, context.names)
        while self._store.find("Pod", f"{owner.namespace}/{name}") is not None:
            name = generated_name(prefix, context.names)
        manifest = pod_of_template(template, owner, name)
        manifest["metadata"]["generateName"] = prefix
        try:
            if not manifest["metadata"].get("labels") and owner.kind != "Job":
                raise Invalid("unable to create pods, no labels")
            pod = self._store.create(
                context.admission.admit(from_manifest(manifest), self.AUTHOR), by=self.AUTHOR
            )
        except NamespaceTerminating:
            # Upstream emits no Event then.
            raise
        except ApiError as refusal:
            self._events.event(owner, WARNING, "FailedCreate", f"Error creating: {refusal}")
            raise
        self._events.event(owner, NORMAL, "SuccessfulCreate", f"Created pod: {name}")
        assert isinstance(pod, Pod)
        return pod

    def _delete_pod(self, owner: ApiObject, pod: Pod) -> None:
        """Delete a pod of *owner*; emits Events. Raises NotFound when it is gone already."""
        try:
            delete(self._store, pod, by=self.AUTHOR)
        except Denied as refusal:
            self._events.event(owner, WARNING, "FailedDelete", f"Error deleting: {refusal}")
            raise
        self._events.event(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.name}")

    def _delete_pods(
        self, owner: ApiObject, pods: Sequence[Pod], expectations: Expectations
    ) -> ApiError | None:
        """Delete pods of *owner*, of which it expects to hear; returns the first refusal.

        Upstream: replica_set.go, manageReplicas(): what was not deleted is not waited for.
        """
        refused: ApiError | None = None
        for pod in pods:
            try:
                self._delete_pod(owner, pod)
            except ApiError as refusal:
                expectations.deleted(owner.key, pod.key)
                if not isinstance(refusal, NotFound):
                    refused = refused or refusal
        return refused

    def _claim_pods(self, owner: ApiObject, selector: LabelSelector) -> list[Pod]:
        """The pods that *owner* controls; adopts matching orphans, releases pods that do not match.

        Upstream: pkg/controller/controller_ref_manager.go, ClaimPods().
        """
        claimed: list[Pod] = []
        # Pods of one template share their labels, so the selector is evaluated once for them.
        last: object = None
        matches = False
        for pod in self._listers.pods_controlled_by(owner):
            if pod.labels is not last:
                last, matches = pod.labels, selector.matches(pod.labels)
            if matches or self._keeps(owner, pod):
                claimed.append(pod)
            elif not owner.deletion_timestamp:
                self._release(owner, pod)
        if owner.deletion_timestamp:
            return claimed
        for pod in self._listers.orphans_matching(owner.namespace, selector):
            if not pod.deletion_timestamp:
                adopted = self._adopt(owner, pod)
                if isinstance(adopted, Pod):
                    claimed.append(adopted)
        return claimed

    def _keeps(self, owner: ApiObject, pod: Pod) -> bool:
        """Whether *pod*, which *owner* controls and does not select, stays with it all the same."""
        return False

    def _adopt(self, owner: ApiObject, obj: ApiObject) -> ApiObject | None:
        """Make *owner* the controller of *obj*; None if it is deleted or has another controller."""
        live = self._store.find(owner.kind, owner.key)
        if live is None or live.uid != owner.uid or live.deletion_timestamp:
            return None
        newest = self._store.find(obj.kind, obj.key)
        if newest is None or newest.uid != obj.uid:
            return None
        if any(ref.get("controller") for ref in newest.owner_references):
            return newest if is_controlled_by(newest, owner) else None
        refs = [*newest.owner_references, controller_ref(owner)]
        patch: Manifest = {"metadata": {"ownerReferences": refs}}
        if self.ADOPTED_FINALIZER:
            patch["metadata"]["finalizers"] = [*newest.finalizers, self.ADOPTED_FINALIZER]
        return self._store.patch(
            obj.kind, obj.key, patch, by=self.AUTHOR, event=f"{obj.kind}Adopted"
        )

    def _release(self, owner: ApiObject, obj: ApiObject) -> None:
        newest = self._store.find(obj.kind, obj.key)
        if newest is None or newest.uid != obj.uid:
            return
        patch: Manifest = {"metadata": {"ownerReferences": without_owner(newest, owner)}}
        if self.ADOPTED_FINALIZER in newest.finalizers:
            left = [each for each in newest.finalizers if each != self.ADOPTED_FINALIZER]
            patch["metadata"]["finalizers"] = left or None
        self._store.patch(obj.kind, obj.key, patch, by=self.AUTHOR, event=f"{obj.kind}Released")

    # Objects

    def _write_status(self, obj: ApiObject, status: Manifest, event: str = "") -> ApiObject:
        """Replace the status of *obj*. Raises Conflict, NotFound."""
        return write_status(self._store, obj, status, by=self.AUTHOR, event=event)

    def _queue_selecting(self, kind: str, orphan: ApiObject) -> None:
        """Queue the objects of *kind* that select *orphan* and may adopt it."""
        owners = self._listers.of(kind).selecting(orphan.namespace, orphan.labels)
        self._loop.tried_each(self._queue_if_selecting, owners, orphan)

    def _queue_if_selecting(self, owner: ApiObject, orphan: ApiObject) -> None:
        if selector_of(owner).matches(orphan.labels):
            self._queue.add(owner.key)

    def _owner_of(self, obj: ApiObject) -> ApiObject | None:
        """The object of this controller's kind that controls *obj*, by the informer."""
        for ref in obj.owner_references:
            if ref.get("controller") and ref.get("kind") == self.KIND:
                found = self._listers.of(self.KIND).get(f"{obj.namespace}/{ref.get('name')}")
                uid = ref.get("uid")
                if found is not None and (not uid or uid == found.uid):
                    return found
        return None


def write_status(
    store: ObjectStore, obj: ApiObject, status: Manifest, *, by: str, event: str = ""
) -> ApiObject:
    """Replace the status of *obj*. Raises Conflict if *obj* is not the newest version, NotFound."""
    new = from_manifest({**obj.raw, "status": status})
    return store.update(new, by=by, event=event or f"{obj.kind}StatusUpdated")


def replicas_of(obj: ApiObject) -> int:
    """spec.replicas; 1 when absent."""
    wanted = obj.spec.get("replicas")
    return 1 if wanted is None else wanted


def generation_of(obj: ApiObject) -> int:
    """metadata.generation; 0 when absent."""
    return obj.metadata.get("generation") or 0


def status_number(obj: ApiObject, name: str) -> int:
    """A count in the status; 0 when absent."""
    return obj.status.get(name) or 0


def lean(status: Manifest, *always: str) -> Manifest:
    """*status* as the API writes it: without zeros and empty values, except for *always*."""
    return {name: value for name, value in status.items() if value or name in always}


def only_status_changed(old: ApiObject, new: ApiObject) -> bool:
    """Whether two versions differ in nothing but the status."""
    if old.raw.get("spec") is not new.raw.get("spec") and old.spec != new.spec:
        return False
    ignored = ("resourceVersion", "managedFields")
    names = {**old.metadata, **new.metadata}
    return all(
        old.metadata.get(name) == new.metadata.get(name) for name in names if name not in ignored
    )
