"""The columns of a pod. Upstream: printPod()."""

from collections.abc import Iterator
from typing import Any

from kube.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNREADABLE,
    Cell,
    Heading,
    Object,
    is_deleted,
    status_of,
)
from kube.tables.durations import UNKNOWN, since

_UNREACHABLE = "NodeLost"
_ENDED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class Line:
    """What a table says of the containers of a pod: `ready` of `total`, a word, the restarts.

    The statuses of init containers are looked at first, those of the others once the pod is
    initialized.
    """

    def __init__(self, pod: Object) -> None:
        self._spec: Object = pod.get("spec") or {}
        self._status: Object = pod.get("status") or {}
        # Init containers that run beside the others until the pod ends.
        self._sidecars = {
            one.get("name")
            for one in self._spec.get("initContainers") or []
            if one.get("restartPolicy") == "Always"
        }
        self.total = len(self._spec.get("containers") or []) + len(self._sidecars)
        self.ready = 0
        self.restarts = _Restarts()
        self.word = self._first_word()
        sidecar_restarts = _Restarts()
        initializing = self._look_at_init_containers(sidecar_restarts)
        if not initializing or self._is_true("Initialized"):
            self.restarts = sidecar_restarts
            self._look_at_containers()
        if is_deleted(pod):
            self._look_at_deletion()

    def _first_word(self) -> str:
        for one in self._conditions():
            if one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated":
                return "SchedulingGated"
        return str(self._status.get("reason") or self._status.get("phase") or "")

    def _look_at_init_containers(self, of_sidecars: "_Restarts") -> bool:
        """Whether one of them is not done; the word then says how far they are."""
        for place, one in enumerate(self._status.get("initContainerStatuses") or []):
            is_sidecar = one.get("name") in self._sidecars
            self.restarts.add(one)
            if is_sidecar:
                of_sidecars.add(one)
            state = one.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting") or {}
            if ended is not None and not ended.get("exitCode"):
                continue
            if is_sidecar and one.get("started"):
                self.ready += bool(one.get("ready"))
                continue
            if ended is not None:
                self.word = f"Init:{_end_word(ended)}"
            elif waiting.get("reason") not in (None, "", "PodInitializing"):
                self.word = f"Init:{waiting['reason']}"
            else:
                self.word = f"Init:{place}/{len(self._spec.get('initContainers') or [])}"
            return True
        return False

    def _look_at_containers(self) -> None:
        is_running = False
        for one in reversed(self._status.get("containerStatuses") or []):
            self.restarts.add(one)
            state = one.get("state") or {}
            reason = (state.get("waiting") or {}).get("reason")
            ended = state.get("terminated")
            if reason:
                self.word = str(reason)
            elif ended is not None:
                self.word = _end_word(ended)
            elif one.get("ready") and state.get("running") is not None:
                is_running = True
                self.ready += 1
        if self.word == "Completed" and is_running:
            self.word = "Running" if self._is_true("Ready") else "NotReady"

    def _look_at_deletion(self) -> None:
        if self._status.get("reason") == _UNREACHABLE:
            self.word = "Unknown"
        elif self._status.get("phase") not in _ENDED:
            self.word = "Terminating"

    def _conditions(self) -> Iterator[Object]:
        yield from self._status.get("conditions") or ()

    def _is_true(self, name: str) -> bool:
        return any(
            one.get("type") == name and one.get("status") == "True" for one in self._conditions()
        )


class _Restarts:
    """How often containers were restarted, and when one ended before it was."""

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    def add(self, status: Object) -> None:
        """Count those of a container's status."""
        self.count += status.get("restartCount") or 0
        ended = (status.get("lastState") or {}).get("terminated") or {}
        # Timestamps of one form can be compared as text.
        self.last = max(self.last, ended.get("finishedAt") or "")

    def text(self, now: int) -> str:
        """As in "3 (2m ago)"."""
        if not self.count or not self.last:
            return str(self.count)
        return f"{self.count} ({since(self.last, now)} ago)"


def _end_word(ended: Object) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def _readiness_gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or []
    if not gates:
        return NONE
    known = {one.get("type"): one.get("status") for one in status.get("conditions") or []}
    are_true = sum(known.get(one.get("conditionType")) == "True" for one in gates)
    return f"{are_true}/{len(gates)}"


def cells(pod: Object, now: int) -> list[Cell]:
    """The cells of a pod when clocks show *now*."""
    try:
        return _cells(pod, now)
    except UNREADABLE:
        return [NAME.get(pod, now), *[UNKNOWN] * (len(HEADINGS) - 1)]


def _cells(pod: Object, now: int) -> list[Cell]:
    line = Line(pod)
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    ips = [one.get("ip") for one in status.get("podIPs") or []] or [status.get("podIP")]
    return [
        NAME.get(pod, now),
        f"{line.ready}/{line.total}",
        line.word,
        line.restarts.text(now),
        AGE.get(pod, now),
        ips[0] or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def conditions(pod: Object) -> list[dict[str, Any]]:
    """The conditions of a pod's row: that it has ended."""
    phase = status_of(pod).get("phase")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


HEADINGS: tuple[Heading, ...] = (
    NAME,
    Heading("Ready"),
    Heading("Status"),
    Heading("Restarts"),
    AGE,
    Heading("IP", priority=1),
    Heading("Node", priority=1),
    Heading("Nominated Node", priority=1),
    Heading("Readiness Gates", priority=1),
)
