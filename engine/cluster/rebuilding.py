"""Finds the component of an exception by the functions that it came through, and lets it begin anew.

A component is known by the objects that act for it (`process.parts_of`); a kubelet and a scheduler,
which have many helpers, by their modules, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.api_server.store import process
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.cluster.commands import Command, CommandExecutor
from engine.cluster.initial_objects import API_SERVER
from engine.cluster.replicas import SchedulerReplicas
from engine.cluster.storage_actors import KUBELET, VolumeActors
from engine.controllers.actors import WorkloadActors
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.boundary import Blame, Frame
from engine.objects.kinds import entity_id
from engine.objects.objects import ApiObject, Node, Pod, from_manifest
from engine.scheduler.cycle.watches import COMPONENT as SCHEDULER
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.storage.plugins.spec import VolumeSpec

_RUN: Final = "run"
_NODE: Final = "node/"
_OF_SCHEDULER: Final = f"{SCHEDULER}/"
_OF_KUBELET: Final = "engine.kubelet"
_SCHEDULER_MODULES: Final = (
    "engine.framework",
    "engine.plugins",
    "engine.scheduler",
    "engine.storage.binding",
    "engine.storage.matching",
)
# Helpers that belong to one component of a package of their own.
_PACKAGES: Final = {
    "engine.controllers.persistent_volumes": "pv-controller",
    "engine.controllers.attach_detach.csi_attacher": "csi-attacher",
    "engine.controllers.attach_detach": "attach-detach",
    "engine.csi_sidecars.external_provisioner": "external-provisioner",
    "engine.csi_sidecars": "external-resizer",
    "engine.controllers.workloads.deployment": "deployment-controller",
    "engine.controllers.workloads.job": "job-controller",
}


class ClusterComponents:
    """The components of one cluster. Upstream: each of them is a process, or a part of one."""

    def __init__(
        self,
        volumes: VolumeActors,
        workloads: WorkloadActors,
        schedulers: Sequence[SchedulerReplicas],
    ) -> None:
        self._volumes = volumes
        self._workloads = workloads
        self._schedulers = schedulers

    # Whose

    def blame(self, frames: Sequence[Frame]) -> Blame:
        """The component whose exception came by *frames*, outermost first."""
        processes = self._on_the_way(frames) or self._by_modules(frames)
        subject = _subject(frames)
        if not processes:
            component = next(
                ("command" for one in frames if isinstance(_self(one), CommandExecutor)),
                API_SERVER,
            )
            return Blame(component, (), subject)
        first = processes[0]
        component = KUBELET if first.startswith(_NODE) else first.partition("/")[0]
        held = _held(frames, first)
        # A kubelet hears of its pods from a watcher of all nodes, which does not begin anew.
        if held is None and not first.startswith(_NODE):
            watched = _watched(frames)
            if watched is not None:
                return Blame(component, processes, subject, watched, relists=True)
            held = self._key_held(frames, first)
        return Blame(component, processes, subject, held)

    def _key_held(self, frames: Sequence[Frame], process: str) -> tuple[str, str] | None:
        """The object with which a timer of a controller failed, as a key of its queue."""
        obj = next((one for one in _args(frames) if isinstance(one, ApiObject)), None)
        parts = next((parts for name, parts in self._parts() if name == process), ())
        queue = next((part for part in parts if isinstance(part, WorkQueue)), None)
        return None if obj is None or queue is None else (queue.owner, obj.key)

    def _on_the_way(self, frames: Sequence[Frame]) -> tuple[str, ...]:
        """The components whose own methods were running, outermost first."""
        owners = {id(part): name for name, parts in self._parts() for part in parts}
        found = [owners.get(id(_self(frame))) for frame in frames]
        return tuple(dict.fromkeys(name for name in found if name is not None))

    def _parts(self) -> Iterator[tuple[str, list[object]]]:
        for name, component in (
            *self._workloads.components().items(),
            *self._volumes.components().items(),
        ):
            if component is not None:
                yield name, process.parts_of(component)
        for replicas in self._schedulers:
            if replicas.leader:
                scheduler = replicas.scheduler
                parts = [*process.parts_of(scheduler), scheduler.state, *scheduler.plugins()]
                yield f"{_OF_SCHEDULER}{replicas.leader}", parts

    def _by_modules(self, frames: Sequence[Frame]) -> tuple[str, ...]:
        for frame in frames:
            if frame.module.startswith(_OF_KUBELET):
                return tuple(f"{_NODE}{name}" for name in self._nodes(frames))
            for package, name in _PACKAGES.items():
                if frame.module.startswith(package):
                    return (name,)
            if frame.module.startswith(_SCHEDULER_MODULES):
                return tuple(
                    f"{_OF_SCHEDULER}{one.leader}" for one in self._schedulers if one.leader
                )
        return ()

    def _nodes(self, frames: Sequence[Frame]) -> list[str]:
        """The node whose kubelet it was; all running ones if that is unknown."""
        found = next((name for frame in frames for name in _node_names(frame)), None)
        if found is not None:
            return [found]
        return [*dict.fromkeys(worker.node for worker in self._volumes.kubelets.workers.values())]

    # Anew

    def stop(self, process: str) -> None:
        """End the process, and forget what it had in memory."""
        if process.startswith(_OF_SCHEDULER):
            identity = process.removeprefix(_OF_SCHEDULER)
            self._replicas(identity).stop(identity)
        elif process.startswith(_NODE):
            node = process.removeprefix(_NODE)
            if not self._volumes.kubelets.is_off(node):
                self._volumes.kubelets.stop_kubelet(node)
        elif self._volumes.has(process):
            self._volumes.end(process)
        else:
            self._workloads.end(process)

    def start(self, process: str) -> None:
        """Let it begin anew from the store."""
        if process.startswith(_OF_SCHEDULER):
            identity = process.removeprefix(_OF_SCHEDULER)
            self._replicas(identity).start(identity)
        elif process.startswith(_NODE):
            node = process.removeprefix(_NODE)
            if not self._volumes.kubelets.is_off(node):
                self._volumes.kubelets.start_kubelet(node)
        elif self._volumes.has(process):
            self._volumes.restart([process])
        else:
            self._workloads.restart([process])

    def _replicas(self, identity: str) -> SchedulerReplicas:
        return next(one for one in self._schedulers if identity in one.identities)


def _self(frame: Frame) -> object:
    return frame.variables.get("self")


def _args(frames: Sequence[Frame]) -> tuple[Any, ...]:
    """The arguments of the callback that failed."""
    return frames[0].variables.get("args", ()) if frames else ()


def _watched(frames: Sequence[Frame]) -> tuple[str, str] | None:
    """The watcher that failed, and the object of its event."""
    match _args(frames):
        case (WatchEvent() as event,):
            called = frames[0]
            return f"{type(_self(called)).__name__}.{called.function}", event.new.id
        case _:
            return None


def _held(frames: Sequence[Frame], process: str) -> tuple[str, str] | None:
    """What is not to be tried again at once: a key of a queue, or a pod."""
    for frame in frames:
        queue = _self(frame)
        key = frame.variables.get("key")
        if isinstance(queue, WorkQueue) and isinstance(key, str):
            return queue.owner, key
    if process.startswith(_OF_SCHEDULER):
        queued = next((one for frame in frames if (one := _queued(frame)) is not None), None)
        return None if queued is None else (SCHEDULER, queued.key)
    if process.startswith(_NODE):
        pod = next((one for frame in frames for one in _pods(frame)), None)
        return None if pod is None else (KUBELET, pod.key)
    return None


def _queued(frame: Frame) -> QueuedPodInfo | PodInfo | None:
    """The pod of a scheduling or binding cycle, or the one that a pass over the queue has come to."""
    for name in ("queued", "attempt", "binding", "info"):
        found: Any = frame.variables.get(name)
        queued = getattr(found, "queued", found)
        if isinstance(queued, QueuedPodInfo | PodInfo):
            return queued
    return None


def _pods(frame: Frame) -> Iterator[Pod]:
    for found in (frame.variables.get(name) for name in ("worker", "pod", "volume")):
        pod = getattr(found, "pod", found)
        if isinstance(pod, Pod):
            yield pod


def _node_names(frame: Frame) -> Iterator[str]:
    yield from (pod.node_name for pod in _pods(frame) if pod.node_name)
    for found in (_self(frame), frame.variables.get("node"), frame.variables.get("manager")):
        name = found.name if isinstance(found, Node) else getattr(found, "node", None)
        if isinstance(name, str) and name:
            yield name


def _subject(frames: Sequence[Frame]) -> str:
    """The id of the object at hand: a pod of the queue, else what the outermost function has."""
    queued = next((one for frame in frames if (one := _queued(frame)) is not None), None)
    if queued is not None:
        return f"pod/{queued.key}"
    for frame in frames:
        for found in frame.variables.get("args", ()):
            about = _about(found)
            if about:
                return about
        command = frame.variables.get("command")
        if isinstance(command, Command):
            return command.object or _created(command)
        for name in ("pod", "worker", "event", "obj", "claim", "volume", "node", "owner"):
            about = _about(frame.variables.get(name)) or _about(
                getattr(_self(frame), f"_{name}", None)
            )
            if about:
                return about
        key, kind = frame.variables.get("key"), getattr(_self(frame), "KIND", "")
        if kind and isinstance(key, str):
            return f"{kind.lower()}/{key}"
    nodes = (
        name for frame in frames for name in (frame.variables.get("node"), *_node_names(frame))
    )
    return next((f"node/{name}" for name in nodes if isinstance(name, str) and name), _RUN)


def _about(found: Any) -> str:
    """The id of an object, or of what an event, a worker, an operation or a volume is about."""
    found = getattr(found, "new", getattr(found, "pod", found))
    if isinstance(found, ApiObject):
        return found.id
    work = next(
        (getattr(found, name) for name in ("volume", "attachment") if hasattr(found, name)), found
    )
    spec, pod = getattr(work, "spec", None), getattr(work, "pod", None)
    if isinstance(pod, Pod):
        return pod.id
    if isinstance(spec, VolumeSpec) and spec.persistent_volume is not None:
        return entity_id("PersistentVolume", spec.name)
    return ""


def _created(command: Command) -> str:
    """The id of the object that the command creates."""
    match command.manifest:
        case {"kind": str(), "metadata": {"name": str()}}:
            return from_manifest(command.manifest).id
        case _:
            return _RUN
