"""Filters that put values into words of the reader's language."""

from collections.abc import Mapping

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils import translation
from django.utils.translation import gettext, gettext_noop

from engine.kernel.sentences import Sentence
from kscope.documents.language import in_language
from kscope.words.joining import listed

register = template.Library()

# Values of the API that pages print as they are, where they are English.
_VALUES = frozenset(
    {
        *(gettext_noop("private"), gettext_noop("shared"), gettext_noop("public")),
        *(gettext_noop("viewer"), gettext_noop("editor"), gettext_noop("admin")),
        *(gettext_noop("agrees"), gettext_noop("tied"), gettext_noop("differs")),
        *(gettext_noop("stale"), gettext_noop("paused"), gettext_noop("playing")),
        *(gettext_noop("finished"), gettext_noop("failed"), gettext_noop("halted")),
    }
)


@register.filter
def word(value: str) -> str:
    """`{{ run.visibility|word }}`: a value of the API as a word of a page."""
    return in_language(value) if value in _VALUES else value


@register.filter
def translated(text: str) -> str:
    """`{{ term.word|translated }}`: a text of a document, as the catalogue has it.

    Unlike `{% translate %}`, which doubles percent signs before it looks.
    """
    return in_language(text)


@register.filter
def said(text: str) -> str:
    """`{{ run.error|said }}`: a sentence of the engine or of a run, in the reader's language."""
    return text.said_in(translation) if isinstance(text, Sentence) else text


@register.filter
def counts(numbers: Mapping[str, int]) -> str:
    """`{{ summary|counts }}`: {"Pod": 1200, "Node": 3} → "Pod 1,200, Node 3"."""
    each = gettext("{kind} {number}")
    return listed(
        each.format(kind=kind, number=intcomma(number)) for kind, number in numbers.items()
    )
