"""Plays the scripts of pods' containers. Upstream: pkg/kubelet/kuberuntime, SyncPod()."""

from collections.abc import Callable
from typing import Final

from engine.kernel.latency import Latency
from engine.kernel.units import SECOND, timestamp
from engine.kubelet.containers.casting import Casting, as_told, count_lost_runs
from engine.kubelet.containers.hooks import (
    POST_START_FAILED,
    PRE_STOP_FAILED,
    left_after_hook,
    post_start,
    pre_stop,
    time_of_hook,
)
from engine.kubelet.containers.probe import Probe
from engine.kubelet.containers.probing import Prober
from engine.kubelet.containers.pulls import ImagePuller, reason_of_no_image
from engine.kubelet.containers.restarts import LOOK_AGAIN, note_restart, restarts, wait_left
from engine.kubelet.containers.state import (
    Container,
    PodContainers,
    Role,
    State,
)
from engine.kubelet.containers.statuses import CRASH_LOOP, exit_code_of, final_phase, pod_status
from engine.kubelet.context import KubeletContext
from engine.kubelet.own_ends import own_run
from engine.kubelet.pod_status import PodStatusWriter
from engine.kubelet.worker import Stage, Worker
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.scripts.script import KILLED, ContainerRun, ProbeKind
from engine.storage.kubernetes_events import SpamFilter
from engine.storage.ports import NORMAL, WARNING

CHANGED: Final = "PodContainersChanged"
_GRACE_SECONDS: Final = 30
_FOREVER: Final = ContainerRun()
_AT_ONCE: Final = ContainerRun(Latency("fixed", 0))


class ContainerPlayer:
    """Starts, probes, ends and restarts the containers of pods that a script is about.

    It knows them by the uid of their pod, from the start of the first one until the pod is gone, and
    also while no kubelet runs on their node.
    """

    def __init__(
        self,
        context: KubeletContext,
        status: PodStatusWriter,
        end: Callable[[Worker, str, int], None],
    ) -> None:
        """*end* is called with the phase of a pod that is over, and the code that decided it."""
        self._context = context
        self._loop = context.loop
        self._status = status
        self._end = end
        self._casting = Casting(context.scripts)
        self._prober = Prober(context.loop, self)
        self._puller = ImagePuller(context, self)
        self._spam = None if context.events is None else SpamFilter(context.loop, context.events)
        self._pods: dict[str, PodContainers] = {}

    def plays(self, pod: Pod) -> bool:
        """Whether the containers of *pod* follow a script."""
        return pod.uid in self._pods or self._casting.is_about(pod)

    def knows(self, uid: str) -> bool:
        """Whether the containers of the pod with this uid have been begun with."""
        return uid in self._pods

    # Begin

    def begin(self, worker: Worker) -> None:
        """The pod can start: its volumes are mounted, and its devices are prepared."""
        known = self._pods.get(worker.pod.uid)
        worker.stage = Stage.STARTING
        if known is not None:
            self.resume(worker)
            return
        pod = self._pods[worker.pod.uid] = PodContainers(self._casting.containers_of(worker.pod))
        pod.began_at = self._loop.now
        count_lost_runs(worker.pod, pod.containers)
        self.sync(worker, pod)

    def adopt(self, worker: Worker) -> None:
        """The pod ran before the run began, or its kubelet was away: its status says how it stands."""
        known = self._pods.get(worker.pod.uid)
        if known is None:
            known = self._pods[worker.pod.uid] = self._found(worker.pod)
        self.resume(worker)

    def resume(self, worker: Worker) -> None:
        """A kubelet takes over the pod, whose containers have run on meanwhile."""
        pod = self._pods[worker.pod.uid]
        if pod.mains_began:
            worker.stage = Stage.RUNNING
        for each in pod.containers:
            each.forget_waits()
            if each.state is State.RUNNING:
                self._prober.container_started(worker, pod, each)
                if each.end_at is not None:
                    self._set_end(worker, pod, each)
        self.sync(worker, pod)

    def _found(self, pod: Pod) -> PodContainers:
        """The containers as the status of *pod* tells of them."""
        found = PodContainers(self._casting.containers_of(pod))
        found.began_at = self._loop.now
        for each in found.containers:
            as_told(each, pod, self._loop)
            self._casting.keep_part(each, pod)
            if each.state is State.RUNNING:
                self._choose_run(pod, each)
        return found

    # Sync

    def sync(self, worker: Worker, pod: PodContainers) -> None:
        """Start what is to be started, and write what has changed. Upstream: computePodActions()."""
        if worker.stage not in (Stage.STARTING, Stage.RUNNING):
            return
        if self._inits_are_through(worker, pod):
            for each in pod.of(Role.MAIN):
                self._keep(worker, pod, each)
            if all(each.is_over for each in pod.of(Role.MAIN)):
                self._finish(worker, pod, final_phase(pod))
                return
        elif any(each.is_over and each.exit_code for each in pod.of(Role.INIT)):
            self._finish(worker, pod, "Failed")
            return
        self._write(worker, pod)

    def _inits_are_through(self, worker: Worker, pod: PodContainers) -> bool:
        """Go on with the init containers; whether the others may start."""
        began = pod.mains_began
        for each in pod.of(Role.INIT, Role.SIDECAR):
            if each.role is Role.SIDECAR:
                self._keep(worker, pod, each)
                if not each.is_started and not began:
                    return False
            elif not began and not each.has_succeeded:
                self._keep(worker, pod, each)
                return False
        return True

    def _keep(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """Start the container, if it is to run and does not."""
        if container.state is State.WAITING:
            self.create(worker, pod, container)
        elif container.state is State.TERMINATED and not container.is_over:
            left = wait_left(container, self._loop.now)
            if left:
                self._back_off(worker, pod, container, left)
            else:
                note_restart(container, self._loop.now)
                self.create(worker, pod, container)

    def _back_off(
        self, worker: Worker, pod: PodContainers, container: Container, left: int
    ) -> None:
        container.state = State.BACKING_OFF
        of = worker.pod
        where = f"{of.name}_{of.namespace}({of.uid})"
        message = self._context.container_rules.backing_off.format(name=container.name, pod=where)
        self.emit(of, WARNING, "BackOff", message)
        container.timer = self._loop.call_after(
            min(left, LOOK_AGAIN), self._look_again, worker, pod, container
        )

    def _look_again(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        container.timer = None
        container.state = State.TERMINATED
        self._keep(worker, pod, container)

    def create(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """See PullHost."""
        draw = self._context.latencies.draw
        delay = draw("container_start")
        if not container.was_created:
            delay += draw("image_pull")
            self._puller.begin(worker.pod, container)
        container.state = State.CREATING
        container.timer = self._loop.call_after(delay, self._run, worker, pod, container)

    def _run(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """The container runs from now on, if its image can be pulled."""
        container.timer = None
        if not self._puller.has_image(worker, pod, container):
            return
        if container.was_created:
            container.restarts += 1
            container.last = container.ended
        container.was_created, container.ended = True, None
        container.state = State.RUNNING
        container.started_at, container.started_clock = self._loop.now, self._loop.clock
        self._choose_run(worker.pod, container)
        for reason, message in self._context.container_rules.of_start(container.name):
            self.emit(worker.pod, NORMAL, reason, message)
        if (hook := post_start(container)) is None:
            self._is_up(worker, pod, container)
            return
        # The kubelet waits for the hook, and tells of the container only then.
        container.state = State.CREATING
        container.timer = self._loop.call_after(
            hook.lasts or 0, self._hook_ended, worker, pod, container, hook.exit_code
        )

    def _hook_ended(
        self, worker: Worker, pod: PodContainers, container: Container, exit_code: int
    ) -> None:
        """The postStart hook has ended; a container whose hook has failed is stopped."""
        container.timer, container.state = None, State.RUNNING
        if not exit_code:
            self._is_up(worker, pod, container)
            return
        self.emit(worker.pod, WARNING, *POST_START_FAILED)
        self.emit(worker.pod, NORMAL, "Killing", POST_START_FAILED[0])
        self._stop_alone(worker, pod, container, _grace_of(worker.pod))
        self.sync(worker, pod)

    def _is_up(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        if container.role is Role.MAIN:
            worker.stage = Stage.RUNNING
        self._prober.container_started(worker, pod, container)
        if container.end_at is not None:
            self._set_end(worker, pod, container)
        self.sync(worker, pod)

    def _choose_run(self, pod: Pod, container: Container) -> None:
        """How the run of the container ends, and when."""
        run = container.part.script.run(container.restarts)
        if run is None:
            run = _usual(container.role) or own_run(self._context.latencies, pod)
        container.end_run, container.end_at = run, None
        if run.lasts is not None:
            stream = self._context.streams.stream(f"container/{pod.key}/{container.name}")
            lasts = run.lasts.low if run.lasts.shape == "fixed" else run.lasts.draw(stream)
            container.end_at = container.started_at + lasts

    def _set_end(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        assert container.end_at is not None, f"{container.name} has no end"
        at = max(container.end_at, self._loop.now)
        container.timer = self._loop.call_at(at, self._ended, worker, pod, container)

    def _ended(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """The run of the container has come to its end."""
        self._note_end(worker.pod, container, container.end_run)
        self.sync(worker, pod)

    def _note_end(self, pod: Pod, container: Container, run: ContainerRun) -> None:
        container.cancel()
        at = self._loop.now if container.end_at is None else container.end_at
        finished = self._loop.clock - (self._loop.now - at)
        ended: Manifest = {
            "exitCode": run.exit_code,
            "reason": run.reason or ("Error" if run.exit_code else "Completed"),
            "startedAt": timestamp(container.started_clock),
            "finishedAt": timestamp(finished),
            "containerID": container.identity(pod.uid),
        }
        if run.message:
            ended["message"] = run.message
        container.ended, container.ended_at, container.end_at = ended, at, None
        container.state = State.TERMINATED
        container.is_ready = container.is_started = False
        container.is_over = not restarts(pod, container)

    # Probes

    def probe_failed(self, worker: Worker, probe: Probe) -> None:
        """See ProbeHost."""
        self.emit(worker.pod, WARNING, "Unhealthy", probe.failure)

    def probe_turned(self, worker: Worker, container: Container, probe: Probe) -> None:
        """See ProbeHost."""
        pod = self._pods[worker.pod.uid]
        if probe.kind is ProbeKind.READINESS:
            container.is_ready = bool(probe.result)
        elif not probe.result:
            self._kill(worker, pod, container, probe)
            return
        elif probe.kind is ProbeKind.STARTUP:
            self._prober.container_is_up(worker, pod, container)
        else:
            return
        self.sync(worker, pod)

    def _kill(self, worker: Worker, pod: PodContainers, container: Container, probe: Probe) -> None:
        """Stop a container because of a probe."""
        message = f"Container {container.name} failed {probe.kind.value.lower()} probe"
        if (container.spec.get("restartPolicy") or worker.pod.spec.get("restartPolicy")) != "Never":
            message += ", will be restarted"
        self.emit(worker.pod, NORMAL, "Killing", message)
        grace = probe.grace if probe.grace is not None else _grace_of(worker.pod)
        self._stop_alone(worker, pod, container, grace)

    def _stop_alone(
        self, worker: Worker, pod: PodContainers, container: Container, grace: int
    ) -> None:
        """Stop one container of a pod, which goes on without it."""
        container.cancel()
        self._plan_end(worker, container, grace, turn=0)
        self._set_end(worker, pod, container)

    def pod_changed(self, worker: Worker, old: ApiObject | None) -> None:
        """The pod was written: it may tell what a command in a container has done."""
        self._prober.pod_changed(worker, old, self._pods.get(worker.pod.uid))

    # End

    def _finish(self, worker: Worker, pod: PodContainers, phase: str) -> None:
        """No container is started any more: sidecars are stopped, and the pod is over."""
        running = [each for each in pod.containers if each.state is State.RUNNING]
        worker.stage = Stage.RUNNING
        if not running:
            pod.cancel()
            self._end(worker, phase, exit_code_of(pod))
            return
        grace = _grace_of(worker.pod)
        delay = self._tell_to_stop(worker, pod, grace)
        self._write(worker, pod)
        timer = self._loop.call_after(delay, self._finished, worker, pod, phase)
        running[0].timer = timer

    def _finished(self, worker: Worker, pod: PodContainers, phase: str) -> None:
        self._note_stopped(worker.pod, pod)
        self._end(worker, phase, exit_code_of(pod))

    def stop(self, worker: Worker, grace: int) -> int:
        """Stop the containers of a pod that is to go, within *grace* ns; in how many ns they have."""
        return self._tell_to_stop(worker, self._pods[worker.pod.uid], grace)

    def _tell_to_stop(self, worker: Worker, pod: PodContainers, grace: int) -> int:
        """Upstream: killContainersWithSyncResult(): sidecars end after the others, last first."""
        pod.cancel()
        longest = 0
        for each in [*pod.of(Role.INIT, Role.MAIN), *reversed(pod.of(Role.SIDECAR))]:
            if each.state is not State.RUNNING:
                continue
            self.emit(worker.pod, NORMAL, "Killing", f"Stopping container {each.name}")
            turn = longest if each.role is Role.SIDECAR else 0
            longest = max(longest, self._plan_end(worker, each, grace, turn))
        return longest

    def _plan_end(self, worker: Worker, container: Container, grace: int, turn: int) -> int:
        """Have it end after its preStop hook, not before its *turn*; in how many ns it has ended.

        The hook counts into the grace period. Upstream: killContainer().
        """
        waited = time_of_hook(hook := pre_stop(container), grace)
        if hook is not None and hook.exit_code and (hook.lasts or 0) <= grace:
            self._loop.call_after(waited, self.emit, worker.pod, WARNING, *PRE_STOP_FAILED)
        begins = max(turn, waited)
        lasts, code = self._stopping(container, left_after_hook(hook, grace, begins))
        container.end_at = self._loop.now + begins + lasts
        container.end_run = ContainerRun(exit_code=code)
        return begins + lasts

    def _stopping(self, container: Container, grace: int) -> tuple[int, int]:
        """How long the container takes to stop, in ns, and with what code it ends."""
        stop = container.part.script.stop
        after = self._context.latencies.draw("stop") if stop.after is None else stop.after
        return (after, stop.exit_code) if after <= grace else (grace, KILLED)

    def stopped(self, worker: Worker) -> None:
        """The containers of a pod that is to go have stopped, if it has any: its status says how."""
        pod = self._pods.get(worker.pod.uid)
        if pod is None or not any(each.state is State.RUNNING for each in pod.containers):
            return
        self._note_stopped(worker.pod, pod)
        phase = final_phase(pod)
        status = pod_status(worker.pod, pod, timestamp(self._loop.clock), phase)
        self._status.write(worker, status, CHANGED, f"its containers were stopped: {phase}")

    def _note_stopped(self, of: Pod, pod: PodContainers) -> None:
        for each in pod.containers:
            if each.state is State.RUNNING:
                self._note_end(of, each, each.end_run)
            each.is_over = True

    def final_status(self, worker: Worker, phase: str) -> Manifest:
        """The status of a pod that is over, in whatever way; what still runs is killed."""
        pod = self._pods[worker.pod.uid]
        pod.cancel()
        for each in pod.containers:
            if each.state is State.RUNNING:
                each.end_at = None
                self._note_end(worker.pod, each, ContainerRun(exit_code=KILLED))
        return pod_status(worker.pod, pod, timestamp(self._loop.clock), phase)

    def pause(self, uid: str) -> None:
        """The kubelet of the pod has ended: nothing is done, but its containers run on."""
        if (pod := self._pods.get(uid)) is not None:
            pod.cancel()

    def forget(self, uid: str) -> None:
        """The pod, or its machine, is gone."""
        self.pause(uid)
        self._pods.pop(uid, None)

    # Writes

    def _write(self, worker: Worker, pod: PodContainers) -> None:
        status = pod_status(worker.pod, pod, timestamp(self._loop.clock))
        # Pages show what the status tells of containers; here the run tells it, and not the files.
        self._context.recorder.told.setdefault(worker.pod.id, {})
        old = worker.pod.status
        if all(old.get(name) == value for name, value in status.items()):
            return
        if status["phase"] == "Running" and worker.pod.phase != "Running":
            event, message = "PodRunning", f"runs on {worker.node}"
        else:
            event, message = CHANGED, _told(pod)
        self._status.write(worker, status, event, message)

    def emit(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        """See PullHost."""
        if self._spam is not None:
            self._spam.event(pod, kind, reason, message)


def _usual(role: Role) -> ContainerRun | None:
    """What a container does that is not the pod's own work, where no entry says so."""
    if role is Role.MAIN:
        return None
    return _AT_ONCE if role is Role.INIT else _FOREVER


def _grace_of(pod: Pod) -> int:
    seconds = pod.spec.get("terminationGracePeriodSeconds")
    return (_GRACE_SECONDS if seconds is None else seconds) * SECOND


def _told(pod: PodContainers) -> str:
    """What its containers do, in a line."""
    return "; ".join(f"{each.name}: {_word(each)}" for each in pod.containers)


def _word(container: Container) -> str:
    match container.state:
        case State.RUNNING:
            return "ready" if container.is_ready and container.role is not Role.INIT else "running"
        case State.TERMINATED:
            return f"ended with {container.exit_code}"
        case State.BACKING_OFF:
            return CRASH_LOOP
        case State.NO_IMAGE:
            return reason_of_no_image(container)
        case _:
            return "waiting"
