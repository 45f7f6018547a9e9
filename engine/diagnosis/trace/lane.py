"""One object's states, and counts of many objects, kept small: a few bytes for each change.

A change is kept with the seq of its event alone; the times are in one array for the whole run.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.diagnosis.trace.states import CODES, RUNS, STATES, WAITS

_WAITING = frozenset(CODES[name] for name in WAITS)
# So many changes apart the sums so far are kept, so that sums at any event are few steps.
_STRIDE = 256


@dataclass(frozen=True, slots=True)
class Bar:
    """One state from `start` to `end`, in virtual nanoseconds; `end` is None while it lasts.

    `seq` is the event with which it began. Where several were too short to be seen apart they are
    one bar, of the worst of them, and `states` says how many.
    """

    state: str
    start: int
    end: int | None
    seq: int
    states: int


class Lane:
    """The states of one object."""

    __slots__ = ("_marks", "_waited", "codes", "events", "seqs")

    def __init__(self) -> None:
        self.seqs = array("I")
        self.codes = bytearray()
        self.events = array("I")
        """Seqs of the Kubernetes Events of the object."""
        self._waited = array("q")
        self._marks: list[list[int]] = []

    def change(self, seq: int, code: int, ats: Sequence[int]) -> bool:
        """Note that event *seq* brought the state *code*; returns whether it is another one."""
        if (self.codes[-1] if self.codes else 0) == code:
            return False
        if self.seqs and self.seqs[-1] == seq:
            self.codes[-1] = code
            return True
        self._waited.append(self.waited(seq, ats[seq - 1], ats))
        if len(self.seqs) % _STRIDE == 0:
            self._marks.append(self._sums(len(self.seqs), ats[seq - 1], ats))
        self.seqs.append(seq)
        self.codes.append(code)
        return True

    def state(self, seq: int) -> str:
        """The state after event *seq*, "" before the first."""
        i = bisect_right(self.seqs, seq) - 1
        return STATES[self.codes[i]] if i >= 0 else ""

    def waited(self, seq: int, at: int, ats: Sequence[int]) -> int:
        """For how long it has waited after event *seq*, at *at*: see WAITS."""
        i = bisect_right(self.seqs, seq) - 1
        if i < 0:
            return 0
        since = ats[self.seqs[i] - 1] if self.codes[i] in _WAITING else at
        return self._waited[i] + at - since

    def sums(self, seq: int, at: int, ats: Sequence[int]) -> dict[str, int]:
        """How long it was in each state up to event *seq*, at *at*."""
        sums = self._sums(bisect_right(self.seqs, seq), at, ats)
        return {STATES[code]: spent for code, spent in enumerate(sums) if spent and code}

    def _sums(self, count: int, at: int, ats: Sequence[int]) -> list[int]:
        """The sums of the first *count* changes, the last of which ends at *at*."""
        mark = (count - 1) // _STRIDE if count else 0
        sums = [*self._marks[mark]] if mark < len(self._marks) else [0] * len(STATES)
        starts = [ats[seq - 1] for seq in self.seqs[mark * _STRIDE : count]]
        for code, (start, end) in zip(
            self.codes[mark * _STRIDE : count], pairwise([*starts, at]), strict=True
        ):
            sums[code] += end - start
        return sums

    def bars(self, edges: Sequence[int], ats: Sequence[int]) -> list[Bar]:
        """The bars of a window; *edges* are the seqs with which its pixels begin, and its end.

        Steps that begin within one pixel become one bar; one that took no time is left out. The
        cost is that of the pixels.
        """
        found: list[Bar] = []
        first = max(bisect_right(self.seqs, edges[0]) - 1, 0)
        last = bisect_right(self.seqs, edges[-1])
        while first < last:
            # All that begin in the pixel of the first of them, except the last, which may go on.
            pixel = bisect_left(edges, self.seqs[first])
            after = bisect_right(self.seqs, edges[min(pixel, len(edges) - 1)], first, last)
            stop = max(first + 1, after - 1)
            code = max(self.codes[first:stop])
            bar = self._bar(first, stop, code, ats)
            if code and bar.start != bar.end:
                found.append(bar)
            first = stop
        return found

    def _bar(self, first: int, stop: int, code: int, ats: Sequence[int]) -> Bar:
        end = ats[self.seqs[stop] - 1] if stop < len(self.seqs) else None
        seq = self.seqs[first]
        return Bar(STATES[code], ats[seq - 1], end, seq, stop - first)


class Tally:
    """How many of some objects wait, run and leave, after each event that changed it."""

    __slots__ = ("_waited", "leaving", "running", "seqs", "waiting")

    def __init__(self) -> None:
        self.seqs = array("I")
        self.waiting = array("I")
        self.running = array("I")
        self.leaving = array("I")
        self._waited = array("q")

    def move(self, seq: int, before: str, after: str, ats: Sequence[int]) -> None:
        """Count an object that event *seq* took from one state to another."""
        if not self.seqs or self.seqs[-1] != seq:
            self._waited.append(self.waited(seq, ats[seq - 1], ats))
            for counts in (self.waiting, self.running, self.leaving):
                counts.append(counts[-1] if counts else 0)
            self.seqs.append(seq)
        for name, by in ((before, -1), (after, 1)):
            counts = self._counts(name)
            if counts is not None:
                counts[-1] += by

    def waited(self, seq: int, at: int, ats: Sequence[int]) -> int:
        """How long all of them together have waited after event *seq*, at *at*."""
        i = bisect_right(self.seqs, seq) - 1
        if i < 0:
            return 0
        return self._waited[i] + self.waiting[i] * (at - ats[self.seqs[i] - 1])

    def most(self, edges: Sequence[int]) -> dict[str, list[int]]:
        """The most that waited, ran and left within each part of a window; see Lane.bars."""
        places = [max(bisect_right(self.seqs, edge) - 1, 0) for edge in edges]
        if not self.seqs or edges[-1] < self.seqs[0]:
            return {"waiting": [], "running": [], "leaving": []}
        started = bisect_left(edges, self.seqs[0])
        return {
            name: [
                max(counts[first : last + 1]) if part + 1 >= started else 0
                for part, (first, last) in enumerate(pairwise(places))
            ]
            for name, counts in (
                ("waiting", self.waiting),
                ("running", self.running),
                ("leaving", self.leaving),
            )
        }

    def _counts(self, state: str) -> "array[int] | None":
        if state in WAITS:
            return self.waiting
        if state in RUNS:
            return self.running
        return self.leaving if state == "terminating" else None
