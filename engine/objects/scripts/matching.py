"""Which entry a container follows: the first that is about it, its pod's own before the scenario's."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Final, NamedTuple

from engine.objects.manifest_parts import items
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.reading import SCRIPT_ANNOTATION, ignored, read_annotation
from engine.objects.scripts.script import NO_ENTRY, SILENT, Script

# The entries of the scenario whose command matches, by container: "main=0,3;setup=1".
COMMANDS_ANNOTATION: Final = "kscope.dev/commands"
_RUNTIME: Final = "containerd://"
# Digits of a container id: of what it is made of, and of the entry.
_DIGITS: Final = 56
_INDEX_ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"


class Part(NamedTuple):
    """What a container does, and the number of the entry that says so, or NO_ENTRY."""

    entry: int
    script: Script


def scripts_for(pod: Pod, scenario: Sequence[Script]) -> list[Script]:
    """The entries that may be about containers of *pod*, in order: an entry's number is its place."""
    text = pod.annotations.get(SCRIPT_ANNOTATION)
    own = read_annotation(text, (), ignored) if text else ()
    return [*own, *scenario]


def entries_about(pod: Pod, container: Manifest, entries: Sequence[Script]) -> Iterator[int]:
    """The numbers of the entries that are about a container of *pod*, in order."""
    for place, script in enumerate(entries):
        if not (_is_about_pod(script, pod) and _is_about(script, container)):
            continue
        if not script.command or script.number in _marks_of(pod, container):
            yield place


def part_of(entry: int, entries: Sequence[Script]) -> Part:
    """The part with that number; a silent one where there is none (any more)."""
    return Part(entry, entries[entry]) if 0 <= entry < len(entries) else Part(NO_ENTRY, SILENT)


def script_followed(
    pod: Pod, container: Manifest, status: Manifest, entries: Sequence[Script]
) -> Script:
    """What a container with this *status* follows, or would follow that has not been created."""
    identity = str(status.get("containerID") or "")
    if identity:
        return part_of(entry_of_identity(identity), entries).script
    return part_of(next(entries_about(pod, container, entries), NO_ENTRY), entries).script


def container_identity(made_of: str, entry: int) -> str:
    """The id of a container as a runtime names it; its last digits are the *entry* it follows.

    Which of several entries a container follows can depend on what was before: see Script.times.
    """
    return f"{_RUNTIME}{sha256(made_of.encode()).hexdigest()[:_DIGITS]}{entry + 1:08x}"


def entry_of_identity(identity: str) -> int:
    """The entry that the container with this id follows, or NO_ENTRY."""
    digits = identity.removeprefix(_RUNTIME)[_DIGITS:]
    try:
        return int(digits, 16) - 1
    except ValueError:
        return NO_ENTRY


def all_containers(pod: Pod) -> Iterator[Manifest]:
    """The containers of its spec, in the order in which they start."""
    yield from items(pod.spec, "initContainers")
    yield from items(pod.spec, "containers")


def completion_index(pod: Pod) -> int:
    """Its index in an Indexed Job; 0 without one."""
    text = pod.annotations.get(_INDEX_ANNOTATION, "0")
    return int(text) if text.isdecimal() else 0


def marks_text(marks: Mapping[str, Sequence[int]]) -> str:
    """The annotation of a pod: the entries whose command matches, by container."""
    return ";".join(f"{name}={','.join(map(str, found))}" for name, found in marks.items())


def read_marks(text: str) -> dict[str, list[int]]:
    """The entries by container of such an annotation."""
    marks: dict[str, list[int]] = {}
    for mark in text.split(";"):
        name, equals, numbers = mark.partition("=")
        if equals:
            found = [int(number) for number in numbers.split(",") if number.isdecimal()]
            marks.setdefault(name, found)
    return marks


def _marks_of(pod: Pod, container: Manifest) -> list[int]:
    marks = read_marks(pod.annotations.get(COMMANDS_ANNOTATION, ""))
    return marks.get(str(container.get("name") or ""), [])


def _is_about_pod(script: Script, pod: Pod) -> bool:
    if any(pod.labels.get(name) != value for name, value in script.labels):
        return False
    if script.indexes and (
        _INDEX_ANNOTATION not in pod.annotations or completion_index(pod) not in script.indexes
    ):
        return False
    name = pod.key if "/" in script.pod else pod.name
    return not script.pod or fnmatchcase(name, script.pod)


def _is_about(script: Script, container: Manifest) -> bool:
    return all(
        not pattern or fnmatchcase(str(container.get(name) or ""), pattern)
        for name, pattern in (("name", script.container), ("image", script.image))
    )
