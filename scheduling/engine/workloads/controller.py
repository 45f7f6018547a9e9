"""What all workload controllers have in common: a work queue, the store, their events."""

from typing import ClassVar, Final, Self

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.api_server.workqueue import WorkQueue
from kscope.sim.errors import ApiError, Invalid, NamespaceTerminating
from kscope.sim.kernel.latency import Latencies
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.rng import Stream
from kscope.sim.objects.objects import ApiObject, Manifest, Pod, from_manifest
from kscope.sim.objects.selectors import LabelSelector
from scheduling.engine.api_server.admission import Admission
from scheduling.engine.workloads.deletion import delete
from scheduling.engine.workloads.listers import WorkloadListers
from scheduling.engine.workloads.naming import generated_name
from scheduling.engine.workloads.owners import controller_ref, is_controlled_by, without_owner
from scheduling.engine.workloads.pods import pod_of_template
from scheduling.engine.workloads.rules import WorkloadRules
from volumes.engine.ports import NORMAL, WARNING, EventSink

# Of one Job or StatefulSet. Upstream: job_controller.go, MaxPodCreateDeletePerSync; older Jobs, and
# StatefulSets, have no such limit but their client's.
MOST_PODS_PER_SYNC: Final = 500


class Surroundings:
    """What a controller is given: the cluster as one component sees it."""

    __slots__ = (
        "admission",
        "latencies",
        "latency",
        "listers",
        "loop",
        "names",
        "rules",
        "silent",
        "store",
    )

    def __init__(
        self,
        *,
        loop: EventLoop,
        store: ObjectStore,
        listers: WorkloadListers,
        admission: Admission,
        names: Stream,
        rules: WorkloadRules,
        latency: int,
        latencies: Latencies,
    ) -> None:
        self.loop = loop
        self.store = store
        self.listers = listers
        self.admission = admission
        self.names = names
        self.rules = rules
        self.latency = latency
        self.latencies = latencies
        # Nodes that have stopped to post their status, and since when.
        self.silent: dict[str, int] = {}

    def with_listers(self, listers: WorkloadListers) -> "Surroundings":
        """The same for a controller that hears of the cluster through *listers*."""
        other = Surroundings(
            loop=self.loop,
            store=self.store,
            listers=listers,
            admission=self.admission,
            names=self.names,
            rules=self.rules,
            latency=self.latency,
            latencies=self.latencies,
        )
        other.silent = self.silent
        return other


class Controller:
    """A queue of keys and a `sync`; a refused write is tried again after a growing delay."""

    AUTHOR: ClassVar[str]
    KIND: ClassVar[str]
    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)

    def __init__(self, around: Surroundings, events: EventSink) -> None:
        self._around = around
        self._loop = around.loop
        self._store = around.store
        self._listers = around.listers
        self._rules = around.rules
        self._events = events
        self._queue = WorkQueue(around.loop, self._work, answers=around.store.answers(self.AUTHOR))

    def anew(self, around: Surroundings) -> Self:
        """The same controller in a new process, which knows nothing yet."""
        return type(self)(around, self._events)

    def sync(self, key: str) -> None:
        """Bring what *key* owns nearer to what it asks for. Raises ApiError."""
        raise NotImplementedError

    def _work(self, key: str) -> None:
        try:
            self.sync(key)
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    # Pods

    def _create_pod(self, owner: ApiObject, template: Manifest) -> Pod:
        """Create a pod of *owner* with a drawn name; emits Events. Raises ApiError."""
        around = self._around
        name = generated_name(f"{owner.name}-", around.names)
        while self._store.find("Pod", f"{owner.namespace}/{name}") is not None:
            name = generated_name(f"{owner.name}-", around.names)
        manifest = pod_of_template(template, owner, name)
        manifest["metadata"]["generateName"] = f"{owner.name}-"
        try:
            if not manifest["metadata"].get("labels") and owner.kind != "Job":
                raise Invalid("unable to create pods, no labels")
            pod = self._store.create(
                around.admission.admit(from_manifest(manifest)), by=self.AUTHOR
            )
        except NamespaceTerminating:
            raise  # Nobody needs to be told.
        except ApiError as refusal:
            self._events.event(owner, WARNING, "FailedCreate", f"Error creating: {refusal}")
            raise
        self._events.event(owner, NORMAL, "SuccessfulCreate", f"Created pod: {name}")
        assert isinstance(pod, Pod)
        return pod

    def _delete_pod(self, owner: ApiObject, pod: Pod) -> None:
        """Delete a pod of *owner*; emits Events. Raises NotFound when it is gone already."""
        delete(self._store, pod, by=self.AUTHOR, now=self._loop.now)
        self._events.event(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.name}")

    def _claim_pods(self, owner: ApiObject, selector: LabelSelector) -> list[Pod]:
        """The pods that *owner* controls, matching orphans adopted, strays released.

        Upstream: pkg/controller/controller_ref_manager.go, ClaimPods().
        """
        claimed: list[Pod] = []
        # Pods of one template share their labels, and the verdict about them.
        last: object = None
        matches = False
        for pod in self._listers.pods_controlled_by(owner):
            if pod.labels is not last:
                last, matches = pod.labels, selector.matches(pod.labels)
            if matches:
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

    def _adopt(self, owner: ApiObject, obj: ApiObject) -> ApiObject | None:
        """Make *owner* the controller of *obj*, unless it is gone or someone else was faster."""
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
        return self._store.patch(
            obj.kind, obj.key, patch, by=self.AUTHOR, event=f"{obj.kind}Adopted"
        )

    def _release(self, owner: ApiObject, obj: ApiObject) -> None:
        newest = self._store.find(obj.kind, obj.key)
        if newest is None or newest.uid != obj.uid:
            return
        patch: Manifest = {"metadata": {"ownerReferences": without_owner(newest, owner)}}
        self._store.patch(obj.kind, obj.key, patch, by=self.AUTHOR, event=f"{obj.kind}Released")

    # Objects

    def _write_status(self, obj: ApiObject, status: Manifest, event: str = "") -> ApiObject:
        """Replace the status of *obj*, as far as it was read from the newest version.

        Raises Conflict, NotFound.
        """
        raw = {**obj.raw, "status": status}
        new = from_manifest(raw)
        return self._store.update(new, by=self.AUTHOR, event=event or f"{obj.kind}StatusUpdated")

    def _owner_of(self, obj: ApiObject) -> ApiObject | None:
        """The object of this controller's kind that controls *obj*, by the informer."""
        for ref in obj.owner_references:
            if ref.get("controller") and ref.get("kind") == self.KIND:
                found = self._listers.of(self.KIND).get(f"{obj.namespace}/{ref.get('name')}")
                uid = ref.get("uid")
                if found is not None and (not uid or uid == found.uid):
                    return found
        return None


def selector_of(obj: ApiObject) -> LabelSelector:
    """spec.selector. Raises SelectorError when it makes no sense."""
    return LabelSelector.parse(obj.spec.get("selector"))


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
    """*status* as the API writes it: zeros and what is empty left out, but for *always*."""
    return {name: value for name, value in status.items() if value or name in always}


def only_status_changed(old: ApiObject, new: ApiObject) -> bool:
    """Whether nothing but the status tells two versions apart."""
    if old.raw.get("spec") is not new.raw.get("spec") and old.spec != new.spec:
        return False
    ignored = ("resourceVersion", "managedFields")
    names = {**old.metadata, **new.metadata}
    return all(
        old.metadata.get(name) == new.metadata.get(name) for name in names if name not in ignored
    )
