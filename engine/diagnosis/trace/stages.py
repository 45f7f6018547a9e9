"""The stages of a pod's life: each of its events belongs to one of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from engine.diagnosis.path.record import Record
from engine.diagnosis.trace.answer import Stage
from engine.kernel.recorder import Event

Name = Literal["queue", "attempt", "bind", "start", "after"]
# The events with which a stage begins.
_BEGIN: dict[str, Name] = {
    "PodCreated": "queue",
    "AttemptStarted": "attempt",
    "PodAssumed": "bind",
    "PodBound": "start",
    "PodRunning": "after",
    "PodSucceeded": "after",
    "PodFailed": "after",
    "PodRejected": "after",
    "PodTerminating": "after",
    "PodEvicted": "after",
    "PodDeleted": "after",
}
# The decision of an attempt. PodAssumed, which begins the next stage, is one as well.
_DECIDE = ("FailedScheduling", "PodParked", "PodBackedOff", "PodGated")


def stages_of(own: Sequence[Event]) -> list[Stage]:
    """The stages among a pod's *own* events, of which every one is in exactly one stage."""
    starts: list[tuple[int, Name]] = []
    for i, event in enumerate(own):
        name: Name | None = _BEGIN.get(event.kind) or ("queue" if i == 0 else None)
        goes_on = name == "after" and starts and starts[-1][1] == "after"
        if name is not None and not goes_on:
            starts.append((i, name))
    found: list[Stage] = []
    number = 0
    ends = [i for i, _ in starts[1:]] + [len(own)]
    for (i, name), following in zip(starts, ends, strict=True):
        number += name == "attempt"
        later = own[following] if following < len(own) else None
        found.append(_stage(own[i:following], name, number, later))
    return found


def _stage(own: Sequence[Event], name: Name, number: int, later: Event | None) -> Stage:
    first = own[0]
    stage = Stage(
        name,
        number if name == "attempt" else None,
        first.at,
        later.at if later else None,
        first.seq,
        later.seq - 1 if later else None,
        message=first.message,
    )
    if name != "attempt":
        return stage
    decided = next((event for event in own if event.kind in _DECIDE), None)
    if decided is None and later is not None and later.kind == "PodAssumed":
        decided = later
    if decided is None:
        return stage
    return replace(
        stage,
        end=decided.at,
        decided=decided.kind,
        decided_seq=decided.seq,
        message=decided.message,
        node=_node(decided),
        blocker=_blocker(decided),
    )


def with_victims(record: Record, stage: Stage) -> Stage:
    """The attempt with the pods that it evicted."""
    if stage.decided != "FailedScheduling":
        return stage
    causes = record.causes(stage.decided_seq or stage.first, after=stage.first)
    evicted = tuple(event.object for event in causes if event.kind == "PodEvicted")
    return replace(stage, victims=evicted)


def _node(decided: Event) -> str:
    if decided.kind != "PodAssumed":
        return ""
    return decided.message.removeprefix("to ").partition(",")[0]


def _blocker(decided: Event) -> Any:
    """What refused the pod, without the changes that would help: they are for another question."""
    blocker = ((decided.changes or {}).get(decided.object) or {}).get("blocker")
    if not blocker:
        return None
    return {key: value for key, value in blocker.items() if key != "fixes"}
