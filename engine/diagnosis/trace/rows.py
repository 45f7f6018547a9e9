"""The rows of a timeline, drawn for a window of time."""

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest

from engine.diagnosis.trace.answer import Row, Stage, Told, Waited
from engine.diagnosis.trace.chosen import Chosen
from engine.diagnosis.trace.lane import Lane, Tally
from engine.diagnosis.trace.layout import Place
from engine.diagnosis.trace.stages import with_victims
from engine.diagnosis.trace.trace import Trace
from engine.diagnosis.trace.window import Window
from engine.kernel.recorder import Event

# So many pods are named that waited longest.
_LONGEST = 8
_NOTHING = Tally()


@dataclass(slots=True)
class Painter:
    """Draws places as rows."""

    window: Window
    chosen: Chosen | None
    only_events: bool
    _stages: dict[str, Stage] = field(default_factory=dict[str, Stage])
    _events: dict[str, Event] = field(default_factory=dict[str, Event])

    def __post_init__(self) -> None:
        if self.chosen is not None:
            self._stages = {f"stage:{each.first}": each for each in self.chosen.stages}
            self._events = {f"event:{each.seq}": each for each in self.chosen.own}

    def row(self, place: Place) -> Row:
        """The row at *place*."""
        paint: Mapping[str, Callable[[Place], Row]] = {
            "group": self._group,
            "node": self._node,
            "stage": self._stage,
            "event": self._event,
            "component": self._component,
            "kind": self._kind,
            "pod": self._lane,
            "claim": self._lane,
            "operation": self._lane,
        }
        return paint.get(place.kind, self._plain)(place)

    def _plain(self, place: Place) -> Row:
        name = place.key.partition(":")[2] or place.key
        return Row(place.key, place.kind, name, count=place.count, of=place.of)

    def _lane(self, place: Place) -> Row:
        window = self.window
        lane = window.trace.lane(place.key) or Lane()
        promised = window.trace.nominated.get(place.key)
        seq, at, ats = window.seq, window.at, window.trace.ats
        return Row(
            place.key,
            place.kind,
            place.key.partition("/")[2],
            in_path=place.in_path,
            chosen=self.chosen is not None and self.chosen.pod == place.key,
            since=ats[lane.seqs[0] - 1] if lane.seqs else 0,
            state=lane.state(seq),
            waited=lane.waited(seq, at, ats),
            sums=lane.sums(seq, at, ats),
            bars=window.bars(lane),
            marks=window.marks(lane.events) if self.only_events else (),
            nominated=window.bars(promised) if promised is not None else (),
        )

    def _node(self, place: Place) -> Row:
        tally = self.window.trace.on_node.get(place.key, _NOTHING)
        return replace(self._lane(place), area=self.window.area(tally))

    def _group(self, place: Place) -> Row:
        window = self.window
        name = place.key.partition(":")[2]
        tally = window.trace.groups[name].tally
        return Row(
            place.key,
            "group",
            name,
            count=place.count,
            since=window.trace.ats[tally.seqs[0] - 1],
            waited=window.waited(tally),
            area=window.area(tally),
        )

    def _stage(self, place: Place) -> Row:
        stage = self._stages[place.key]
        if self.chosen is not None:
            stage = with_victims(self.chosen.record, stage)
        return Row(place.key, "stage", stage.name, since=stage.start, stage=stage)

    def _event(self, place: Place) -> Row:
        event, chosen = self._events[place.key], self.chosen
        told = Told(
            event.seq,
            event.at,
            event.kind,
            event.object,
            event.component,
            event.message,
            kubernetes=chosen is not None and chosen.is_kubernetes(event.seq),
            by=chosen.evictor(event) if chosen is not None else "",
        )
        return Row(place.key, "event", event.kind, since=event.at, event=told)

    def _component(self, place: Place) -> Row:
        component = place.key.partition(":")[2]
        return self._counted(place, component, [(component, kind) for kind in place.members])

    def _kind(self, place: Place) -> Row:
        component, _, kind = place.key.partition(":")[2].partition("/")
        return self._counted(place, kind, [(component, kind)])

    def _counted(self, place: Place, name: str, of: list[tuple[str, str]]) -> Row:
        window = self.window
        kept = (True,) if self.only_events else (True, False)
        kinds = window.trace.kinds
        lists = [
            kinds[each + (is_event,)]
            for each in of
            for is_event in kept
            if each + (is_event,) in kinds
        ]
        count = sum(bisect_right(seqs, window.seq) for seqs in lists)
        since = window.trace.ats[min(seqs[0] for seqs in lists) - 1]
        area = window.events(lists)
        return Row(place.key, place.kind, name, count=count, since=since, area=area)


def longest_waits(trace: Trace, seq: int, at: int) -> tuple[Waited, ...]:
    """The pods that waited longest up to event *seq*, at *at*."""
    waits = ((-lane.waited(seq, at, trace.ats), pod) for pod, lane in trace.pods.items())
    return tuple(Waited(pod, -less) for less, pod in nsmallest(_LONGEST, waits) if less)
