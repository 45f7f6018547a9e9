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
from typing import Final

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
    bytes: int = 448 * _MIB
    ratio: int = 200
    free_bytes: int = 8 * _MIB

    def most(self, packed: int) -> int:
        """How many bytes may come out of an archive of *packed* bytes."""
        return min(self.bytes, max(self.free_bytes, self.ratio * packed))


@dataclass(frozen=True, slots=True)
class Member:
    """One file of an archive; `why` says why it is not unpacked, "" where it is."""

    name: str
    data: bytes = b""
    why: str = ""


class ArchiveError(ValueError):
    """An archive that is not unpacked."""


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
        raise ArchiveError(f"the file is packed with {other}; kscope reads zip, tar and tar.gz")
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
        raise ArchiveError(f"the archive is broken: {error}") from None


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
                yield Member(each.filename, why="the file is encrypted")
            elif stat.S_ISLNK(mode):
                yield Member(each.filename, why="links are not followed")
            else:
                yield Member(each.filename, _read_zipped(archive, each))


def _read_zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as file:
        data = file.read(info.file_size + 1)
    if len(data) > info.file_size:
        raise ArchiveError(f"{info.filename} is larger than the archive says")
    return data


def _packed_by_gzip(name: str, data: bytes, limits: ArchiveLimits) -> Iterator[Member]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        most = limits.most(len(data))
        stream = _Bounded(packed, most)
        head = stream.peek(_TAR.stop)
        if head[_TAR] == b"ustar":
            yield from _of_tar(stream, limits, most)
        else:
            yield Member(PurePosixPath(name).name.removesuffix(".gz") or name, stream.rest())


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

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            return self.rest()
        found, self._head = self._head[:size], self._head[size:]
        return found if len(found) == size else found + self._next(size - len(found))

    def rest(self) -> bytes:
        """All that is left."""
        parts = [self._head]
        while piece := self._next(_PIECE):
            parts.append(piece)
        self._head = b""
        return b"".join(parts)

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
                yield Member(each.name, why="links and devices are not read")
            else:
                yield Member(each.name, file.read())


def _check_count(count: int, limits: ArchiveLimits) -> None:
    if count > limits.files:
        raise ArchiveError(f"the archive has more than {limits.files:,} files")


def _check_size(unpacked: int, packed: int, limits: ArchiveLimits) -> None:
    most = limits.most(packed)
    if unpacked > most:
        raise ArchiveError(_too_large(most))


def _too_large(most: int) -> str:
    return (
        f"more than {most // _MIB:,} MiB would come out of the archive; that is too much for its size, "
        "or for an import"
    )


def _check_paths(names: Iterable[str]) -> None:
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        leads_out = path.is_absolute() or ".." in path.parts or name[1:2] == ":"
        if leads_out or "\0" in name or len(name) > 4096:
            raise ArchiveError(f"the path {name[:200]!r} leads out of the archive")
