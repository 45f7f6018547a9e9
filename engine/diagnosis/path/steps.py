"""A step of a path, and the line of steps that grows from the creation of a pod on."""

from dataclasses import dataclass, field, replace
from typing import Any

from engine.kernel.recorder import Event

# The name of a step says what was waited for; the family is the colour that pages give it.
FAMILIES = {
    "gated": "held",
    "queue": "ready",
    "attempt": "working",
    "grace": "stuck",
    "room": "stuck",
    "overtaken": "held",
    "unschedulable": "stuck",
    "backoff": "clock",
    "binding": "promised",
    "attach": "ready",
    "kubelet": "clock",
    "mount": "working",
    "volumes": "ready",
    "start": "settled",
}


@dataclass(frozen=True, slots=True)
class Step:
    """One part of a path, in virtual nanoseconds.

    `object` is what was waited for, `objects` all of them if there are several, `seq` the event that
    ended the step, None as long as it lasts. `attempt` counts from 1.
    """

    start: int
    end: int
    name: str
    object: str
    seq: int | None
    objects: tuple[str, ...] = ()
    attempt: int | None = None
    message: str = ""

    @property
    def family(self) -> str:
        """See FAMILIES."""
        return FAMILIES[self.name]

    def to_dict(self) -> dict[str, Any]:
        """The step as REST gives it."""
        return {
            "from": self.start,
            "to": self.end,
            "name": self.name,
            "family": self.family,
            "object": self.object,
            "objects": list(self.objects or (self.object,)),
            "seq": self.seq,
            "attempt": self.attempt,
            "message": self.message,
        }


@dataclass(frozen=True, slots=True)
class Path:
    """The steps of *pod* from `start` to `end`; `is_open` while it neither runs nor has ended.

    `born` is the event that created it.
    """

    pod: str
    start: int
    end: int
    is_open: bool
    steps: tuple[Step, ...]
    born: int

    def to_dict(self) -> dict[str, Any]:
        """The path as REST gives it; `sums` are nanoseconds by name, the largest first."""
        sums: dict[str, int] = {}
        for step in self.steps:
            sums[step.name] = sums.get(step.name, 0) + step.end - step.start
        return {
            "pod": self.pod,
            "from": self.start,
            "to": self.end,
            "open": self.is_open,
            "steps": [step.to_dict() for step in self.steps],
            "sums": [
                {"name": name, "family": FAMILIES[name], "sum": total}
                for name, total in sorted(sums.items(), key=lambda item: -item[1])
            ],
        }


@dataclass(slots=True)
class Line:
    """The steps of *pod*, each beginning where the one before it ended, at most until *end*.

    `last` is the event with which the whole ends, None for a path that is open.
    """

    pod: str
    at: int
    end: int
    last: Event | None
    steps: list[Step] = field(default_factory=list[Step])

    def until(self, event: Event | None, name: str, entity: str = "", **more: Any) -> None:
        """Add a step that lasts until *event*, or with None to the end; one without length is left out."""
        event = event or self.last
        end = min(event.at, self.end) if event else self.end
        if end > self.at:
            seq = event.seq if event else None
            self.steps.append(Step(self.at, end, name, entity or self.pod, seq, **more))
            self.at = end
        elif event and self.steps and (self.steps[-1].name, self.steps[-1].end) == (name, end):
            # The last of several facts of one moment is the one that others follow from.
            self.steps[-1] = replace(self.steps[-1], object=entity or self.pod, seq=event.seq)
