"""Where an export goes: a file, which is there only once it is whole, or standard output."""

from __future__ import annotations

import sys
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from kscope.exports.registry import Format
from kscope.program.speech.errors import ProgramError
from kscope.program.speech.screen import Screen, discard

STDOUT = "-"
_GZIP = 31


class Output:
    """Counts what is written; packs it where the format is packed."""

    def __init__(self, target: str, form: Format, screen: Screen) -> None:
        self._target, self._screen, self.format = target, screen, form
        self._packer: Any = zlib.compressobj(wbits=_GZIP) if form.is_packed else None
        self._file: IO[bytes] | None = None
        self.size = 0

    @property
    def _part(self) -> Path:
        path = Path(self._target)
        return path.with_name(f".{path.name}.part")

    def __enter__(self) -> Output:
        if self._target != STDOUT:
            try:
                self._file = self._part.open("wb")
            except OSError as error:
                raise ProgramError(f"{self._target} cannot be written: {error.strerror}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None and self._packer is not None:
            self._put(self._packer.flush())
        if self._file is None:
            return
        self._file.close()
        if kind is None:
            self._part.replace(self._target)
        else:
            self._part.unlink(missing_ok=True)

    @property
    def is_read(self) -> bool:
        """Whether anybody reads on; a closed pipe is no error."""
        return not self._screen.reader_is_gone

    def write(self, piece: bytes) -> int:
        """Go on with a piece, which is not packed yet."""
        if piece:
            self._put(self._packer.compress(piece) if self._packer is not None else piece)
        return len(piece)

    def take_as_it_is(self, piece: bytes) -> None:
        """Go on with a piece that somebody else has packed."""
        self._packer = None
        self._put(piece)

    def _put(self, piece: bytes) -> None:
        self.size += len(piece)
        if self._file is not None:
            self._file.write(piece)
        elif self.is_read and piece:
            self._print(piece)

    def _print(self, piece: bytes) -> None:
        self._screen.end_progress()
        stream: Any = getattr(sys.stdout, "buffer", None)
        try:
            if stream is None:
                sys.stdout.write(piece.decode())
            else:
                stream.write(piece)
                stream.flush()
        except BrokenPipeError:
            discard(sys.stdout)
            self._screen.reader_is_gone = True


def size_text(size: int) -> str:
    """Bytes of a file, as people write them."""
    if size < 1024:
        return f"{size} bytes"
    for power, unit in enumerate(("KiB", "MiB"), 1):
        if size < 1024 ** (power + 1):
            found = size / 1024**power
            return f"{found:.0f} {unit}" if found >= 10 else f"{found:.1f} {unit}"
    return f"{size / 1024**3:.1f} GiB"
