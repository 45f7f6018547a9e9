"""The encoder: samples on a grid of virtual time, as text that Prometheus can be filled with.

How long a run is, is not known before its end. Samples are taken from the first second on; whenever there
are too many, every other one goes, and the grid is twice as wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from kscope.exports.encoder import Heading
from kscope.exports.metrics.counting import Counts
from kscope.exports.metrics.families import FAMILIES, Family, Labels, Sample, Value, lines_of

_MOST_SAMPLES: Final = 240


class OpenMetrics:
    """Writes all at the end, because a metric's samples stand together."""

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._counts = Counts()
        self._samples: list[tuple[int, Sample]] = []
        self._step = self._next = SECOND
        self._now = 0

    def begin(self) -> bytes:
        """See Encoder."""
        return b""

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        for row in rows:
            if row.at >= self._next:
                self._keep(row.at // self._step * self._step)
            self._counts.take(row)
            self._now = row.at
        return b""

    def end(self) -> bytes:
        """See Encoder."""
        last = self._samples[-1][0] if self._samples else -1
        if self._now > last or not self._samples:
            self._samples.append((self._now, self._counts.sample()))
        else:
            # Events of the very instant of the last sample came after it.
            self._samples[-1] = self._now, self._counts.sample()
        text = "".join(f"{line}\n" for family in FAMILIES for line in self._family(family))
        return f"{text}# EOF\n".encode()

    def _keep(self, at: int) -> None:
        self._samples.append((at, self._counts.sample()))
        self._next = at + self._step
        if len(self._samples) > _MOST_SAMPLES:
            self._step *= 2
            self._samples = [each for each in self._samples if each[0] % self._step == 0]
            self._next = (at // self._step + 1) * self._step

    def _family(self, family: Family) -> Iterator[str]:
        series = self._series(family)
        if not series:
            return
        yield f"# HELP {family.name} {family.help}"
        yield f"# TYPE {family.name} {family.kind}"
        if family.name.endswith("_seconds"):
            yield f"# UNIT {family.name} seconds"
        for labels in sorted(series):
            yield from lines_of(family, labels, series[labels])

    def _series(self, family: Family) -> dict[Labels, list[tuple[str, Value]]]:
        """By labels the points of each series; a gauge that is no longer there is 0.

        A histogram has its last point only: it is whole then, and the parser of Prometheus' client for
        Python reads no second one.
        """
        samples = self._samples[-1:] if family.kind == "histogram" else self._samples
        names = {key[1] for _, sample in samples for key in sample if key[0] == family.name}
        found: dict[Labels, list[tuple[str, Value]]] = {name: [] for name in names}
        for at, sample in samples:
            for labels, points in found.items():
                value = sample.get((family.name, labels))
                if value is None and points and family.kind == "gauge":
                    value = 0
                if value is not None:
                    points.append((self._time(at), value))
        return found

    def _time(self, at: int) -> str:
        return f"{self._heading.unix(at) / SECOND:.3f}"
