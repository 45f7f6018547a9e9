"""Units of virtual time. Every time in the engines is an integer count of nanoseconds."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

NANOSECOND = 1
MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
# 73 years, longer than any run: two of them from any moment of a run are still within 64 bits.
LONGEST = 2**61

# What clocks show when a run begins, unless its scenario has an instant; see loop.EventLoop. Any
# fixed instant would do; a recent one reads well.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


def nanoseconds(seconds: int) -> int:
    """*seconds* in nanoseconds, limited to -LONGEST … LONGEST."""
    return _bounded(seconds * SECOND)


@lru_cache(maxsize=4096)
def _timestamp_of_second(second: int) -> str:
    return (EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")


def timestamp(at: int) -> str:
    """The RFC 3339 timestamp, in whole seconds as the API server writes it, of *at* ns after EPOCH."""
    return _timestamp_of_second(at // SECOND)


@lru_cache(maxsize=4096)
def nanoseconds_of(text: str) -> int:
    """The nanoseconds from EPOCH to an RFC 3339 *timestamp*; negative when it lies before.

    To be compared with the clock of a run, or with another such time. A time beyond LONGEST, such as Go's zero time, is cut to it. Raises ValueError
    when *text* is not a timestamp.
    """
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return _bounded(round((moment - EPOCH) / timedelta(microseconds=1)) * MICROSECOND)


def _bounded(time: int) -> int:
    return max(-LONGEST, min(LONGEST, time))
