"""Which run a process works on, in memory that the process shares with its worker.

Where the process is killed, its worker reads there whose turn it was.
"""

import mmap
import os
import struct
import tempfile
from pathlib import Path
from typing import Self

_NUMBER = struct.Struct("q")


class AtWork:
    """Eight bytes of shared memory: the number of a run, or 0."""

    def __init__(self, path: Path) -> None:
        """Of the file at *path*."""
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _NUMBER.size)
        self.path = path

    @classmethod
    def new(cls) -> Self:
        """Of a new file, which may go once the process has opened it."""
        file, name = tempfile.mkstemp(prefix="kscope-at-work-")
        os.write(file, _NUMBER.pack(0))
        os.close(file)
        return cls(Path(name))

    def forget_file(self) -> None:
        """Remove the file; the memory stays."""
        self.path.unlink(missing_ok=True)

    def note(self, run_id: int) -> None:
        """The process works on this run from now on; 0 for none."""
        _NUMBER.pack_into(self._memory, 0, run_id)

    @property
    def run_id(self) -> int:
        """The run that it works on, or worked on when it ended; 0 for none."""
        number: int = _NUMBER.unpack_from(self._memory)[0]
        return number
