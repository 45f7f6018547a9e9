"""What a scenario has many of, kept in pieces: its objects, its steps, and what is beside them.

    document ──packed──▶ header ──▶ Scenario.header        digest of the whole, in a stream
                 └─────▶ pieces ──▶ ScenarioPiece, some hundreds of objects in each, in order

Who stores a document and who reads it holds one piece at a time, and so does the database. The
digest is that of the document's JSON text with sorted keys, which is nowhere as a whole.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final, cast

import orjson
from django.db.models import Sum

from engine.input.scenario import Scenario as LoadedScenario
from engine.objects.objects import Manifest
from kscope.runs.models import Scenario, ScenarioPiece

# The parts of a document that can be large: lists of JSON objects.
PARTS: Final = ("objects", "steps", "outside", "objects_aside")
# A document has these two also where they are empty.
_ALWAYS: Final = ("objects", "steps")
# A piece ends with so many items, or once they have so many bytes.
_ITEMS: Final = 500
_BYTES: Final = 1 << 20
_ROWS_AT_ONCE: Final = 16
# Who reads pieces holds so many.
_READ_AT_ONCE: Final = 4
_FASTEST: Final = 1


class Digest:
    """SHA-256 and length of the JSON text of documents, one behind the other.

    Of each the members named in *without* are left out.
    """

    def __init__(self, without: Iterable[str] = ()) -> None:
        self._hash = hashlib.sha256()
        self._without = frozenset(without)
        self._is_within = self._skips = False
        self.bytes = 0

    @property
    def hex(self) -> str:
        """The digest so far."""
        return self._hash.hexdigest()

    def begin_member(self, name: str) -> None:
        """Go on with the next member of the document; its value is added next."""
        self._skips = name in self._without
        self.add((b"," if self._is_within else b"{") + orjson.dumps(name) + b":")
        self._is_within = self._is_within or not self._skips

    def add(self, text: bytes) -> None:
        """Go on with the value of the member."""
        if not self._skips:
            self._hash.update(text)
            self.bytes += len(text)

    def end_document(self) -> None:
        """The document has no more members."""
        self._skips = False
        self.add(b"}" if self._is_within else b"{}")
        self._is_within = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Items of one part of a document, as compressed JSON lines; `place` counts from 0."""

    part: str
    place: int
    count: int
    lines: bytes


@dataclass(slots=True)
class Packed:
    """A document: what is small of it, and the pieces of the rest."""

    header: Manifest = field(default_factory=dict[str, Any])
    pieces: list[Piece] = field(default_factory=list[Piece])


def packed(document: Mapping[str, Any], *digests: Digest) -> Packed:
    """*document* as it is kept; each of *digests* goes on with its text."""
    found = Packed()
    for name in sorted(document):
        for each in digests:
            each.begin_member(name)
        if name in PARTS:
            found.pieces += _pieces(name, document[name] or (), digests)
        else:
            found.header[name] = document[name]
            text = orjson.dumps(document[name], option=orjson.OPT_SORT_KEYS)
            for each in digests:
                each.add(text)
    for each in digests:
        each.end_document()
    return found


def _pieces(part: str, items: Iterable[Manifest], digests: Iterable[Digest]) -> Iterator[Piece]:
    place = size = 0
    lines: list[bytes] = []
    border = b"["
    for item in items:
        if len(lines) == _ITEMS or size >= _BYTES:
            yield Piece(part, place, len(lines), _compressed(lines))
            place, size, lines = place + 1, 0, []
        line = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        lines.append(line)
        size += len(line)
        for each in digests:
            each.add(border)
            each.add(line)
        border = b","
    if lines:
        yield Piece(part, place, len(lines), _compressed(lines))
    for each in digests:
        each.add(b"[]" if border == b"[" else b"]")


def _compressed(lines: Iterable[bytes]) -> bytes:
    return zlib.compress(b"\n".join(lines), _FASTEST)


def pieces_keep(scenario: Scenario, pieces: Iterable[Piece]) -> None:
    """Store the *pieces* of a new scenario."""
    rows = (
        ScenarioPiece(
            scenario=scenario, part=one.part, place=one.place, count=one.count, lines=one.lines
        )
        for one in pieces
    )
    ScenarioPiece.objects.bulk_create(rows, batch_size=_ROWS_AT_ONCE)


def items_of(scenario_id: int, part: str) -> Iterator[Manifest]:
    """The items of a part of a scenario's document, in their order."""
    rows = ScenarioPiece.objects.filter(scenario_id=scenario_id, part=part).order_by("place")
    for lines in rows.values_list("lines", flat=True).iterator(_READ_AT_ONCE):
        yield from items_in(lines)


def items_in(lines: bytes) -> list[Manifest]:
    """The items of one piece."""
    # A line break within a text is escaped.
    found: list[Manifest] = orjson.loads(b"[%b]" % zlib.decompress(lines).replace(b"\n", b","))
    return found


def items_count(scenario_id: int, part: str) -> int:
    """How many items a part has."""
    pieces = ScenarioPiece.objects.filter(scenario_id=scenario_id, part=part)
    number: int = pieces.aggregate(number=Sum("count", default=0))["number"]
    return number


def items_are_same(scenario_id: int, other_id: int, part: str) -> bool:
    """Whether a part of two scenarios has the same items in the same order."""
    pairs = zip_longest(items_of(scenario_id, part), items_of(other_id, part))
    return all(one == other for one, other in pairs)


def document_of(scenario: Scenario) -> Manifest:
    """The whole document: what `engine.input.scenario.Scenario.from_dict` reads."""
    read = document_in_parts(scenario)
    read["objects"] = sharing(read["objects"])
    return {name: [*part] if isinstance(part, Iterator) else part for name, part in read.items()}


def document_in_parts(scenario: Scenario) -> Manifest:
    """The same with an iterator in the place of each list that can be large."""
    kept = ScenarioPiece.objects.filter(scenario=scenario, place=0).exclude(part="objects_aside")
    parts = {*_ALWAYS, *kept.values_list("part", flat=True)}
    return {**scenario.header, **{part: items_of(scenario.pk, part) for part in sorted(parts)}}


def loaded_of(scenario: Scenario, **chosen: Any) -> LoadedScenario:
    """The scenario as it was loaded, with what is *chosen* in place of what it says."""
    return LoadedScenario.from_dict({**document_of(scenario), **chosen})


def sharing(objects: Iterable[Manifest]) -> Iterator[Manifest]:
    """*objects*, in which neighbouring pods share what they have in common, as those of a workload do.

    Half a million pods take a third less memory so.
    """
    known: dict[str, _Known] = {"metadata": {}, "spec": {}, "status": {}}
    for each in objects:
        if each.get("kind") == "Pod":
            for part, found in known.items():
                _share(each.get(part), found)
        yield each


# By field its JSON, and the value.
_Known = dict[str, tuple[bytes, Any]]


def _share(values: Any, known: _Known) -> None:
    """Put what is *known* into *values*, part of a pod, where its JSON is the same."""
    if values.__class__ is not dict:
        return
    fields = cast("Manifest", values)
    for name, value in fields.items():
        if value.__class__ is dict or value.__class__ is list:
            # Not by ==, to which 1, 1.0 and true are the same.
            text = orjson.dumps(value)
            last = known.get(name)
            if last is not None and last[0] == text:
                fields[name] = last[1]
            else:
                known[name] = text, value
