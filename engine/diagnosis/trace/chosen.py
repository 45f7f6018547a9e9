"""The pod that was chosen: whose rows its path names, what led to what between them, its stages."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.record import Record
from engine.diagnosis.path.steps import Path, Step
from engine.diagnosis.trace.answer import Arrow, Stage
from engine.diagnosis.trace.stages import stages_of
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import Event

_EVICTIONS = ("PodEvicted", "PodDisrupted", "Preempted")


class Chosen:
    """The pod *pod* ("pod/NS/NAME") as seen at *now* through *record*."""

    def __init__(self, trace: Trace, record: Record, pod: str, *, now: int) -> None:
        self.pod = pod
        self.record = record
        self.own = _newest(record.of_object(pod))
        lane = trace.lane(pod)
        self._kubernetes = lane.events if lane is not None else array("I")
        self.stages: list[Stage] = stages_of(self.own) if self.own else []
        self.rows: list[str] = []
        self.arrows: tuple[Arrow, ...] = ()
        path = critical_path(record, pod, now=now)
        if path is not None:
            related = _Related(pod, (*trace.volumes_of.get(pod, ()),), _claims(self.own))
            rows = dict.fromkeys(row for step in path.steps for row in related.rows(step))
            self.rows = [row for row in rows if row != pod and trace.lane(row) is not None]
            self.arrows = tuple(_between({pod, *self.rows}, related.arrows(path)))

    def is_kubernetes(self, seq: int) -> bool:
        """Whether one of its events is a Kubernetes Event."""
        i = bisect_left(self._kubernetes, seq)
        return i < len(self._kubernetes) and self._kubernetes[i] == seq

    def evictor(self, event: Event) -> str:
        """The pod for whose sake a scheduler evicted; "" for any other event."""
        if event.kind not in _EVICTIONS or event.component != "scheduler":
            return ""
        causes = reversed(self.record.causes(event.seq, after=0))
        return next((each.object for each in causes if each.kind == "AttemptStarted"), "")

    def events(self, stage: Stage) -> list[Event]:
        """The events of one of the stages."""
        last = stage.last
        return [
            event
            for event in self.own
            if event.seq >= stage.first and (last is None or event.seq <= last)
        ]


def _newest(own: Sequence[Event]) -> list[Event]:
    """The events of the newest pod of the name."""
    created = [i for i, event in enumerate(own) if event.kind == "PodCreated"]
    return [*own[created[-1] :]] if created else []


def _claims(own: Sequence[Event]) -> tuple[str, ...]:
    """The claims that the pod names."""
    if not own:
        return ()
    pod = own[0].object
    namespace = pod.split("/")[1]
    attributes = (own[0].changes or {}).get(pod) or {}
    return tuple(f"claim/{namespace}/{name}" for name in attributes.get("claims", ()))


def _between(places: set[str], arrows: Iterable[Arrow]) -> Iterator[Arrow]:
    """Those of the *arrows* that lead from one of the *places* to another one."""
    for arrow in arrows:
        if arrow.from_row != arrow.to_row and {arrow.from_row, arrow.to_row} <= places:
            yield arrow


@dataclass(frozen=True, slots=True)
class _Related:
    """What a pod's path leads over: the volumes that it asked a node for, as NODE/VOLUME, its claims."""

    pod: str
    volumes: tuple[str, ...]
    claims: tuple[str, ...]

    def rows(self, step: Step) -> Iterator[str]:
        """The rows that a step is about."""
        if step.name in ("attach", "mount", "volumes"):
            yield from (f"{name}/{place}" for name in ("attach", "mount") for place in self.volumes)
        elif step.name == "binding":
            yield from self.claims
        else:
            yield from step.objects or (step.object,)

    def arrows(self, path: Path) -> Iterator[Arrow]:
        """What led to what, in the order of the steps."""
        for step, then in zip_longest(path.steps, path.steps[1:]):
            yield from self._at_start(step)
            if step.seq is not None:
                yield from self._at_end(step, then)

    def _at_start(self, step: Step) -> Iterator[Arrow]:
        at = step.start
        if step.name == "grace":
            for victim in step.objects or (step.object,):
                yield Arrow("evicts", self.pod, at, victim, at)
        elif step.name == "binding":
            yield from (Arrow("binds", self.pod, at, claim, at) for claim in self.claims)
        elif step.name == "attach":
            yield from (Arrow("", self.pod, at, f"attach/{place}", at) for place in self.volumes)

    def _at_end(self, step: Step, then: Step | None) -> Iterator[Arrow]:
        at = step.end
        if step.name in ("grace", "room"):
            # Its room goes to the pod, or to another one that comes before it.
            taker = then.object if then is not None and then.name == "overtaken" else self.pod
            yield Arrow("room", step.object, at, taker, at)
        elif step.name == "binding":
            yield from (Arrow("bound", claim, at, self.pod, at) for claim in self.claims)
        elif step.name == "kubelet":
            for place in self.volumes:
                yield Arrow("attached", f"attach/{place}", step.start, f"mount/{place}", at)
        elif step.name == "mount":
            yield from (
                Arrow("mounted", f"mount/{place}", at, self.pod, at) for place in self.volumes
            )
