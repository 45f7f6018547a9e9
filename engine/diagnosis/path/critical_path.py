"""The critical path of a pod: what it waited for, from its creation until it ran.

Each wait has the name of what was waited for, not of the pod's state. A pod that stood in backoff
while its victims still ran waited for them: shorter backoff would have changed nothing.

    created ─▶ gated ─▶ attempt ─▶ grace of victims ─▶ overtaken ─▶ … ─▶ backoff ─▶ attempt
            ─▶ binding ─▶ attach ─▶ kubelet looks again ─▶ mount ─▶ start ─▶ running
"""

from collections.abc import Sequence

from engine.diagnosis.path.attempts import attempts_of
from engine.diagnosis.path.record import Record
from engine.diagnosis.path.steps import Line, Path
from engine.diagnosis.path.waits import Waits
from engine.kernel.recorder import Event

_ENDS = ("PodRunning", "PodSucceeded", "PodFailed", "PodRejected", "PodDeleted")
# The events that end the steps between binding and running.
_MILESTONES = {
    "SuccessfulAttachVolume": "attach",
    "VolumeAttached": "attach",
    "VolumeAttachmentVerified": "kubelet",
    "VolumesMounted": "mount",
}
# Where the path of a pod that does not run yet stands after each of them.
_NEXT = {"": "volumes", "attach": "kubelet", "kubelet": "mount", "mount": "start"}


def critical_path(record: Record, pod: str, *, now: int) -> Path | None:
    """What *pod* ("pod/NS/NAME") waited for; None if the record does not know it.

    A pod that does not run yet waits until *now*, in virtual nanoseconds. Of several pods that had
    the name one after the other it is the newest.
    """
    own = _newest(record.of_object(pod))
    if not own:
        return None
    last = next((event for event in own if _has_ended(event)), None)
    if last is not None:
        own = own[: own.index(last) + 1]
    line = Line(pod, own[0].at, last.at if last else now, last)
    _fill(record, own, line)
    return Path(pod, own[0].at, line.end, last is None, tuple(line.steps), own[0].seq)


def _newest(own: list[Event]) -> list[Event]:
    created = [i for i, event in enumerate(own) if event.kind == "PodCreated"]
    return own[created[-1] :] if created else []


def _has_ended(event: Event) -> bool:
    if event.kind != "PodCreated":
        return event.kind in _ENDS
    # It ran already when the run began.
    attributes = (event.changes or {}).get(event.object) or {}
    return attributes.get("phase") not in (None, "Pending")


def _fill(record: Record, own: Sequence[Event], line: Line) -> None:
    attempts = attempts_of(record, own)
    waits = Waits(record, own, line)
    waits.enter_queue(attempts)
    placed = attempts[-1] if attempts and attempts[-1].node else None
    waits.fail(attempts[:-1] if placed else attempts, placed)
    if placed is not None:
        waits.attempt(placed)
    bound = next((event for event in own if event.kind == "PodBound"), None)
    if placed is not None:
        _bind(record, line, bound)
    _run(record, own, line, bound)


def _bind(record: Record, line: Line, bound: Event | None) -> None:
    """Until the pod is bound, and with it the volumes that it waits for."""
    causes = record.causes(bound.seq, after=0) if bound else []
    written = [event for event in causes if not event.object.startswith("pod/")]
    line.until(bound, "binding", written[-1].object if written else "")


def _run(record: Record, own: Sequence[Event], line: Line, bound: Event | None) -> None:
    """From the node to PodRunning, along what caused it."""
    since = bound.seq if bound else own[0].seq
    led = record.causes(own[-1].seq, after=since)
    passed = {event.seq: event for event in (*own, *led) if event.seq > since}
    reached = ""
    for _, event in sorted(passed.items()):
        name = _MILESTONES.get(event.kind)
        if name is not None:
            line.until(event, name, event.object, message=event.message)
            reached = name
    has_volumes = bool(((own[0].changes or {}).get(line.pod) or {}).get("claims"))
    is_waiting = line.last is None and has_volumes
    line.until(None, _NEXT[reached] if is_waiting else "start")
