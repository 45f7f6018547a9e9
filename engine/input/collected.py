"""The objects of some files: each once, the newest of several versions, each with a name.

Objects are told apart by kind, namespace and name; kinds that no engine reads also by API group.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, cast

from engine.api_server.validation.kinds import is_known
from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report
from engine.input.cleaning import as_evidence, clean
from engine.input.generated_names import GeneratedNames
from engine.input.header.command_marks import with_command_marks
from engine.input.header.job_marks import with_job_mark
from engine.input.load_result import LoadedObject, LoadResult, Manifest, Origin
from engine.input.options import IntakeOptions
from engine.input.unknown_fields import UnknownFields
from engine.kernel.sentences import say
from engine.objects.documents import Path
from engine.objects.openapi.checkers import Nulls
from engine.objects.scripts.script import Script
from engine.objects.values.shown import shown


class Collected:
    """Takes objects one by one into a LoadResult, and reports what is wrong with them."""

    def __init__(self, result: LoadResult, options: IntakeOptions, unknown: UnknownFields) -> None:
        self._result = result
        self._options = options
        self._unknown_fields = unknown
        # Where among the objects each stands.
        self._places_of: dict[tuple[str, str, str], int] = {}
        self._uids: dict[str, tuple[str, str, Origin]] = {}
        self._repeated = self._outdated = self._filtered = 0
        self.names = GeneratedNames()
        # What containers do, by the header of the files; it stands before what it is about.
        self.scripts: Sequence[Script] = ()

    def take(
        self, raw: Any, path: Path, origin: Origin, report: Report, *, is_lenient: bool = False
    ) -> None:
        """Take an object; with *is_lenient* the first of two versions is kept where none is newer."""
        unknown, problems = len(report.unknown), len(report.problems)
        raw = self.names.named(raw)
        nulls = check(raw, path, report)
        if len(report.problems) > problems:
            return
        self._note_writes(raw["metadata"])
        marked = with_job_mark(with_command_marks(raw, self.scripts), str(raw["kind"]))
        manifest = clean(raw, nulls=nulls) if marked is raw else clean(marked)
        if not self._options.admits(manifest):
            self._filtered += 1
            return
        metadata = manifest["metadata"]
        key = (manifest["kind"], metadata.get("namespace", ""), metadata["name"])
        contents = self._result.files[origin.file]
        # Events and other kinds kept aside may share a kind between groups.
        if not is_known(manifest):
            contents.count(manifest["kind"], aside=True)
            self._result.kept_aside.append(LoadedObject(as_evidence(manifest), origin))
            return
        contents.count(manifest["kind"])
        place = self._places_of.get(key)
        if len(report.unknown) > unknown:
            index = len(self._result.objects) if place is None else place
            self._unknown_fields.seen[index] = path
        if place is not None:
            self._again(place, LoadedObject(manifest, origin), path, report, is_lenient=is_lenient)
            return
        uid = metadata.get("uid")
        if uid:
            kind, name, where = self._uids.setdefault(uid, (key[0], key[2], origin))
            if where is not origin:
                problem = (
                    f'{kind} "{name}" has the same uid, in {where}; without one it gets its own'
                )
                report.add((*path, "metadata", "uid"), uid, problem)
                return
        self.add(LoadedObject(manifest, origin))

    def add(self, one: LoadedObject) -> None:
        """Add an object that is known to be right and not there yet."""
        metadata = one.manifest["metadata"]
        key = (one.manifest["kind"], metadata.get("namespace", ""), metadata["name"])
        self._places_of[key] = len(self._result.objects)
        self._result.objects.append(one)

    def leave(self, files: Set[str]) -> None:
        """Forget the objects of some files: they are templates, and no objects of the cluster."""
        kept = [one for one in self._result.objects if one.origin.file not in files]
        if len(kept) == len(self._result.objects):
            return
        self._places_of.clear()
        self._result.objects.clear()
        self._unknown_fields.seen.clear()
        for one in kept:
            self.add(one)

    def give_names(self) -> None:
        """Give each object that has only a generateName the name that stays."""
        if not len(self.names):
            return
        result, header = self._result, self._result.scenario or {}
        seed = self._options.seed if self._options.seed is not None else header.get("seed", 0)
        known = {name for _, _, name in self._places_of}
        renamed = self.names.drawn(seed, known.__contains__)
        for found in (result.objects, result.kept_aside):
            found[:] = [LoadedObject(renamed(one.manifest), one.origin) for one in found]
        if header.get("steps"):
            steps = [
                {**step, "manifest": renamed(step["manifest"])} if "manifest" in step else step
                for step in header["steps"]
            ]
            result.scenario = {**header, "steps": steps}

    def notes(self) -> list[str]:
        """What to say of objects that were taken once, left out, or named."""
        found: list[str] = []
        if self._repeated:
            found.append(
                f"{self._repeated:,} repeated: objects that stand in the files more than once are taken "
                "once"
            )
        if self._outdated:
            found.append(
                f"{self._outdated:,} outdated: of objects that stand in the files in several versions "
                "the newest is taken"
            )
        if self._filtered:
            found.append(f"{self._filtered:,} left out: the filter lets other objects in")
        if len(self.names):
            number = len(self.names)
            are = "object has" if number == 1 else "objects have"
            found.append(
                f"{number:,} {are} a generateName and no name: the rest of the name is drawn, as an API "
                "server does"
            )
        return found

    def _note_writes(self, metadata: Manifest) -> None:
        """Note the newest time in managed fields, which are then left out."""
        fields: Any = metadata.get("managedFields")
        for each in cast("list[Any]", fields) if isinstance(fields, list) else ():
            time = cast("Manifest", each).get("time") if isinstance(each, dict) else None
            if isinstance(time, str):
                self._result.newest_write = max(self._result.newest_write, time)

    def _again(
        self, place: int, again: LoadedObject, path: Path, report: Report, *, is_lenient: bool
    ) -> None:
        """Dumps overlap: what is identical is taken once, of two versions the newer."""
        first = self._result.objects[place]
        if again.manifest == first.manifest:
            self._repeated += 1
            return
        versions = _version(first.manifest), _version(again.manifest)
        is_same = _uid(first.manifest) == _uid(again.manifest) != ""
        if is_same and (is_lenient or 0 < min(versions) < max(versions)):
            self._outdated += 1
            if versions[1] > versions[0]:
                self._result.objects[place] = again
            return
        name = again.manifest["metadata"]["name"]
        problem = (
            f'{again.manifest["kind"]} "{name}" is there twice, with different contents; first in '
            f"{first.origin}. Neither is known to be newer: that takes one uid and two "
            "resourceVersions"
        )
        report.add((*path, "metadata", "name"), name, problem)


def _uid(manifest: Manifest) -> str:
    return manifest["metadata"].get("uid") or ""


def _version(manifest: Manifest) -> int:
    """The resourceVersion, where it is the number that API servers make it; else 0."""
    text: str = manifest["metadata"].get("resourceVersion") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def check(raw: Any, path: Path, report: Report) -> Nulls | None:
    """Report what is wrong with a manifest; see check_manifest()."""
    before = len(report.problems)
    if not isinstance(raw, dict):
        report.add(path, raw, say("expected a manifest, found {found}", found=shown(raw)))
        return None
    manifest = cast("Manifest", raw)
    for name in ("apiVersion", "kind"):
        value = manifest.get(name)
        if not isinstance(value, str) or not value:
            report.add(
                (*path, name),
                value,
                (say("is missing") if value is None else say("must be a text")),
            )
    if len(report.problems) == before:
        if manifest.get("metadata") is None:
            report.add(
                (*path, "metadata"),
                None,
                say("a {value} needs metadata.name", value=manifest["kind"]),
            )
        else:
            return check_manifest(manifest, path, report)
    return None
