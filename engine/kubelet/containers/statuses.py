"""The status of a pod as its containers make it.

Upstream: pkg/kubelet/kubelet_pods.go, getPhase(), convertToAPIContainerStatuses();
pkg/kubelet/status/generate.go.
"""

from collections.abc import Sequence
from typing import Final

from engine.kernel.units import timestamp
from engine.kubelet.containers.pulls import message_of_no_image, reason_of_no_image
from engine.kubelet.containers.state import Container, PodContainers, Role, State
from engine.objects.manifest_parts import items
from engine.objects.objects import Manifest, Pod
from engine.objects.pods.conditions import condition_of, conditions_of_others

CRASH_LOOP: Final = "CrashLoopBackOff"
# What a resize of the pod has written about a container.
_OF_RESIZES = ("allocatedResources", "resources")


def pod_status(pod: Pod, containers: PodContainers, now: str, phase: str = "") -> Manifest:
    """The status of *pod*; *now* is the time, *phase* the one that it has for good."""
    inits, mains = containers.of(Role.INIT, Role.SIDECAR), containers.of(Role.MAIN)
    phase = phase or phase_of(pod, containers)
    status: Manifest = {
        "phase": phase,
        "conditions": conditions(pod, containers, phase, now),
        "startTime": pod.status.get("startTime") or now,
        "containerStatuses": [_container_status(pod, each, bool(inits)) for each in mains],
    }
    if inits:
        status["initContainerStatuses"] = [_container_status(pod, each, True) for each in inits]
    return status


def phase_of(pod: Pod, containers: PodContainers) -> str:
    """Upstream: getPhase(), of a pod that has not come to its end."""
    inits, mains = containers.of(Role.INIT), containers.of(Role.MAIN)
    if not containers.mains_began and any(not each.has_succeeded for each in inits):
        return "Failed" if any(each.is_over and each.exit_code for each in inits) else "Pending"
    if any(_has_never_run(each) for each in mains):
        return "Pending"
    if all(each.is_over for each in mains):
        return final_phase(containers)
    return "Running"


def final_phase(containers: PodContainers) -> str:
    """The phase of a pod whose containers have all ended."""
    decisive = containers.of(Role.INIT, Role.MAIN)
    return "Failed" if any(each.exit_code != 0 for each in decisive) else "Succeeded"


def exit_code_of(containers: PodContainers) -> int:
    """The code that says how the pod has ended: the first that is not 0."""
    codes = (each.exit_code for each in containers.of(Role.INIT, Role.MAIN))
    return next((code for code in codes if code), 0)


def _has_never_run(container: Container) -> bool:
    is_waiting = container.state in (State.WAITING, State.CREATING, State.NO_IMAGE)
    return is_waiting and container.ended is None and container.last is None


def conditions(pod: Pod, containers: PodContainers, phase: str, now: str) -> list[Manifest]:
    """All conditions of *pod*: those that the kubelet makes, and those of others."""
    ready = _containers_ready(containers, phase)
    found = [
        _kept(pod, "Initialized", *_initialized(containers, phase), now),
        _kept(pod, "Ready", *_ready(pod, ready), now),
        _kept(pod, "ContainersReady", *ready, now),
        condition_of(pod, "PodScheduled") or _kept(pod, "PodScheduled", "", "", now),
    ]
    return [*found, *conditions_of_others(pod)]


def _kept(pod: Pod, kind: str, reason: str, message: str, now: str) -> Manifest:
    """A condition, which is True without a reason; its time stays while its status does."""
    is_true = not reason or (kind == "Initialized" and reason == "PodCompleted")
    status = "True" if is_true else "False"
    old = condition_of(pod, kind) or {}
    since = old.get("lastTransitionTime") if old.get("status") == status else None
    made: Manifest = {"type": kind, "status": status, "lastTransitionTime": since or now}
    if reason:
        made["reason"] = reason
    return {**made, "message": message} if message else made


def _initialized(containers: PodContainers, phase: str) -> tuple[str, str]:
    """Upstream: GeneratePodInitializedCondition()."""
    if phase == "Succeeded":
        return "PodCompleted", ""
    if containers.mains_began:
        return "", ""
    names = [
        each.name
        for each in containers.of(Role.INIT, Role.SIDECAR)
        if not (each.is_started if each.role is Role.SIDECAR else each.has_succeeded)
    ]
    if not names:
        return "", ""
    return "ContainersNotInitialized", f"containers with incomplete status: {_list(names)}"


def _containers_ready(containers: PodContainers, phase: str) -> tuple[str, str]:
    """Upstream: GenerateContainersReadyCondition()."""
    if phase in ("Succeeded", "Failed"):
        return ("PodCompleted" if phase == "Succeeded" else "PodFailed"), ""
    names = [each.name for each in containers.of(Role.SIDECAR, Role.MAIN) if not each.is_ready]
    if not names:
        return "", ""
    return "ContainersNotReady", f"containers with unready status: {_list(names)}"


def _ready(pod: Pod, ready: tuple[str, str]) -> tuple[str, str]:
    """Upstream: GeneratePodReadyCondition()."""
    if ready[0]:
        return ready
    messages: list[str] = []
    for gate in items(pod.spec, "readinessGates"):
        kind = gate.get("conditionType") or ""
        found = condition_of(pod, kind)
        if found is None:
            what = f'corresponding condition of pod readiness gate "{kind}" does not exist.'
            messages.append(what)
        elif found.get("status") != "True":
            state = found.get("status")
            messages.append(f'the status of pod readiness gate "{kind}" is not "True", but {state}')
    return ("ReadinessGatesNotReady", ", ".join(messages)) if messages else ("", "")


def _list(names: Sequence[str]) -> str:
    """As Go prints a list of texts."""
    return f"[{' '.join(names)}]"


def _container_status(pod: Pod, container: Container, has_inits: bool) -> Manifest:
    status: Manifest = {
        "name": container.name,
        "image": container.spec.get("image") or "",
        "imageID": "",
        "ready": _shown_ready(container),
        "started": container.state is State.RUNNING and container.is_started,
        "restartCount": container.restarts,
        "state": _state(pod, container, has_inits),
    }
    last = container.ended if container.state is State.BACKING_OFF else container.last
    if last is not None:
        status["lastState"] = {"terminated": last}
    if container.was_created and container.state is not State.CREATING:
        status["containerID"] = container.identity(pod.uid)
    return status | _resized(pod, container)


def _shown_ready(container: Container) -> bool:
    if container.role is Role.INIT:
        return container.has_succeeded
    return container.is_ready


def _resized(pod: Pod, container: Container) -> Manifest:
    for field in ("initContainerStatuses", "containerStatuses"):
        for each in items(pod.status, field):
            if each.get("name") == container.name:
                return {name: each[name] for name in _OF_RESIZES if name in each}
    return {}


def _state(pod: Pod, container: Container, has_inits: bool) -> Manifest:
    match container.state:
        case State.RUNNING:
            return {"running": {"startedAt": timestamp(container.started_clock)}}
        case State.TERMINATED:
            return {"terminated": container.ended}
        case State.BACKING_OFF:
            return {"waiting": {"reason": CRASH_LOOP, "message": backing_off(pod, container)}}
        case State.NO_IMAGE | State.CREATING if container.pulling.error:
            # Until the next pull has ended, the kubelet shows what came of the last one.
            reason, message = reason_of_no_image(container), message_of_no_image(container)
            return {"waiting": {"reason": reason, "message": message}}
        case State.CREATING if container.ended is not None:
            # Until the new one runs, the kubelet sees the old one.
            return {"terminated": container.ended}
        case _:
            return {"waiting": {"reason": "PodInitializing" if has_inits else "ContainerCreating"}}


def backing_off(pod: Pod, container: Container) -> str:
    """Why the container is not started yet. Upstream: doBackOff()."""
    seconds = container.backoff // 10**9
    minutes, rest = divmod(seconds, 60)
    wait = f"{minutes}m{rest}s" if minutes else f"{seconds}s"
    where = f"{container.name} pod={pod.name}_{pod.namespace}({pod.uid})"
    return f"back-off {wait} restarting failed container={where}"
