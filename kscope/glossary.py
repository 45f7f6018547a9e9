"""The words of docs/glossary.md as the page `/glossary/`, and those that texts of lessons mark."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from engine.input.lessons.lesson import Lesson
from engine.input.load_result import LoadedLesson, Problem


@dataclass(frozen=True, slots=True)
class Term:
    """A word and its meaning; `anchor` is the fragment of its address."""

    word: str
    meaning: SafeString

    @property
    def anchor(self) -> str:
        return slugify(self.word)


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
        Section(title, [Term(word, _as_html(meaning)) for word, meaning in rows])
        for title, rows in read_sections("glossary.md")
    ]


def read_sections(name: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """By title, the words and meanings in the tables of that document of docs/."""
    text = Path(settings.BASE_DIR, "docs", name).read_text()
    found = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return [(title, _rows(body)) for title, body in found]


@cache
def terms() -> dict[str, str]:
    """By word in lower case, its sentence in docs/terms.md or docs/glossary.md. Read once per process."""
    found: dict[str, str] = {}
    for name in ("terms.md", "glossary.md"):
        for _, rows in read_sections(name):
            for words, meaning in rows:
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


def _rows(table: str) -> list[tuple[str, str]]:
    """The cells of a table of two columns, without its head."""
    return re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[1:]


def _as_html(meaning: str) -> SafeString:
    """Markdown's code spans as elements; everything else is text."""
    return mark_safe(re.sub(r"`(.+?)`", r"<code>\1</code>", escape(meaning)))
