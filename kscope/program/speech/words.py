"""Numbers, ages and runs of names, as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_NUMBERED = re.compile(r"(.*?)(\d+)", re.DOTALL)
_MINUTE, _HOUR, _DAY, _YEAR = 60, 3600, 86_400, 86_400 * 365
_SIZES = ("KiB", "MiB", "GiB", "TiB")
# Fewer of a run are written one by one.
_RUN = 3


def counted(number: int, what: str) -> str:
    """A number of things: "1 pod", "1,487 events"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def size_words(number: int) -> str:
    """Bytes as people write them: "88 KiB", "4.1 MiB"."""
    if number < 1024:
        return f"{number} B"
    exponent = min((number.bit_length() - 1) // 10, len(_SIZES))
    size = number / 1024**exponent
    unit = _SIZES[exponent - 1]
    return f"{size:.1f} {unit}" if size < 10 else f"{size:,.0f} {unit}"


def human_duration(seconds: int) -> str:
    """How long something lasts, rounded as kubectl does.

    Upstream: apimachinery/pkg/util/duration, HumanDuration.
    """
    if seconds < 2 * _MINUTE:
        return f"{max(seconds, 0)}s"
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    if seconds < 3 * _HOUR:
        return f"{seconds // _MINUTE}m"
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _two(seconds: int, large: int, unit: str, small: int, part: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{unit}" + (f"{rest}{part}" if rest else "")


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """What to sort names by as people count: web-2 before web-10."""
    parts = [(text, int(number)) for text, number in _NUMBERED.findall(name)]
    rest = re.sub(_NUMBERED, "", name)
    return (*parts, (rest, -1)) if rest else tuple(parts)


def folded(names: Iterable[str], *, counts: bool = False) -> str:
    """Names with their runs folded: "general-a1–a3, general-b1", with *counts* "web-1–9 (9)"."""
    runs = [list(run) for run in _runs(sorted(dict.fromkeys(names), key=natural))]
    if counts:
        runs.sort(key=len, reverse=True)
    return ", ".join(_run_text(run, counts=counts) for run in runs)


def _runs(names: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = []
    for name in names:
        if found and _follows(found[-1][-1], name):
            found[-1].append(name)
        else:
            found.append([name])
    return [part for run in found for part in ([run] if len(run) >= _RUN else _single(run))]


def _single(run: list[str]) -> list[list[str]]:
    return [[name] for name in run]


def _follows(left: str, right: str) -> bool:
    before, number = _stem(left)
    after, following = _stem(right)
    return (
        bool(number) and bool(following) and before == after and int(following) == int(number) + 1
    )


def _stem(name: str) -> tuple[str, str]:
    match = re.fullmatch(r"(.*?)(\d*)", name, re.DOTALL)
    return (match[1], match[2]) if match else (name, "")


def _run_text(run: list[str], *, counts: bool) -> str:
    if len(run) == 1:
        return run[0]
    # The end tells siblings apart: all of it after the last dash.
    end = run[-1].rpartition("-")[2].rpartition("/")[2]
    return f"{run[0]}–{end}" + (f" ({len(run)})" if counts else "")


def several(names: Sequence[str], most: int = 4) -> str:
    """Names for a sentence: "a, b and c"; beyond *most* the rest is counted."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def first_small(text: str) -> str:
    """*text* to go on in a sentence: its first letter small, unless a name or a unit begins it."""
    first = text.split(" ", 1)[0]
    is_word = first[:1].isupper() and first[1:].islower()
    return text[:1].lower() + text[1:] if is_word else text
