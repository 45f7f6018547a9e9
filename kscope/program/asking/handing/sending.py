"""The files of an import as a form sends them, whatever their size."""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kscope.program.speech.errors import ProgramError

# How much was sent, and how much there is, in bytes.
Sent = Callable[[int, int], None]
_PIECE: Final = 1 << 20
_STDIN: Final = "-"
_STDIN_NAME: Final = "standard-input"


class Form:
    """A body of the type multipart/form-data with files that are read while they are sent."""

    def __init__(self, files: Sequence[Path], fields: Mapping[str, str]) -> None:
        self._border = uuid.uuid4().hex
        plain = [_field(name, value) for name, value in fields.items() if value]
        self._heads = [(self._part(_file_head(each)), each) for each in files]
        self._fields = b"".join(self._part(each) + b"\r\n" for each in plain)
        self._end = f"--{self._border}--\r\n".encode()

    @property
    def kind(self) -> str:
        """Its media type."""
        return f"multipart/form-data; boundary={self._border}"

    @property
    def size(self) -> int:
        """How many bytes it has."""
        files = sum(len(head) + path.stat().st_size + 2 for head, path in self._heads)
        return len(self._fields) + files + len(self._end)

    def pieces(self, sent: Sent) -> Iterator[bytes]:
        """All of it; *sent* is called after each piece. Raises OSError."""
        size, done = self.size, 0
        for piece in self._pieces():
            yield piece
            done += len(piece)
            sent(done, size)

    def _pieces(self) -> Iterator[bytes]:
        yield self._fields
        for head, path in self._heads:
            yield head
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    yield piece
            yield b"\r\n"
        yield self._end

    def _part(self, text: str) -> bytes:
        return f"--{self._border}\r\n{text}".encode()


def _field(name: str, value: str) -> str:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'


def _file_head(path: Path) -> str:
    name = "".join(each for each in path.name if each not in '"\\\r\n')
    return (
        f'Content-Disposition: form-data; name="files"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )


@contextmanager
def kept_input(names: Sequence[str]) -> Iterator[Path | None]:
    """Standard input as a file, if it is among the names: it is read here first, and then sent."""
    if _STDIN not in names:
        yield None
        return
    before = sys.stdin
    with tempfile.TemporaryDirectory(prefix="kscope-import-") as folder:
        kept = Path(folder) / _STDIN_NAME
        with kept.open("wb") as file:
            shutil.copyfileobj(before.buffer, file)
        try:
            with kept.open() as again:
                sys.stdin = again
                yield kept
        finally:
            sys.stdin = before


@contextmanager
def as_files(names: Sequence[str], stdin: Path | None) -> Iterator[list[Path]]:
    """What the names stand for, as files: a folder is packed into an archive. Raises ProgramError."""
    with tempfile.TemporaryDirectory(prefix="kscope-import-") as folder:
        try:
            yield [
                stdin if name == _STDIN and stdin else _packed(Path(name), Path(folder))
                for name in names
            ]
        except OSError as error:
            raise ProgramError(f"{error.filename}: {error.strerror}") from error


def _packed(path: Path, target: Path) -> Path:
    """A file itself, or the archive of a folder, below *target*."""
    if not path.is_dir():
        return path
    name = path.resolve().name or "files"
    packed = target / f"{name}.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        for each in sorted(each for each in path.rglob("*") if each.is_file()):
            archive.add(each, arcname=f"{name}/{each.relative_to(path)}", recursive=False)
    return packed
