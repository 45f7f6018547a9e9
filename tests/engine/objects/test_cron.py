"""Schedules as upstream reads them. Upstream: robfig/cron, parser_test.go and spec_test.go."""

import pytest

from engine.kernel.units import nanoseconds_of, timestamp
from engine.objects.values.cron import ScheduleError, parse_schedule
from engine.objects.values.time_zones import UnknownTimeZone, time_zone


def _due(schedule: str, after: str, count: int = 1, *, first_release: bool = False) -> list[str]:
    """The next times after *after*."""
    parsed, found = parse_schedule(schedule, first_release=first_release), [nanoseconds_of(after)]
    for _ in range(count):
        due = parsed.next(found[-1])
        assert due is not None
        found.append(due)
    return [timestamp(at) for at in found[1:]]


# Upstream: spec_test.go, TestNext(), in UTC.
@pytest.mark.parametrize(
    ("after", "schedule", "due"),
    [
        ("2012-07-09T14:45:00Z", "0/15 * * * *", "2012-07-09T15:00:00Z"),
        ("2012-07-09T14:59:59Z", "0/15 * * * *", "2012-07-09T15:00:00Z"),
        ("2012-07-09T15:45:00Z", "20-35/15 * * * *", "2012-07-09T16:20:00Z"),
        ("2012-07-09T23:46:00Z", "*/15 * * * *", "2012-07-10T00:00:00Z"),
        ("2012-07-09T23:45:00Z", "20-35/15 * * * *", "2012-07-10T00:20:00Z"),
        ("2012-07-09T23:35:51Z", "20-35/15 1/2 */2 * *", "2012-07-11T01:20:00Z"),
        ("2012-07-09T23:35:51Z", "20-35/15 * 9-20 Jul *", "2012-07-10T00:20:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 9 Apr-Oct ?", "2012-08-09T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 */5 Apr,Aug,Oct Mon", "2012-08-01T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 */5 Oct Mon", "2012-10-01T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 * Feb Mon", "2013-02-04T00:00:00Z"),
        ("2012-07-09T23:35:00Z", "0 0 29 Feb ?", "2016-02-29T00:00:00Z"),
        ("2012-12-31T23:59:45Z", "* * * * *", "2013-01-01T00:00:00Z"),
        ("2012-07-09T14:45:00Z", "@yearly", "2013-01-01T00:00:00Z"),
        ("2012-07-09T14:45:00Z", "@monthly", "2012-08-01T00:00:00Z"),
        ("2012-07-09T14:45:00Z", "@weekly", "2012-07-15T00:00:00Z"),
        ("2012-07-09T14:45:00Z", "@midnight", "2012-07-10T00:00:00Z"),
        ("2012-07-09T14:45:00Z", "@hourly", "2012-07-09T15:00:00Z"),
        ("2012-07-09T14:45:10Z", "@every 1h30m", "2012-07-09T16:15:10Z"),
    ],
)
def test_the_next_time_is_as_upstream(after: str, schedule: str, due: str) -> None:
    assert _due(schedule, after) == [due]


@pytest.mark.parametrize("schedule", ["0 0 31 2 *", "0 0 30 Feb ?", "0 0 31 Apr,Jun ?"])
def test_a_day_without_month_never_comes(schedule: str) -> None:
    assert parse_schedule(schedule).next(0) is None


# Upstream: spec_test.go, the daylight saving time of New York.
def test_a_time_that_clocks_skip_is_never_due() -> None:
    found = _due("TZ=America/New_York 30 2 * * *", "2012-03-10T04:00:00Z", 2)
    assert found == ["2012-03-10T07:30:00Z", "2012-03-12T06:30:00Z"]


def test_hours_go_on_while_clocks_change() -> None:
    found = _due("TZ=America/New_York 0 * * * *", "2012-03-11T06:30:00Z", 2)
    assert found == ["2012-03-11T07:00:00Z", "2012-03-11T08:00:00Z"]


def test_a_time_shown_twice_is_due_twice() -> None:
    found = _due("TZ=America/New_York 30 1 4 11 ?", "2012-11-04T04:00:00Z", 2)
    assert found == ["2012-11-04T05:30:00Z", "2012-11-04T06:30:00Z"]


def test_midnight_that_clocks_skip_is_left_out() -> None:
    # In Brazil the day of 2012-10-21 began at one o'clock.
    found = _due("TZ=America/Sao_Paulo 0 0 * * *", "2012-10-20T12:00:00Z")
    assert found == ["2012-10-22T02:00:00Z"]


def test_a_step_restricts_days_in_new_releases_only() -> None:
    after = "2026-01-01T00:00:00Z"
    assert _due("0 0 */2 * 1", after, 2) == ["2026-01-03T00:00:00Z", "2026-01-05T00:00:00Z"]
    found = _due("0 0 */2 * 1", after, 2, first_release=True)
    assert found == ["2026-01-05T00:00:00Z", "2026-01-19T00:00:00Z"]


# Upstream: parser_test.go, and what Go says of numbers and durations.
@pytest.mark.parametrize(
    ("schedule", "why"),
    [
        ("", "empty spec string"),
        ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
        ("* 5 j * *", 'failed to parse int from j: strconv.Atoi: parsing "j": invalid syntax'),
        ("@unrecognized", "unrecognized descriptor: @unrecognized"),
        (
            "@every Xm",
            'failed to parse duration @every Xm: time: invalid duration "Xm"',
        ),
        ("60 * * * *", "end of range (60) above maximum (59): 60"),
        ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
        ("* * * * 7", "end of range (7) above maximum (6): 7"),
        ("5-2 * * * *", "beginning of range (5) beyond end of range (2): 5-2"),
        ("*/0 * * * *", "step of range should be a positive number: */0"),
        ("1-2-3 * * * *", "too many hyphens: 1-2-3"),
        ("1/2/3 * * * *", "too many slashes: 1/2/3"),
        ("TZ=Nowhere * * * * *", "provided bad location Nowhere: unknown time zone Nowhere"),
    ],
)
def test_a_bad_schedule_is_refused_as_upstream(schedule: str, why: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(schedule)
    assert str(caught.value) == why


@pytest.mark.parametrize("name", ["Nowhere", "Europe", "../x", "zone.tab", "__init__.py", "/UTC"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(UnknownTimeZone):
        time_zone(name)


def test_the_old_release_knows_no_zone() -> None:
    with pytest.raises(ScheduleError, match="expected exactly 5 fields, found 6"):
        parse_schedule("TZ=UTC * * * * *", first_release=True)
