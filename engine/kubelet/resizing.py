"""Gives pods that run more, or less, of their node. Upstream: pkg/kubelet/allocation.

resized ──fits──▶ allocated (PodResizeInProgress) ──carried out──▶ done
   ├──too large for the node──▶ infeasible (PodResizePending)
   └──no room now──▶ deferred (PodResizePending) ──room, or three minutes──▶ tried again
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from engine.kernel.loop import Timer
from engine.kernel.units import SECOND, timestamp
from engine.kubelet.context import KubeletContext
from engine.kubelet.pod_admission import NodeResources
from engine.kubelet.pod_status import PodStatusWriter
from engine.kubelet.worker import Stage, Worker
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.pod_resources import NEWEST, ResourceRules, pod_resources
from engine.objects.pods.qos import GUARANTEED, qos_class
from engine.objects.values.quantity import parse
from engine.storage.ports import NORMAL, WARNING

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
DEFERRED: Final = "Deferred"
INFEASIBLE: Final = "Infeasible"
_FACTS: Final = {DEFERRED: "PodResizeDeferred", INFEASIBLE: "PodResizeInfeasible"}
# How long a deferred resize waits at most until it is tried again. Upstream: retryDelay.
RETRY_DELAY: Final = 180 * SECOND
RESIZABLE: Final = ("cpu", "memory")
_LISTS: Final = (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses"))


class PodResizer:
    """Decides for each node which of its pods' resizes are allocated, and carries them out.

    *resources_of* gives what the pods of a node take. With *announces* each step is a Kubernetes
    Event, else only the last one (before v1.35).
    """

    def __init__(
        self,
        context: KubeletContext,
        rules: ResourceRules,
        resources_of: Callable[[str], NodeResources],
        status: PodStatusWriter,
        *,
        announces: bool,
    ) -> None:
        self._context = context
        self._loop = context.loop
        self._rules = rules
        self._resources_of = resources_of
        self._status = status
        self._announces = announces
        # The workers whose resize waits for room, by node and uid, and when all of a node are retried.
        self._deferred: dict[str, dict[str, Worker]] = {}
        self._retries: dict[str, Timer] = {}

    def consider(self, worker: Worker) -> None:
        """The spec of the pod asks for other resources than it was given: try to give them."""
        self._deferred.setdefault(worker.node, {})[worker.pod.uid] = worker
        self.retry(worker.node)

    def take_over(self, worker: Worker) -> None:
        """A kubelet starts and finds the pod: it was given what its status says."""
        given = allocated_pod(worker.pod)
        if given is not worker.pod:
            worker.allocated = given
            self.consider(worker)
        elif is_under_way(worker.pod):
            self._carry_out(worker)

    def retry(self, node: str) -> None:
        """Try the resizes of *node* that wait, those first that upstream tries first."""
        waiting = self._deferred.get(node)
        if not waiting:
            return
        for worker in sorted(waiting.values(), key=_urgency):
            if self._loop.tried(self._settle, worker, key=worker.pod.key):
                waiting.pop(worker.pod.uid, None)
        self._set_retry(node)

    def room_freed(self, node: str) -> None:
        """A pod of *node* has ended: what waits there is tried once that is written."""
        if self._deferred.get(node):
            self._loop.call_after(0, self.retry, node)

    def forget(self, worker: Worker) -> None:
        """The pod ends: its resize is given up."""
        worker.cancel_resize()
        worker.allocated = None
        self._deferred.get(worker.node, {}).pop(worker.pod.uid, None)

    def kubelet_stopped(self, node: str) -> None:
        """The kubelet of *node* ends: what it had deferred, it finds in the pods' statuses again."""
        self._deferred.pop(node, None)
        timer = self._retries.pop(node, None)
        if timer is not None:
            timer.cancel()

    # Deciding

    def _settle(self, worker: Worker) -> bool:
        """Allocate the resize of one pod; False when it has to wait for room."""
        pod = worker.pod
        if worker.allocated is None or not is_resize_of(worker.allocated, pod):
            worker.allocated = None
            self._dropcondition_of(worker, PENDING)
            return True
        resources, node = self._resources_of(worker.node), self._node(worker)
        if node is None:
            return False
        lack = _lack_of_capacity(pod, node, self._rules)
        if lack:
            self._refuse(worker, INFEASIBLE, lack)
            return True
        refusal = resources.refusal(pod, node)
        if refusal is not None:
            self._refuse(worker, DEFERRED, refusal.message)
            return False
        self._allocate(worker, resources)
        return True

    def _node(self, worker: Worker) -> Node | None:
        found = self._context.store.find("Node", worker.node)
        return found if isinstance(found, Node) else None

    def _refuse(self, worker: Worker, reason: str, message: str) -> None:
        pod = worker.pod
        old = condition_of(pod, PENDING)
        generation = _generation(pod)
        same = old is not None and (old.get("reason"), old.get("message")) == (reason, message)
        if same and old is not None and old.get("observedGeneration") == generation:
            return
        if self._announces:
            text = _announcement(pod, f"Pod resize {reason}", message)
            self._context.emit(pod, WARNING, f"Resize{reason}", text)
        condition = {
            "type": PENDING,
            "status": "True",
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": self._since(old),
        }
        conditions = [*_without(pod, PENDING), condition]
        self._status.write(worker, {"conditions": conditions}, _FACTS[reason], message)

    def _since(self, old: Manifest | None) -> str:
        now = timestamp(self._loop.clock)
        return now if old is None else old.get("lastTransitionTime", now)

    def _allocate(self, worker: Worker, resources: NodeResources) -> None:
        pod = worker.pod
        worker.allocated = None
        # Until the resize is carried out, the pod takes the larger of what it has and what it gets.
        resources.take(pod)
        if self._announces:
            started = _announcement(pod, "Pod resize started")
            self._context.emit(pod, NORMAL, "ResizeStarted", started)
        if worker.stage is not Stage.RUNNING:
            # The containers start with it.
            self._dropcondition_of(worker, PENDING)
            return
        condition = {
            "type": IN_PROGRESS,
            "status": "True",
            "observedGeneration": _generation(pod),
            "lastTransitionTime": timestamp(self._loop.clock),
        }
        status: Manifest = {
            "conditions": [*_without(pod, PENDING, IN_PROGRESS), condition],
            **_statuses(pod, _with_allocation),
        }
        self._status.write(worker, status, "PodResizeStarted", "the kubelet has room for it")
        self._carry_out(worker)

    # Carrying out

    def _carry_out(self, worker: Worker) -> None:
        worker.cancel_resize()
        draw = self._context.latencies.draw
        delay = draw("container_resize")
        if any(_restarts(*pair) for pair in _pairs(worker.pod)):
            delay += draw("container_start")
        worker.resizing = self._loop.call_after(delay, self._done, worker)

    def _done(self, worker: Worker) -> None:
        worker.resizing = None
        pod = worker.pod if worker.allocated is None else worker.allocated
        status: Manifest = {
            "conditions": _without(worker.pod, IN_PROGRESS),
            **_statuses(pod, _with_actual),
        }
        message = "its containers have the new resources"
        self._status.write(worker, status, "PodResizeCompleted", message)
        completed = _announcement(pod, "Pod resize completed")
        self._context.emit(worker.pod, NORMAL, "ResizeCompleted", completed)
        if worker.allocated is None:
            self._resources_of(worker.node).take(worker.pod)
        self.retry(worker.node)

    # Waiting

    def _set_retry(self, node: str) -> None:
        timer = self._retries.pop(node, None)
        if timer is not None:
            timer.cancel()
        if self._deferred.get(node):
            self._retries[node] = self._loop.call_after(RETRY_DELAY, self.retry, node)

    def _dropcondition_of(self, worker: Worker, kind: str) -> None:
        if condition_of(worker.pod, kind) is None:
            return
        status: Manifest = {"conditions": _without(worker.pod, kind)}
        self._status.write(worker, status, "PodResizeWithdrawn", "its spec asks for what it has")


def allocated_pod(pod: Pod) -> Pod:
    """*pod* with the resources that its kubelet has given to it, according to its status.

    It is the same object when these are those of its spec. Upstream: UpdatePodFromAllocation(),
    whose checkpoint says what a status says here.
    """
    spec = dict(pod.spec)
    for name, statuses in _LISTS:
        given = {each.get("name"): each for each in items(pod.status, statuses)}
        if any("allocatedResources" in each for each in given.values()):
            spec[name] = [
                _as_given(each, given.get(each.get("name"), {})) for each in items(pod.spec, name)
            ]
    given_pod = Pod({**pod.raw, "spec": spec})
    return given_pod if is_resize_of(given_pod, pod) else pod


def is_resize_of(old: Pod, new: Pod) -> bool:
    """Whether the containers of *new* ask for other cpu or memory than those of *old*."""
    if old.spec is new.spec:
        return False
    return _amounts(old.spec) != _amounts(new.spec)


def is_under_way(pod: Pod) -> bool:
    """Whether a resize of the pod was allocated, and is being carried out."""
    return condition_of(pod, IN_PROGRESS) is not None


def with_reported_resources(pod: Pod, statuses: list[Manifest]) -> list[Manifest]:
    """*statuses* of containers that start, with what they are given of the resources of *pod*."""
    by_name = {each.get("name"): each for each in items(pod.spec, "containers")}
    return [_with_actual(by_name[each["name"]], each) for each in statuses]


def _lack_of_capacity(pod: Pod, node: Node, rules: ResourceRules) -> str:
    """What the node will never be able to give. Upstream: canResizePod()."""
    requests = pod_resources(pod.raw, rules).fit
    for name in reversed(RESIZABLE):
        capacity = node.allocatable_units.get(name, 0)
        if requests.get(name) > capacity:
            return (
                f"Node didn't have enough capacity: {name}, requested: {requests.get(name)}, "
                f"capacity: {capacity}"
            )
    return ""


def _urgency(worker: Worker) -> tuple[bool, int, bool, str, str]:
    """Upstream: sortPendingResizes()."""
    pod = worker.pod
    old = condition_of(pod, PENDING)
    # A resize that was not tried yet comes after those that have waited.
    since = "~" if old is None else old.get("lastTransitionTime", "")
    return (
        _asks_for_more(worker),
        -pod.priority,
        qos_class(pod.spec) != GUARANTEED,
        since,
        pod.uid,
    )


def _asks_for_more(worker: Worker) -> bool:
    if worker.allocated is None:
        return False
    old = pod_resources({"spec": worker.allocated.spec}, NEWEST).fit
    new = pod_resources({"spec": worker.pod.spec}, NEWEST).fit
    return any(new.get(name) > old.get(name) for name in RESIZABLE)


def _amounts(spec: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """cpu and memory of everything in *spec* that has resources, requests before limits; -1: none."""
    holders = [spec, *items(spec, "containers"), *items(spec, "initContainers")]
    return [
        tuple(
            parse(amounts[name]).nanos if name in amounts else -1
            for kind in ("requests", "limits")
            for amounts in (section(holder, "resources", kind),)
            for name in RESIZABLE
        )
        for holder in holders
    ]


def _pairs(pod: Pod) -> list[tuple[Manifest, Manifest]]:
    """Each container that has a status, with that status."""
    found: list[tuple[Manifest, Manifest]] = []
    for name, statuses in _LISTS:
        by_name = {each.get("name"): each for each in items(pod.status, statuses)}
        for container in items(pod.spec, name):
            if container.get("name") in by_name:
                found.append((container, by_name[container.get("name")]))
    return found


def _statuses(pod: Pod, change: Callable[[Manifest, Manifest], Manifest]) -> Manifest:
    """The lists of container statuses after *change* of each container's."""
    changed: Manifest = {}
    for name, statuses in _LISTS:
        if statuses in pod.status:
            containers = {each.get("name"): each for each in items(pod.spec, name)}
            changed[statuses] = [
                change(containers.get(each.get("name"), {}), each)
                for each in items(pod.status, statuses)
            ]
    return changed


def _with_allocation(container: Manifest, status: Manifest) -> Manifest:
    requests = section(container, "resources", "requests")
    return {**status, "allocatedResources": requests} if requests else status


def _with_actual(container: Manifest, status: Manifest) -> Manifest:
    resources = section(container, "resources")
    if not resources:
        return status
    restarted = {"restartCount": status.get("restartCount", 0) + 1}
    more = restarted if _restarts(container, status) else {}
    return {**_with_allocation(container, status), "resources": resources, **more}


def _restarts(container: Manifest, status: Manifest) -> bool:
    """Whether a changed resource of the container has the resize policy RestartContainer."""
    if "resources" not in status:
        return False
    policies = {
        each.get("resourceName")
        for each in items(container, "resizePolicy")
        if each.get("restartPolicy") == "RestartContainer"
    }
    return any(
        name in policies
        for kind in ("requests", "limits")
        for name in RESIZABLE
        if section(container, "resources", kind).get(name)
        != section(status, "resources", kind).get(name)
    )


def _as_given(container: Manifest, status: Manifest) -> Manifest:
    if "allocatedResources" not in status:
        return container
    resources = {**section(container, "resources"), "requests": status["allocatedResources"]}
    limits = section(status, "resources").get("limits")
    if limits is not None:
        resources["limits"] = limits
    return {**container, "resources": resources}


def condition_of(pod: Pod, kind: str) -> Manifest | None:
    """The pod's condition of a type, or None."""
    return next(
        (each for each in items(pod.status, "conditions") if each.get("type") == kind), None
    )


def _without(pod: Pod, *kinds: str) -> list[Manifest]:
    return [each for each in items(pod.status, "conditions") if each.get("type") not in kinds]


def _generation(pod: Pod) -> int:
    return pod.metadata.get("generation") or 1


def _announcement(pod: Pod, what: str, error: str = "") -> str:
    """The message of an Event about a resize. Upstream: pkg/kubelet/events/pod_resize.go."""
    summary: Manifest = {}
    for name, _ in reversed(_LISTS):
        if pod.spec.get(name):
            summary[name] = [
                {"name": each.get("name", ""), "resources": section(each, "resources")}
                for each in items(pod.spec, name)
            ]
    summary["generation"] = _generation(pod)
    if error:
        summary["error"] = error
    # Go sorts the keys of maps, and escapes as JSON for HTML does.
    text = json.dumps(_in_go_order(summary), separators=(",", ":"), ensure_ascii=False)
    for character, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, code)
    return f"{what}: {text}"


def _in_go_order(summary: Manifest) -> Manifest:
    """*summary* with limits before requests, and resources by name."""
    for name, _ in _LISTS:
        for each in summary.get(name, ()):
            resources = each["resources"]
            each["resources"] = {
                kind: dict(sorted(resources[kind].items()))
                for kind in ("limits", "requests")
                if resources.get(kind)
            }
    return summary
