"""Ages as kubectl prints them.

Upstream: apimachinery/pkg/util/duration/duration.go, HumanDuration().
"""

from engine.kernel.units import SECOND, nanoseconds_of

UNKNOWN = "<unknown>"


def human_duration(nanoseconds: int) -> str:
    """ "45s", "3m20s", "5h", "2d3h": at most two units, and the second only where it matters."""
    seconds = nanoseconds // SECOND if nanoseconds >= 0 else -(-nanoseconds // SECOND)
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    minutes, hours = seconds // 60, seconds // 3600
    days, years = hours // 24, hours // 24 // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    if years < 8:
        return _two(years, "y", days % 365, "d")
    return f"{years}y"


def _two(large: int, of_large: str, small: int, of_small: str) -> str:
    return f"{large}{of_large}{small}{of_small}" if small else f"{large}{of_large}"


def since(text: str | None, now: int) -> str:
    """How long before *now*, in nanoseconds since EPOCH, a timestamp was; <unknown> without a readable one."""
    moment = _moment(text)
    return UNKNOWN if moment is None else human_duration(now - moment)


def between(start: str | None, end: str | None) -> str:
    """How long it was from one timestamp to the other; <unknown> without both."""
    first, last = _moment(start), _moment(end)
    return UNKNOWN if first is None or last is None else human_duration(last - first)


def _moment(text: str | None) -> int | None:
    try:
        return nanoseconds_of(text) if text else None
    except (AttributeError, TypeError, ValueError):
        return None
