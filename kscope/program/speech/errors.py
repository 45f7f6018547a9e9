"""What the program says when it cannot answer: what is wrong, where, and what to type instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum

MOST_SIMILAR = 3
# Of the letters of two words, so many have to be the same.
_NEARNESS = 0.6
# What is less near than the nearest by more than this was not meant.
_BESIDE = 0.05


class Status(IntEnum):
    """The exit statuses: docs/command-line.md."""

    FINE = 0
    BAD = 1
    WRONG_USE = 2
    UNSEEN = 3
    INTERNAL = 4
    INTERRUPTED = 130


class ProgramError(Exception):
    """An answer that cannot be given.

    *details* are lines that say more, *places* lines about where it is, as they are printed behind
    `-->`; *helps* say what to type instead, a line each.
    """

    def __init__(
        self,
        message: str,
        *,
        details: Sequence[str] = (),
        places: Sequence[str] = (),
        helps: Sequence[str] = (),
        status: Status = Status.WRONG_USE,
    ) -> None:
        super().__init__(message)
        self.message, self.helps, self.status = message, helps, status
        self.details, self.places = details, places

    def lines(self) -> Iterator[str]:
        """The error as it is printed."""
        yield f"error: {self.message}"
        yield from (f"  {line}" for line in self.details)
        yield from _labelled("  --> ", self.places)
        yield from _labelled("  help: ", self.helps)


def _labelled(label: str, lines: Iterable[str]) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f"{' ' * len(label) if place else label}{line}"


def similar(name: str, known: Iterable[str]) -> list[str]:
    """The names that somebody may have meant, the nearest first; none where none is near."""
    # Only where something is wrong: it costs a tenth of the help.
    from difflib import SequenceMatcher, get_close_matches

    found = get_close_matches(name, list(dict.fromkeys(known)), MOST_SIMILAR, _NEARNESS)
    near = [SequenceMatcher(None, each, name).ratio() for each in found]
    return [each for each, ratio in zip(found, near, strict=True) if ratio > max(near) - _BESIDE]


def similar_help(what: str, name: str, known: Iterable[str]) -> list[str]:
    """A line of help that names what is near *name*: "a flag with a similar name exists: --context"."""
    found = similar(name, known)
    if not found:
        return []
    if len(found) == 1:
        return [f"a {what} with a similar name exists: {found[0]}"]
    return [f"{what}s with similar names: {', '.join(found)}"]
