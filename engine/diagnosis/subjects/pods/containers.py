"""Why the containers of a pod that has its node end again and again, are not ready, or wait.

It reads the pod's status, as a kubelet writes it, and what the script says of the next run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.controllers.shared.pods import time_of
from engine.diagnosis.candidates import Candidate, replaced
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import Sentence, phrase, say, say_count, together
from engine.kernel.units import SECOND
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.matching import entry_of_identity, part_of, scripts_for
from engine.objects.scripts.reading import SCRIPT_ANNOTATION
from engine.objects.scripts.script import NO_ENTRY, ContainerRun, ProbeKind
from engine.objects.values.durations import parse_duration

KUBELET: Final = "kubelet"
_INITS: Final = "initContainerStatuses"
_LISTS: Final = {_INITS: "initContainers", "containerStatuses": "containers"}
# Upstream: kuberuntime_manager.go, doBackOff().
_BACK_OFF: Final = re.compile(r"back-off (\S+) restarting")
_PROBES: Final = {
    ProbeKind.STARTUP: "startupProbe",
    ProbeKind.READINESS: "readinessProbe",
    ProbeKind.LIVENESS: "livenessProbe",
}
# The probes because of which a container is ended.
_ENDING: Final = (ProbeKind.LIVENESS, ProbeKind.STARTUP)
# The waits before a first probe that are tried, in seconds.
_TRIED_DELAYS: Final = (60, 300)
# So long a container has to run before it counts as one that stays.
STAYS: Final = 120 * SECOND


@dataclass(frozen=True, slots=True)
class _Seen:
    """One container: its status and where that stands, and its spec."""

    pod: Pod
    field: str
    place: int
    status: Manifest
    spec: Manifest

    @property
    def name(self) -> str:
        return str(self.status.get("name"))

    @property
    def is_init(self) -> bool:
        """Whether others wait until it has ended: no sidecar."""
        return self.field == _INITS and self.spec.get("restartPolicy") != "Always"

    def fact(self, *path: str, text: Sentence) -> Fact:
        return fact(self.pod, ("status", self.field, self.place, *path), text)


def container_causes(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """What is wrong with containers of *pod*, those that others wait for first."""
    for each in _containers(pod):
        ended = section(each.status, "state", "terminated") or section(
            each.status, "lastState", "terminated"
        )
        if ended and _is_tried(each) and not _stays(each.status, scene.store.clock):
            yield _crash(scene, each, ended)
        elif each.is_init and section(each.status, "state", "running"):
            yield _init_runs(scene, each)
        elif section(each.status, "state", "running") and not each.status.get("ready"):
            yield from _unready(scene, each)


def _containers(pod: Pod) -> Iterator[_Seen]:
    for field, specs in _LISTS.items():
        by_name = {str(one.get("name")): one for one in items(pod.spec, specs)}
        for place, status in enumerate(items(pod.status, field)):
            yield _Seen(pod, field, place, status, by_name.get(str(status.get("name")), {}))


def _is_tried(seen: _Seen) -> bool:
    """Whether a container that has ended is started again, or was already."""
    if seen.status.get("restartCount"):
        return True
    policy = seen.spec.get("restartPolicy") or seen.pod.spec.get("restartPolicy") or "Always"
    code = section(seen.status, "state", "terminated").get("exitCode")
    return code is not None and policy != "Never" and (code != 0 or policy == "Always")


# -- containers that end again and again ------------------------------------------------------------

_CRASHES: Final = phrase(
    "Container {container} of pod {pod} ends again and again: restarted {times} times, it last ended "
    "with exit code {exit_code} ({reason})."
)
_INIT_CRASHES: Final = phrase(
    "Init container {container} of pod {pod} ends again and again: restarted {times} times, it last "
    "ended with exit code {exit_code} ({reason}). The other containers wait for it."
)


def _crash(scene: Scene, seen: _Seen, ended: Manifest) -> Cause:
    said = _INIT_CRASHES if seen.is_init else _CRASHES
    sentence = said.say(
        container=seen.name,
        pod=seen.pod.key,
        times=int(seen.status.get("restartCount") or 0),
        exit_code=ended.get("exitCode"),
        reason=ended.get("reason"),
    )
    where = "state" if section(seen.status, "state", "terminated") else "lastState"
    text = say("Its last run ended at {time}.", time=ended.get("finishedAt"))
    because = [seen.fact(where, "terminated", "exitCode", text=text)]
    count = int(seen.status.get("restartCount") or 0)
    text = say_count("It was restarted once.", "It was restarted {count} times.", count)
    because.append(seen.fact("restartCount", text=text))
    because += _killed_by_probe(scene, seen)
    why = _next_start(scene, seen, ended, because)
    next_run = _by_script(scene, seen, count + 1, because)
    return cause(
        KUBELET,
        sentence,
        because,
        why=together(why, next_run) if next_run else why,
        event=scene.event(seen.pod, "BackOff"),
    )


def _killed_by_probe(scene: Scene, seen: _Seen) -> Iterator[Fact]:
    """The probe because of which the kubelet ended the last run, if one was it."""
    event = scene.event(seen.pod, "Unhealthy")
    for kind in _ENDING:
        field = _PROBES[kind]
        if seen.spec.get(field) and f"{kind.value} probe" in event:
            place = _place_in_spec(seen)
            text = say(
                "The kubelet ended it because of its {field}: {event}.", field=field, event=event
            )
            yield fact(seen.pod, ("spec", _LISTS[seen.field], place, field), text)


def _place_in_spec(seen: _Seen) -> int:
    specs = items(seen.pod.spec, _LISTS[seen.field])
    return next(place for place, each in enumerate(specs) if each is seen.spec)


def _next_start(scene: Scene, seen: _Seen, ended: Manifest, because: list[Fact]) -> Sentence:
    """When the kubelet starts it again: the back-off doubles from 10 s to five minutes."""
    if section(seen.status, "state", "running"):
        return say("It runs again; the next back-off is longer unless it stays for ten minutes.")
    message = str(section(seen.status, "state", "waiting").get("message") or "")
    found = _BACK_OFF.search(message)
    if found is None:
        return say(
            "The kubelet starts it again, and waits longer each time: 10 s, doubled up to 5 min."
        )
    because.append(
        seen.fact(
            "state",
            "waiting",
            "message",
            text=say("The kubelet waits: {message}.", message=message),
        )
    )
    left = 0
    if ended.get("finishedAt"):
        at = time_of(str(ended["finishedAt"])) + parse_duration(found[1])
        left = max(0, at - scene.store.clock)
    return say(
        "The back-off is {backoff}, counted from its last end: it starts again in {seconds} s at the "
        "earliest. The wait doubles each time, up to 5 min, and is forgotten after ten minutes of "
        "running.",
        backoff=found[1],
        seconds=left // SECOND,
    )


def _by_script(scene: Scene, seen: _Seen, restarts: int, because: list[Fact]) -> Sentence | None:
    """What its script says of its next run; None without a script, or where that is silent."""
    entry = entry_of_identity(str(seen.status.get("containerID") or ""))
    entries = scripts_for(seen.pod, scene.scripts)
    part = part_of(entry, entries)
    run = part.script.run(restarts)
    if part.entry == NO_ENTRY or run is None:
        return None
    if part.script.number == NO_ENTRY:
        text = say("The annotation {name} of the pod says what it does.", name=SCRIPT_ANNOTATION)
        because.append(fact(seen.pod, ("metadata", "annotations", SCRIPT_ANNOTATION), text))
        return _told_run(run)
    where = say(
        "Entry {number} of spec.containers of the scenario says what it does.",
        number=part.script.number + 1,
    )
    return together(where, _told_run(run))


def _told_run(run: ContainerRun) -> Sentence:
    if run.lasts is None:
        return say("By its script the next run goes on without an end of its own.")
    if run.lasts.shape == "fixed":
        return say(
            "By its script the next run ends after {seconds} s with exit code {exit_code}.",
            seconds=run.lasts.low // SECOND,
            exit_code=run.exit_code,
        )
    return say(
        "By its script the next run ends with exit code {exit_code}.", exit_code=run.exit_code
    )


# -- containers that others wait for, or that are not ready -------------------------------------------


def _init_runs(scene: Scene, seen: _Seen) -> Cause:
    since = section(seen.status, "state", "running").get("startedAt")
    passed = 0 if not since else max(0, scene.store.clock - time_of(str(since))) // SECOND
    sentence = say(
        "Init container {container} of pod {pod} has run for {seconds} s and has not ended; the other "
        "containers wait for it.",
        container=seen.name,
        pod=seen.pod.key,
        seconds=passed,
    )
    text = say("It has run since {time}.", time=since)
    because = [seen.fact("state", "running", "startedAt", text=text)]
    entry = entry_of_identity(str(seen.status.get("containerID") or ""))
    script = part_of(entry, scripts_for(seen.pod, scene.scripts)).script
    run = script.run(int(seen.status.get("restartCount") or 0))
    why = say("The kubelet starts init containers one after the other, and each has to end with 0.")
    if run is not None and run.lasts is None:
        why = together(why, say("By its script it never ends."))
    return cause(KUBELET, sentence, because, why=why, severity="blocks")


_PROBED: Final = {
    ProbeKind.STARTUP: phrase(
        "Container {container} of pod {pod} runs and has not started up: its startup probe has not "
        "passed."
    ),
    ProbeKind.READINESS: phrase(
        "Container {container} of pod {pod} runs and is not ready: its readiness probe fails."
    ),
}


def _unready(scene: Scene, seen: _Seen) -> Iterator[Cause]:
    """The probe that has to pass before the container counts as ready."""
    kinds = [ProbeKind.STARTUP] if not seen.status.get("started") else []
    for kind in (*kinds, ProbeKind.READINESS):
        field = _PROBES[kind]
        if not seen.spec.get(field):
            continue
        sentence = _PROBED[kind].say(container=seen.name, pod=seen.pod.key)
        text = say(
            "It asks every {seconds} s.", seconds=seen.spec[field].get("periodSeconds") or 10
        )
        because = [
            fact(seen.pod, ("spec", _LISTS[seen.field], _place_in_spec(seen), field), text),
            seen.fact("ready", text=say("The kubelet has not found it ready.")),
        ]
        event = scene.event(seen.pod, "Unhealthy")
        why = say("A Service sends it nothing, and a rollout waits for it.")
        yield cause(
            KUBELET,
            sentence,
            because,
            why=why,
            severity="delays",
            event=event if f"{kind.value} probe" in event else "",
        )
        return


# -- changes that are tried ----------------------------------------------------------------------------


def container_changes(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    """Later first probes, for containers that the kubelet ends because of one."""
    for seen in _containers(pod):
        for found in _killed_by_probe(scene, seen):
            for delay in _TRIED_DELAYS:
                yield _later(pod, seen, str(found.path[-1]), delay)


def _later(pod: Pod, seen: _Seen, field: str, delay: int) -> Candidate:
    text = say(
        "Let the {field} of container {container} begin {seconds} s after its start "
        "(initialDelaySeconds)",
        field=field,
        container=seen.name,
        seconds=delay,
    )
    specs = _LISTS[seen.field]
    fields = {specs: _with_delay(items(pod.spec, specs), seen.name, field, delay)}
    breaks = say("A container that hangs is found later.")
    return replaced(pod, fields, kind="probe", text=text, breaks=breaks)


def _with_delay(specs: list[Manifest], name: str, field: str, delay: int) -> list[Manifest]:
    found: list[Manifest] = []
    for each in specs:
        if each.get("name") == name and each.get(field):
            probe: dict[str, Any] = {**each[field], "initialDelaySeconds": delay}
            found.append({**each, field: probe})
        else:
            found.append(each)
    return found


def stay(pod: Pod, clock: int) -> bool:
    """Whether the containers of *pod* are ready, and those that were restarted have stayed up."""
    return all(
        _stays(seen.status, clock, _probed_for(seen))
        for seen in _containers(pod)
        if seen.field != _INITS
    )


def _stays(status: Manifest, clock: int, least: int = 0) -> bool:
    """Whether a container is ready and runs for *least* ns, or for long after a restart."""
    since = section(status, "state", "running").get("startedAt")
    if not status.get("ready") or not since:
        return bool(status.get("ready"))
    least = STAYS if status.get("restartCount") else least
    return clock - time_of(str(since)) >= least


def _probed_for(seen: _Seen) -> int:
    """How long a container that follows a script runs before a probe can have ended it, ns."""
    if entry_of_identity(str(seen.status.get("containerID") or "")) == NO_ENTRY:
        return 0
    found = [seen.spec[_PROBES[kind]] for kind in _ENDING if seen.spec.get(_PROBES[kind])]
    return max(map(_patience, found), default=0)


def _patience(probe: Manifest) -> int:
    """Until its failures can count, and one period more."""
    period, failures = probe.get("periodSeconds") or 10, probe.get("failureThreshold") or 3
    return ((probe.get("initialDelaySeconds") or 0) + period * (failures + 1)) * SECOND
