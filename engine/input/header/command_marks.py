"""Notes which entries of the scenario match the commands of containers, before these are dropped.

A command may hold a password, so it is not stored (`cleaning`). What is stored is the annotation
`kscope.dev/commands` of the pod, or of the template: the numbers of the entries by container.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from engine.objects.objects import Manifest
from engine.objects.scripts.matching import COMMANDS_ANNOTATION, marks_text
from engine.objects.scripts.script import Script

_CONTAINERS = ("initContainers", "containers")


def with_command_marks(raw: Any, scripts: Sequence[Script]) -> Any:
    """*raw*, a manifest or a part of one, with marks at each pod and template whose commands match.

    Where nothing matches it is the same object.
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
    marks = dict(_marks(cast("Manifest", spec), scripts)) if isinstance(spec, dict) else {}
    if marks:
        metadata: Manifest = marked.get("metadata") or {}
        annotations: Manifest = dict(metadata.get("annotations") or {})
        annotations[COMMANDS_ANNOTATION] = marks_text(marks)
        marked["metadata"] = {**metadata, "annotations": annotations}
    return marked


def _marks(spec: Manifest, scripts: Sequence[Script]) -> Iterator[tuple[str, list[int]]]:
    """The containers that *spec* directly holds, and the entries that their commands match."""
    for field in _CONTAINERS:
        listed = spec.get(field)
        for each in cast("list[Any]", listed) if isinstance(listed, list) else ():
            if not isinstance(each, dict):
                continue
            container = cast("Manifest", each)
            words = " ".join(map(str, [*_words(container, "command"), *_words(container, "args")]))
            found = [
                script.number
                for script in scripts
                if script.command and words and fnmatchcase(words, script.command)
            ]
            if found:
                yield str(container.get("name") or ""), found


def _words(container: Manifest, field: str) -> list[Any]:
    words = container.get(field)
    return cast("list[Any]", words) if isinstance(words, list) else []
