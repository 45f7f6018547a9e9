"""Bytes to plain documents: YAML as kubectl reads it, or JSON, within limits.

YAML is read from the parser's events, not with a stock constructor: so tags, nesting and what
aliases expand to are checked before anything is built, and scalars mean what they mean to
Kubernetes (goyaml v2, then JSON) and not to PyYAML: 2024-01-01 stays a text, `1:30` is no
number, 0755 is octal, `on` is true.

Lines of fields are not kept, since that would cost more than the reading; `find_lines` reads
the text a second time once something is wrong with it.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

import orjson
import yaml

from engine.kernel.sentences import phrase, say

Path = tuple[str | int, ...]

_MERGE = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one file may hold. Nodes are mappings, lists and scalars."""

    bytes: int = 112 * 1024 * 1024
    # Of a file that is read piece by piece: only one piece of it is held to `bytes`.
    stream_bytes: int = 4 * 1024 * 1024 * 1024
    depth: int = 100
    nodes: int = 20_000_000
    # How many nodes all aliases of a file may expand to; a real file hardly has any.
    alias_nodes: int = 200_000
    # Whether the last value of a key counts that a YAML mapping has twice; else it is refused.
    takes_last: bool = False


@dataclass(slots=True)
class Document:
    """One document of a file: its value, its first line, and the lines of its lists' items.

    `repeated` are the lines and the keys that came again in a mapping, where that is allowed.
    """

    index: int
    value: Any
    line: int
    item_lines: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    repeated: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


_NOT_YAML: Final = phrase("not YAML: {why}")
_NOT_YAML_BUT_TABS: Final = phrase("not YAML: {why} (a tab; YAML is indented with spaces)")


class DocumentError(ValueError):
    """A file that cannot be read; document and line count from 1, 0 is unknown."""

    def __init__(self, why: str, *, document: int = 0, line: int = 0, column: int = 0) -> None:
        super().__init__(why)
        self.why = why
        self.document = document
        self.line = line
        self.column = column


def _told_by(error: yaml.MarkedYAMLError) -> str:
    return ": ".join(part for part in (error.context, error.problem) if part)


def read_documents(name: str, data: bytes, limits: Limits) -> list[Document]:
    """The documents of a file, empty ones left out.

    Raises:
        DocumentError: it is too large, neither YAML nor JSON, or breaks a limit.
    """
    if len(data) > limits.bytes:
        raise DocumentError(too_large(len(data), limits))
    text = _as_utf8(data).removeprefix(b"\xef\xbb\xbf")
    try:
        # libyaml would report a position, but in the wrong unit and without a line.
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise DocumentError(say("not a text file: it is not UTF-8"), line=line) from None
    if text.lstrip()[:1] in (b"{", b"["):
        try:
            return [json_document(text, limits)]
        except orjson.JSONDecodeError as error:
            documents, rest = _json_stream(text, limits)
            if documents and not rest:
                return documents
            if name.endswith(_JSON_NAMES) and not rest.startswith("---"):
                raise _not_json(error, documents) from None
    return yaml_documents(text, limits)


def _as_utf8(data: bytes) -> bytes:
    """A text in UTF-16 with its mark, which `kubectl … > FILE` makes in Windows PowerShell, in UTF-8."""
    if not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data
    try:
        return data.decode("utf-16").encode()
    except UnicodeDecodeError:
        return data


def yaml_documents(text: bytes, limits: Limits) -> list[Document]:
    """The documents of a YAML text. Raises DocumentError."""
    return _YamlReader(text, limits).read()


def too_large(size: int, limits: Limits) -> str:
    """The message about a file of *size* bytes, which is over the limit."""
    return say(
        "the file is {size}; at most {megabytes} are read. Leave out what is not scheduled (events, config maps, managed fields)",
        size=_megabytes(size),
        megabytes=_megabytes(limits.bytes),
    )


def too_large_stream(most_bytes: int) -> str:
    """The message about a file that is read piece by piece, and is over its limit."""
    return say(
        "the file is larger than {size}, which is the most that is read",
        size=_megabytes(most_bytes),
    )


def too_large_whole(size: int, limits: Limits) -> str:
    """The message about a file of *size* bytes, 0 if unknown, that must be read as a whole."""
    most = _megabytes(limits.bytes)
    if size:
        return say(
            "the file is {size}, and is no list as kubectl get prints one, which is read item by item; of other files at most {most} are read",
            size=_megabytes(size),
            most=most,
        )
    return say(
        "the file is larger than {most}, and is no list as kubectl get prints one, which is read item by item; of other files at most {most} are read",
        most=most,
    )


def too_large_packed(limits: Limits) -> str:
    """The message about an archive that is too large itself."""
    return say(
        "the archive is larger than {size}, which is the most that is read",
        size=_megabytes(limits.bytes),
    )


def find_lines(data: bytes, wanted: Mapping[int, set[Path]]) -> dict[int, dict[Path, int]]:
    """By document (counted from 1), the line of each wanted path or of its nearest parent."""
    prefixes = {
        document: {path[:length] for path in paths for length in range(len(path) + 1)}
        for document, paths in wanted.items()
    }
    found: dict[int, dict[Path, int]] = {document: {} for document in wanted}
    try:
        for document, path, line in _walk(data.removeprefix(b"\xef\xbb\xbf"), wanted):
            if path in prefixes[document]:
                found[document].setdefault(path, line)
    except (yaml.YAMLError, UnicodeDecodeError):
        # JSON that is not quite YAML (surrogate pairs): what was found so far must do.
        pass
    return {
        document: {path: _nearest(found[document], path) for path in paths}
        for document, paths in wanted.items()
    }


def _nearest(lines: Mapping[Path, int], path: Path) -> int:
    known = (lines.get(path[:length]) for length in range(len(path), -1, -1))
    return next((line for line in known if line), 0)


def show_path(path: Path) -> str:
    """A path as people write it: spec.containers[0].resources.requests.cpu."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", part):
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text


def read_path(text: str) -> Path:
    """Parses what show_path wrote; a dot within a name counts as a separator."""
    return tuple(
        int(part[1:-1]) if part.startswith("[") else part
        for part in re.findall(r"\[[0-9]+\]|[^.\[\]]+", text)
    )


# --- YAML


@dataclass(slots=True)
class _Open:
    """A collection being read: its value so far, the key that waits for its value, its size."""

    value: dict[str, Any] | list[Any]
    line: int
    anchor: str | None
    key: str | None = None
    key_line: int = 0
    merges: list[Any] | None = None
    merging: bool = False
    nodes: int = 1
    lines: list[int] | None = None


class _YamlReader:
    def __init__(self, text: bytes, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._documents: list[Document] = []
        self._document: Document | None = None
        self._index = 0
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._nodes = 0
        self._alias_nodes = 0

    def read(self) -> list[Document]:
        try:
            for event in _events(self._text):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            raise self._not_yaml(error) from None
        except yaml.YAMLError as error:
            line = self._text.count(b"\n", 0, getattr(error, "position", 0) or 0) + 1
            why = str(error).splitlines()[0]
            raise DocumentError(_NOT_YAML.say(why=why), line=line) from None
        return self._documents

    def _not_yaml(self, error: yaml.MarkedYAMLError) -> DocumentError:
        mark = error.problem_mark or error.context_mark
        why = _told_by(error)
        is_tab = "character that cannot start any token" in why and self._at_tab(mark)
        return DocumentError(
            (_NOT_YAML_BUT_TABS if is_tab else _NOT_YAML).say(why=why),
            document=max(self._index, 1),
            line=mark.line + 1 if mark else 0,
            column=mark.column + 1 if mark else 0,
        )

    def _at_tab(self, mark: yaml.Mark | None) -> bool:
        lines = self._text.split(b"\n", mark.line + 1) if mark else []
        return bool(mark and len(lines) > mark.line and b"\t" in lines[mark.line])

    def _take(self, event: Any) -> None:
        kind: Any = event.__class__
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._open(event, {})
        elif kind is yaml.SequenceStartEvent:
            self._open(event, [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._close()
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self._index += 1
            self._anchors.clear()
            self._document = Document(self._index, None, 0)
        elif kind is yaml.DocumentEndEvent:
            document = self._document
            if document is not None and document.value is not None:
                self._documents.append(document)

    def _scalar(self, event: Any) -> None:
        line = event.start_mark.line + 1
        value: Any = event.value
        if "\0" in value:
            raise self._error(line, _NUL)
        if event.tag is not None or not event.style:
            value = self._scalar_value(event, line)
        if event.anchor:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, line, 1, plain=not event.style)

    def _scalar_value(self, event: Any, line: int) -> Any:
        tag, text = event.tag, event.value
        if tag is None or tag == "!":
            return text if tag == "!" else plain_scalar(text)
        if tag == "tag:yaml.org,2002:str":
            return text
        if tag in _SCALAR_TAGS:
            value = plain_scalar(text)
            if _SCALAR_TAGS[tag] is float and type(value) is int:
                return float(value)
            if isinstance(value, _SCALAR_TAGS[tag]):
                return value
            raise self._error(line, f'"{text}" is not of its tag {_show_tag(tag)}')
        raise self._error(line, f"the tag {_show_tag(tag)} is not allowed; manifests need no tags")

    def _open(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        line = event.start_mark.line + 1
        kind = "map" if isinstance(value, dict) else "seq"
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{kind}"):
            tag = _show_tag(event.tag)
            raise self._error(line, f"the tag {tag} is not allowed; manifests need no tags")
        if len(self._stack) >= self._limits.depth:
            raise self._error(
                line, say("nested more than {depth} levels deep", depth=self._limits.depth)
            )
        parent = self._stack[-1] if self._stack else None
        if parent is not None and isinstance(parent.value, dict) and self._expects_key(parent):
            raise self._error(line, "a mapping key must be a text, not a mapping or list")
        opened = _Open(value, line, event.anchor)
        if len(self._stack) == 1 and isinstance(value, list):
            opened.lines = []
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        self._stack.append(opened)

    def _close(self) -> None:
        closed = self._stack.pop()
        value = closed.value
        if closed.merges and isinstance(value, dict):
            value = self._merged(closed, value)
        if closed.anchor:
            self._anchors[closed.anchor] = (value, closed.nodes)
        if closed.lines is not None and self._document is not None and self._stack:
            self._document.item_lines[self._stack[-1].key or ""] = closed.lines
        self._add(value, closed.line, closed.nodes, plain=False)

    def _merged(self, closed: _Open, own: dict[str, Any]) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        for source in closed.merges or []:
            bases: list[Any] = cast("list[Any]", source) if isinstance(source, list) else [source]
            for base in bases:
                if not isinstance(base, dict):
                    raise self._error(closed.line, "<< can only merge mappings")
                for key, value in cast("dict[str, Any]", base).items():
                    merged.setdefault(key, value)
        merged.update(own)
        return merged

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        known = self._anchors.get(event.anchor)
        if known is None:
            raise self._error(line, f"the alias *{event.anchor} refers to itself or to nothing")
        value, nodes = known
        self._alias_nodes += nodes
        if self._alias_nodes > self._limits.alias_nodes:
            raise self._error(
                line,
                f"the aliases of this file stand for more than {self._limits.alias_nodes:,} values",
            )
        self._add(value, line, nodes, plain=False)

    def _add(self, value: Any, line: int, nodes: int, *, plain: bool) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise self._error(line, f"more than {self._limits.nodes:,} values")
        if not self._stack:
            if self._document is not None:
                self._document.value, self._document.line = value, line
            return
        parent = self._stack[-1]
        parent.nodes += nodes
        if isinstance(parent.value, list):
            parent.value.append(value)
            if parent.lines is not None:
                parent.lines.append(line)
        elif self._expects_key(parent):
            self._add_key(parent, value, line, plain)
        elif parent.merging:
            parent.merging = False
            parent.merges = [*(parent.merges or []), value]
        else:
            parent.value[cast("str", parent.key)] = value
            parent.key = None

    def _add_key(self, parent: _Open, key: Any, line: int, plain: bool) -> None:
        if plain and key == "<<":
            parent.merging = True
            return
        text = key if isinstance(key, str) else _key_text(key)
        if text is None:
            raise self._error(line, f"a mapping key must be a text, found {key!r}")
        if text in parent.value:
            if not self._limits.takes_last or self._document is None:
                raise self._error(line, f'the key "{text}" appears twice in one mapping')
            self._document.repeated.append((line, text))
        parent.key = text

    @staticmethod
    def _expects_key(parent: _Open) -> bool:
        return parent.key is None and not parent.merging

    def _error(self, line: int, why: str) -> DocumentError:
        return DocumentError(why, document=self._index, line=line)


def _events(text: bytes) -> Iterator[Any]:
    parser: Any = yaml.CSafeLoader(text)
    try:
        while True:
            event = parser.get_event()
            if event is None or type(event) is yaml.StreamEndEvent:
                return
            yield event
    finally:
        parser.dispose()


def _walk(text: bytes, documents: Container[int]) -> Iterator[tuple[int, Path, int]]:
    """Every path of some documents with its line: that of the key, or of the list's item."""
    index = 0
    stack: list[tuple[Path, bool]] = []
    keys: list[str | int | None] = []
    for event in _events(text):
        kind: Any = event.__class__
        if kind is yaml.DocumentStartEvent:
            index += 1
        if index not in documents:
            continue
        if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            stack.pop()
            keys.pop()
            continue
        if kind not in _NODE_EVENTS:
            continue
        line = event.start_mark.line + 1
        path: Path = ()
        if stack:
            parent, in_list = stack[-1]
            key = keys[-1]
            if in_list:
                path = (*parent, cast("int", key))
                keys[-1] = cast("int", key) + 1
                yield index, path, line
            elif key is None:
                keys[-1] = event.value if kind is yaml.ScalarEvent else ""
                yield index, (*parent, cast("str", keys[-1])), line
                continue
            else:
                path = (*parent, key)
                keys[-1] = None
        else:
            yield index, path, line
        if kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            is_list = kind is yaml.SequenceStartEvent
            stack.append((path, is_list))
            keys.append(0 if is_list else None)


_NODE_EVENTS = (
    yaml.ScalarEvent,
    yaml.AliasEvent,
    yaml.MappingStartEvent,
    yaml.SequenceStartEvent,
)

_WORDS: Mapping[str, Any] = {
    "<<": "<<",
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"], True),
    **dict.fromkeys(["on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE"], False),
    **dict.fromkeys(["off", "Off", "OFF"], False),
}
_SCALAR_TAGS: Mapping[str, type] = {
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:bool": bool,
    "tag:yaml.org,2002:null": type(None),
}
_NUMBER_START = frozenset("+-.0123456789")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)", re.ASCII)
_BASED = re.compile(
    r"(?P<sign>[-+]?)(?:0x(?P<hex>[0-9a-fA-F]+)|0b(?P<bin>[01]+)|0o?(?P<oct>[0-7]+))", re.ASCII
)
_BASES = {"hex": 16, "bin": 2, "oct": 8}
_LONGEST_NUMBER = 64


def plain_scalar(text: str) -> Any:
    """What an unquoted scalar means. Upstream: goyaml v2 resolve.go, resolve()."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > _LONGEST_NUMBER:
        return text
    digits = text.replace("_", "")
    if _DECIMAL.fullmatch(digits):
        return _go_number(int(digits))
    based = _BASED.fullmatch(digits)
    if based is not None:
        base = next(name for name in _BASES if based[name])
        number = int(based[base], _BASES[base])
        return _go_number(-number if based["sign"] == "-" else number)
    if _FLOAT.fullmatch(text):
        number = float(text)
        # An infinity has no JSON form; let the field's own check refuse the text.
        return number if abs(number) != float("inf") else text
    return text


def _go_number(number: int) -> int | float:
    """As in Go, a number that no 64-bit integer can hold becomes a float."""
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


def _key_text(key: Any) -> str | None:
    # Upstream: sigs.k8s.io/yaml convertToJSONableObject().
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key) if isinstance(key, (int, float)) else None


def _show_tag(tag: str) -> str:
    prefix = "tag:yaml.org,2002:"
    return f"!!{tag.removeprefix(prefix)}" if tag.startswith(prefix) else tag


# --- JSON


# The API server accepts NUL, but PostgreSQL cannot store it, and no real manifest has it.
_NUL = say("a text holds the character U+0000")


def parse_json(text: bytes) -> Any:
    """The value of a JSON text, as the API server and the database can hold it.

    Integers beyond 64 bits are floats, as they are to Go. Raises DocumentError, also for what is
    nested too deep or holds U+0000.
    """
    try:
        return json_document(text, Limits()).value
    except orjson.JSONDecodeError as error:
        raise _not_json(error, []) from None


# Files that hold nothing but JSON, by their names.
_JSON_NAMES = (".json", ".jsonl", ".ndjson")


def _not_json(error: orjson.JSONDecodeError, before: list[Document]) -> DocumentError:
    """*error* of a file that holds the documents *before* the broken one."""
    if before:
        return DocumentError(say("not JSON"), document=len(before) + 1, line=before[-1].line)
    return DocumentError(
        say("not JSON: {msg}", msg=error.msg), document=1, line=error.lineno, column=error.colno
    )


def _json_stream(text: bytes, limits: Limits) -> tuple[list[Document], str]:
    """The JSON values that stand behind each other at the beginning of *text*, and what is left.

    One on each line, or as `kubectl get --watch -o json` prints them.
    """
    whole, decoder = text.decode(), json.JSONDecoder()
    found: list[Document] = []
    place, line = _after_space(whole, 0), 1
    seen = 0
    while place < len(whole):
        try:
            _, end = decoder.raw_decode(whole, place)
            line += whole.count("\n", seen, place)
            seen = place
            document = json_document(whole[place:end].encode(), limits)
        except (ValueError, RecursionError) as error:
            if isinstance(error, DocumentError):
                error.document, error.line = len(found) + 1, line + max(error.line - 1, 0)
                raise
            break
        found.append(Document(len(found) + 1, document.value, line))
        place = _after_space(whole, end)
    return found, whole[place : place + 3]


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


_SPACE = re.compile(r"\s*")


def json_document(text: bytes, limits: Limits) -> Document:
    """The document that a JSON text is. Raises JSONDecodeError of orjson, and DocumentError."""
    escaped = text.find(b"\\u0000")
    if escaped >= 0:
        raise DocumentError(_NUL, document=1, line=text.count(b"\n", 0, escaped) + 1)
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth" in error.msg:
            raise DocumentError(
                say("nested more than {depth} levels deep", depth=limits.depth), document=1
            ) from None
        raise
    keys = _check_depth(value, limits)
    if not _has_as_many_keys(text, keys):
        _refuse_double_keys(text)
    return Document(1, value, text[: len(text) - len(text.lstrip())].count(b"\n") + 1)


def _check_depth(value: Any, limits: Limits) -> int:
    """How many keys there are in all mappings. Raises DocumentError for too many levels."""
    level: list[Any] = [value]
    depth = keys = 0
    while level:
        depth += 1
        if depth > limits.depth:
            raise DocumentError(
                say("nested more than {depth} levels deep", depth=limits.depth), document=1
            )
        below: list[Any] = []
        for node in level:
            if node.__class__ is dict:
                keys += len(node)
                node = node.values()
            elif node.__class__ is not list:
                continue
            below += [part for part in node if part.__class__ in COLLECTIONS]
        level = below
    return keys


# A test for the end of a key. Where a string contains one, all keys are checked.
_KEY_END = re.compile(rb'(?<!\\)"\s*:')
# Where a text has none of these, each key ends in a quote and a colon, and no string does but after a
# backslash: so they can be counted in a tenth of the time.
_ODD_KEYS = (b" :", b"\t:", b"\n:", b"\r:", b'\\\\":')


def _has_as_many_keys(text: bytes, keys: int) -> bool:
    """Whether a JSON text has *keys* keys, so that none comes twice in a mapping; False if unsure."""
    if any(each in text for each in _ODD_KEYS):
        return len(_KEY_END.findall(text)) == keys
    return text.count(b'":') - text.count(b'\\":') == keys


def _refuse_double_keys(text: bytes) -> None:
    """Raises DocumentError for a key that appears twice. orjson has kept only its last value."""
    json.loads(text, object_pairs_hook=_each_key_once, parse_int=float)


def _each_key_once(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise DocumentError(
                say('the key "{key}" appears twice in one mapping', key=key), document=1
            )
        seen.add(key)


# What holds other parts of a document.
COLLECTIONS: Any = (dict, list)


def _megabytes(size: int) -> str:
    return f"{size / (1024 * 1024):.1f} MiB".replace(".0 ", " ")
