"""Fills the places in what a container answers, from its pod and from the files that it finds."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.mounted_files import MountedFile, Sources, file_at
from engine.objects.scripts.placeholders import MODE, Place, filled, places_in
from engine.objects.scripts.pod_fields import field_text, resource_text
from engine.objects.scripts.script import Condition, Script


def asks_for_sources(script: Script) -> bool:
    """Whether what it answers depends on files, or on amounts that may be those of the node."""
    texts, conditions = [*_texts(script)], [*_conditions(script)]
    asked = any(
        place.is_file or place.what == "limits" for one in texts for place in places_in(one)
    )
    return asked or any(any(one) for one in conditions)


def _texts(script: Script) -> Iterator[str]:
    yield from (line.text for line in script.logs)
    for answer in script.commands or ():
        yield from (answer.stdout, answer.stderr)
    yield from (answer.body for answer in script.http or ())


def _conditions(script: Script) -> Iterator[Condition]:
    yield from (line.condition for line in script.logs)
    yield from (answer.condition for answer in script.commands or ())
    yield from (answer.condition for answer in script.http or ())


@dataclass(frozen=True, slots=True)
class Filling:
    """A container of *pod* at one moment, and what the files in it are made of.

    *first*: the same when it started, of which parts of volumes are mounted.
    """

    pod: Pod
    container: Manifest
    sources: Sources
    first: Sources

    def text(self, template: str) -> str:
        """The text with its places filled."""
        return filled(template, self._value)

    def holds(self, condition: Condition) -> bool:
        """Whether the file is there that there is to be, and the other is not."""
        if condition.file and self._file(condition.file) is None:
            return False
        return not condition.no_file or self._file(condition.no_file) is None

    def _value(self, place: Place) -> str:
        if place.what in ("limits", "requests"):
            allocatable = self.sources.allocatable
            return resource_text(self.container, place.what, place.of, allocatable, None)
        if not place.is_file:
            path = f"{place.what}['{place.of}']" if place.of else place.what
            return field_text(self.pod, path)
        found = self._file(place.of)
        if found is None:
            return ""
        return found.mode if place.what == MODE else found.content.decode(errors="replace")

    def _file(self, path: str) -> MountedFile | None:
        return file_at(self.pod, self.container, path, self.sources, self.first)
