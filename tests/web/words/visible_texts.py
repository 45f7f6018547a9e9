"""Reads what of a template people see: its text nodes, and the attributes that are shown or read out.

Django's lexer splits the template; a small reader of HTML follows whether a piece stands in a text,
in a tag or in the value of an attribute. The branches of an `{% if %}` are alternatives, what a
`{% for %}` repeats within one text stands in it twice, and a block stands where its parent has it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.template.base import Lexer, Token, TokenType

SHOWN = ("title", "aria-label", "aria-description", "placeholder", "alt")
# What stands in these is code or a picture, and none of it is translated.
UNREAD = ("code", "pre", "script", "style", "svg")
VOID = ("meta", "link", "input", "br", "path", "circle", "rect", "use")
# Names, and examples of them, which are the same in every language.
NAMES = ("kscope", "kubectl", "kubeconfig", "JSON", "default/web-0", "VolumeLimitScaling=true")
# Of Django's forms: elements, and texts that are messages themselves and have an element around them.
_ELEMENT = re.compile(r"form\.\w+|field(\.errors|\.label_tag)?|block\.super|.*\|json_script.*")
# Tags that print nothing, or addresses in attributes alone.
_SILENT = (
    "load",
    "extends",
    "url",
    "static",
    "csrf_token",
    "with",
    "endwith",
    "regroup",
    "importmap",
)


@dataclass
class Text:
    """A text node, or the value of an attribute: what people see of it."""

    line: int
    where: str
    letters: str = ""
    messages: int = 0
    values: int = 0

    @property
    def is_glued(self) -> bool:
        """Whether several pieces make up one text, which no catalogue then has."""
        return self.messages + self.values > 1


@dataclass
class _State:
    """Where the reader is. `tag` is the name of the tag that it is within, if it is."""

    text: Text
    tag: str = ""
    attribute: str = ""
    quote: str = ""
    unread: tuple[str, ...] = ()
    rest: str = ""


@dataclass
class Reader:
    """Reads one template. `blocks` has, by name, where the blocks of its parents stand."""

    blocks: Mapping[str, _State] = field(default_factory=dict)
    texts: list[Text] = field(default_factory=list)
    own_blocks: dict[str, _State] = field(default_factory=dict)

    def read(self, source: str) -> list[Text]:
        """All texts of *source*."""
        self._state, self._line = _State(Text(1, "text")), 1
        self._branches: list[tuple[_State, list[Text]]] = []
        self._loops: list[tuple[Text, int]] = []
        self._outer: list[_State] = []
        for token in _with_messages(Lexer(source).tokenize()):
            self._line = token.lineno or self._line
            self._take(token)
        self._end()
        return self.texts

    def _take(self, token: Token) -> None:
        if token.token_type == TokenType.TEXT:
            self._html(token.contents)
        elif token.token_type == TokenType.VAR:
            self._value(token.contents)
        elif token.token_type == TokenType.BLOCK:
            self._tag(token.contents)

    def _value(self, contents: str) -> None:
        if self._is_seen and not _ELEMENT.fullmatch(contents):
            self._state.text.values += 1

    @property
    def _is_seen(self) -> bool:
        state = self._state
        if state.tag:
            return bool(state.quote) and _is_shown(state)
        return not state.unread

    def _tag(self, contents: str) -> None:
        name = contents.split()[0]
        if name in ("translate", "blocktranslate"):
            if self._is_seen and " as " not in contents and " asvar " not in contents:
                self._state.text.messages += 1
        elif name in ("if", "ifchanged", "elif", "else", "endif", "empty"):
            self._branch(name)
        elif name in ("for", "endfor"):
            self._loop(name)
        elif name in ("block", "endblock"):
            self._block(contents)
        elif name == "include" and not self._state.tag:
            self._end()
        elif name not in _SILENT and self._is_seen and not self._state.tag:
            self._state.text.values += " as " not in contents

    def _branch(self, name: str) -> None:
        if name == "if":
            self._branches.append((copy.deepcopy(self._state), []))
            return
        if not self._branches:
            return
        before, ends = self._branches[-1]
        ends.append(self._state.text)
        if name == "endif":
            self._branches.pop()
            most = max(ends, key=lambda text: (text.messages + text.values, len(text.letters)))
            most.letters = " ".join(dict.fromkeys(text.letters for text in ends))
            self._state.text = most
            return
        self._state = copy.deepcopy(before)

    def _loop(self, name: str) -> None:
        text = self._state.text
        if name == "for":
            self._loops.append((text, text.messages + text.values))
            self._branches.append((copy.deepcopy(self._state), []))
            return
        began, count = self._loops.pop()
        self._branches.pop()
        if text is began and text.messages + text.values > count:
            text.messages += 1

    def _block(self, contents: str) -> None:
        if contents.startswith("endblock"):
            self._end()
            self._state = self._outer.pop()
            return
        name = contents.split()[1]
        self._outer.append(self._state)
        place = copy.deepcopy(self.blocks.get(name, self._state))
        self.own_blocks[name] = copy.deepcopy(place)
        place.text = Text(self._line, place.text.where)
        self._state = place

    def _end(self) -> None:
        """The text is over."""
        text = self._state.text
        if text.letters or text.messages or text.values:
            self.texts.append(text)
        self._begin("text")

    def _begin(self, where: str) -> None:
        self._state.text = Text(self._line, where)

    def _html(self, contents: str) -> None:
        for character in contents:
            self._line += character == "\n"
            state = self._state
            if not state.tag:
                self._in_text(character)
            elif state.quote:
                self._in_value(character)
            else:
                self._in_tag(character)

    def _in_text(self, character: str) -> None:
        if character == "<":
            self._end()
            self._state.tag, self._state.rest = "<", ""
        elif not self._state.unread:
            self._state.text.letters += character

    def _in_value(self, character: str) -> None:
        state = self._state
        if character == state.quote:
            state.quote = ""
            self._end()
        elif _is_shown(state):
            state.text.letters += character

    def _in_tag(self, character: str) -> None:
        state = self._state
        if character == ">":
            self._close(state.rest)
        elif character in "\"'":
            state.quote = character
            found = re.search(r"([\w-]+)=$", state.rest)
            state.attribute = found[1] if found else ""
            self._begin(state.attribute)
        state.rest += character

    def _close(self, written: str) -> None:
        state = self._state
        name = re.match(r"/?[\w!-]*", written)
        assert name is not None
        word = name.group().removeprefix("/")
        if word in UNREAD and not written.startswith("/") and not written.endswith("/"):
            state.unread = (*state.unread, word)
        elif word in UNREAD and state.unread:
            state.unread = state.unread[:-1]
        state.tag, state.rest = "", ""
        self._begin("text")


def _is_shown(state: _State) -> bool:
    """Whether people see the attribute that is being read; the value of a button is its text."""
    is_button = state.attribute == "value" and 'type="submit"' in state.rest
    return is_button or state.attribute in SHOWN


def _with_messages(tokens: list[Token]) -> Iterator[Token]:
    """The tokens without what stands within a blocktranslate, or a comment."""
    within = ""
    for token in tokens:
        name = token.contents.split()[0] if token.token_type == TokenType.BLOCK else ""
        if within:
            within = "" if name == f"end{within}" else within
        else:
            within = name if name in ("blocktranslate", "comment") else ""
            yield token


def texts_of(path: Path, root: Path) -> list[Text]:
    """What people see of the template at *path*, each text with its line."""
    return Reader(_blocks_of(path, root)).read(path.read_text())


def _blocks_of(path: Path, root: Path) -> dict[str, _State]:
    """Where the blocks of the parents of a template stand."""
    parent = re.match(r'{% extends "(.+?)" %}', path.read_text())
    if parent is None or not (root / parent[1]).exists():
        return {}
    reader = Reader(_blocks_of(root / parent[1], root))
    reader.read((root / parent[1]).read_text())
    return {**reader.blocks, **reader.own_blocks}


def words_outside(text: Text) -> str:
    """The words of a text that no catalogue has."""
    left = text.letters
    for name in NAMES:
        left = re.sub(rf"\b{name}\b", "", left)
    left = re.sub(r"&\w+;", "", left)
    return " ".join(left.split()) if re.search(r"[^\W\d_]", left) else ""
