"""Probes the containers of scripted pods. Upstream: pkg/kubelet/prober.

A probe is due at whole periods after the kubelet has begun with the pod. One that passes, and will
pass for some time, is not looked at until it may fail: nothing happens before.
"""

from typing import Protocol

from engine.kernel.loop import EventLoop
from engine.kubelet.containers.probe import Probe
from engine.kubelet.containers.state import Container, PodContainers, State
from engine.kubelet.worker import Worker
from engine.objects.objects import ApiObject
from engine.objects.scripts.script import ProbeKind
from engine.objects.scripts.told_probes import ToldProbe, told_probes


class ProbeHost(Protocol):
    """Who hears what probes find."""

    def probe_failed(self, worker: Worker, probe: Probe) -> None:
        """A probe has failed, which need not count yet."""
        ...

    def probe_turned(self, worker: Worker, container: Container, probe: Probe) -> None:
        """The result of a probe is another than before."""
        ...


class Prober:
    """Runs probes when they are due."""

    __slots__ = ("_host", "_loop")

    def __init__(self, loop: EventLoop, host: ProbeHost) -> None:
        self._loop = loop
        self._host = host

    def container_started(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """The container runs: probe it from now on, first of all whether it has started up."""
        self._tell(worker, pod, container)
        startup = [each for each in container.probes if each.kind is ProbeKind.STARTUP]
        container.is_started = not startup
        container.is_ready = False
        if startup:
            self._begin(worker, pod, container, startup[0])
        else:
            self.container_is_up(worker, pod, container)

    def container_is_up(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """The container has started up: its other probes begin."""
        container.is_started = True
        others = [each for each in container.probes if each.kind is not ProbeKind.STARTUP]
        container.is_ready = all(each.kind is not ProbeKind.READINESS for each in others)
        for each in others:
            self._begin(worker, pod, container, each)

    def pod_changed(self, worker: Worker, old: ApiObject | None, pod: PodContainers | None) -> None:
        """The pod was written: it may tell what commands in its containers have done."""
        if pod is None or (old is not None and old.annotations is worker.pod.annotations):
            return
        for each in pod.containers:
            self._tell(worker, pod, each)

    def _tell(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """Hear from the pod what commands have made its probes find."""
        told = told_probes(worker.pod)
        for each in container.probes:
            finds = told.get(ToldProbe(container.name, container.restarts, each.kind))
            if finds is each.told:
                continue
            each.told = finds
            rests = each.has_begun and each.timer is None and not self._ends(each)
            if rests and container.state is State.RUNNING:
                self._set(worker, pod, container, each, self._loop.now + 1)

    def _begin(
        self, worker: Worker, pod: PodContainers, container: Container, probe: Probe
    ) -> None:
        probe.cancel()
        first = container.started_at + probe.initial_delay
        if probe.kind is ProbeKind.READINESS and first <= self._loop.now:
            # Upstream: prober_manager.go, UpdatePodStatus() probes at once what is not ready.
            self._look(worker, pod, container, probe)
        else:
            self._set(worker, pod, container, probe, max(first, self._loop.now + 1))

    def _set(
        self, worker: Worker, pod: PodContainers, container: Container, probe: Probe, after: int
    ) -> None:
        """Let *probe* be due at the first whole period not before *after*."""
        periods = -((pod.began_at - after) // probe.period)
        at = pod.began_at + periods * probe.period
        probe.timer = self._loop.call_at(at, self._look, worker, pod, container, probe)

    def _look(self, worker: Worker, pod: PodContainers, container: Container, probe: Probe) -> None:
        probe.timer = None
        if container.state is not State.RUNNING:
            return
        at = self._loop.now - container.started_at
        passes, has_turned = probe.find(at)
        if not passes:
            self._host.probe_failed(worker, probe)
        if has_turned and self._ends(probe):
            self._host.probe_turned(worker, container, probe)
            return
        if probe.is_settled:
            fails = probe.next_failure(at)
            if fails is not None:
                self._set(worker, pod, container, probe, container.started_at + fails)
        else:
            self._set(worker, pod, container, probe, self._loop.now + 1)
        if has_turned:
            self._host.probe_turned(worker, container, probe)

    @staticmethod
    def _ends(probe: Probe) -> bool:
        """Whether the probe is not due again in this run of the container."""
        if probe.kind is ProbeKind.STARTUP:
            return True
        return probe.kind is ProbeKind.LIVENESS and not probe.result
