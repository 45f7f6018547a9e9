"""The files of folders, at every depth, in order of their paths."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from engine.kernel.sentences import grouped, say

# Of tools, not of a cluster: version control, and what was installed for programs.
_NOT_ENTERED: Final = frozenset(("node_modules", "__pycache__"))
MOST_FILES: Final = 20_000


class TooManyFiles(ValueError):
    """A folder with more files than an import may have."""


def files_below(folder: Path) -> Iterator[Path]:
    """The files below *folder*; hidden ones, and what links to another folder, are left out.

    Raises TooManyFiles.
    """
    for count, path in enumerate(_walk(folder), 1):
        if count > MOST_FILES:
            raise TooManyFiles(
                say(
                    "{folder}: the folder has more than {most_files} files",
                    folder=str(folder),
                    most_files=grouped(MOST_FILES),
                )
            )
        yield path


def _walk(folder: Path) -> Iterator[Path]:
    for child in sorted(folder.iterdir()):
        if child.name.startswith("."):
            continue
        if child.is_dir():
            if not child.is_symlink() and child.name not in _NOT_ENTERED:
                yield from _walk(child)
        elif child.is_file():
            yield child
