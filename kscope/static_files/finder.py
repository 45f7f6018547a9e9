"""Front-end packages for the browser, straight from node_modules.

The map of `modules` says which module of which package is served under which name. It feeds the
static finder and the import map. Beside it stand the typefaces, which `css/fonts.css` names. No
other file of node_modules is served.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

from kscope.static_files.modules import MODULES, SERVED

PREFIX = "vendor/"


def node_modules() -> Path:
    """Where npm put the packages."""
    return Path(settings.BASE_DIR) / "node_modules"


def static_names() -> dict[str, str]:
    """Served name (below STATIC_URL) → file in node_modules."""
    return {PREFIX + file: file for file in SERVED}


def import_map_names() -> dict[str, str]:
    """Import name → served name."""
    return {name: PREFIX + file for name, file in MODULES.items()}


_IMPORT = re.compile(r"""(?:\bfrom|^import)\s*["']([^"']+)["']""", re.MULTILINE)


@cache
def imported_names(name: str) -> tuple[str, ...]:
    """Served names of all modules that the served module *name* imports, directly or indirectly.

    The files are read once per process. A module loaded by a call of `import()` is not found.
    """
    packages = import_map_names()
    seen: dict[str, None] = {name: None}
    waiting = [name]
    while waiting:
        module = waiting.pop(0)
        found = finders.find(module)
        text = Path(found).read_text() if found else ""
        for target in _IMPORT.findall(text):
            relative = posixpath.normpath(posixpath.join(posixpath.dirname(module), target))
            imported = relative if target.startswith(".") else packages.get(target)
            if imported and imported not in seen:
                seen[imported] = None
                waiting.append(imported)
    return tuple(seen)[1:]


class ModuleFinder(BaseFinder):
    """Finds the modules of the map, the typefaces, and no other file of node_modules."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> str | list[str]:
        """The file served as *path*, or an empty list."""
        file = static_names().get(path)
        if file is None or not (node_modules() / file).is_file():
            return []
        found = str(node_modules() / file)
        return [found] if find_all or kwargs.get("all") else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Any]]:
        """Every file that is served."""
        storage = FileSystemStorage(location=node_modules())
        storage.prefix = PREFIX.rstrip("/")  # type: ignore[attr-defined]
        for file in static_names().values():
            yield file, storage
