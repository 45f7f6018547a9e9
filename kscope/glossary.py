"""The words of docs/glossary.md as the page `/glossary/`, and those that texts of lessons mark."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from engine.input.lessons.lesson import Lesson
from engine.input.load_result import LoadedLesson, Problem
from kscope.documents.language import in_language
from kscope.documents.tables import Table, read_tables


@dataclass(frozen=True, slots=True)
class Term:
    """A word and its sentence, in Markdown; `anchor` is the fragment of its address."""

    word: str
    sentence: str

    @property
    def anchor(self) -> str:
        return slugify(self.word)

    @property
    def meaning(self) -> SafeString:
        """The sentence in the reader's language, for a page."""
        return _as_html(in_language(self.sentence))


@dataclass(frozen=True, slots=True)
class Section:
    """The words of one subject."""

    title: str
    terms: list[Term]


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """All words, by subject."""
    return render(request, "glossary.html", {"sections": sections()})


@cache
def sections() -> list[Section]:
    """The tables of docs/glossary.md. Read once per process."""
    return [
        Section(table.title, [Term(word, meaning) for word, meaning in _rows(table)])
        for table in read_tables("glossary.md")
    ]


def sentence_of(term: str) -> str:
    """The sentence that explains *term*, in the reader's language; empty for one that nobody explains."""
    return in_language(terms().get(term.lower(), ""))


@cache
def terms() -> dict[str, str]:
    """By word in lower case, its sentence in docs/terms.md or docs/glossary.md. Read once per process."""
    found: dict[str, str] = {}
    for name in ("terms.md", "glossary.md"):
        for table in read_tables(name):
            for words, meaning in _rows(table):
                for word in words.split(", "):
                    found.setdefault(word.lower(), meaning)
    return found


def unknown_terms(lessons: Iterable[LoadedLesson]) -> Iterator[Problem]:
    """The terms that lessons mark and nobody explains."""
    for loaded in lessons:
        lesson = Lesson.from_document(loaded.document)
        for path, term in lesson.used_terms():
            if term.lower() not in {**terms(), **lesson.terms}:
                message = f'the term "{term}" is neither in spec.terms nor in docs/terms.md'
                yield loaded.problem(path, None, message)


def _rows(table: Table) -> list[tuple[str, str]]:
    """The words of a table with their meanings."""
    return [(word, meaning) for word, meaning in table.rows]


def _as_html(meaning: str) -> SafeString:
    """Markdown's code spans as elements; everything else is text."""
    return mark_safe(re.sub(r"`(.+?)`", r"<code>\1</code>", escape(meaning)))
