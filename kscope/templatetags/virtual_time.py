"""Filters for virtual time, which is in nanoseconds everywhere else."""

from django import template

register = template.Library()

_SECOND = 10**9


@register.filter
def seconds(nanoseconds: int | None) -> str:
    """42350000000 → "42.350"; nothing for what has no time yet."""
    return "" if nanoseconds is None else f"{nanoseconds / _SECOND:.3f}"
