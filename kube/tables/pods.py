"""What a table says of a pod. Upstream: printPod()."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube.tables.durations import since

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Summary:
    """ "1/2" containers ready, the status in one word, and the restarts."""

    ready: str
    status: str
    restarts: int
    last_restart: str


def summary(pod: Object) -> Summary:
    """The pod in one line."""
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    always = {
        one["name"]
        for one in spec.get("initContainers") or []
        if one.get("restartPolicy") == "Always"
    }
    word = status.get("reason") or status.get("phase") or "Pending"
    for one in status.get("conditions") or []:
        if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    counted = _InitContainers(spec, status, always)
    ready, restarts, last = counted.ready, counted.restarts, counted.last_restart
    if counted.word:
        word = counted.word
    if not counted.word or _is_initialized(status):
        restarts, last = counted.restarts_of_always, counted.last_of_always
        is_running = False
        for one in reversed(status.get("containerStatuses") or []):
            restarts += one.get("restartCount") or 0
            last = max(last, _last_restart(one))
            found = _container_word(one)
            if found:
                word = found
            elif one.get("ready") and "running" in (one.get("state") or {}):
                is_running = True
                ready += 1
        if word == "Completed" and is_running:
            word = "Running" if _is_ready(status) else "NotReady"
    if pod["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            word = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            word = "Terminating"
    total = len(spec.get("containers") or []) + len(always)
    return Summary(f"{ready}/{total}", word, restarts, last)


class _InitContainers:
    """What the init containers make of the line: `word` while one of them is not done."""

    def __init__(self, spec: Object, status: Object, always: set[str]) -> None:
        self.word = ""
        self.ready = self.restarts = self.restarts_of_always = 0
        self.last_restart = self.last_of_always = ""
        statuses = status.get("initContainerStatuses") or []
        for place, one in enumerate(statuses):
            self.restarts += one.get("restartCount") or 0
            self.last_restart = max(self.last_restart, _last_restart(one))
            state = one.get("state") or {}
            if one.get("name") in always:
                self.restarts_of_always += one.get("restartCount") or 0
                self.last_of_always = max(self.last_of_always, _last_restart(one))
                if one.get("ready"):
                    self.ready += 1
                if one.get("started"):
                    continue
            ended, waiting = state.get("terminated"), state.get("waiting")
            if ended is not None and not ended.get("exitCode"):
                continue
            if ended is not None:
                self.word = f"Init:{_end_word(ended)}"
            elif waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
                self.word = f"Init:{waiting['reason']}"
            else:
                self.word = f"Init:{place}/{len(spec.get('initContainers') or [])}"
            break


def _end_word(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _container_word(status: Object) -> str:
    state = status.get("state") or {}
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    if waiting.get("reason"):
        return str(waiting["reason"])
    return _end_word(ended) if ended is not None else ""


def _last_restart(status: Object) -> str:
    """When it ended the last time; timestamps of one form can be compared as text."""
    return str(((status.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or "")


def _condition(status: Object, name: str) -> bool:
    return any(
        one.get("type") == name and one.get("status") == "True"
        for one in status.get("conditions") or []
    )


def _is_ready(status: Object) -> bool:
    return _condition(status, "Ready")


def _is_initialized(status: Object) -> bool:
    return _condition(status, "Initialized")


def restarts(pod: Object, now: int) -> str:
    """ "3 (2m ago)"."""
    found = summary(pod)
    if not found.restarts or not found.last_restart:
        return str(found.restarts)
    return f"{found.restarts} ({since(found.last_restart, now)} ago)"


def readiness_gates(pod: Object) -> str:
    """How many of its readiness gates are open."""
    gates = (pod.get("spec") or {}).get("readinessGates") or []
    if not gates:
        return "<none>"
    status = pod.get("status") or {}
    are_open = sum(_condition(status, one.get("conditionType", "")) for one in gates)
    return f"{are_open}/{len(gates)}"
