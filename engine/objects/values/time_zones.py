"""Time zones by name, as the pinned package tzdata has them: those of a machine may be others.

Upstream: Go's time.LoadLocation().
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import Final
from zoneinfo import ZoneInfo

from engine.kernel.units import EPOCH, SECOND

UTC_NAMES: Final = ("", "UTC")
# A part of a name that cannot lead out of the folder of the zones.
_PART: Final = re.compile(r"[A-Za-z0-9._+-]+", re.ASCII)


class UnknownTimeZone(ValueError):
    """There is no time zone of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"unknown time zone {name}")


@lru_cache(maxsize=64)
def time_zone(name: str) -> ZoneInfo:
    """The zone called *name*; "" is UTC. Raises UnknownTimeZone."""
    if name in UTC_NAMES:
        name = "UTC"
    parts = name.split("/")
    if not all(_PART.fullmatch(one) and one.strip(".") for one in parts):
        raise UnknownTimeZone(name)
    found = files("tzdata.zoneinfo").joinpath(*parts)
    if not found.is_file():
        raise UnknownTimeZone(name)
    try:
        with found.open("rb") as file:
            return ZoneInfo.from_file(file, key=name)
    except ValueError:
        # The folder has lists and modules, too.
        raise UnknownTimeZone(name) from None


def offset_at(zone: ZoneInfo, second: int) -> int:
    """How many seconds clocks of *zone* are ahead of UTC, *second* seconds after EPOCH."""
    ahead = (EPOCH + timedelta(seconds=second)).astimezone(zone).utcoffset()
    assert ahead is not None
    return int(ahead.total_seconds())


def local_time(zone: ZoneInfo, at: int) -> datetime:
    """What clocks of *zone* show *at* ns after EPOCH, in whole seconds."""
    return (EPOCH + timedelta(seconds=at // SECOND)).astimezone(zone)
