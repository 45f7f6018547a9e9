"""Writes a run file piece by piece: neither a long history nor a large scenario is whole in memory.

The same run gives the same bytes: members have a fixed time and order.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, cast

import orjson

from engine.input.sources.runs import MEDIA_TYPE, TYPE
from engine.kernel.recorder import EventRow
from engine.run_file.contents import (
    ANSWERS,
    COMMANDS,
    EVENTS,
    EVIDENCE,
    RUN,
    SCENARIO,
    TRAIL,
    RunFile,
    heading,
)

_TIME: Final = (1980, 1, 1, 0, 0, 0)
_LEVEL: Final = 6
_IN_MEMORY: Final = 8 * 1024 * 1024
_PIECE: Final = 1024 * 1024


class Sink:
    """What a zip is written to: bytes that are taken away again and again."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        # How many bytes wait.
        self.size = 0

    def write(self, piece: bytes) -> int:
        """Keep a piece until it is taken."""
        self._pieces.append(bytes(piece))
        self.size += len(piece)
        return len(piece)

    def flush(self) -> None:
        """Nothing waits."""

    def taken(self) -> bytes:
        """What was written since it was taken last."""
        found = b"".join(self._pieces)
        self._pieces.clear()
        self.size = 0
        return found


class RunFileWriter:
    """Writes the members in order: events, evidence, then everything that is known at the end.

    Each call returns the bytes that are ready. Evidence comes with the events, and waits on the disk.
    """

    def __init__(self) -> None:
        self._sink = Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)  # pyright: ignore
        self._zip.writestr(_info(TYPE, zipfile.ZIP_STORED), MEDIA_TYPE)
        self._events: IO[bytes] | None = None
        self._evidence: IO[bytes] | None = None

    def events(self, rows: Iterable[EventRow]) -> bytes:
        """Go on with the history."""
        if self._events is None:
            self._events = self._zip.open(_info(EVENTS), "w", force_zip64=True)
        for row in rows:
            self._events.write(event_line(row))
        return self._sink.taken()

    def evidence(self, attempts: Iterable[Any]) -> None:
        """Go on with the evidence of scheduling attempts, each a mapping."""
        if self._evidence is None:
            self._evidence = SpooledTemporaryFile[bytes](_IN_MEMORY)
        for each in attempts:
            self._evidence.write(orjson.dumps(each) + b"\n")

    def finish(self, file: RunFile) -> Iterator[bytes]:
        """Everything else, and the end of the zip, piece by piece."""
        self._end_history()
        yield self._sink.taken()
        with self._zip.open(_info(SCENARIO), "w", force_zip64=True) as member:
            for text in indented(file.document):
                member.write(text)
                if self._sink.size >= _PIECE:
                    yield self._sink.taken()
        self._whole(COMMANDS, _json_lines(each.to_dict() for each in file.commands))
        if file.answers:
            self._whole(ANSWERS, _json_lines(file.answers))
        if file.trail:
            self._zip.writestr(_info(TRAIL, zipfile.ZIP_STORED), file.trail)
        self._whole(RUN, orjson.dumps(heading(file), option=orjson.OPT_INDENT_2))
        self._zip.close()
        yield self._sink.taken()

    def _end_history(self) -> None:
        if self._events is not None:
            self._events.close()
        if self._evidence is None:
            return
        with self._evidence, self._zip.open(_info(EVIDENCE), "w", force_zip64=True) as member:
            self._evidence.seek(0)
            shutil.copyfileobj(self._evidence, member, _PIECE)

    def _whole(self, name: str, data: bytes) -> None:
        self._zip.writestr(_info(name), data)


def indented(document: Mapping[str, Any]) -> Iterator[bytes]:
    """*document* as JSON with two spaces for each level, as orjson writes it whole.

    Of a value that is a list or an iterator one member is held at a time.
    """
    border = b"{"
    for name, value in document.items():
        yield border + b"\n  " + orjson.dumps(name) + b": "
        border = b","
        if isinstance(value, list | tuple | Iterator):
            yield from _members(cast("Iterable[Any]", value))
        else:
            yield _moved(value, b"\n  ")
    yield b"{}" if border == b"{" else b"\n}"


def _members(values: Iterable[Any]) -> Iterator[bytes]:
    border = b"["
    for each in values:
        yield border + b"\n    " + _moved(each, b"\n    ")
        border = b","
    yield b"[]" if border == b"[" else b"\n  ]"


def _moved(value: Any, margin: bytes) -> bytes:
    # A line break within a text is escaped.
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).replace(b"\n", margin)


def event_line(row: EventRow) -> bytes:
    """One event as a line of JSON; its evidence and changes are encoded already."""
    event: dict[str, Any] = dict(zip(EventRow._fields[:7], row[:7], strict=True))
    event["data"] = orjson.Fragment(row.data) if row.data else None
    event["changes"] = orjson.Fragment(row.changes) if row.changes else None
    return orjson.dumps(event) + b"\n"


def _info(name: str, packing: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _TIME)
    info.compress_type, info.external_attr = packing, 0o644 << 16
    # Python's own attribute has had another name until 3.13.
    info._compresslevel = _LEVEL  # type: ignore[attr-defined]
    return info


def _json_lines(values: Iterable[Any]) -> bytes:
    return b"".join(orjson.dumps(each) + b"\n" for each in values)
