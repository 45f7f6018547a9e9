"""Which entry each container of a pod follows, and what its status tells of it."""

from collections.abc import Iterable, Sequence

from engine.kernel.loop import EventLoop
from engine.kernel.units import nanoseconds_of, timestamp
from engine.kubelet.containers.probe import probes_of
from engine.kubelet.containers.restarts import restarts
from engine.kubelet.containers.state import (
    Container,
    Role,
    State,
    roles_of,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.matching import (
    Part,
    all_containers,
    entries_about,
    entry_of_identity,
    part_of,
    scripts_for,
)
from engine.objects.scripts.script import NO_ENTRY, Script


class Casting:
    """Gives the containers of pods their parts in the script."""

    __slots__ = ("_scripts", "_taken")

    def __init__(self, scripts: Sequence[Script]) -> None:
        """*scripts* are the entries of the scenario."""
        self._scripts = scripts
        # How many pods of an owner have followed an entry that is about so many only.
        self._taken: dict[tuple[str, str], int] = {}

    def is_about(self, pod: Pod) -> bool:
        """Whether an entry is about any container of *pod*."""
        entries = scripts_for(pod, self._scripts)
        if not entries:
            return False
        return any(True for each in all_containers(pod) for _ in entries_about(pod, each, entries))

    def containers_of(self, pod: Pod) -> list[Container]:
        """The containers of *pod*, each with its part."""
        entries = scripts_for(pod, self._scripts)
        takes: dict[int, bool] = {}
        found: list[Container] = []
        for spec, role in roles_of(pod):
            part = part_of(NO_ENTRY, entries)
            for entry in entries_about(pod, spec, entries):
                if entry not in takes:
                    takes[entry] = self._takes(pod, entry, entries[entry])
                if takes[entry]:
                    part = part_of(entry, entries)
                    break
            found.append(_new_container(spec, role, part))
        return found

    def _takes(self, pod: Pod, entry: int, script: Script) -> bool:
        """Whether *pod* is among the first pods that the entry is about, if it is about so many."""
        if not script.times:
            return True
        owner = pod.controller
        key = (str(owner["uid"]) if owner else "", f"{entry}/{script.pod}/{script.container}")
        count = self._taken.get(key, 0)
        self._taken[key] = count + 1
        return count < script.times

    def keep_part(self, container: Container, pod: Pod) -> None:
        """Let a container that runs follow the entry that its id in the status names."""
        status = _statuses_by_name(pod).get(container.name) or {}
        if status.get("containerID"):
            entries = scripts_for(pod, self._scripts)
            part = part_of(entry_of_identity(status["containerID"]), entries)
            if part.entry != NO_ENTRY:
                container.part = part
                container.probes = _new_container(container.spec, container.role, part).probes


def as_told(container: Container, pod: Pod, loop: EventLoop) -> None:
    """Let the container stand as the status of *pod* tells of it."""
    status = _statuses_by_name(pod).get(container.name) or {}
    container.restarts = status.get("restartCount") or 0
    state = section(status, "state")
    running, ended = section(state, "running"), section(state, "terminated")
    if not state and pod.phase == "Running":
        # Nothing is told of it: it does what containers of a running pod do.
        ended = {"finishedAt": timestamp(loop.clock)} if container.role is Role.INIT else {}
        running = {} if ended else {"startedAt": pod.status.get("startTime")}
    container.was_created = bool(running or ended)
    if ended:
        container.state, container.ended = State.TERMINATED, {"exitCode": 0, **ended}
        container.ended_at = loop.now
        container.is_over = not restarts(pod, container)
    elif running:
        container.state = State.RUNNING
        since = running.get("startedAt")
        container.started_clock = nanoseconds_of(since) if since else loop.clock
        container.started_at = loop.now - max(0, loop.clock - container.started_clock)


def count_lost_runs(pod: Pod, containers: Iterable[Container]) -> None:
    """Containers that a machine has lost are started again, which counts as a restart."""
    told = _statuses_by_name(pod)
    for each in containers:
        status = told.get(each.name) or {}
        state = section(status, "state")
        if "running" in state or "terminated" in state:
            each.restarts = (status.get("restartCount") or 0) + 1


def _new_container(spec: Manifest, role: Role, part: Part) -> Container:
    container = Container(spec, role, part)
    if role is not Role.INIT:
        container.probes = probes_of(spec, dict(part.script.probes))
    return container


def _statuses_by_name(pod: Pod) -> dict[str, Manifest]:
    return {
        each.get("name") or "": each
        for field in ("initContainerStatuses", "containerStatuses")
        for each in items(pod.status, field)
    }
