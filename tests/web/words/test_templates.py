"""The templates have no word that a catalogue cannot have."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template.base import Lexer, TokenType

from tests.web.words.visible_texts import Reader, Text, texts_of, words_outside

ROOT = settings.BASE_DIR / "templates"
TEMPLATES = sorted(ROOT.rglob("*.html"))
# These are being written anew; whoever has done so takes them off.
TO_COME = ("runs/home.html",)
# Filters that put words of their own into a text.
_WORDS = re.compile(r"""\|(pluralize|yesno)|\|(default|default_if_none|add):["'] *[A-Za-z]""")


def faults(path: Path) -> list[str]:
    """What is wrong with a template, each with its line."""
    texts = texts_of(path, ROOT)
    found = [f"{text.line}: words outside of a message: {words_outside(text)}" for text in texts]
    found = [one for one in found if not one.endswith(": ")]
    found += [f"{text.line}: several pieces in one {text.where}" for text in texts if text.is_glued]
    for token in Lexer(path.read_text()).tokenize():
        if token.token_type == TokenType.VAR and _WORDS.search(token.contents):
            found.append(f"{token.lineno}: words in a filter: {token.contents}")
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_all_words_of_templates_are_messages(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name in TO_COME:
        assert faults(path), f"{name} has nothing to come"
    else:
        assert faults(path) == []


def _read(source: str) -> list[Text]:
    return [text for text in Reader().read(source) if text.letters.strip() or text.is_glued]


@pytest.mark.parametrize(
    "source",
    [
        "<p>Two words</p>",
        "<p>{% translate 'One' %} two</p>",
        "<p>{{ number }} pods</p>",
        '<a title="Open it">{{ name }}</a>',
        '<a aria-label="Open {{ name }}">{{ name }}</a>',
        '<input placeholder="a name">',
        "<p>{% if a %}{% translate 'One' %}{% else %}two{% endif %}</p>",
        "<p>{% for one in all %}{% endfor %}end</p>",
        "{% block title %}Page{% endblock %}",
    ],
)
def test_words_outside_of_messages_are_found(source: str) -> None:
    assert any(words_outside(text) for text in _read(source))


@pytest.mark.parametrize(
    "source",
    [
        "<p>{% translate 'One' %} {% translate 'two' %}</p>",
        "<p>{% translate 'One' %} {{ name }}</p>",
        "<p>{{ one }}, {{ two }}</p>",
        '<a title="{% translate "Open" %} {{ name }}"></a>',
        "<p>{% translate 'One' %}{% if a %} {% translate 'more' %}{% endif %}</p>",
        "<p>{% for one in all %}{{ one }}, {% endfor %}</p>",
    ],
)
def test_several_pieces_in_one_text_are_found(source: str) -> None:
    assert any(text.is_glued for text in _read(source))


@pytest.mark.parametrize(
    "source",
    [
        "<p>{% translate 'One' %}<b>{{ name }}</b></p>",
        "<p>{% if a %}{% translate 'One' %}{% else %}{{ name }}{% endif %}</p>",
        "<p>{% blocktranslate %}One {{ name }}{% endblocktranslate %}</p>",
        '<a class="one two" href="/x/{{ one }}/{{ two }}/"><code>x</code></a>',
        "<ul>{% for one in all %}<li>{{ one }}</li>{% empty %}<li>{{ none }}</li>{% endfor %}</ul>",
        "<p>#{{ number }} · kscope</p>",
    ],
)
def test_whole_messages_are_no_fault(source: str) -> None:
    texts = _read(source)
    assert not any(words_outside(text) or text.is_glued for text in texts)
