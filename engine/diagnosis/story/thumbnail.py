"""A run as a small picture: rows are pods and claims, from left to right in time.

The classes say what a bar is, and the style sheet gives each its colour: `w` waits, `b` backs off,
`g` is held at a gate, `t` is tried, `p` is promised, `s` starts, `r` runs, `e` ends, `f` is a failure.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.diagnosis.trace.lane import Bar, Lane
from engine.diagnosis.trace.trace import Trace
from engine.diagnosis.trace.window import edges_of
from engine.kernel.recorder import Event

WIDTH, HEIGHT = 300, 76
MOST_ROWS = 11
_MARGIN, _TOP = 1, 4
_LEAST_WIDTH, _TICK = 0.8, 1.4
_LINE = 1.2
# Of each row so much is bar; the rest is between it and the next one.
_FULL = 0.78
_HIGHEST_ROW = 9.0
_CLASSES = {
    **dict.fromkeys(("unschedulable", "failing", "lost", "not_ready"), "w"),
    **dict.fromkeys(("backoff", "pending", "kubelet"), "b"),
    **dict.fromkeys(("gated",), "g"),
    **dict.fromkeys(("active", "attempt"), "t"),
    **dict.fromkeys(("binding", "half_bound"), "p"),
    **dict.fromkeys(("starting", "attaching", "mounting"), "s"),
    **dict.fromkeys(("running", "bound"), "r"),
    **dict.fromkeys(("terminating",), "e"),
}
FAILURES = ("FailedAttachVolume", "FailedMount", "FailedMapVolume", "ProvisioningFailed")


class Shape(NamedTuple):
    """A rectangle of the picture, `look` being its class; lengths are of WIDTH × HEIGHT."""

    look: str
    x: float
    y: float
    width: float
    height: float


def drawing_of(trace: Trace, events: Sequence[Event]) -> str:
    """The picture as SVG, without colours and without text."""
    failures = [(event.object, event.at) for event in events if event.kind in FAILURES]
    shapes = "".join(_svg(shape) for shape in shapes_of(trace, failures))
    return f'<svg class="th" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">{shapes}</svg>'


def shapes_of(trace: Trace, failures: Iterable[tuple[str, int]]) -> list[Shape]:
    """What the picture is made of; *failures* are the objects and times of FAILURES. Empty for no event."""
    if not trace.ats:
        return []
    rows = _rows(trace)
    # A little more than the run, so that one sees how it ended.
    end = max(trace.ats[-1] * 26 // 25, 1)
    pixels = edges_of(trace.ats, 0, end, WIDTH)
    place = _Place.of(end, len(rows))
    ticks: dict[str, list[int]] = {}
    for name, at in failures:
        ticks.setdefault(name, []).append(at)
    return [
        shape
        for number, name in enumerate(rows)
        for shape in _row(place, number, _bars(rows[name], trace, pixels), ticks.get(name, ()))
    ]


def _rows(trace: Trace) -> dict[str, Lane]:
    """The pods and claims that waited longest, in the order in which they appeared."""
    lanes = {name: lane for name, lane in {**trace.pods, **trace.claims}.items() if lane.seqs}
    end, at = trace.seq, trace.ats[-1]
    longest = sorted(lanes, key=lambda name: -lanes[name].waited(end, at, trace.ats))[:MOST_ROWS]
    return {name: lanes[name] for name in sorted(longest, key=lambda name: lanes[name].seqs[0])}


def _bars(lane: Lane, trace: Trace, pixels: Sequence[int]) -> list[Bar]:
    return lane.bars(pixels, trace.ats)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where something is: times become x, rows become y."""

    end: int
    top: float
    row: float

    @classmethod
    def of(cls, end: int, rows: int) -> "_Place":
        """The rows are as high as there is room for, and stand in the middle."""
        row = min((HEIGHT - 2 * _TOP) / max(rows, 1), _HIGHEST_ROW)
        return cls(end, (HEIGHT - rows * row) / 2, row)

    def x(self, at: int) -> float:
        return _MARGIN + (WIDTH - 2 * _MARGIN) * at / self.end

    def y(self, number: int) -> float:
        return self.top + number * self.row


def _row(place: _Place, number: int, bars: Iterable[Bar], ticks: Iterable[int]) -> Iterator[Shape]:
    top, height = place.y(number), place.row * _FULL
    for bar in bars:
        look = _CLASSES.get(bar.state)
        if look is None:
            continue
        start = place.x(bar.start)
        width = max(_LEAST_WIDTH, place.x(place.end if bar.end is None else bar.end) - start)
        is_line = look == "r"
        y = top + (height - _LINE) / 2 if is_line else top
        yield _shape(look, start, y, width, _LINE if is_line else height)
    for at in ticks:
        yield _shape("f", place.x(at), top, _TICK, height)


def _shape(look: str, x: float, y: float, width: float, height: float) -> Shape:
    left = min(x, WIDTH - _LEAST_WIDTH)
    return Shape(look, round(left, 1), round(y, 1), round(width, 1), round(height, 1))


def _svg(shape: Shape) -> str:
    look, x, y, width, height = shape
    return (
        f'<rect class="{look}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )
