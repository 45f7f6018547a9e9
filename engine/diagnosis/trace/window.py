"""A window of time, its pixels, and what is drawn of a trace in them."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from engine.diagnosis.trace.answer import Area, Mark, Overview
from engine.diagnosis.trace.lane import Bar, Lane, Tally
from engine.diagnosis.trace.trace import Trace

BUCKETS = 160
# An area has one part for so many pixels.
PART = 2


def edges_of(ats: "array[int]", start: int, end: int, parts: int) -> list[int]:
    """How many events came before the beginning of each part of a stretch of time, and to its end."""
    starts = [start + (end - start) * part // parts for part in range(parts)]
    return [*(bisect_left(ats, at) for at in starts), bisect_right(ats, end)]


@dataclass(frozen=True, slots=True)
class Window:
    """From `start` to `end`, `width` pixels wide, seen after event `seq` at `at`."""

    trace: Trace
    start: int
    end: int
    pixels: Sequence[int]
    parts: Sequence[int]
    seq: int
    at: int

    @classmethod
    def of(cls, trace: Trace, start: int, end: int, width: int, *, seq: int, at: int) -> "Window":
        """The window with its edges worked out, once for all its rows."""
        pixels = edges_of(trace.ats, start, end, width)
        parts = edges_of(trace.ats, start, end, max(width // PART, 1))
        return cls(trace, start, end, pixels, parts, seq, at)

    def bars(self, lane: Lane) -> tuple[Bar, ...]:
        """The bars of one object."""
        return tuple(lane.bars(self.pixels, self.trace.ats))

    def marks(self, seqs: "array[int]") -> tuple[Mark, ...]:
        """One mark for each pixel in which there is an event."""
        found: list[Mark] = []
        i = bisect_right(seqs, self.pixels[0])
        stop = bisect_right(seqs, self.pixels[-1])
        while i < stop:
            edge = self.pixels[bisect_left(self.pixels, seqs[i])]
            after = bisect_right(seqs, edge, i, stop)
            found.append(Mark(self.trace.ats[seqs[i] - 1], seqs[i], after - i))
            i = after
        return tuple(found)

    def area(self, tally: Tally) -> Area:
        """How many pods waited, ran and left."""
        most = tally.most(self.parts)
        return Area(**{name: _runs(counts) for name, counts in most.items()})

    def events(self, lists: Iterable["array[int]"]) -> Area:
        """How many of these events there were."""
        return Area(events=_runs(_events(lists, self.parts)))

    def waited(self, tally: Tally) -> int:
        """How long the objects of *tally* waited together."""
        return tally.waited(self.seq, self.at, self.trace.ats)


def overview_of(trace: Trace, end: int) -> Overview:
    """The whole run until *end*."""
    edges = edges_of(trace.ats, 0, max(end, 1), BUCKETS)
    most = trace.whole.most(edges)
    counts = {name: tuple(counted) or (0,) * BUCKETS for name, counted in most.items()}
    events = tuple(later - earlier for earlier, later in pairwise(edges))
    # What happens at the very beginning belongs to it.
    return Overview(**counts, events=events)


def _events(lists: Iterable["array[int]"], edges: Sequence[int]) -> list[int]:
    counts = [0] * (len(edges) - 1)
    for seqs in lists:
        places = [bisect_right(seqs, edge) for edge in edges]
        counts = [
            count + later - earlier
            for count, (earlier, later) in zip(counts, pairwise(places), strict=True)
        ]
    return counts if any(counts) else []


def _runs(counts: Sequence[int]) -> tuple[int, ...]:
    if not any(counts):
        return ()
    return tuple(number for value, run in groupby(counts) for number in (len(list(run)), value))
