"""Archives of files: zip, tar and tar.gz, and single files that gzip has packed.

How many files an archive has, how large they are, how much smaller it was, and where its paths lead
is checked before anything is unpacked. A gzip stream does not say how long it is, so it is unpacked
piece by piece, and refused at the piece with which it is too long.
"""

from __future__ import annotations

import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Protocol

from engine.kernel.sentences import grouped, say

_MIB: Final = 1024 * 1024
_ZIP: Final = b"PK\x03\x04"
_EMPTY_ZIP: Final = b"PK\x05\x06"
_GZIP: Final = b"\x1f\x8b"
# Where a tar file says that it is one.
_TAR: Final = slice(257, 262)
# Packings that are not read, by their first bytes.
_OTHERS: Final = {
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!": "RAR",
}
_ENCRYPTED: Final = 0x1
# What the libraries raise for an archive of which some bytes are wrong.
_BROKEN: Final = (
    *(zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError, OSError, ValueError, OverflowError, struct.error),
)
_PIECE: Final = 256 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What an archive may hold: files, bytes in all, and bytes for each byte that it has itself.

    *free_bytes* may come out of an archive of any size.
    """

    files: int = 20_000
    bytes: int = 4096 * _MIB
    ratio: int = 200
    free_bytes: int = 8 * _MIB

    def most(self, packed: int) -> int:
        """How many bytes may come out of an archive of *packed* bytes."""
        return min(self.bytes, max(self.free_bytes, self.ratio * packed))


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive; `why` says why it is not unpacked, "" where it is.

    It is read while it is the newest member. Reading it may raise ArchiveError.
    """

    name: str
    file: Packed
    why: str = ""


class ArchiveError(ValueError):
    """An archive that is not unpacked."""


class Packed(Protocol):
    """A file that is unpacked while it is read."""

    def read(self, size: int, /) -> bytes:
        """At most *size* bytes; none at the end."""
        ...


class _Guarded:
    """A file whose reading raises ArchiveError where the archive is broken."""

    def __init__(self, file: Packed) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        try:
            return self._file.read(size)
        except ArchiveError:
            raise
        except _BROKEN as error:
            raise _broken(error) from None


_NOTHING: Final = io.BytesIO()


def _broken(error: Exception) -> ArchiveError:
    return ArchiveError(say("the archive is broken: {error}", error=str(error)))


def is_archive(data: bytes) -> bool:
    """Whether *data* begins as an archive does, or as what another program has packed."""
    return (
        data.startswith((_ZIP, _EMPTY_ZIP, _GZIP))
        or data[_TAR] == b"ustar"
        or bool(_other_packing(data))
    )


def members(name: str, data: bytes, limits: ArchiveLimits | None = None) -> Iterator[Member]:
    """The files of the archive *data*, which is called *name*.

    Raises ArchiveError for one that is broken, too large, or leads out of its own folder.
    """
    limits = limits or ArchiveLimits()
    other = _other_packing(data)
    if other:
        raise ArchiveError(
            say("the file is packed with {other}; kscope reads zip, tar and tar.gz", other=other)
        )
    try:
        if data.startswith((_ZIP, _EMPTY_ZIP)):
            yield from _zipped(data, limits)
        elif data.startswith(_GZIP):
            yield from _packed_by_gzip(name, data, limits)
        else:
            yield from _of_tar(io.BytesIO(data), limits, limits.most(len(data)))
    except ArchiveError:
        raise
    except _BROKEN as error:
        raise _broken(error) from None


def _other_packing(data: bytes) -> str:
    return next((name for magic, name in _OTHERS.items() if data.startswith(magic)), "")


def _zipped(data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = [each for each in archive.infolist() if not each.is_dir()]
        _check_count(len(files), limits)
        _check_paths(each.filename for each in files)
        _check_size(sum(each.file_size for each in files), len(data), limits)
        for each in files:
            mode = each.external_attr >> 16
            if each.flag_bits & _ENCRYPTED:
                yield Member(each.filename, _NOTHING, why=say("the file is encrypted"))
            elif stat.S_ISLNK(mode):
                yield Member(each.filename, _NOTHING, why=say("links are not followed"))
            else:
                # It ends where its header says, however much is packed.
                with archive.open(each) as file:
                    yield Member(each.filename, _Guarded(file))


def _packed_by_gzip(name: str, data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        most = limits.most(len(data))
        stream = _Bounded(packed, most)
        head = stream.peek(_TAR.stop)
        if head[_TAR] == b"ustar":
            yield from _of_tar(stream, limits, most)
        else:
            yield Member(PurePosixPath(name).name.removesuffix(".gz") or name, _Guarded(stream))
            stream.drain()


class _Bounded(io.RawIOBase):
    """Reads a stream up to *most* bytes; one byte more raises ArchiveError."""

    def __init__(self, stream: gzip.GzipFile, most: int) -> None:
        super().__init__()
        self._stream = stream
        self._most = most
        self._length = 0
        self._head = b""

    def readable(self) -> bool:
        return True

    def peek(self, size: int) -> bytes:
        """The first *size* bytes, which are read again later."""
        self._head = self._next(size)
        return self._head

    def read(self, size: int = _PIECE) -> bytes:
        found, self._head = self._head[:size], self._head[size:]
        return found if len(found) == size else found + self._next(size - len(found))

    def drain(self) -> None:
        """Read all that is left, and keep nothing of it."""
        while self.read():
            pass

    def _next(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size > 0 and (piece := self._stream.read(min(size, _PIECE))):
            self._length += len(piece)
            if self._length > self._most:
                raise ArchiveError(_too_large(self._most))
            parts.append(piece)
            size -= len(piece)
        return b"".join(parts)


def _of_tar(stream: io.IOBase, limits: ArchiveLimits, most: int) -> Iterator[Member]:
    count = length = 0
    with tarfile.open(fileobj=stream, mode="r|") as archive:  # pyright: ignore
        for each in archive:
            if each.isdir():
                continue
            count, length = count + 1, length + each.size
            _check_count(count, limits)
            _check_paths([each.name])
            if length > most:
                raise ArchiveError(_too_large(most))
            file = archive.extractfile(each) if each.isreg() else None
            if file is None:
                yield Member(each.name, _NOTHING, why=say("links and devices are not read"))
            else:
                yield Member(each.name, _Guarded(file))


def _check_count(count: int, limits: ArchiveLimits) -> None:
    if count > limits.files:
        raise ArchiveError(
            say("the archive has more than {files} files", files=grouped(limits.files))
        )


def _check_size(unpacked: int, packed: int, limits: ArchiveLimits) -> None:
    most = limits.most(packed)
    if unpacked > most:
        raise ArchiveError(_too_large(most))


def _too_large(most: int) -> str:
    return say(
        "more than {value} MiB would come out of the archive; that is too much for its size, or for an import",
        value=grouped(most // _MIB),
    )


def _check_paths(names: Iterable[str]) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        leads_out = path.is_absolute() or ".." in path.parts or name[1:2] == ":"
        if leads_out or "\0" in name or len(name) > 4096:
            raise ArchiveError(
                say("the path {value} leads out of the archive", value=repr(name[:200]))
            )
