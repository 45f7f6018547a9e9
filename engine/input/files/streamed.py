"""Takes the pieces of a large file, as the documents of a small one are taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.api_server.validation.report import Report
from engine.input.document_reader import DocumentReader, Spot, is_list, item_base
from engine.input.files.noting import ItemNotes, Notes
from engine.input.load_result import FileContents, Origin, Problem
from engine.input.streams.pieces import ITEMS, Frame, Item, Piece
from engine.input.streams.window import Window
from engine.objects.documents import Document, DocumentError, too_large_stream
from engine.objects.values.shown import shown

# How many bytes are read between two reports of how far it is.
_STEP = 8 << 20


@dataclass(slots=True)
class StreamedFile:
    """One file. It must not be looked at as a whole."""

    name: str
    window: Window
    reader: DocumentReader
    notes: Notes
    is_found: bool

    def take(self, pieces: Iterator[Piece], most_bytes: int) -> Iterator[int]:
        """Take every piece; yields how many bytes have been read, now and then."""
        items, told = ItemNotes(self.notes, self.name), 0
        try:
            for each in pieces:
                self._take(each, items)
                if self.window.passed - told >= _STEP:
                    told = self.window.passed
                    yield told
                if self.window.passed > most_bytes:
                    raise DocumentError(too_large_stream(most_bytes))
        except DocumentError as error:
            self._refuse(error.why, error.document, error.line)
        items.finish()
        self.contents.bytes = self.window.passed

    @property
    def contents(self) -> FileContents:
        """What the file has, as far as it has been read."""
        return self.reader.result.files[self.name]

    def _take(self, piece: Piece, notes: ItemNotes) -> None:
        report, path = Report(), (ITEMS, getattr(piece, "place", 0))
        if isinstance(piece, Item):
            self._item(piece, path, report)
            if report.problems or report.unknown:
                notes.add(piece, report, path)
        elif piece.count >= 0:
            self._list(piece)
        else:
            document = Document(piece.document, piece.value, piece.line)
            self.reader.read(self.name, document, report, is_found=self.is_found)
            self.contents.documents += 1
            self.notes.of_documents(self.name, b"", [(document, report)])

    def _item(self, item: Item, path: tuple[str | int, ...], report: Report) -> None:
        kind: Any = item.head.get("kind")
        base = item_base(kind, item.head) if isinstance(kind, str) else {}
        spot = Spot(Origin(self.name, item.document, item.line), self.is_found)
        self.reader.item(item.value, path, base, spot, report)

    def _list(self, frame: Frame) -> None:
        self.contents.documents += 1
        kind = frame.value.get("kind")
        if not (isinstance(kind, str) and is_list(kind, frame.value)):
            said = f"the items belong to a {shown(kind)}" if kind else "the items belong to no kind"
            self._refuse(f"{said}; a list of objects has kind: List", frame.document, frame.line)

    def _refuse(self, why: str, document: int, line: int) -> None:
        problem = Problem(file=self.name, message=why, document=document, line=line)
        self.notes.result.problems.append(problem)
