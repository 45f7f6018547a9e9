"""Notes which entries of the scenario match the commands of containers, before these are dropped.

A command may hold a password, so it is not stored (`cleaning`). What is stored is the annotation
`kscope.dev/commands` of the pod, or of the template: the numbers of the entries by container.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from engine.objects.objects import Manifest
from engine.objects.scripts.matching import COMMANDS_ANNOTATION, marks_text, read_marks
from engine.objects.scripts.script import Script

_CONTAINERS = ("initContainers", "containers")


def with_command_marks(raw: Any, scripts: Sequence[Script]) -> Any:
    """*raw*, a manifest or a part of one, with marks at each pod and template whose commands match.

    A container that brings no command keeps the mark that it has: it was there before, and its
    command was dropped. Where no entry names a command it is the same object.
    """
    if not any(script.command for script in scripts):
        return raw
    if isinstance(raw, list):
        return [with_command_marks(each, scripts) for each in cast("list[Any]", raw)]
    if not isinstance(raw, dict):
        return raw
    parts = cast("Manifest", raw)
    marked = {name: with_command_marks(part, scripts) for name, part in parts.items()}
    spec = parts.get("spec")
    found = dict(_marks(cast("Manifest", spec), scripts)) if isinstance(spec, dict) else {}
    if found:
        metadata = _mapping(marked.get("metadata"))
        given = None if metadata is None else _mapping(metadata.get("annotations"))
        if metadata is not None and given is not None:
            before = read_marks(str(given.get(COMMANDS_ANNOTATION) or ""))
            marks = {name: each for name, each in {**before, **found}.items() if each}
            kept = {name: text for name, text in given.items() if name != COMMANDS_ANNOTATION}
            if marks:
                kept[COMMANDS_ANNOTATION] = marks_text(marks)
            if kept != given:
                marked["metadata"] = {**metadata, "annotations": kept}
    return marked


def _mapping(part: Any) -> Manifest | None:
    """*part* where it is a mapping, an empty one where it is left out, or else None."""
    part = part or {}
    return cast("Manifest", part) if isinstance(part, dict) else None


def _marks(spec: Manifest, scripts: Sequence[Script]) -> Iterator[tuple[str, list[int]]]:
    """The containers that *spec* directly holds with a command, and the entries that it matches."""
    for field in _CONTAINERS:
        listed = spec.get(field)
        for each in cast("list[Any]", listed) if isinstance(listed, list) else ():
            if not isinstance(each, dict):
                continue
            container = cast("Manifest", each)
            words = " ".join(map(str, [*_words(container, "command"), *_words(container, "args")]))
            if words:
                yield (
                    str(container.get("name") or ""),
                    [
                        script.number
                        for script in scripts
                        if script.command and fnmatchcase(words, script.command)
                    ],
                )


def _words(container: Manifest, field: str) -> list[Any]:
    words = container.get(field)
    return cast("list[Any]", words) if isinstance(words, list) else []
