"""`/glossary/`: the words of docs/glossary.md as a page, each with an address of its own."""

import re
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
    text = Path(settings.BASE_DIR, "docs", "glossary.md").read_text()
    return [
        Section(title, [Term(word, _as_html(meaning)) for word, meaning in _rows(body)])
        for title, body in re.findall(
            r"^## (.+?)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
        )
    ]


def _rows(table: str) -> list[tuple[str, str]]:
    """The cells of a table of two columns, without its head."""
    return re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)[1:]


def _as_html(meaning: str) -> SafeString:
    """Markdown's code spans as elements; everything else is text."""
    return mark_safe(re.sub(r"`(.+?)`", r"<code>\1</code>", escape(meaning)))
