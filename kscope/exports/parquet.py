"""Events as Parquet, by pyarrow, which is loaded when it is needed: the extra `parquet`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from engine.kernel.recorder import EventRow
from engine.run_file.writing import Sink
from kscope.exports.encoder import ExportError, Heading
from kscope.exports.lines import COLUMNS, cells

# Rows that are written together. Readers skip whole groups, and memory holds one.
_GROUP: Final = 50_000
INSTALL: Final = "pip install 'kscope-sim[parquet]'"


class Parquet:
    """The columns of CSV, typed; evidence and changes are JSON."""

    def __init__(self, heading: Heading) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ExportError(f"Parquet needs the package pyarrow: {INSTALL}") from None
        self._arrow, self._sink = pyarrow, Sink()
        text = pyarrow.string()
        named = pyarrow.dictionary(pyarrow.int32(), text)
        types = (
            *(pyarrow.int64(), pyarrow.float64(), pyarrow.int64(), named, text, named),
            *(pyarrow.int64(), text, text, text),
        )
        about = {"kscope.run": heading.name, "kscope.profile": heading.profile}
        self._schema = pyarrow.schema(zip(COLUMNS, types, strict=True), metadata=about)
        out: Any = pyarrow.PythonFile(_Stream(self._sink), mode="w")
        self._writer = pyarrow.parquet.ParquetWriter(out, self._schema, compression="zstd")
        self._waiting: list[tuple[Any, ...]] = []

    def begin(self) -> bytes:
        """See Encoder."""
        return self._sink.taken()

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        self._waiting += map(cells, rows)
        if len(self._waiting) >= _GROUP:
            self._write()
        return self._sink.taken()

    def end(self) -> bytes:
        """See Encoder."""
        self._write()
        self._writer.close()
        return self._sink.taken()

    def _write(self) -> None:
        columns = zip(*self._waiting, strict=True) if self._waiting else ([] for _ in COLUMNS)
        arrays = [
            self._arrow.array(list(column), type=field.type)
            for column, field in zip(columns, self._schema, strict=True)
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))
        self._waiting.clear()


class _Stream:
    """A sink as pyarrow wants a file: it asks where it stands, and closes it."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._length = sink, 0
        self.closed = False

    def write(self, piece: Any) -> int:
        """See io.RawIOBase."""
        self._length += len(piece)
        return self._sink.write(piece)

    def tell(self) -> int:
        """See io.IOBase."""
        return self._length

    def flush(self) -> None:
        """See io.IOBase."""

    def close(self) -> None:
        """See io.IOBase."""
        self.closed = True

    def writable(self) -> bool:
        """See io.IOBase."""
        return True

    def readable(self) -> bool:
        """See io.IOBase."""
        return False

    def seekable(self) -> bool:
        """See io.IOBase."""
        return False
