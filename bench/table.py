"""Rows of results, how they are printed as a table, and the clocks that measure them."""

import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.size import is_least
from engine.kernel.garbage import collector_paused


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure beside its baseline from the same run, and its aim.

    `given` are figures of other programs on another machine of this size, quoted, not measured here.
    `at_least`: the aim is a lower limit; otherwise it is an upper one.
    """

    name: str
    figure: float
    unit: str
    baseline: float | None = None
    against: str = ""
    aim: float | None = None
    at_least: bool = True
    given: str = ""
    note: str = ""

    @property
    def is_reached(self) -> bool | None:
        """Whether the figure is on the good side of the aim; None without one."""
        if self.aim is None:
            return None
        return self.figure >= self.aim if self.at_least else self.figure <= self.aim


HEADINGS = ("figure", "measured", "unit", "baseline", "what the baseline is", "given", "aim", "")


def print_table(title: str, rows: Sequence[Row]) -> None:
    """The rows in columns as wide as their widest cell."""
    cells = [HEADINGS, *map(_cells, rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(HEADINGS))]
    print(f"\n{title}")
    for line in cells:
        shown = (
            cell.rjust(width) if place in (1, 3, 6) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("  " + "  ".join(shown).rstrip())
    for row in rows:
        if row.note:
            print(f"    {row.name}: {row.note}")


def _cells(row: Row) -> tuple[str, ...]:
    verdict = {None: "", True: "reached", False: "MISSED"}[row.is_reached]
    return (
        row.name,
        number(row.figure),
        row.unit,
        "" if row.baseline is None else number(row.baseline),
        row.against,
        row.given,
        "" if row.aim is None else f"{'≥' if row.at_least else '≤'} {number(row.aim)}",
        verdict,
    )


def number(value: float) -> str:
    """Three significant digits, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def median(values: Iterable[float]) -> float:
    """The middle one of an odd number of values; the upper middle one otherwise."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that is larger than about *percent* per cent of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def rows_of_waits(
    name: str, many: Sequence[float], alone: Sequence[float], against: str, note: str
) -> list[Row]:
    """The 50th and the 99th percentile of what *many* wait, in ms, beside those of one *alone*."""
    return [
        Row(
            name=f"{name}, p{percent}",
            figure=percentile(many, percent),
            unit="ms",
            baseline=percentile(alone, percent),
            against=against,
            aim=100 if percent == 99 else None,
            at_least=False,
            note=note if percent == 99 else "",
        )
        for percent in (50, 99)
    ]


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call; earlier garbage is collected first, and the collector is off meanwhile."""
    return _timed(time.perf_counter, work)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Like `seconds`, but CPU time, because other programs use the machine, too."""
    return _timed(time.process_time, work)


def _timed(clock: Callable[[], float], work: Callable[[], object]) -> float:
    if not is_least():
        gc.collect()
    with collector_paused():
        began = clock()
        work()
        return clock() - began


def most_mib() -> float:
    """The peak memory of this process in MiB; its parent's memory does not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("/proc/self/status has no VmHWM")
