"""Sentences for readers, which can be said again in another language (ADR 0038).

A `Sentence` is its English text, and remembers its pattern and what stands at the pattern's places.
Whatever treats it as text goes on as before; `translated` says all sentences of an answer in another
language.

    say("It fits {node} now.", node="n1")
    say_count("{count} pod waits", "{count} pods wait", 3)

Tools that collect the patterns find them as the first argument of `say` and `phrase`, and as the
first two of `say_count` and `count_phrase`. A place holds a name, a number, a message of Kubernetes
or another sentence; it never holds a verb, an ending or a preposition of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from string import Formatter
from typing import Any, Final, LiteralString, Protocol, Self, cast

# What may stand at a place of a pattern, values of manifests among it; only a Sentence is translated.
Argument = str | int | float | None


class Translations(Protocol):
    """A catalogue of one language, such as `gettext.GNUTranslations`."""

    def gettext(self, message: str, /) -> str:
        """The pattern in that language, or *message* itself."""
        ...

    def ngettext(self, singular: str, plural: str, number: int, /) -> str:
        """The pattern for *number* in that language, or one of the two."""
        ...


class Sentence(str):
    """The English text of pattern `id` with `arguments` at its places.

    `plural` is the pattern's twin for several, and `number` says of how many; "" and 0 for none. A
    text that is not ours has no `id`.
    """

    __slots__ = ("arguments", "id", "number", "plural")

    id: str
    arguments: Mapping[str, Argument]
    plural: str
    number: int

    def __new__(
        cls,
        text: str,
        pattern: str,
        arguments: Mapping[str, Argument],
        plural: str = "",
        number: int = 0,
    ) -> Self:
        made = super().__new__(cls, text)
        made.id, made.plural, made.number, made.arguments = pattern, plural, number, arguments
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.id, self.arguments, self.plural, self.number)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def said_in(self, translations: Translations) -> str:
        """The sentence in the language of the catalogue.

        It stays English where the catalogue does not have it, or has it with other places.
        """
        if not self.id:
            return str(self)
        if self.plural:
            pattern = translations.ngettext(self.id, self.plural, self.number)
        else:
            pattern = translations.gettext(self.id)
        if not _places(pattern) <= self.arguments.keys():
            pattern = self.plural if self.plural and self.number != 1 else self.id
        said = {name: translated(value, translations) for name, value in self.arguments.items()}
        return _filled(pattern, said)

    def of_number(self, number: int) -> Sentence:
        """The same of another number; of a sentence without a plural the same."""
        if not self.plural:
            return self
        return made_of_count(self.id, self.plural, number, {**self.arguments, "count": number})


class Listed(Sentence):
    """`items` as a text: `between` joins each one but the last to the text so far, `id` the last."""

    __slots__ = ("between", "items")

    items: tuple[Argument, ...]
    between: str

    @classmethod
    def of(cls, items: Iterable[Argument], between: str, last: str) -> Self:
        """The items joined by these two patterns, which have the places `list` and `next`."""
        found = tuple(items)
        made = cls(_joined(found, between, last), last, {})
        made.items, made.between = found, between
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.items, self.between, self.id)

    def said_in(self, translations: Translations) -> str:
        """See `Sentence`; the language has its own way of joining."""
        between, last = (
            said if _places(said) == _JOINT else pattern
            for pattern in (self.between, self.id)
            for said in (translations.gettext(pattern),)
        )
        return _joined(translated(self.items, translations), between, last)


class _Inner(Sentence):
    """A sentence inside another one."""

    __slots__ = ()

    @property
    def sentence(self) -> Argument:
        """The sentence as it stands alone."""
        return self.arguments["sentence"]


class Clause(_Inner):
    """A sentence that goes on from another: English begins it with a small letter there."""

    __slots__ = ()

    def said_in(self, translations: Translations) -> str:
        """See `Sentence`; a catalogue has sentences as they stand alone, and they stay so."""
        said = str(translated(self.sentence, translations))
        return str(self) if said == self.sentence else said


class Unstopped(_Inner):
    """A sentence that goes on: it has no full stop there."""

    __slots__ = ()

    def said_in(self, translations: Translations) -> str:
        """See `Sentence`."""
        return str(translated(self.sentence, translations)).rstrip(_STOPS)


# -- saying --------------------------------------------------------------------------------------


def say(pattern: LiteralString, /, **places: Argument) -> Sentence:
    """The sentence of *pattern*. Raises ValueError for a place that is missing or not in it."""
    return made(pattern, places)


def say_count(
    one: LiteralString, many: LiteralString, count: int, /, **places: Argument
) -> Sentence:
    """*one* if *count* is 1, else *many*; both may have a place `{count}`.

    It shows *count*, or the `count` among *places*: `grouped(12_345)`.

    Raises ValueError for a place that is missing in *many*, or not in it.
    """
    return made_of_count(one, many, count, places)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A pattern of a table, to be said later."""

    pattern: str

    def say(self, **places: Argument) -> Sentence:
        """See `say`."""
        return made(self.pattern, places)


@dataclass(frozen=True, slots=True)
class CountPhrase:
    """A pattern and its plural in a table, to be said later."""

    one: str
    many: str

    def say(self, count: int, /, **places: Argument) -> Sentence:
        """See `say_count`."""
        return made_of_count(self.one, self.many, count, places)


def phrase(pattern: LiteralString, /) -> Phrase:
    """A pattern for a table of them."""
    return Phrase(pattern)


def count_phrase(one: LiteralString, many: LiteralString, /) -> CountPhrase:
    """A pattern with its plural for a table of them."""
    return CountPhrase(one, many)


def verbatim(text: str) -> Sentence:
    """A text that is not ours, such as a message of Kubernetes, where a sentence is wanted."""
    return text if isinstance(text, Sentence) else Sentence(text, "", {})


def said_by(error: Exception) -> Sentence:
    """What an exception says: the sentence that it was raised with, else its text as it is."""
    said: object = error.args[0] if error.args else None
    return said if isinstance(said, Sentence) else verbatim(str(error))


NOTHING: Final = verbatim("")


class _English:
    def gettext(self, message: str, /) -> str:
        return message

    def ngettext(self, singular: str, plural: str, number: int, /) -> str:
        return singular if number == 1 else plural


ENGLISH: Final[Translations] = _English()


# -- joining -------------------------------------------------------------------------------------

# Each language has its own way of joining.
_COMMA: Final = phrase("{list}, {next}").pattern
_AND: Final = phrase("{list} and {next}").pattern
_OR: Final = phrase("{list} or {next}").pattern
_SEMICOLON: Final = phrase("{list}; {next}").pattern
_THEN: Final = phrase("{list} {next}").pattern
_JOINT: Final = frozenset(("list", "next"))
_STOPS: Final = ".。"


def all_of(items: Sequence[Argument], most: int = 0) -> Sentence:
    """The items as "a, b and c"; beyond *most* the rest is counted: "a, b and 3 more"."""
    return _beyond(items, most) or Listed.of(items, _COMMA, _AND)


def enumerated(items: Sequence[Argument], most: int = 0) -> Sentence:
    """The items as "a, b, c"; beyond *most* the rest is counted: "a, b and 3 more"."""
    return _beyond(items, most) or Listed.of(items, _COMMA, _COMMA)


def each_of(items: Sequence[Argument]) -> Sentence:
    """The items as "a and b and c"."""
    return Listed.of(items, _AND, _AND)


def any_of(items: Sequence[Argument]) -> Sentence:
    """The items as "a or b or c"."""
    return Listed.of(items, _OR, _OR)


def in_turn(items: Sequence[Argument]) -> Sentence:
    """The items as "a; b; c"."""
    return Listed.of(items, _SEMICOLON, _SEMICOLON)


def together(*sentences: Sentence) -> Sentence:
    """Whole sentences, one after the other; those without text are left out."""
    found = [each for each in sentences if each]
    return found[0] if len(found) == 1 else Listed.of(found, _THEN, _THEN)


def clause(sentence: Sentence) -> Sentence:
    """The sentence as it goes on after a colon, say; names and abbreviations keep their capitals."""
    sentence = verbatim(sentence)
    is_ordinary = sentence[1:2].islower() and not _begins_with_name(sentence)
    text = sentence[:1].lower() + sentence[1:] if is_ordinary else str(sentence)
    return Clause(text, "{sentence}", {"sentence": sentence})


def _begins_with_name(sentence: Sentence) -> bool:
    if isinstance(sentence, Listed):
        first = sentence.items[0] if sentence.items else None
        return isinstance(first, Sentence) and _begins_with_name(first)
    if not sentence.id or isinstance(sentence, _Inner):
        return False
    text, name = _parts(sentence.id)[0]
    first = sentence.arguments[name] if name and not text else None
    return first is not None and not (isinstance(first, Sentence) and not _begins_with_name(first))


def and_more(listed: Sentence, left: int) -> Sentence:
    """The list, and how many it leaves out: "a, b and 3 more"."""
    return say_count(
        "{list} and {count} more", "{list} and {count} more", left, list=listed, count=grouped(left)
    )


def grouped(number: int) -> str:
    """The number as it is written: 12,345."""
    return f"{number:,}"


def unstopped(sentence: Sentence) -> Sentence:
    """The sentence without its full stop, before a colon, say."""
    return Unstopped(sentence.rstrip("."), "{sentence}", {"sentence": sentence})


def _beyond(items: Sequence[Argument], most: int) -> Sentence | None:
    if not 0 < most < len(items):
        return None
    return and_more(Listed.of(items[:most], _COMMA, _COMMA), len(items) - most)


# -- saying it again -----------------------------------------------------------------------------


def translated(document: Any, translations: Translations) -> Any:
    """The JSON-like *document* with every Sentence in the language of the catalogue.

    It may hold dataclasses, which become dicts.
    """
    if isinstance(document, Sentence):
        return document.said_in(translations)
    if isinstance(document, dict):
        entries = cast("dict[Any, Any]", document).items()
        return {name: translated(value, translations) for name, value in entries}
    if isinstance(document, list | tuple):
        return [translated(each, translations) for each in cast("Sequence[Any]", document)]
    if is_dataclass(document) and not isinstance(document, type):
        names = [each.name for each in fields(document)]
        return {name: translated(getattr(document, name), translations) for name in names}
    return document


# -- patterns ------------------------------------------------------------------------------------


def made(pattern: str, places: Mapping[str, Argument]) -> Sentence:
    """As `say`, of a pattern that was kept."""
    _check(pattern, places)
    return Sentence(_filled(pattern, places), pattern, places)


def made_of_count(one: str, many: str, count: int, places: Mapping[str, Argument]) -> Sentence:
    """As `say_count`, of patterns that were kept."""
    filled = {"count": count, **places}
    _check(many, filled, free="count")
    if not _places(one) <= filled.keys():
        raise ValueError(f"{one!r} has other places than {many!r}")
    return Sentence(_filled(one if count == 1 else many, filled), one, filled, many, count)


def _check(pattern: str, places: Mapping[str, Argument], free: str = "") -> None:
    """Raise ValueError unless *places* are those of *pattern*; *free* may be there or not."""
    wrong = (_places(pattern) ^ places.keys()) - {free}
    if wrong:
        names = ", ".join(sorted(wrong))
        raise ValueError(f"{pattern!r} is filled with {sorted(places)}: {names} not in both")


def _filled(pattern: str, places: Mapping[str, Argument]) -> str:
    return "".join(
        text if name is None else f"{text}{places[name]}" for text, name in _parts(pattern)
    )


def _joined(items: Sequence[Argument], between: str, last: str) -> str:
    text = str(items[0]) if items else ""
    for place, each in enumerate(items[1:], 2):
        joint = last if place == len(items) else between
        text = _filled(joint, {"list": text, "next": each})
    return text


@cache
def _places(pattern: str) -> frozenset[str]:
    return frozenset(name for _, name in _parts(pattern) if name is not None)


@cache
def _parts(pattern: str) -> tuple[tuple[str, str | None], ...]:
    """The texts of a pattern, each with the name of the place after it; None at the end.

    Raises ValueError for a place that says how it is written: its argument is written so.
    """
    parts: list[tuple[str, str | None]] = []
    for text, name, spec, conversion in Formatter().parse(pattern):
        if spec or conversion or name == "" or not (name or "_").isidentifier():
            raise ValueError(f"{pattern!r} has a place that is more than a name")
        parts.append((text, name))
    return tuple(parts)
