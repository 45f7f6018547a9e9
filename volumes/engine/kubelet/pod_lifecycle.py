"""The life of a pod on its node, from bound to gone, for every kubelet of the cluster.

    bound ──admitted──▶ preparing ──volumes mounted──▶ starting ──▶ running ──▶ finished
      └──refused──▶ finished (Failed)    └────────── deleted ──────────┴──▶ stopping ──▶ unmounting
                                                                                └──▶ gone

One actor serves all nodes: a node on which nothing happens costs nothing.
Upstream: pkg/kubelet/kubelet.go (HandlePodAdditions, syncPod), pkg/kubelet/status/status_manager.go.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, cast

from kscope.sim.api_server.store import ObjectStore, WatchEvent
from kscope.sim.errors import ApiError
from kscope.sim.input.scenario import parse_duration
from kscope.sim.kernel.loop import EventLoop, Timer
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.units import SECOND, timestamp
from kscope.sim.objects.objects import ApiObject, Manifest, Node, Pod
from kscope.sim.objects.pod_resources import ResourceRules, may_resize, newest_rules
from kscope.sim.objects.unmodelled import KSCOPE, NOT_MODELLED_FACT, unmodelled_devices
from volumes.engine.kubelet.admission import NodeResources, Rejection
from volumes.engine.kubelet.volume_manager import VolumeManagers
from volumes.engine.plugins.latencies import Latencies
from volumes.engine.ports import WARNING, EventSink

COMPONENT: Final = "kubelet"

# How long the containers of a pod run before they end by themselves ("10s"), and with what code.
RUN_FOR_ANNOTATION: Final = "kscope.dev/run-for"
EXIT_CODE_ANNOTATION: Final = "kscope.dev/exit-code"


# What a kubelet posts of a node that is well.
_HEALTHY: Final[Mapping[str, Manifest]] = {
    "MemoryPressure": {
        "status": "False",
        "reason": "KubeletHasSufficientMemory",
        "message": "kubelet has sufficient memory available",
    },
    "DiskPressure": {
        "status": "False",
        "reason": "KubeletHasNoDiskPressure",
        "message": "kubelet has no disk pressure",
    },
    "PIDPressure": {
        "status": "False",
        "reason": "KubeletHasSufficientPID",
        "message": "kubelet has sufficient PID available",
    },
    "Ready": {
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    },
}


# The same for the condition that nodes had until v1.12; posted where a node has it.
_OUT_OF_DISK: Final[Mapping[str, Manifest]] = {
    "OutOfDisk": {
        "status": "False",
        "reason": "KubeletHasSufficientDisk",
        "message": "kubelet has sufficient disk space available",
    },
}

# How soon a refused status is sent again. Upstream: status_manager.go, syncPeriod.
_SYNC_BATCH: Final = 10 * SECOND


class Stage(Enum):
    """Where a pod's worker stands."""

    PREPARING = "preparing"
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPING = "stopping"
    UNMOUNTING = "unmounting"


class Worker:
    """What a kubelet knows of one pod on its node. Upstream: pod_workers.go."""

    __slots__ = ("deadline", "holds", "node", "pod", "sending", "stage", "timer", "unsent")

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.node = pod.node_name
        self.stage = Stage.PREPARING
        self.timer: Timer | None = None
        self.deadline: Timer | None = None
        # The status that the API server has refused, and when it is sent again.
        self.unsent: Manifest = {}
        self.sending: Timer | None = None
        self.holds = False

    @property
    def has_running_containers(self) -> bool:
        """Whether its containers may still be using its volumes."""
        return self.stage in (Stage.STARTING, Stage.RUNNING, Stage.STOPPING)

    def die(self) -> None:
        """Its kubelet is no more, and with it what it had still to say."""
        self.cancel_timers()
        if self.sending is not None:
            self.sending.cancel()

    def cancel_timers(self) -> None:
        """Forget what was going to happen to it."""
        for timer in (self.timer, self.deadline):
            if timer is not None:
                timer.cancel()
        self.timer = self.deadline = None


class Kubelets:
    """All kubelets: admits, starts, ends and removes pods, each write in the name of "kubelet".

    *watch_latency* is how long after a write the kubelets hear of it. Without *events* the warnings
    that kubelets emit are left out. *rules* are those of the version that the kubelets have, by
    default the newest.
    """

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        *,
        events: EventSink | None = None,
        watch_latency: int = 0,
        volumes: VolumeManagers | None = None,
        rules: ResourceRules | None = None,
    ) -> None:
        self._loop = loop
        self._rules = rules or newest_rules()
        self._store = store
        self._recorder = recorder
        self._latencies = latencies
        self._events = events
        self.workers: dict[str, Worker] = {}
        self._by_node: dict[str, dict[str, Worker]] = {}
        self._resources: dict[str, NodeResources] = {}
        self._nodes: dict[str, Node] = {}
        self._orphans: dict[str, dict[str, Pod]] = {}
        self._down: dict[str, None] = {}
        # Of these the nodes without power.
        self._off: dict[str, None] = {}
        self.volumes = volumes or VolumeManagers(
            loop, store, recorder, latencies, events=events, watch_latency=watch_latency
        )
        self.volumes.connect(self)
        store.watch("Node", self.observe_node, watch_latency)
        store.watch("Pod", self.observe_pod, watch_latency)

    # What the kubelets hear

    def observe_node(self, event: WatchEvent) -> None:
        """Take a watch event of a node."""
        node = cast("Node", event.new)
        if event.type == "DELETED":
            self._nodes.pop(node.name, None)
            self._machine_gone(node.name)
            self.volumes.node_gone(node.name)
            return
        self._nodes[node.name] = node
        if event.type == "ADDED":
            for pod in self._orphans.pop(node.name, {}).values():
                self._add(pod)
        self.volumes.node_changed(node)

    def observe_pod(self, event: WatchEvent) -> None:
        """Take a watch event of a pod."""
        pod = event.new
        if not isinstance(pod, Pod) or not pod.node_name:
            return
        node = pod.node_name
        uid = pod.uid
        worker = self.workers.get(uid)
        if event.type == "DELETED":
            self._forget_orphan(node, uid)
            if worker is not None:
                self._removed(worker, pod)
        elif node not in self._nodes or node in self._down:
            if worker is None:
                self._orphans.setdefault(node, {})[uid] = pod
            else:
                worker.pod = pod
        elif worker is None:
            self._add(pod)
        else:
            worker.pod = pod
            if worker.holds and _may_be_resized(event.old, pod):
                self._resources[worker.node].take(pod)
            self._changed(worker, event.old)

    # Faults

    def stop_kubelet(self, node: str) -> None:
        """The kubelet of *node* dies: nothing it has begun is finished, its containers run on."""
        self._down[node] = None
        for worker in self._by_node.get(node, {}).values():
            worker.die()
        self.volumes.kubelet_stopped(node)

    def start_kubelet(self, node: str) -> None:
        """The kubelet of *node* starts with empty caches and takes over what it finds there."""
        self._down.pop(node, None)
        running = self._by_node.pop(node, {})
        self._resources.pop(node, None)
        for uid, worker in running.items():
            # Started anew without having been stopped, it does not go on with what it had begun.
            worker.die()
            del self.workers[uid]
        # Mounts are found on disk before any pod is synced.
        self.volumes.kubelet_started(node)
        self._orphans.pop(node, None)
        for found in self._store.objects("Pod"):
            pod = cast("Pod", found)
            if pod.node_name == node and node in self._nodes:
                self._add(pod, running.get(pod.uid))

    def is_off(self, node: str) -> bool:
        """Whether *node* has no power."""
        return node in self._off

    def stop_machine(self, node: str) -> None:
        """*node* loses its power: nothing runs there any more, and nothing is mounted."""
        self._machine_gone(node)
        self.volumes.node_gone(node)
        self._down[node] = self._off[node] = None

    def start_machine(self, node: str) -> None:
        """*node* has power again: its kubelet reports, and starts the pods of the node anew."""
        self.start_kubelet(node)
        self._off.pop(node, None)
        self._report(node)

    def _report(self, node: str) -> None:
        """The first status after a boot. Upstream: pkg/kubelet/nodestatus/setters.go."""
        found = self._store.find("Node", node)
        if found is None or node in self._down:
            return
        now = timestamp(self._loop.now)
        conditions: list[Manifest] = found.status.get("conditions") or []
        has_old = any(each.get("type") in _OUT_OF_DISK for each in conditions)
        healthy = {**_OUT_OF_DISK, **_HEALTHY} if has_old else _HEALTHY
        others = [each for each in conditions if each.get("type") not in healthy]
        posted = [
            {"type": kind, "lastTransitionTime": now, **said} for kind, said in healthy.items()
        ]
        in_use = self.volumes.in_use(node) or None
        status = {"conditions": [*others, *posted], "volumesInUse": in_use}
        try:
            self._store.patch(
                "Node",
                node,
                {"status": status},
                by=COMPONENT,
                event="NodeStatusReported",
                message="kubelet is posting ready status",
            )
        except ApiError:
            self._loop.call_after(_SYNC_BATCH, self._report, node)

    # Callbacks of the volume managers

    def volumes_mounted(self, uid: str) -> None:
        """Every volume of the pod is mounted: its containers can start."""
        worker = self.workers.get(uid)
        if worker is not None and worker.stage is Stage.PREPARING:
            self._start(worker)

    def volumes_unmounted(self, uid: str) -> None:
        """No volume of the pod is mounted any more: a deleted pod can go."""
        worker = self.workers.get(uid)
        if worker is not None and worker.stage is Stage.UNMOUNTING:
            self._delete(worker)

    def has_running_containers(self, uid: str) -> bool:
        """Whether containers of the pod still run."""
        worker = self.workers.get(uid)
        return worker is not None and worker.has_running_containers

    # Beginning

    def _add(self, pod: Pod, before: Worker | None = None) -> None:
        uid = pod.uid
        worker = self.workers[uid] = Worker(pod)
        self._by_node.setdefault(worker.node, {})[uid] = worker
        if pod.is_terminated:
            worker.stage = Stage.FINISHED
            self._deletion(worker)
            return
        resources = self._resources.get(worker.node)
        if resources is None:
            resources = self._resources[worker.node] = NodeResources(self._rules)
        if pod.phase == "Running" and worker.node not in self._off:
            self._take_over(worker, resources, before)
            return
        if pod.deletion_timestamp:
            self._unmount(worker)
            return
        if pod.phase == "Running" and pod.spec.get("restartPolicy") == "Never":
            # Its containers are not there any more, and what became of them is not known.
            self._finished(worker, {"phase": "Failed"}, 137, "PodFailed")
            return
        need = unmodelled_devices(pod)
        if need:
            self._recorder.record(NOT_MODELLED_FACT, pod.id, KSCOPE, need)
            return
        refusal = resources.admit(pod, self._nodes[worker.node])
        if refusal is not None:
            self._refuse(worker, refusal)
            return
        worker.holds = True
        if pod.volumes:
            self.volumes.add_pod(pod)
        else:
            self._start(worker)

    def _take_over(self, worker: Worker, resources: NodeResources, before: Worker | None) -> None:
        if before is not None and before.stage is Stage.UNMOUNTING:
            # Its containers had ended before the kubelet died.
            self._unmount(worker)
            return
        # Its containers run already, before the run began or while the kubelet was away.
        resources.take(worker.pod)
        worker.holds = True
        worker.stage = Stage.RUNNING
        if worker.pod.volumes:
            self.volumes.adopt_pod(worker.pod, mounted=before is None)
        self._set_end(worker)
        self._deletion(worker)

    def _refuse(self, worker: Worker, refusal: Rejection) -> None:
        # Upstream: kubelet.rejectPod.
        worker.stage = Stage.FINISHED
        if self._events is not None:
            self._events.event(worker.pod, WARNING, refusal.reason, refusal.message)
        self._write(
            worker,
            {
                "phase": "Failed",
                "reason": refusal.reason,
                "message": f"Pod {refusal.message}",
                "startTime": timestamp(self._loop.now),
            },
            "PodRejected",
            refusal.message,
        )

    def _start(self, worker: Worker) -> None:
        worker.stage = Stage.STARTING
        draw = self._latencies.draw
        worker.timer = self._loop.call_after(
            draw("image_pull") + draw("container_start"), self._started, worker
        )

    def _started(self, worker: Worker) -> None:
        worker.timer = None
        worker.stage = Stage.RUNNING
        now = timestamp(self._loop.now)
        self._write(
            worker,
            {
                "phase": "Running",
                "conditions": _running_conditions(worker.pod, now),
                "startTime": now,
                "containerStatuses": _container_statuses(
                    worker.pod, {"running": {"startedAt": now}}
                ),
            },
            "PodRunning",
            f"runs on {worker.node}",
        )
        self._set_end(worker)

    def _set_end(self, worker: Worker) -> None:
        pod = worker.pod
        run_for = _run_for(pod)
        if run_for is None and pod.spec.get("restartPolicy") == "Never":
            run_for = self._latencies.draw("run") or None
        if run_for is not None:
            worker.timer = self._loop.call_after(run_for, self._finish, worker)
        limit = pod.spec.get("activeDeadlineSeconds")
        if limit is not None:
            worker.deadline = self._loop.call_after(limit * SECOND, self._exceed, worker)

    # Ending

    def _finish(self, worker: Worker) -> None:
        code = _exit_code(worker.pod)
        if code and worker.pod.spec.get("restartPolicy") == "OnFailure":
            # The container is started again and fails again, and so on: nothing changes.
            return
        phase = "Failed" if code else "Succeeded"
        self._finished(worker, {"phase": phase}, code, f"Pod{phase}")

    def _exceed(self, worker: Worker) -> None:
        # Upstream: pkg/kubelet/active_deadline.go.
        reason, message = (
            "DeadlineExceeded",
            "Pod was active on the node longer than the specified deadline",
        )
        if self._events is not None:
            self._events.event(worker.pod, "Normal", reason, message)
        self._finished(
            worker, {"phase": "Failed", "reason": reason, "message": message}, 137, "PodFailed"
        )

    def _finished(self, worker: Worker, status: Manifest, code: int, event: str) -> None:
        worker.cancel_timers()
        worker.stage = Stage.FINISHED
        self._release(worker)
        now = timestamp(self._loop.now)
        ended = {
            "terminated": {
                "exitCode": code,
                "finishedAt": now,
                "reason": "Error" if code else "Completed",
            }
        }
        status["conditions"] = _finished_conditions(worker.pod, now)
        status["containerStatuses"] = _container_statuses(worker.pod, ended)
        self._write(worker, status, event, f"its containers ended with exit code {code}")
        if worker.pod.volumes:
            self.volumes.pod_terminated(worker.pod)

    def _changed(self, worker: Worker, old: ApiObject | None) -> None:
        if worker.pod.deletion_timestamp:
            self._deletion(worker)
        elif worker.pod.volumes and (old is None or old.raw.get("spec") is not worker.pod.spec):
            self.volumes.reprocess_pod(worker.pod)

    def _deletion(self, worker: Worker) -> None:
        pod = worker.pod
        if not pod.deletion_timestamp or worker.stage in (Stage.STOPPING, Stage.UNMOUNTING):
            return
        running = worker.stage in (Stage.STARTING, Stage.RUNNING)
        worker.cancel_timers()
        if not running:
            self._unmount(worker)
            return
        worker.stage = Stage.STOPPING
        grace = max(0, pod.metadata.get("deletionGracePeriodSeconds") or 0)
        delay = min(self._latencies.draw("stop"), grace * SECOND)
        worker.timer = self._loop.call_after(delay, self._unmount, worker)

    def _unmount(self, worker: Worker) -> None:
        worker.timer = None
        worker.stage = Stage.UNMOUNTING
        self._release(worker)
        if not worker.pod.volumes or self.volumes.stop_pod(worker.pod):
            self._delete(worker)

    def _delete(self, worker: Worker) -> None:
        # Upstream: status_manager.syncPod deletes once PodResourcesAreReclaimed.
        if not self._is_stored(worker):
            return
        try:
            self._store.delete("Pod", worker.pod.key, by=COMPONENT, event="PodDeleted")
        except ApiError:
            worker.timer = self._loop.call_after(_SYNC_BATCH, self._delete, worker)

    def _removed(self, worker: Worker, pod: Pod) -> None:
        """The pod object is gone; by the kubelet's own delete or by force."""
        self._forget(worker)
        if pod.volumes:
            worker.pod = pod
            self.volumes.forget_pod(pod)

    def _machine_gone(self, node: str) -> None:
        for uid, worker in self._by_node.pop(node, {}).items():
            worker.die()
            del self.workers[uid]
            self._orphans.setdefault(node, {})[uid] = worker.pod
        self._resources.pop(node, None)
        self._down.pop(node, None)
        self._off.pop(node, None)

    # Inside

    def _forget(self, worker: Worker) -> None:
        worker.die()
        self._release(worker)
        uid = worker.pod.uid
        del self.workers[uid]
        del self._by_node[worker.node][uid]

    def _forget_orphan(self, node: str, uid: str) -> None:
        waiting = self._orphans.get(node)
        if waiting is not None:
            waiting.pop(uid, None)
            if not waiting:
                del self._orphans[node]

    def _release(self, worker: Worker) -> None:
        if worker.holds:
            worker.holds = False
            self._resources[worker.node].release(worker.pod.uid)

    def _write(self, worker: Worker, status: Manifest, event: str, message: str) -> None:
        if not self._is_stored(worker):
            return
        worker.unsent = {**worker.unsent, **status}
        if worker.sending is not None:
            worker.sending.cancel()
            worker.sending = None
        try:
            written = self._store.patch(
                "Pod",
                worker.pod.key,
                {"status": worker.unsent},
                by=COMPONENT,
                event=event,
                message=message,
            )
        except ApiError:
            # Upstream: syncBatch() sends every 10 s what has not been sent.
            nothing_new: Manifest = {}
            worker.sending = self._loop.call_after(
                _SYNC_BATCH, self._write, worker, nothing_new, event, message
            )
            return
        worker.unsent = {}
        worker.pod = cast("Pod", written)

    def _is_stored(self, worker: Worker) -> bool:
        """Whether the API server still has this very pod, and not another one of its name."""
        stored = self._store.find("Pod", worker.pod.key)
        return stored is not None and stored.uid == worker.pod.uid


def _run_for(pod: Pod) -> int | None:
    """How long its containers run, in ns; None for as long as they are let, or if misspelt."""
    text = pod.annotations.get(RUN_FOR_ANNOTATION)
    if not text or pod.spec.get("restartPolicy", "Always") == "Always":
        return None
    try:
        return parse_duration(text)
    except ValueError:
        return None


def _exit_code(pod: Pod) -> int:
    text = pod.annotations.get(EXIT_CODE_ANNOTATION, "0")
    return int(text) if text.isdecimal() else 1


def _condition(kind: str, status: str, now: str, reason: str = "") -> Manifest:
    made = {"type": kind, "status": status, "lastTransitionTime": now}
    return {**made, "reason": reason} if reason else made


def _scheduled_condition(pod: Pod, now: str) -> Manifest:
    for condition in cast("list[Manifest]", pod.status.get("conditions") or ()):
        if condition["type"] == "PodScheduled":
            return condition
    return _condition("PodScheduled", "True", now)


def _running_conditions(pod: Pod, now: str) -> list[Manifest]:
    return [
        _condition("Initialized", "True", now),
        _condition("Ready", "True", now),
        _condition("ContainersReady", "True", now),
        _scheduled_condition(pod, now),
    ]


def _finished_conditions(pod: Pod, now: str) -> list[Manifest]:
    return [
        _condition("Initialized", "True", now, "PodCompleted"),
        _condition("Ready", "False", now, "PodCompleted"),
        _condition("ContainersReady", "False", now, "PodCompleted"),
        _scheduled_condition(pod, now),
    ]


def _container_statuses(pod: Pod, state: Manifest) -> list[Manifest]:
    running = "running" in state
    return [
        {
            "name": container.get("name", ""),
            "image": container.get("image", ""),
            "ready": running,
            "started": running,
            "restartCount": 0,
            "state": state,
        }
        for container in pod.containers
    ]


def _may_be_resized(old: ApiObject | None, new: Pod) -> bool:
    """Whether the pod may take more or less of its node than it did before."""
    return not isinstance(old, Pod) or old.template is not new.template or may_resize(new.status)
