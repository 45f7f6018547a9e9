"""Which files a lesson is read from: its own, and that of the scenario that it names."""

from pathlib import Path
from typing import Any, cast

from engine.input.lessons.loading import is_lesson
from engine.input.load_result import Manifest
from engine.objects.documents import Limits, read_documents


def files_with(path: Path, scenarios: Path) -> list[Path]:
    """*path*, after the file in *scenarios* with the scenario that its lessons name.

    A file that brings its own scenario, or names one that is not in that folder, is alone.
    Raises OSError for a file that cannot be read, and DocumentError for one that is no YAML.
    """
    read: list[Any] = [one.value for one in read_documents(str(path), path.read_bytes(), Limits())]
    documents = [cast("Manifest", one) for one in read if isinstance(one, dict)]
    lessons = [one for one in documents if is_lesson(one)]
    if len(lessons) < len(documents):
        return [path]
    names = dict.fromkeys(name for name in map(_scenario_of, lessons) if name)
    found = (scenarios / f"{Path(name).name}.yaml" for name in names)
    return [*(each for each in found if each.is_file()), path]


def _scenario_of(lesson: Manifest) -> str:
    """The scenario that an unchecked lesson names."""
    found: Any = lesson
    for name in ("spec", "run", "scenario"):
        found = cast("Manifest", found).get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""
