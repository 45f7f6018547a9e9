"""Reads docs/concepts.md."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext

from kscope.documents.language import in_language
from kscope.documents.tables import read_tables


@dataclass(frozen=True, slots=True)
class Fact:
    """What REST says: the answer and the path within it, how to compare, and the value as text.

    `sign` is "=" for equal, "~" for contained in, ">" for greater than.
    """

    answer: str
    path: str
    sign: str
    value: str


@dataclass(frozen=True, slots=True)
class Instant:
    """The event after which something is seen: its kind, object ("" is any), and which one of them."""

    kind: str
    object: str
    which: int = 1


@dataclass(frozen=True, slots=True)
class Seen:
    """Where something is seen: a demo under a version, and a page of that run."""

    demo: str
    version: str
    page: str
    after: Instant | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Concept:
    """A thing that readers ask about. Without `seen` no run shows it, and `why` says why."""

    name: str
    meaning: str
    seen: Seen | None = None
    why: str = ""

    @property
    def anchor(self) -> str:
        """The fragment of its address."""
        return slugify(self.name)

    @property
    def told(self) -> SafeString:
        """What it is, and a link to where it is seen, or why it is not, in the reader's language."""
        more = in_language(self.why) if self.seen is None else self._link(self.seen)
        words = gettext("{meaning} {more}")
        return format_html(words, meaning=in_language(self.meaning), more=more)

    def _link(self, seen: Seen) -> SafeString:
        words = gettext("See it in {demo}, {version}")
        words = words.format(demo=seen.demo, version=seen.version)
        return format_html('<a href="/concepts/{}/">{}</a>', self.anchor, words)


@dataclass(frozen=True, slots=True)
class Section:
    """The concepts of one subject."""

    title: str
    concepts: tuple[Concept, ...]


@cache
def sections() -> tuple[Section, ...]:
    """The tables of docs/concepts.md. Read once per process."""
    return tuple(
        Section(table.title, tuple(_concept(row) for row in table.rows))
        for table in read_tables("concepts.md")
    )


def _concept(cells: Sequence[str]) -> Concept:
    if len(cells) == 3:
        name, meaning, why = cells
        return Concept(name, meaning, why=why)
    name, meaning, run, page, after, says = cells
    demo, version = run.strip("`").split()
    seen = Seen(
        demo,
        version,
        page.strip("`").removeprefix("/"),
        _instant(after),
        tuple(map(_fact, _facts(says))),
    )
    return Concept(name, meaning, seen)


def _instant(cell: str) -> Instant | None:
    if not cell:
        return None
    words, _, which = cell.strip("`").partition(" #")
    kind, _, entity = words.partition(" ")
    return Instant(kind, entity, int(which or 1))


def _facts(cell: str) -> list[tuple[str, str, str]]:
    return re.findall(r"`([^`]+)` ([=~>]) ?(.*?)(?=; `|$)", cell)


def _fact(found: tuple[str, str, str]) -> Fact:
    where, sign, value = found
    answer, _, path = where.partition(" ")
    return Fact(answer, path, sign, value)
