"""What would have shortened a path: changes worth a fork, and how much each saves at most.

What a step says is read from the record: the pod waited for just this, for so long. Whether it
would have waited for something else instead only a fork can say (`trying`), so a figure from the
record is an upper limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine.diagnosis.path.attempts import attempts_of
from engine.diagnosis.path.record import Record
from engine.diagnosis.path.steps import Step
from engine.kernel.recorder import Event
from engine.kernel.units import MILLISECOND, SECOND

GRACE_SECONDS = 1
"""The grace that victims are tried with: time enough to close connections."""

# What saves less is not worth a fork.
_LEAST_SHARE, _LEAST = 100, 50 * MILLISECOND
# Steps that a single change makes shorter, and the name of that change.
_SINGLE = {
    "gated": "gate",
    "queue": "queue",
    "backoff": "backoff",
    "binding": "volume",
    "attach": "attach",
    "kubelet": "kubelet",
    "mount": "mount",
    "start": "start",
}
# Steps in which the pod waited for room on a node.
_ROOM = ("grace", "overtaken", "room", "unschedulable")

NAMES = ("grace", "priority", "node", *_SINGLE.values())


@dataclass(frozen=True, slots=True)
class Change:
    """One change: `objects` would have to be otherwise, which saves at most `saves` ns.

    `amount` is the new grace in seconds, or the priority that is enough. A fork after event `seq`
    can try `commands`; None where no command does it.
    """

    name: str
    objects: tuple[str, ...]
    saves: int
    amount: int | None = None
    seq: int | None = None
    commands: tuple[dict[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The change as REST gives it; `known` says from where."""
        return {
            "name": self.name,
            "objects": list(self.objects),
            "saves": self.saves,
            "known": "record",
            "amount": self.amount,
            "seq": self.seq,
            "commands": list(self.commands),
        }


def changes_of(record: Record, pod: str, steps: Sequence[Step], *, born: int) -> tuple[Change, ...]:
    """The changes that would have made *steps* shorter, the largest first.

    *born* is the event that created the pod. Empty for what ran already when the run began.
    """
    length = sum(step.end - step.start for step in steps)
    least = max(length // _LEAST_SHARE, _LEAST)
    found = [
        *_shorter_graces(record, pod, steps),
        *_higher_priorities(record, pod, steps),
        *_more_nodes(steps),
        *_single_steps(pod, steps, born),
    ]
    return tuple(sorted((each for each in found if each.saves >= least), key=_most_first))


def _most_first(change: Change) -> int:
    return -change.saves


def _shorter_graces(record: Record, pod: str, steps: Sequence[Step]) -> Iterator[Change]:
    """For each wait for victims the same with a short grace, which they have before they are evicted."""
    own = record.of_object(pod)
    patch = {"spec": {"terminationGracePeriodSeconds": GRACE_SECONDS}}
    for place, step in enumerate(steps):
        if step.name == "grace":
            seq = _before_attempt(record, own, steps[place - 1].seq if place else None)
            victims = step.objects or (step.object,)
            commands = [{"verb": "patch", "object": victim, "patch": patch} for victim in victims]
            saves = step.end - step.start - GRACE_SECONDS * SECOND
            yield Change(
                "grace", victims, saves, GRACE_SECONDS, seq, tuple(commands if seq else ())
            )


def _before_attempt(record: Record, own: Sequence[Event], end: int | None) -> int | None:
    """The newest event of the pod before the instant at which the attempt that ended with *end* began."""
    begun = (each.start.at for each in attempts_of(record, own) if each.end and each.end.seq == end)
    at = next(begun, 0)
    return next((event.seq for event in reversed(own) if event.at < at), None)


def _higher_priorities(record: Record, pod: str, steps: Sequence[Step]) -> Iterator[Change]:
    """A priority above that of a pod that took the room; it takes what follows with it."""
    own = _priority(record, pod)
    placed = next((i for i in reversed(range(len(steps))) if steps[i].name == "attempt"), None)
    for place, step in enumerate(steps):
        if step.name != "overtaken":
            continue
        taken = _priority(record, step.object)
        if taken >= own:
            until = len(steps) if placed is None or placed < place else placed
            saves = sum(each.end - each.start for each in steps[place:until])
            yield Change("priority", (step.object,), saves, taken + 1)


def _priority(record: Record, pod: str) -> int:
    found = 0
    for event in record.of_object(pod):
        found = int(((event.changes or {}).get(pod) or {}).get("priority") or found)
    return found


def _more_nodes(steps: Sequence[Step]) -> Iterator[Change]:
    """One more node, in place of all waits for room."""
    waits = [step for step in steps if step.name in _ROOM]
    if waits:
        objects = tuple(dict.fromkeys(step.object for step in waits if step.name == "room"))
        yield Change("node", objects, sum(step.end - step.start for step in waits))


def _single_steps(pod: str, steps: Sequence[Step], born: int) -> Iterator[Change]:
    for name, change in _SINGLE.items():
        found = [step for step in steps if step.name == name]
        if not found:
            continue
        objects = tuple(dict.fromkeys(step.object for step in found))
        saves = sum(step.end - step.start for step in found)
        if name == "gated":
            patch = {"spec": {"schedulingGates": None}}
            commands = ({"verb": "patch", "object": pod, "patch": patch},)
            yield Change(change, objects, saves, None, born, commands)
        else:
            yield Change(change, objects, saves)
