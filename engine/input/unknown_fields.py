"""Fields of loaded objects that the version of their run does not have: left out, with a note.

An API server does the same. That version is known only once everything is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from engine.api_server.validation.kinds import is_known
from engine.input.load_result import LoadedObject, Origin
from engine.kernel.sentences import Sentence, enumerated, grouped, say, say_count
from engine.objects.documents import Path, show_path
from engine.objects.kinds import split_entity_id
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.fields import check_fields, check_patch, without
from engine.objects.openapi.findings import NOTHING, Findings
from engine.objects.openapi.near import left_out_note

Manifest = dict[str, Any]

# A profile of another name is refused elsewhere.
_VERSION: Final = re.compile(r"v1\.[0-9]{1,3}", re.ASCII)
_MOST_NOTES: Final = 50
# Lines are not looked for in larger files, because each would be read a second time.
LONGEST_WITH_LINES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Note:
    """A field that is left out, with its first place among all objects that have it."""

    where: Sentence
    subject: str
    text: Sentence

    def shown(self, more: int) -> Sentence:
        places = {"where": self.where, "text": self.text, "subject": self.subject}
        if not more:
            return say("{where}: {text} ({subject})", **places)
        return say("{where}: {text} ({subject}, and {count} more)", **places, count=grouped(more))


@dataclass(slots=True)
class UnknownFields:
    """Collects what is left out of the objects and steps of some files."""

    # By file and document, the lines of paths that the newest version does not know.
    lines: dict[tuple[str, int], dict[Path, int]] = field(
        default_factory=dict[tuple[str, int], dict[Path, int]]
    )
    # The objects, by their place among all, in which that version does not know a field, and their
    # paths in their documents.
    seen: dict[int, Path] = field(default_factory=dict[int, Path])
    _notes: dict[tuple[str, str], _Note] = field(default_factory=dict[tuple[str, str], _Note])
    _more: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def leave_out(self, objects: list[LoadedObject], profile: str) -> None:
        """Replace those of *objects* that have such fields under *profile*."""
        version = version_of(profile)
        for place in self.seen if version == NEWEST else range(len(objects)):
            one = objects[place]
            found = check_fields(one.manifest, version, is_simulated=True)
            if found.unknown:
                self._note_all(found, one.manifest, one.origin, self.seen.get(place, ()))
                kept = without(one.manifest, [each.path for each in found.unknown])
                objects[place] = replace(one, manifest=kept)

    def leave_out_of_steps(
        self, steps: Sequence[Manifest], profile: str, origin: Origin
    ) -> list[Manifest]:
        """*steps* without such fields, of manifests and of patches."""
        return [self._step(step, version_of(profile), origin) for step in steps]

    def _step(self, step: Manifest, version: str, origin: Origin) -> Manifest:
        part, found = fields_of_step(step, version)
        if not found.unknown:
            return step
        manifest: Manifest = step[part]
        self._note_all(found, step.get("manifest") or {"kind": step["object"]}, origin, ())
        return {**step, part: without(manifest, [each.path for each in found.unknown])}

    def _note_all(self, found: Findings, manifest: Manifest, origin: Origin, path: Path) -> None:
        lines: Mapping[Path, int] = self.lines.get((origin.file, origin.document), {})
        for each in found.unknown:
            key = found.name, show_path(tuple(part for part in each.path if part.__class__ is str))
            if key in self._notes:
                self._more[key] = self._more.get(key, 0) + 1
                continue
            line = lines.get((*path, *each.path), origin.line)
            where: list[str] = [origin.file, say("document {number}", number=origin.document)]
            where += [say("line {number}", number=line)] if line else []
            self._notes[key] = _Note(
                enumerated([*where, show_path(each.path)]),
                _subject(manifest),
                left_out_note(found, each),
            )

    def notes(self) -> list[str]:
        """One for each field of each kind, and of how many objects it is left out."""
        found = [note.shown(self._more.get(key, 0)) for key, note in self._notes.items()]
        more = len(found) - _MOST_NOTES
        rest = (
            [
                say_count(
                    "{count} more unknown field is left out",
                    "{count} more unknown fields are left out",
                    more,
                    count=grouped(more),
                )
            ]
            if more > 0
            else []
        )
        return [*found[:_MOST_NOTES], *rest]


def version_of(profile: str) -> str:
    """The version whose fields the runs of a profile have: the newest, where none is named."""
    return profile if _VERSION.fullmatch(profile) else NEWEST


def fields_of_step(step: Manifest, version: str = NEWEST) -> tuple[str, Findings]:
    """Whether a step has a manifest or a patch, and what is wrong with its fields."""
    manifest, patch = step.get("manifest"), step.get("patch")
    if isinstance(manifest, dict):
        found = cast("Manifest", manifest)
        simulated = isinstance(found.get("kind"), str) and is_known(found)
        return "manifest", check_fields(found, version, is_simulated=simulated)
    if isinstance(patch, dict) and step.get("verb") in ("patch", "resize"):
        kind = split_entity_id(str(step.get("object") or ""))[0]
        return "patch", check_patch(kind, cast("Manifest", patch), version)
    return "", NOTHING


def _subject(manifest: Manifest) -> str:
    metadata: Any = manifest.get("metadata")
    name: Any = cast("Manifest", metadata).get("name") if isinstance(metadata, dict) else None
    return f"{manifest.get('kind')} {name}" if name else str(manifest.get("kind"))
