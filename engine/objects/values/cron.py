"""The schedules of CronJobs: when one is next due.

Upstream: github.com/robfig/cron, ParseStandard() and SpecSchedule.Next(). The library cronsim finds
the next match on a clock that never changes; here a schedule is read as upstream reads it, and a
zone's clock is cut where it is put forward or back. A time that such a clock skips is never due, and
one that it shows twice is due twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from engine.kernel.units import EPOCH, SECOND
from engine.objects.values.durations import parse_duration
from engine.objects.values.time_zones import UnknownTimeZone, offset_at, time_zone

_MONTHS: Final = [
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_DAY: Final = 24 * 3600
# Upstream gives a schedule up that matches nothing in so many years.
_YEARS: Final = 5

_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_ZONE_PREFIXES: Final = ("TZ=", "CRON_TZ=")


class ScheduleError(ValueError):
    """A text is no schedule; the message is upstream's."""


class _Field(NamedTuple):
    """The values that one field of a schedule may have."""

    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        """Upstream: parseIntOrName()."""
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.low
        return _number(text)


_FIELDS: Final = (
    _Field(0, 59),
    _Field(0, 23),
    _Field(1, 31),
    _Field(1, 12, tuple(_MONTHS)),
    _Field(0, 6, tuple(_DAYS)),
)


@dataclass(frozen=True, slots=True)
class Schedule:
    """When something is due: at the minutes that `expression` matches, or every `period` ns.

    The clock is that of `zone`. In the expression a field is "*" or a list of numbers.
    """

    expression: str
    zone: str = ""
    period: int = 0

    def next(self, after: int) -> int | None:
        """The first time after *after*, both in ns since EPOCH; None if there is none.

        Upstream: Next(); where it returns the zero time, nothing in five years matches.
        """
        second = after // SECOND
        if self.period:
            return second * SECOND + self.period
        found = _next_second(self.expression, time_zone(self.zone), second)
        return None if found is None else found * SECOND


@lru_cache(maxsize=1024)
def parse_schedule(text: str, *, first_release: bool = False) -> Schedule:
    """The schedule that *text* is. Raises ScheduleError.

    *first_release* is that of the library, which Kubernetes had until 1.20: it knows no time zone,
    and to it a step in all the days, such as */2, is no restriction of the days.
    """
    if not text:
        raise ScheduleError("empty spec string")
    zone = ""
    if text.startswith(_ZONE_PREFIXES) and not first_release:
        zone, text = _zone_of(text)
    if text.startswith("@"):
        return _described(text, zone)
    fields = text.split()
    if len(fields) != len(_FIELDS):
        shown = f"[{' '.join(fields)}]"
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: {shown}")
    return Schedule(
        " ".join(
            _list_of(given, field, steps_restrict=not first_release)
            for given, field in zip(fields, _FIELDS, strict=True)
        ),
        zone,
    )


def _zone_of(text: str) -> tuple[str, str]:
    named, _, rest = text.partition(" ")
    name = named.partition("=")[2]
    try:
        time_zone(name)
    except UnknownTimeZone as error:
        raise ScheduleError(f"provided bad location {name}: {error}") from None
    return name, rest.strip()


def _described(text: str, zone: str) -> Schedule:
    """Upstream: parseDescriptor()."""
    known = _DESCRIPTORS.get(text)
    if known is not None:
        return Schedule(known, zone)
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    given = text.removeprefix(_EVERY)
    try:
        period = parse_duration(given)
    except ValueError:
        why = f'time: invalid duration "{given}"'
        raise ScheduleError(f"failed to parse duration {text}: {why}") from None
    return Schedule("", zone, max(period // SECOND, 1) * SECOND)


def _list_of(text: str, field: _Field, *, steps_restrict: bool) -> str:
    """A field as cronsim reads it: "*", or its numbers. Upstream: getField().

    If it begins with a star, cronsim takes it for no restriction of the days, too.
    """
    numbers: set[int] = set()
    stars: list[str] = []
    for one in text.split(","):
        if one:
            values, step = _range(one, field)
            numbers |= values
            if step == 1 or (step and not steps_restrict):
                stars.append("*" if step == 1 else f"*/{step}")
    if "*" in stars:
        return "*"
    return ",".join([*stars, *map(str, sorted(numbers))])


def _range(text: str, field: _Field) -> tuple[set[int], int]:
    """The numbers of a range, and its step if it begins with a star, else 0. Upstream: getRange()."""
    span, *steps = text.split("/")
    low, *rest = span.split("-")
    is_star = low in ("*", "?")
    start, end = (field.low, field.high) if is_star else _ends(low, rest, text, field)
    if len(steps) > 1:
        raise ScheduleError(f"too many slashes: {text}")
    step = _number(steps[0]) if steps else 1
    if steps and not rest:
        end = field.high
    _check_range(start, end, step, field, text)
    return {*range(start, end + 1, step)}, step if is_star else 0


def _ends(low: str, rest: list[str], text: str, field: _Field) -> tuple[int, int]:
    start = field.number(low)
    if len(rest) > 1:
        raise ScheduleError(f"too many hyphens: {text}")
    return start, field.number(rest[0]) if rest else start


def _check_range(start: int, end: int, step: int, field: _Field, text: str) -> None:
    if start < field.low:
        raise ScheduleError(f"beginning of range ({start}) below minimum ({field.low}): {text}")
    if end > field.high:
        raise ScheduleError(f"end of range ({end}) above maximum ({field.high}): {text}")
    if start > end:
        raise ScheduleError(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _number(text: str) -> int:
    """Upstream: mustParseInt()."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        why = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    if len(digits) > 18:
        why = f'strconv.Atoi: parsing "{text}": value out of range'
        raise ScheduleError(f"failed to parse int from {text}: {why}")
    if int(text) < 0:
        raise ScheduleError(f"negative number ({int(text)}) not allowed: {text}")
    return int(text)


def _next_second(expression: str, zone: ZoneInfo, second: int) -> int | None:
    """The next match after *second* on the clock of *zone*; None if there is none."""
    offset = offset_at(zone, second)
    shown = second + offset
    while True:
        match = _next_match(expression, shown)
        if match is None:
            return None
        found = match - offset
        if offset_at(zone, found) == offset:
            return found
        # The clock is changed before; look for what it shows from that moment on.
        second = _change(zone, second, found)
        offset = offset_at(zone, second)
        shown = second + offset - 1


def _change(zone: ZoneInfo, before: int, after: int) -> int:
    """The first second after *before* at which the clock shows another offset, up to *after*."""
    offset = offset_at(zone, before)
    while after - before > _DAY and offset_at(zone, before + _DAY) == offset:
        before += _DAY
    after = min(after, before + _DAY)
    while after - before > 1:
        middle = (before + after) // 2
        if offset_at(zone, middle) == offset:
            before = middle
        else:
            after = middle
    return after


def _next_match(expression: str, shown: int) -> int | None:
    """The next match after the time *shown*, in seconds since EPOCH on an even clock."""
    now: datetime = EPOCH.astimezone(UTC) + timedelta(seconds=shown)
    try:
        found = next(CronSim(expression, now), None)
    except CronSimError:
        # cronsim refuses a day that no month of the expression has.
        return None
    if found is None or found.year > now.year + _YEARS:
        return None
    return (found - EPOCH) // timedelta(seconds=1)
