"""Where the files of an upload lie until they are read: one behind the other in one temporary file.

An engine process reads them there, so nothing of them is kept in the memory of the web process. The
file goes when the request is over.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler

Piece = tuple[str, int, int]  # the path of the temporary file; start and length of what is meant


class SpooledFile(UploadedFile):
    """One file of an upload. Its content is at *piece*."""

    def __init__(self, spool: Any, name: str, piece: Piece) -> None:
        super().__init__(spool, name, size=piece[2])
        self.piece = piece


class SpoolHandler(FileUploadHandler):
    """See Django's FILE_UPLOAD_HANDLERS; there is one for each request."""

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        """See FileUploadHandler."""
        super().new_file(*args, **kwargs)
        if not hasattr(self, "file"):
            # Closed, and so deleted, with the files of the request; by Django where reading breaks off.
            self.file = NamedTemporaryFile(prefix="kscope-upload-")  # noqa: SIM115
        self._start = self.file.tell()

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        """See FileUploadHandler."""
        self.file.write(raw_data)

    def file_complete(self, file_size: int) -> UploadedFile:
        """See FileUploadHandler."""
        self.file.flush()
        return SpooledFile(
            self.file, self.file_name or "", (self.file.name, self._start, file_size)
        )


@dataclass(slots=True)
class Content:
    """The content of a file, read from its beginning to its end."""

    file: IO[bytes]
    size: int
    _left: int

    def read(self, size: int, /) -> bytes:
        """At most *size* bytes; none at the end."""
        found = self.file.read(min(size, self._left))
        self._left -= len(found)
        return found


@contextmanager
def opened(piece: Piece) -> Iterator[Content]:
    """The content of a file; in any process that sees the same temporary folder."""
    path, start, length = piece
    with Path(path).open("rb") as file:
        file.seek(start)
        yield Content(file, length, length)


def content_of(piece: Piece) -> bytes:
    """The whole content of a small file."""
    with opened(piece) as content:
        return content.read(content.size)
