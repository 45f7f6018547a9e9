"""The ReplicaSet controller: as many pods as asked for. Upstream: pkg/controller/replicaset."""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import (
    Controller,
    ControllerContext,
    generation_of,
    lean,
    only_status_changed,
    replicas_of,
)
from engine.controllers.shared.expectations import Expectations
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.pods import is_active, is_available, ready_since, time_of
from engine.controllers.shared.selection import selector_of
from engine.kernel.errors import ApiError, NamespaceTerminating
from engine.kernel.units import MILLISECOND, SECOND, timestamp
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready
from engine.storage.ports import EventSink

BURST_REPLICAS: Final = 500

# The controller manager's client: 20 writes a second, 30 at once. Upstream: --kube-api-qps, -burst.
_WRITE_COST: Final = 50 * MILLISECOND
_WRITE_CREDIT: Final = 30 * _WRITE_COST

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

_PHASE_RANK: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


class ReplicaSetController(Controller):
    """Creates and deletes the pods of ReplicaSets."""

    AUTHOR: ClassVar[str] = "replicaset-controller"
    KIND: ClassVar[str] = "ReplicaSet"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._expectations = Expectations(context.loop)
        # What may still be written, in ns of waiting time, as of when; keys that wait for it.
        self._credit = _WRITE_CREDIT
        self._credit_at = context.loop.now
        self._waiting: dict[str, None] = {}
        # By key, the versions that its own writes of a status have made and that it has not seen.
        self._own: dict[str, list[str]] = {}
        self._listers.of(self.KIND).on_event(self._on_replica_set)
        # Without any, no pod is of interest.
        only_with = self._listers.of(self.KIND)
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    def await_creation(self, key: str) -> None:
        """See Controller."""
        self._expectations.expect(key, 1, [])

    # Watch events

    def _on_replica_set(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        if event.type == "DELETED":
            self._expectations.forget(new.key)
            self._own.pop(new.key, None)
        is_own = self._is_own(new)
        if old is None or not is_own or not only_status_changed(old, new):
            self._queue.add(new.key)

    def _is_own(self, replica_set: ApiObject) -> bool:
        """Whether a version is of its own write, which leaves nothing to do."""
        own = self._own.get(replica_set.key, [])
        if replica_set.resource_version not in own:
            return False
        # What was written before this version is not delivered any more.
        del own[: own.index(replica_set.resource_version) + 1]
        if not own:
            del self._own[replica_set.key]
        return True

    def _on_pod(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        owner = self._owner_of(new)
        if old is not None and controller_of(old) != controller_of(new):
            before = self._owner_of(old)
            if before is not None:
                self._queue.add(before.key)
        if owner is None:
            if event.type != "DELETED" and controller_of(new) is None:
                self._queue_selecting(self.KIND, new)
            return
        if event.type == "MODIFIED" and not _counts_otherwise(old, new):
            return
        if event.type == "ADDED":
            self._expectations.created(owner.key)
        if event.type == "DELETED" or new.deletion_timestamp:
            self._expectations.deleted(owner.key, new.key)
        self._queue.add(owner.key)
        self._requeue_when_available(owner, event)

    def _requeue_when_available(self, owner: ApiObject, event: WatchEvent) -> None:
        # A pod that has just become ready counts as available only after minReadySeconds.
        seconds = owner.spec.get("minReadySeconds") or 0
        new, old = event.new, event.old
        if not seconds or not isinstance(new, Pod) or not isinstance(old, Pod):
            return
        if event.type == "MODIFIED" and is_ready(new) and not is_ready(old):
            self._queue.add_after(owner.key, (seconds + 1) * SECOND)

    # What it does

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncReplicaSet()."""
        replica_set = self._listers.of(self.KIND).get(key)
        if replica_set is None or self._has_to_wait(key):
            return
        due = self._expectations.satisfied(key)
        claimed = self._claim_pods(replica_set, selector_of(replica_set))
        pods = [pod for pod in claimed if is_active(pod)]
        failure: tuple[str, str] | None = None
        if due and not replica_set.deletion_timestamp:
            failure = self._manage(replica_set, pods)
        status = self._status(replica_set, pods, failure)
        if status != {**replica_set.status, "replicas": replica_set.status.get("replicas", 0)}:
            self._credit -= _WRITE_COST
            written = self._write_status(replica_set, status)
            self._own.setdefault(key, []).append(written.resource_version)
        if failure is not None:
            raise ApiError(failure[1])
        if (
            status.get("readyReplicas")
            == replicas_of(replica_set)
            != status.get("availableReplicas")
        ):
            seconds = replica_set.spec.get("minReadySeconds") or 0
            self._queue.add_after(key, seconds * SECOND)

    def _has_to_wait(self, key: str) -> bool:
        """Whether status writes came so fast that this one has to wait for the client's limit."""
        now = self._loop.now
        self._credit = min(_WRITE_CREDIT, self._credit + now - self._credit_at)
        self._credit_at = now
        if self._credit >= _WRITE_COST:
            return False
        if key not in self._waiting:
            self._waiting[key] = None
            self._loop.call_after(_WRITE_COST - self._credit, self._resume, key)
        return True

    def _resume(self, key: str) -> None:
        del self._waiting[key]
        self._queue.add(key)

    def _manage(self, replica_set: ApiObject, pods: list[Pod]) -> tuple[str, str] | None:
        """Create what is missing or delete what is too much; returns (reason, why) of a failure.

        Upstream: manageReplicas().
        """
        missing = replicas_of(replica_set) - len(pods)
        if missing < 0:
            return self._remove(replica_set, pods, min(-missing, BURST_REPLICAS))
        burst = min(missing, BURST_REPLICAS)
        failure = self._create(replica_set, burst)
        self._store.limit.still_to_make(replica_set, missing - burst)
        return failure

    def _create(self, replica_set: ApiObject, count: int) -> tuple[str, str] | None:
        if not count:
            return None
        key, template = replica_set.key, part(replica_set.spec, "template")
        self._expectations.expect(key, count, [])
        made, batch = 0, 1
        # Slow start: were all of them refused, only one would have been tried.
        while made < count:
            refusal: ApiError | None = None
            size = min(batch, count - made)
            for _ in range(size):
                try:
                    self._create_pod(replica_set, template)
                except NamespaceTerminating:
                    self._expectations.created(key)
                except ApiError as error:
                    refusal = error
                    self._expectations.created(key)
                made += 1
            if refusal is not None:
                self._expectations.created(key, count - made)
                return "FailedCreate", str(refusal)
            batch *= 2
        return None

    def _remove(
        self, replica_set: ApiObject, pods: list[Pod], count: int
    ) -> tuple[str, str] | None:
        chosen = pods
        if count < len(pods):
            chosen = sorted(pods, key=Ranking(self, replica_set).key)[:count]
        self._expectations.expect(replica_set.key, 0, [pod.key for pod in chosen])
        refused = self._delete_pods(replica_set, chosen, self._expectations)
        return None if refused is None else ("FailedDelete", str(refused))

    def _status(
        self, replica_set: ApiObject, pods: list[Pod], failure: tuple[str, str] | None
    ) -> Manifest:
        """Upstream: replica_set_utils.go, calculateStatus()."""
        template = part(replica_set.spec, "template")
        wanted = part(template, "metadata", "labels")
        seconds = replica_set.spec.get("minReadySeconds") or 0
        ready = [pod for pod in pods if is_ready(pod)]
        status: Manifest = {
            **replica_set.status,
            "replicas": len(pods),
            "fullyLabeledReplicas": sum(wanted.items() <= pod.labels.items() for pod in pods),
            "readyReplicas": len(ready),
            "availableReplicas": sum(is_available(pod, seconds, self._loop.clock) for pod in ready)
            if seconds
            else len(ready),
            "observedGeneration": generation_of(replica_set),
        }
        conditions: list[Manifest] = [
            each
            for each in replica_set.status.get("conditions") or ()
            if each.get("type") != "ReplicaFailure"
        ]
        if failure is not None:
            conditions.append(self._failure_condition(replica_set, failure))
        status["conditions"] = conditions
        return lean(status, "replicas")

    def _failure_condition(self, replica_set: ApiObject, failure: tuple[str, str]) -> Manifest:
        for each in replica_set.status.get("conditions") or ():
            if each.get("type") == "ReplicaFailure":
                return each
        return {
            "type": "ReplicaFailure",
            "status": "True",
            "reason": failure[0],
            "message": failure[1],
            "lastTransitionTime": timestamp(self._loop.clock),
        }

    # What the ranking asks

    def related_on_node(self, replica_set: ApiObject) -> dict[str, int]:
        """Active pods per node, of all ReplicaSets that share this one's owner.

        Upstream: getIndirectlyRelatedPods().
        """
        ref = controller_of(replica_set)
        siblings = [replica_set]
        if ref is not None:
            siblings = [
                each
                for each in self._listers.of(self.KIND).with_controller(replica_set.namespace, ref)
                if (other := controller_of(each)) is not None
                and (other.get("uid"), other.get("name")) == (ref.get("uid"), ref.get("name"))
            ]
        counts: dict[str, int] = {}
        for sibling in siblings:
            for pod in self._listers.pods_controlled_by(sibling):
                if is_active(pod):
                    counts[pod.node_name] = counts.get(pod.node_name, 0) + 1
        return counts

    @property
    def clock(self) -> int:
        """What clocks show now, in nanoseconds since EPOCH."""
        return self._loop.clock

    @property
    def has_log_scale_down(self) -> bool:
        """Whether ages are compared by order of magnitude."""
        return self._rules.log_scale_down


class ReplicationManager(ReplicaSetController):
    """The same for ReplicationControllers, whose selector is a mapping of labels.

    Upstream: pkg/controller/replication, the ReplicaSet controller over converted objects.
    """

    AUTHOR: ClassVar[str] = "replication-controller"
    KIND: ClassVar[str] = "ReplicationController"


class Ranking:
    """The order in which surplus pods are deleted. Upstream: ActivePodsWithRanks.Less()."""

    __slots__ = ("_clock", "_log", "_on_node")

    def __init__(self, controller: ReplicaSetController, replica_set: ApiObject) -> None:
        self._on_node = controller.related_on_node(replica_set)
        self._clock = controller.clock
        self._log = controller.has_log_scale_down

    def key(self, pod: Pod) -> tuple[int | str, ...]:
        """The sort key: the smallest goes first.

        Without a node before with one, Pending before Running, not ready before ready, cheap before
        dear, crowded nodes before others, young before old.
        """
        ready = is_ready(pod)
        return (
            bool(pod.node_name),
            _PHASE_RANK.get(pod.phase, 0),
            ready,
            _deletion_cost(pod) if self._log else 0,
            -self._on_node.get(pod.node_name, 0),
            self._youth(ready_since(pod)) if ready else 0,
            -_restarts(pod),
            self._youth(time_of(pod.creation_timestamp)),
            pod.uid,
        )

    def _youth(self, at: int) -> int:
        """Smaller for what is younger; with log_scale_down only its order of magnitude counts."""
        if not self._log:
            return -at
        return max(1, (self._clock - at) // SECOND).bit_length()


def _counts_otherwise(old: ApiObject | None, new: ApiObject) -> bool:
    """Whether the change of a pod is one that its ReplicaSet counts; where it runs is not."""
    if not isinstance(old, Pod) or not isinstance(new, Pod):
        return True
    return (
        old.phase != new.phase
        or old.deletion_timestamp != new.deletion_timestamp
        or old.labels != new.labels
        or old.owner_references != new.owner_references
        or is_ready(old) != is_ready(new)
    )


def _deletion_cost(pod: Pod) -> int:
    text = pod.annotations.get(DELETION_COST) or "0"
    return int(text) if text.removeprefix("-").isdecimal() else 0


def _restarts(pod: Pod) -> int:
    statuses: list[Manifest] = pod.status.get("containerStatuses") or []
    return max((each.get("restartCount") or 0 for each in statuses), default=0)
