"""Which files are meant by the names that somebody gives: files, and folders of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from engine.kernel.sentences import say

_SUFFIXES = (".yaml", ".yml", ".json")


class NoSuchFileError(ValueError):
    """A name that is no file, and no folder with files in it."""


def files_of(names: Iterable[str]) -> Iterator[Path]:
    """The files of some names; folders give their scenario files in order of name.

    Raises NoSuchFileError for what is no file and no such folder.
    """
    for name in names:
        path = Path(name)
        if path.is_dir():
            yield from _files_in(path)
        elif path.is_file():
            yield path
        else:
            raise NoSuchFileError(say("{path}: no such file or folder", path=str(path)))


def _files_in(folder: Path) -> list[Path]:
    found = sorted(child for child in folder.iterdir() if child.suffix in _SUFFIXES)
    # A folder of scenarios may hold their decisions too: NAME.json beside NAME.yaml.
    written = {child.stem for child in found if child.suffix != ".json"}
    found = [child for child in found if child.suffix != ".json" or child.stem not in written]
    if not found:
        raise NoSuchFileError(
            say("{folder}: no .yaml or .json file in this folder", folder=str(folder))
        )
    return found
