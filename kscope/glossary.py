"""The words of docs/terms.md and docs/glossary.md: as the page `/glossary/`, for the explanations on all
pages, and for the texts of lessons.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.utils.translation import get_language
from django.views.decorators.http import require_GET

from engine.input.lessons.lesson import Lesson
from engine.input.load_result import LoadedLesson, Problem
from kscope.documents.language import in_language
from kscope.documents.tables import read_tables

# Kubernetes' words, then those of kscope; where both have one, it means what it means there.
DOCUMENTS = ("terms.md", "glossary.md")
EXPLANATIONS = "/glossary/explanations/"
_YEAR = 31_536_000  # seconds
_CODE = re.compile(r"`(.+?)`")


@dataclass(frozen=True, slots=True)
class Term:
    """A thing with its names, the first of which is printed, and its meaning as Markdown.

    `concept` is the entry of docs/concepts.md that shows it in a run, or "".
    """

    names: tuple[str, ...]
    meaning: str
    concept: str = ""

    @property
    def word(self) -> str:
        """The name that pages print."""
        return self.names[0]

    @property
    def anchor(self) -> str:
        """The fragment of its address."""
        return slugify(self.word)

    @property
    def text(self) -> str:
        """The meaning as plain text, in the reader's language."""
        return _CODE.sub(r"\1", in_language(self.meaning))

    @property
    def as_html(self) -> SafeString:
        """The meaning in the reader's language, with code spans as elements; everything else is text."""
        return mark_safe(_CODE.sub(r"<code>\1</code>", escape(in_language(self.meaning))))


@dataclass(frozen=True, slots=True)
class Section:
    """The words of one subject."""

    title: str
    terms: list[Term]


@require_GET
def glossary(request: HttpRequest) -> HttpResponse:
    """All words, by subject: those of kscope, then those of Kubernetes."""
    ours, theirs = sections("glossary.md"), sections("terms.md")
    return render(request, "glossary.html", {"ours": ours, "theirs": theirs})


@require_GET
def explanations(request: HttpRequest) -> HttpResponse:
    """All words with their sentences, as pages show them: {terms: [[names, text, anchor], …]}.

    Under the address that pages name, browsers keep them for good: it changes when a word does.
    """
    answer = HttpResponse(_explanations(get_language()), content_type="application/json")
    if request.get_full_path() == explanations_href():
        patch_cache_control(answer, public=True, immutable=True, max_age=_YEAR)
    return answer


def explanations_href() -> str:
    """The address of `explanations` in the reader's language."""
    return f"{EXPLANATIONS}?v={hashlib.sha256(_explanations(get_language())).hexdigest()[:16]}"


@cache
def _explanations(_language: str | None) -> bytes:
    found = [[term.names, term.text, term.anchor] for term in _all_terms()]
    return json.dumps({"terms": found}, separators=(",", ":")).encode()


@cache
def sections(document: str) -> list[Section]:
    """The tables of a document of docs/. Read once per process."""
    return [
        Section(table.title, [_term(row) for row in table.rows]) for table in read_tables(document)
    ]


def sentence_of(term: str) -> str:
    """The sentence that explains *term*, in the reader's language; empty for one that nobody explains."""
    return in_language(terms().get(term.lower(), ""))


@cache
def terms() -> dict[str, str]:
    """By name in lower case, the sentence of each word. Read once per process."""
    found: dict[str, str] = {}
    for term in _all_terms():
        for name in term.names:
            found.setdefault(name.lower(), term.meaning)
    return found


def unknown_terms(lessons: Iterable[LoadedLesson]) -> Iterator[Problem]:
    """The terms that lessons mark and nobody explains."""
    for loaded in lessons:
        lesson = Lesson.from_document(loaded.document)
        for path, term in lesson.used_terms():
            if term.lower() not in {**terms(), **lesson.terms}:
                message = f'the term "{term}" is neither in spec.terms nor in docs/terms.md'
                yield loaded.problem(path, None, message)


def _all_terms() -> Iterator[Term]:
    for document in DOCUMENTS:
        for section in sections(document):
            yield from section.terms


def _term(row: tuple[str, ...]) -> Term:
    names, meaning, concept = [*row, ""][:3]
    return Term(tuple(names.split(", ")), meaning, concept.strip("`"))
