"""The life of a pod on its node, from admission to deletion, for every kubelet of the cluster.

Upstream: pkg/kubelet/kubelet.go (HandlePodAdditions, syncPod), pkg/kubelet/pod_workers.go.
"""

from collections import defaultdict
from functools import partial
from typing import Final

from engine.kernel.units import SECOND, nanoseconds_of, timestamp
from engine.kubelet.containers.player import ContainerPlayer
from engine.kubelet.context import KubeletContext
from engine.kubelet.csi_node_updater import update_limits
from engine.kubelet.device_preparation import DevicePreparation
from engine.kubelet.networks import NodeNetworks
from engine.kubelet.own_ends import exit_code, runs_for
from engine.kubelet.pod_admission import NodeResources, Rejection
from engine.kubelet.pod_status import (
    CONFIG_ERROR,
    SYNC_PERIOD,
    PodStatusWriter,
    container_statuses,
    ended_status,
    observed_failure,
    running_conditions,
    told_failure,
)
from engine.kubelet.resizing import PodResizer, is_resize_of, with_reported_resources
from engine.kubelet.volume_manager.all_nodes import VolumeManagers
from engine.kubelet.volume_manager.state import VolumeManagerOptions
from engine.kubelet.worker import Stage, Worker
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.pods.pod_resources import ResourceRules, may_resize
from engine.objects.unmodelled import KSCOPE, NOT_MODELLED_FACT, unmodelled_devices
from engine.storage.ports import NORMAL, WARNING

# Upstream: pkg/kubelet/errors.go, NetworkNotReadyErrorMsg.
NETWORK_NOT_READY: Final = "network is not ready"
# Upstream: pkg/kubelet/active_deadline.go.
EXCEEDED: Final = {
    "reason": "DeadlineExceeded",
    "message": "Pod was active on the node longer than the specified deadline",
}
# Upstream: pkg/kubelet/volumemanager, VolumeAttachmentLimitExceededReason.
OVER_LIMIT: Final = "VolumeAttachmentLimitExceeded"


class PodWorkers:
    """Admits, starts, ends and removes pods; has a worker for each pod of a running kubelet."""

    def __init__(
        self,
        context: KubeletContext,
        rules: ResourceRules,
        options: VolumeManagerOptions,
        *,
        announces_resizes: bool,
    ) -> None:
        """*rules*: how the kubelets' version counts resources."""
        self._context = context
        self._loop = context.loop
        self._status = PodStatusWriter(context.loop, context.store)
        self._player = ContainerPlayer(context, self._status, self._containers_ended)
        self.volumes = VolumeManagers(context, self, options)
        self.devices = DevicePreparation(context)
        # By uid of the pod, of all nodes; and by node.
        self.workers: dict[str, Worker] = {}
        self._by_node: dict[str, dict[str, Worker]] = {}
        resources = partial(NodeResources, rules, context.container_rules)
        self._resources = defaultdict[str, NodeResources](resources)
        self._networks = NodeNetworks()
        # The uids of the pods of which no failure counts that their files show.
        self._healed: dict[str, None] = {}
        # What Events of the files tell of pods, by their keys.
        self._told = context.outside.failures()
        self._resizer = PodResizer(
            context, rules, self._resources_of, self._status, announces=announces_resizes
        )

    # Pods

    def add(self, pod: Pod, node: Node, *, before: Worker | None = None) -> None:
        """A pod that is bound to *node*; *before* is its worker in the kubelet that has ended."""
        worker = self._new_worker(pod)
        if pod.is_terminated:
            worker.stage = Stage.FINISHED
            self._deletion(worker)
        elif pod.phase == "Running":
            self._take_over(worker, before)
        elif pod.deletion_timestamp:
            self._unmount(worker)
        else:
            self._admit(worker, node)

    def add_after_boot(self, pod: Pod, node: Node) -> None:
        """A pod of a machine that was off: its containers do not run any more."""
        self._player.forget(pod.uid)
        worker = self._new_worker(pod)
        if pod.is_terminated:
            worker.stage = Stage.FINISHED
            self._deletion(worker)
        elif pod.deletion_timestamp:
            self._unmount(worker)
        elif pod.phase == "Running" and pod.spec.get("restartPolicy") == "Never":
            # The fate of its containers is not known.
            self._finished(worker, {"phase": "Failed"}, 137, "PodFailed")
        else:
            self._admit(worker, node)

    def update(self, worker: Worker, old: ApiObject | None, pod: Pod) -> None:
        """The pod object was written."""
        worker.pod = pod
        if worker.holds and _may_be_resized(old, pod):
            self._resize(worker, old, pod)
        self._player.pod_changed(worker, old)
        if pod.deletion_timestamp:
            self._deletion(worker)
        elif old is None or old.raw.get("spec") is not pod.spec:
            if pod.volumes:
                self.volumes.reprocess_pod(pod)
            if worker.stage is Stage.RUNNING and _deadline_differs(old, pod):
                self._set_deadline(worker)

    def _resize(self, worker: Worker, old: ApiObject | None, pod: Pod) -> None:
        """The pod may ask for more or less than it did: it gets that only when there is room."""
        if worker.allocated is None and isinstance(old, Pod) and is_resize_of(old, pod):
            worker.allocated = old
        if worker.allocated is None:
            self._resources[worker.node].take(pod)
        else:
            self._resizer.consider(worker)

    def remove(self, worker: Worker, pod: Pod) -> None:
        """The pod object is gone, by the kubelet's own delete or by force."""
        worker.die()
        self._release(worker)
        uid = worker.pod.uid
        self._player.forget(uid)
        del self.workers[uid]
        del self._by_node[worker.node][uid]
        if pod.volumes:
            worker.pod = pod
            self.volumes.forget_pod(pod)

    # Kubelets and machines

    def kubelet_stopped(self, node: str) -> None:
        """The kubelet of *node* ends: nothing it has begun is finished."""
        self._resizer.kubelet_stopped(node)
        for uid, worker in self._by_node.get(node, {}).items():
            worker.die()
            self._player.pause(uid)

    def take_workers(self, node: str) -> dict[str, Worker]:
        """The workers of *node*, by uid of the pod; from now on there are none."""
        taken = self._by_node.pop(node, {})
        self._resources.pop(node, None)
        self._resizer.kubelet_stopped(node)
        for uid, worker in taken.items():
            worker.die()
            self._player.pause(uid)
            del self.workers[uid]
        return taken

    def network_is(self, node: str, problem: str) -> None:
        """The network of *node* has a *problem*, or "": then the pods that wait for it start."""
        for worker in self._networks.set(node, problem):
            if self.workers.get(worker.pod.uid) is worker and worker.stage is Stage.PREPARING:
                self._loop.tried(self._prepare, worker, key=worker.pod.key)

    def heal(self, pod: Pod) -> None:
        """Play on as if the containers of *pod*, which its files show failing, were healthy."""
        self._healed[pod.uid] = None
        worker = self.workers.get(pod.uid)
        if worker is None or not worker.failure:
            return
        worker.failure = ""
        if worker.stage is Stage.STARTING:
            self._start(worker)
        elif worker.stage is Stage.RUNNING:
            self._started(worker)

    # Callbacks of the volume managers

    def volumes_mounted(self, uid: str) -> None:
        """Every volume of the pod is mounted: its containers can start."""
        worker = self.workers.get(uid)
        if worker is not None and worker.stage is Stage.PREPARING:
            self._prepare(worker)

    def volumes_over_limit(self, pod: Pod, drivers: list[str], message: str) -> None:
        """A full node cannot attach a volume of the pod, which is refused; the limits are asked for.

        Upstream: kubelet.go, SyncPod(); csi_plugin.go, VerifyExhaustedResource().
        """
        update_limits(self._context.store, pod.node_name, drivers)
        worker = self.workers.get(pod.uid)
        if worker is None or worker.stage is not Stage.PREPARING:
            return
        worker.cancel_timers()
        self._release(worker)
        refusal = Rejection(OVER_LIMIT, message, "Pod was rejected: ")
        self._refuse(worker, refusal, worker.pod.status.get("startTime") or "")
        self.volumes.pod_terminated(worker.pod)

    def volumes_unmounted(self, uid: str) -> None:
        """No volume of the pod is mounted any more: a deleted pod can go."""
        worker = self.workers.get(uid)
        if worker is not None and worker.stage is Stage.UNMOUNTING:
            self._status.delete(worker)

    def has_running_containers(self, uid: str) -> bool:
        """Whether containers of the pod still run."""
        worker = self.workers.get(uid)
        return worker is not None and worker.has_running_containers

    # Beginning

    def _new_worker(self, pod: Pod) -> Worker:
        worker = self.workers[pod.uid] = Worker(pod)
        worker.failure = "" if pod.uid in self._healed else self._failure_of(pod)
        self._by_node.setdefault(worker.node, {})[pod.uid] = worker
        return worker

    def _failure_of(self, pod: Pod) -> str:
        """Why the pod does not run, as its files say; "" where nothing does."""
        if self._player.plays(pod):
            return ""
        return observed_failure(pod) or told_failure(pod, self._told.get(pod.key))

    def _resources_of(self, node: str) -> NodeResources:
        return self._resources[node]

    def _take_over(self, worker: Worker, before: Worker | None) -> None:
        """Its containers run already, before the run began or while the kubelet was away."""
        if before is not None and before.stage is Stage.UNMOUNTING:
            # Its containers had ended before the kubelet did.
            self._unmount(worker)
            return
        self._resources_of(worker.node).take(worker.pod)
        worker.holds = True
        worker.has_devices = self.devices.are_prepared(worker.pod)
        worker.stage = Stage.RUNNING
        if worker.pod.volumes:
            self.volumes.adopt_pod(worker.pod, mounted=before is None)
        self._resizer.take_over(worker)
        if self._player.plays(worker.pod):
            self._set_deadline(worker)
            self._player.adopt(worker)
        elif not worker.failure and observed_failure(worker.pod):
            self._started(worker)
        else:
            self._set_end(worker)
        self._deletion(worker, is_under_way=before is None)

    def _admit(self, worker: Worker, node: Node) -> None:
        pod = worker.pod
        need = unmodelled_devices(pod)
        if need and not self.devices.are_known(pod):
            self._context.recorder.record(NOT_MODELLED_FACT, pod.id, KSCOPE, need)
            return
        if (refusal := self._resources_of(worker.node).admit(pod, node)) is not None:
            self._refuse(worker, refusal)
            return
        worker.holds = True
        if lack := self._networks.lack(worker):
            message = f"{NETWORK_NOT_READY}: {lack}"
            self._context.emit(pod, WARNING, "NetworkNotReady", message)
        if pod.volumes:
            self.volumes.add_pod(pod)
        else:
            self._prepare(worker)

    def _prepare(self, worker: Worker) -> None:
        if self._networks.lack(worker):
            self._networks.wait(worker)
        else:
            self.devices.prepare(worker, self._start)

    def _refuse(self, worker: Worker, refusal: Rejection, started: str = "") -> None:
        worker.stage = Stage.FINISHED
        self._context.emit(worker.pod, WARNING, refusal.reason, refusal.message)
        self._status.reject(worker, refusal, started or timestamp(self._loop.clock))

    def _start(self, worker: Worker) -> None:
        worker.timer = None
        if worker.failure:
            worker.stage = Stage.STARTING
            return
        missing = self.volumes.plugins.obstacles.missing_for_containers(worker.pod)
        if missing is not None:
            self._cannot_start(worker, missing)
            return
        if self._player.plays(worker.pod):
            self._player.begin(worker)
            self._set_deadline(worker)
            return
        worker.stage = Stage.STARTING
        draw = self._context.latencies.draw
        worker.timer = self._loop.call_after(
            draw("image_pull") + draw("container_start"), self._started, worker
        )

    def _cannot_start(self, worker: Worker, missing: str) -> None:
        """A Secret or ConfigMap of the environment is *missing*; look again with the next sync.

        Upstream: pkg/kubelet/kuberuntime, ErrCreateContainerConfig.
        """
        waiting = {"waiting": {"reason": CONFIG_ERROR, "message": missing}}
        statuses = container_statuses(worker.pod, waiting)
        if worker.pod.status.get("containerStatuses") != statuses:
            self._context.emit(worker.pod, WARNING, "Failed", f"Error: {missing}")
            status: Manifest = {"phase": "Pending", "containerStatuses": statuses}
            self._status.write(worker, status, "PodNotStarted", missing)
        worker.timer = self._loop.call_after(SYNC_PERIOD, self._start, worker)

    def _started(self, worker: Worker) -> None:
        worker.timer = None
        worker.stage = Stage.RUNNING
        status = _running_status(worker, timestamp(self._loop.clock))
        self._status.write(worker, status, "PodRunning", f"runs on {worker.node}")
        self._set_end(worker)

    def _set_end(self, worker: Worker) -> None:
        run_for = None if worker.failure else runs_for(worker.pod, self._context.latencies)
        if run_for is not None:
            worker.timer = self._loop.call_after(run_for, self._finish, worker)
        self._set_deadline(worker)

    def _set_deadline(self, worker: Worker) -> None:
        """Upstream: active_deadline.go, which looks at the newest spec."""
        worker.cancel_deadline()
        left = _time_left(worker.pod, self._loop.clock)
        if left is not None:
            worker.deadline = self._loop.call_after(left, self._exceed, worker)

    # Ending

    def _finish(self, worker: Worker) -> None:
        code = exit_code(worker.pod)
        if code and worker.pod.spec.get("restartPolicy") == "OnFailure":
            # The container is started again and fails again, and so on: nothing changes.
            return
        phase = "Failed" if code else "Succeeded"
        self._finished(worker, {"phase": phase}, code, f"Pod{phase}")

    def _exceed(self, worker: Worker) -> None:
        self._context.emit(worker.pod, NORMAL, **EXCEEDED)
        self._finished(worker, {"phase": "Failed", **EXCEEDED}, 137, "PodFailed")

    def _containers_ended(self, worker: Worker, phase: str, code: int) -> None:
        """The containers of a scripted pod have all ended."""
        self._finished(worker, {"phase": phase}, code, f"Pod{phase}")

    def _finished(self, worker: Worker, status: Manifest, code: int, event: str) -> None:
        worker.cancel_timers()
        # Upstream: SyncTerminatingPod() gives the devices back before it reports the end.
        if self.devices.unprepare(
            worker, partial(self._finished, status=status, code=code, event=event)
        ):
            return
        worker.stage = Stage.FINISHED
        self._release(worker)
        if self._player.knows(worker.pod.uid):
            status = self._player.final_status(worker, status["phase"]) | status
        else:
            status |= ended_status(worker.pod, code, timestamp(self._loop.clock))
        message = f"its containers ended with exit code {code}"
        self._status.write(worker, status, event, message)
        if worker.pod.volumes:
            self.volumes.pod_terminated(worker.pod)

    def _deletion(self, worker: Worker, *, is_under_way: bool = False) -> None:
        """Stop a pod that is to go; *is_under_way*: its kubelet began with that before the run."""
        pod = worker.pod
        if not pod.deletion_timestamp or worker.stage in (Stage.STOPPING, Stage.UNMOUNTING):
            return
        worker.cancel_timers()
        if worker.stage not in (Stage.STARTING, Stage.RUNNING):
            self._unmount(worker)
            return
        worker.stage = Stage.STOPPING
        grace = max(0, pod.metadata.get("deletionGracePeriodSeconds") or 0) * SECOND
        if is_under_way:
            left = nanoseconds_of(pod.deletion_timestamp) - self._loop.clock
            # Pods that should have ended before are stopped again, as by a kubelet that has restarted.
            grace = left if 0 <= left < grace else grace
        if self._player.knows(pod.uid):
            delay = self._player.stop(worker, grace)
        else:
            delay = min(self._context.latencies.draw("stop"), grace)
        worker.timer = self._loop.call_after(delay, self._unmount, worker)

    def _unmount(self, worker: Worker) -> None:
        worker.timer = None
        self._player.stopped(worker)
        if worker.stage is Stage.STOPPING and not self._player.knows(worker.pod.uid):
            self._status.stopped(worker, timestamp(self._loop.clock))
        if self.devices.unprepare(worker, self._unmount):
            worker.stage = Stage.STOPPING
            return
        worker.stage = Stage.UNMOUNTING
        self._release(worker)
        if not worker.pod.volumes or self.volumes.stop_pod(worker.pod):
            self._status.delete(worker)

    def _release(self, worker: Worker) -> None:
        if worker.holds:
            worker.holds = False
            self._resources[worker.node].release(worker.pod.uid)
            self._resizer.forget(worker)
            self._resizer.room_freed(worker.node)


def _time_left(pod: Pod, clock: int) -> int | None:
    """How long the pod may still be active, in ns; None without a deadline.

    Another kubelet may have noted its start. One that is still to come is of another clock.
    Upstream: pastActiveDeadline().
    """
    limit, started = pod.spec.get("activeDeadlineSeconds"), pod.status.get("startTime")
    active = max(0, clock - nanoseconds_of(started)) if started else 0
    return None if limit is None else max(0, limit * SECOND - active)


def _deadline_differs(old: ApiObject | None, new: ApiObject) -> bool:
    name = "activeDeadlineSeconds"
    return old is not None and old.spec.get(name) != new.spec.get(name)


def _running_status(worker: Worker, now: str) -> Manifest:
    running = {"running": {"startedAt": now}}
    statuses = container_statuses(worker.pod, running)
    if worker.allocated is not None:
        statuses = with_reported_resources(worker.allocated, statuses)
    return {
        "phase": "Running",
        "conditions": running_conditions(worker.pod, now),
        "startTime": worker.pod.status.get("startTime") or now,
        "containerStatuses": statuses,
    }


def _may_be_resized(old: ApiObject | None, new: Pod) -> bool:
    """Whether the pod may take more or less of its node than it did before."""
    return not isinstance(old, Pod) or old.template is not new.template or may_resize(new.status)
