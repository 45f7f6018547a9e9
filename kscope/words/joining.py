"""Puts whole texts one after the other, as the reader's language does."""

from collections.abc import Iterable
from functools import reduce

from django.utils.functional import Promise
from django.utils.translation import gettext


def listed(parts: Iterable[str]) -> str:
    """The members of a list: "a, b, c"."""
    return _joined(gettext("{list}, {next}"), parts)


def sentences(*parts: str | Promise) -> str:
    """Sentences, each with its full stop."""
    return _joined(gettext("{list} {next}"), parts)


def _joined(between: str, parts: Iterable[str | Promise]) -> str:
    words = [str(part) for part in parts]
    return reduce(lambda start, part: between.format(list=start, next=part), words) if words else ""
