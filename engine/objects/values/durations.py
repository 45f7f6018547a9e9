"""Durations as people write them."""

import re
from typing import Any

from engine.kernel.units import LONGEST, SECOND
from engine.objects.values.shown import shown

_UNITS = {
    "h": 3600 * SECOND,
    "m": 60 * SECOND,
    "s": SECOND,
    "ms": SECOND // 1000,
    "us": 1000,
    "ns": 1,
}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:h|ms|m|s|us|ns))+", re.ASCII)
_DURATION_PART = re.compile(r"([0-9]+)(?:\.([0-9]+))?(h|ms|m|s|us|ns)", re.ASCII)


def parse_duration(value: Any) -> int:
    """ "1m30s", "500ms" or a number of seconds, as ns. Raises ValueError."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 10**9:
        return round(value * SECOND)
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a duration like 500ms, 5s or 1m30s")
    total = 0
    for whole, part, unit in _DURATION_PART.findall(value):
        total += int(whole) * _UNITS[unit]
        total += int(part or 0) * _UNITS[unit] // 10 ** len(part)
    if total > LONGEST:
        raise ValueError(f"{shown(value)} is more than 73 years")
    return total
