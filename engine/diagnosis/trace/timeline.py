"""A timeline: the rows of a trace that are in sight, and what stands beside them."""

from dataclasses import dataclass

from engine.diagnosis.path.record import Record
from engine.diagnosis.trace.answer import Timeline
from engine.diagnosis.trace.chosen import Chosen
from engine.diagnosis.trace.layout import Asked, Layout
from engine.diagnosis.trace.rows import Painter, longest_waits
from engine.diagnosis.trace.trace import Trace
from engine.diagnosis.trace.window import Window, overview_of


@dataclass(frozen=True, slots=True)
class View:
    """What is in sight: a window of time, `width` pixels wide, and `rows` rows from `first` on.

    `pod` is the chosen one, "" for none.
    """

    start: int
    end: int
    width: int
    first: int
    rows: int
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The newest event of a run, and the one at which it is looked at, with their times."""

    seq: int
    at: int
    shown_seq: int
    shown_at: int


def timeline_of(trace: Trace, record: Record, asked: Asked, view: View, head: Head) -> Timeline:
    """The timeline of what *trace* has read so far; *record* has the events up to the one shown."""
    seq = min(head.shown_seq, trace.seq)
    at = head.shown_at if seq == head.shown_seq else trace.ats[seq - 1] if seq else 0
    window = Window.of(trace, view.start, view.end, view.width, seq=seq, at=at)
    chosen = Chosen(trace, record, view.pod, now=at) if view.pod else None
    places = Layout(trace, asked, seq, at, chosen).lay_out()
    painter = Painter(window, chosen, asked.only_events)
    return Timeline(
        seq=seq,
        at=at,
        read=trace.seq,
        read_at=trace.ats[-1] if 0 < trace.seq < head.seq else head.at,
        head=head.seq,
        head_at=head.at,
        start=view.start,
        end=view.end,
        width=view.width,
        total=len(places),
        first=view.first,
        rows=tuple(painter.row(place) for place in places[view.first : view.first + view.rows]),
        arrows=chosen.arrows if chosen is not None else (),
        overview=overview_of(trace, head.at),
        longest=() if chosen is not None else longest_waits(trace, seq, at),
    )
