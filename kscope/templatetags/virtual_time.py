"""Filters for virtual time, which is in nanoseconds everywhere else."""

from django import template

register = template.Library()

_SECOND = 10**9


@register.filter
def seconds(nanoseconds: int | None) -> str:
    """42350000000 → "42.350"; nothing for what has no time yet."""
    return "" if nanoseconds is None else f"{nanoseconds / _SECOND:.3f}"


@register.filter
def span(nanoseconds: int) -> str:
    """How long something took: 44 s, 5 min 30 s."""
    minutes, rest = divmod(round(nanoseconds / _SECOND), 60)
    # As one says of a film: up to two minutes in seconds.
    if minutes < 2:
        return f"{60 * minutes + rest} s"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
