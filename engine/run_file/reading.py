"""Reads a run file: bounded before anything is unpacked, checked before anything is played."""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from engine.input.sources.archives import ArchiveLimits
from engine.kernel.recorder import Event, EventRow, event_row
from engine.objects.documents import DocumentError, parse_json
from engine.run_file.checking import checked_choices, checked_command, checked_document, checked_end
from engine.run_file.contents import (
    ANSWERS,
    COMMANDS,
    EVENTS,
    FORMAT,
    MEMBERS,
    RUN,
    SCENARIO,
    TRAIL,
    RunFile,
    RunFileError,
    mapping,
)

Source = bytes | Path
_BROKEN: Final = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, struct.error),
    *(NotImplementedError, RuntimeError, OverflowError, UnicodeDecodeError),
)
_MIB: Final = 1024 * 1024
# Of one event, one command, or one answer of an extender.
_LONGEST_LINE: Final = 32 * _MIB
_ENCRYPTED: Final = 0x1


def read_run_file(source: Source, limits: ArchiveLimits | None = None) -> RunFile:
    """The run of a file, without its history. Raises RunFileError, OSError."""
    try:
        with zipfile.ZipFile(_opened(source)) as archive:
            _check_members(archive, _size(source), limits or ArchiveLimits())
            return _read(archive)
    except _BROKEN as error:
        raise RunFileError(f"the file is broken: {error}") from None


def recorded_events(source: Source) -> Iterator[EventRow]:
    """The history of a file that has one, which `read_run_file` has read before. Raises RunFileError."""
    try:
        with zipfile.ZipFile(_opened(source)) as archive, archive.open(EVENTS) as member:
            for number, line in enumerate(_lines(member), 1):
                yield _event(line, number)
    except _BROKEN as error:
        raise RunFileError(f"the file is broken: {error}") from None


def recorded_event(source: Source, seq: int) -> EventRow | None:
    """One event of the history of a file; None where it has none of that number."""
    return next((row for row in recorded_events(source) if row.seq == seq), None)


def _opened(source: Source) -> Any:
    return source if isinstance(source, Path) else io.BytesIO(source)


def _size(source: Source) -> int:
    return source.stat().st_size if isinstance(source, Path) else len(source)


def _check_members(archive: zipfile.ZipFile, packed: int, limits: ArchiveLimits) -> None:
    """Before anything is unpacked: names, encryption, and how much would come out."""
    infos = archive.infolist()
    names = [each.filename for each in infos]
    for each in infos:
        if each.filename not in MEMBERS:
            raise RunFileError(
                f"{each.filename[:200]!r} is no part of a run; format {FORMAT} has {', '.join(MEMBERS)}"
            )
        if names.count(each.filename) > 1:
            raise RunFileError(f"{each.filename} is in the file more than once")
        if each.flag_bits & _ENCRYPTED:
            raise RunFileError(f"{each.filename} is encrypted")
    if sum(each.file_size for each in infos) > limits.most(packed):
        most = limits.most(packed) // _MIB
        raise RunFileError(
            f"more than {most:,} MiB would come out of the file; that is too much for its size, or for "
            "an import"
        )


def _read(archive: zipfile.ZipFile) -> RunFile:
    raw = mapping(_json(archive, RUN), RUN)
    _check_format(raw)
    names = archive.namelist()
    file = RunFile(
        choices=checked_choices(raw.get("run")),
        document=checked_document(_json(archive, SCENARIO)),
        commands=tuple(checked_command(each) for each in _values(archive, COMMANDS)),
        end=checked_end(raw.get("end")),
        answers=tuple(mapping(each, ANSWERS) for each in _values(archive, ANSWERS)),
        trail=_data(archive, TRAIL) if TRAIL in names else b"",
        has_history=EVENTS in names,
        withheld=tuple(map(str, raw.get("withheld") or ())),
        written_by=str(raw.get("writtenBy") or "")[:100],
    )
    _check_whole(file, raw)
    return file


def _check_format(raw: dict[str, Any]) -> None:
    found = raw.get("format")
    if isinstance(found, bool) or not isinstance(found, int):
        raise RunFileError(f"{RUN} does not say which format the file has")
    if found > FORMAT:
        raise RunFileError(
            f"the file has format {found}, and this version of kscope reads format {FORMAT}; "
            "a newer version wrote it, and a newer version reads it"
        )
    if found < FORMAT:
        raise RunFileError(
            f"the file has format {found}, and this version of kscope reads format {FORMAT}; the version "
            "that wrote it reads it, and can write the scenario for this one"
        )


def _check_whole(file: RunFile, raw: dict[str, Any]) -> None:
    if raw.get("commands") != len(file.commands):
        raise RunFileError(
            f"the file says that it has {raw.get('commands')} commands; it has {len(file.commands)}"
        )
    if file.trail and len(file.trail) != 2 * file.end.events:
        raise RunFileError("the trail is not as long as the history")


def _json(archive: zipfile.ZipFile, name: str) -> Any:
    return _parsed(_data(archive, name), name)


def _parsed(text: bytes, name: str) -> Any:
    try:
        return parse_json(text)
    except DocumentError as error:
        raise RunFileError(f"{name}: {error}") from None


def _data(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        info = archive.getinfo(name)
    except KeyError:
        raise RunFileError(f"{name} is missing") from None
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)
    if len(data) > info.file_size:
        raise RunFileError(f"{name} is larger than the file says")
    return data


def _values(archive: zipfile.ZipFile, name: str) -> Iterator[Any]:
    if name not in archive.namelist():
        return
    with archive.open(name) as member:
        for number, line in enumerate(_lines(member), 1):
            yield _parsed(line, f"{name}, line {number:,}")


def _lines(member: Any) -> Iterator[bytes]:
    while line := member.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise RunFileError(f"a line of {member.name} has more than {_LONGEST_LINE // _MIB} MiB")
        yield line


def _event(line: bytes, number: int) -> EventRow:
    try:
        event = Event(**mapping(orjson.loads(line), EVENTS))
        row = event_row(event)
    except (TypeError, ValueError) as error:
        raise RunFileError(f"{EVENTS}, line {number:,}: no event: {error}") from None
    if row.seq != number:
        raise RunFileError(f"{EVENTS}, line {number:,}: event {row.seq} stands there")
    return row
