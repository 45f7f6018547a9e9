"""Reads uploaded files into checked manifests, each with its file, document and line.

Either all files are fine and their objects come back, or `problems` says what is wrong in which
file, document, line and field, and nothing comes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, cast

from engine.api_server.admission.setup_fault import SetupFault
from engine.api_server.validation.kinds import is_known
from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report
from engine.input.cleaning import as_evidence, clean, clean_command
from engine.input.instants import is_dated, newest_of, was_stored
from engine.input.lessons.loading import LoadedLessons, is_lesson
from engine.input.load_result import (
    FileContents,
    LoadedObject,
    LoadResult,
    Manifest,
    Origin,
    Problem,
    SetupCheck,
)
from engine.input.scenario import parse_header, parse_recording, with_ends
from engine.input.unknown_fields import LONGEST_WITH_LINES, UnknownFields
from engine.objects.documents import (
    Document,
    DocumentError,
    Limits,
    Path,
    find_lines,
    read_documents,
    read_path,
    show_path,
    too_large,
)
from engine.objects.openapi.checkers import Nulls
from engine.objects.unmodelled import OPTIONAL, left_out
from engine.objects.values.shown import shown

# The keys of a kube-scheduler-simulator snapshot, whose items have no kind.
_SNAPSHOT = {
    "namespaces": ("Namespace", "v1"),
    "priorityClasses": ("PriorityClass", "scheduling.k8s.io/v1"),
    "storageClasses": ("StorageClass", "storage.k8s.io/v1"),
    "nodes": ("Node", "v1"),
    "pvs": ("PersistentVolume", "v1"),
    "pvcs": ("PersistentVolumeClaim", "v1"),
    "pods": ("Pod", "v1"),
}
# The key of such a snapshot that holds the scheduler's configuration, and its type.
_CONFIGURATION = "schedulerConfig"
_CONFIGURATION_TYPE = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_MAX_PROBLEMS = 200

_EMPTY = (
    "the file is empty; kubectl prints nothing when it does not know one of the kinds that it is "
    "asked for, so look at its message and leave that kind out"
)


@dataclass(frozen=True, slots=True)
class _Place:
    """A document whose lines may be asked for once everything is read."""

    file: str
    document: int
    data: bytes
    path: Path


def load_paths(
    paths: Iterable[FilePath], limits: Limits | None = None, *, check: SetupCheck | None = None
) -> LoadResult:
    """Read and check files on disk; one over the limit is refused by its size, unread.

    Raises OSError for a file that cannot be read.
    """
    loader, limits = Loader(check), limits or Limits()
    for path in paths:
        with path.open("rb") as file:
            # One byte over the limit is enough to know, even without a size (a pipe).
            size = path.stat().st_size
            if size > limits.bytes:
                loader.refuse(str(path), too_large(size, limits))
            else:
                loader.read(str(path), file.read(limits.bytes + 1), limits)
    return loader.finish()


def load_files(
    files: Iterable[tuple[str, bytes]],
    limits: Limits | None = None,
    *,
    check: SetupCheck | None = None,
) -> LoadResult:
    """Read and check files of (name, content)."""
    loader = Loader(check)
    for name, data in files:
        loader.read(name, data, limits or Limits())
    return loader.finish()


class Loader:
    """Reads files one by one; `finish` checks them together.

    *check* is the check of how a run is configured. See `load_files`.
    """

    def __init__(self, check: SetupCheck | None = None) -> None:
        self._result = LoadResult()
        # Where among the objects each stands.
        self._places_of: dict[tuple[str, str, str], int] = {}
        self._repeated = self._outdated = 0
        self._is_recording = False
        self._uids: dict[str, tuple[str, str, Origin]] = {}
        self._check_setup = check
        self._unknown_fields = UnknownFields()
        self._lessons = LoadedLessons()
        # Where the scheduler's configuration and the scenario's spec stand.
        self._places: dict[str, _Place] = {}
        self._configuration_path: Path = ()

    def read(self, name: str, data: bytes, limits: Limits) -> None:
        """Read one file."""
        contents = self._result.files.setdefault(name, FileContents())
        contents.bytes = len(data)
        try:
            documents = read_documents(name, data, limits)
        except DocumentError as error:
            self._result.problems.append(
                Problem(file=name, document=error.document, line=error.line, message=error.why)
            )
            return
        if not documents:
            self.refuse(name, _EMPTY)
        contents.documents += len(documents)
        reports: list[tuple[int, Report]] = []
        for document in documents:
            report = Report()
            before = self._result.scenario, self._result.configuration
            self._document(name, document, report)
            if report.problems or report.unknown:
                reports.append((document.index, report))
            whole = self._result.scenario, self._result.configuration
            if whole != before and not report.problems:
                contents.count(str(document.value.get("kind") or "Scenario"))
            if self._result.configuration is not before[1]:
                path = self._configuration_path
                self._places["configuration"] = _Place(name, document.index, data, path)
            if self._result.scenario is not before[0]:
                self._places["spec"] = _Place(name, document.index, data, ("spec",))
        self._note(name, data, reports)
        self._lessons.note_lines(name, data)

    def refuse(self, name: str, message: str) -> None:
        """A file that is not read; *message* says why."""
        self._result.problems.append(Problem(file=name, message=message))

    def finish(self) -> LoadResult:
        """What the files hold, once all are read."""
        result = self._result
        result.lessons = self._lessons.found
        result.problems += self._lessons.problems(result, self._check_setup)
        if not result.problems and self._check_setup is not None:
            report = self._check_setup(
                result.scenario or {}, result.configuration, result.manifests
            )
            found = report.faults[:_MAX_PROBLEMS]
            result.problems += [self._setup_problem(fault) for fault in found]
            result.warnings += report.warnings
            profile, read = report.profile, report.reads
        else:
            profile, read = "", frozenset[str]()
        if result.problems:
            return LoadResult(problems=result.problems, files=result.files)
        if not result.objects and result.scenario is None:
            aside = ", ".join(f"{count} {kind}" for kind, count in result.aside_counts.items())
            message = "nothing that kscope simulates was found"
            message += f", only {aside}" if aside else ""
            problem = Problem(file=_names(list(result.files)), message=message)
            return LoadResult(problems=[problem], files=result.files)
        self._leave_out_fields(profile)
        result.left_out = left_out(_unread(result, read))
        result.warnings += [str(one) for one in result.left_out]
        result.warnings += _taken_once(self._repeated, self._outdated)
        if profile:
            result.scenario = {**(result.scenario or {}), "profile": profile}
        if not self._is_recording and not (result.scenario or {}).get("steps"):
            everything = result.everything
            result.newest = newest_of(everything, result.newest_write)
            if is_dated(everything, result.newest_write):
                result.instant = result.newest
            result.was_stored = any(map(was_stored, result.everything))
        return result

    def _leave_out_fields(self, profile: str) -> None:
        """Leave out, with a note, the fields that the run's version of Kubernetes does not have."""
        result, scenario = self._result, self._result.scenario
        profile = profile or (scenario or {}).get("profile", "")
        self._unknown_fields.leave_out(result.objects, profile)
        if scenario and scenario["steps"]:
            place = self._places["spec"]
            origin = Origin(place.file, place.document, 0)
            steps = self._unknown_fields.leave_out_of_steps(scenario["steps"], profile, origin)
            result.scenario = {**scenario, "steps": steps}
        result.warnings += self._unknown_fields.notes()

    def _setup_problem(self, fault: SetupFault) -> Problem:
        if fault.part == "object":
            origin = self._result.objects[fault.place].origin
            return Problem(
                file=origin.file,
                document=origin.document,
                line=origin.line,
                field=fault.path,
                value=shown(fault.value),
                message=fault.message,
            )
        place = self._places[fault.part]
        path = (*place.path, *read_path(fault.path))
        return Problem(
            file=place.file,
            document=place.document,
            line=find_lines(place.data, {place.document: {path}})[place.document][path],
            field=show_path(path),
            value="" if fault.value is None else shown(fault.value),
            message=fault.message,
        )

    def _note(self, name: str, data: bytes, reports: list[tuple[int, Report]]) -> None:
        """Report what is wrong with the documents of a file, which is only read for this."""
        found = {index: report.problems[:_MAX_PROBLEMS] for index, report in reports}
        wanted = {index: {path for path, _, _ in some} for index, some in found.items()}
        if len(data) <= LONGEST_WITH_LINES:
            for index, report in reports:
                wanted[index].update(report.unknown[:_MAX_PROBLEMS])
        lines = find_lines(data, wanted) if any(wanted.values()) else {}
        self._unknown_fields.lines |= {(name, index): some for index, some in lines.items()}
        for index, report in reports:
            for path, value, message in found[index]:
                self._result.problems.append(
                    Problem(
                        file=name,
                        document=index,
                        line=lines[index][path],
                        field=show_path(path),
                        value="" if value is None else shown(value),
                        message=message,
                    )
                )
            more = len(report.problems) - len(found[index])
            if more:
                message = f"{more:,} more problems in this document are left out"
                self._result.problems.append(Problem(file=name, document=index, message=message))

    def _document(self, name: str, document: Document, report: Report) -> None:
        raw = document.value
        if not isinstance(raw, dict):
            report.add((), raw, f"expected a manifest, found {shown(raw)}")
            return
        manifest = cast("Manifest", raw)
        kind = manifest.get("kind")
        if kind is None and "steps" in manifest and "initial" in manifest:
            self._scenario(manifest, (), report, recording=True)
            self._items(name, document, "initial", report)
        elif kind is None and any(isinstance(manifest.get(key), list) for key in _SNAPSHOT):
            for key, (item_kind, version) in _SNAPSHOT.items():
                self._items(name, document, key, report, {"apiVersion": version, "kind": item_kind})
            self._snapshot_configuration(name, document, manifest.get(_CONFIGURATION), report)
        elif isinstance(kind, str) and _is_list(kind, manifest):
            item_kind = kind.removesuffix("List")
            base = {"kind": item_kind, "apiVersion": manifest.get("apiVersion")}
            self._items(name, document, "items", report, base if item_kind else {})
        elif kind == "Scenario" and str(manifest.get("apiVersion")).startswith("kscope.dev/"):
            self._scenario(manifest, (), report, recording=False)
        elif is_lesson(manifest):
            self._lessons.document(manifest, Origin(name, document.index, document.line), report)
        elif is_configuration(manifest):
            self._configuration(manifest, (), Origin(name, document.index, document.line), report)
        else:
            self._object(manifest, (), Origin(name, document.index, document.line), report)

    def _configuration(
        self, manifest: Manifest, path: Path, origin: Origin, report: Report
    ) -> None:
        if self._result.configuration not in (None, manifest):
            report.add(path, None, "a second scheduler configuration; only one is allowed")
        self._result.configuration = manifest
        self._result.configuration_origin = origin
        self._configuration_path = path

    def _snapshot_configuration(
        self, name: str, document: Document, found: Any, report: Report
    ) -> None:
        """The configuration that a snapshot was made under; null where it was not exported."""
        path = (_CONFIGURATION,)
        if found is None:
            return
        if not isinstance(found, dict):
            report.add(path, found, f"expected a mapping, found {shown(found)}")
            return
        # It has a kind where the simulator has written it, and none where Go has.
        manifest = _CONFIGURATION_TYPE | cast("Manifest", found)
        if not is_configuration(manifest):
            message = f"{shown(manifest['kind'])} is no KubeSchedulerConfiguration"
            report.add((*path, "kind"), manifest["kind"], message)
            return
        self._configuration(manifest, path, Origin(name, document.index, document.line), report)

    def _items(
        self,
        name: str,
        document: Document,
        key: str,
        report: Report,
        base: Manifest | None = None,
    ) -> None:
        items = document.value.get(key)
        if items is None:
            return
        if not isinstance(items, list):
            report.add((key,), items, f"expected a list, found {shown(items)}")
            return
        lines = document.item_lines.get(key, [])
        for index, item in enumerate(cast("list[Any]", items)):
            line = lines[index] if index < len(lines) else 0
            if isinstance(item, dict) and base:
                item = base | cast("Manifest", item)
            if key == "initial":
                item = with_ends(item)
            self._object(item, (key, index), Origin(name, document.index, line), report)

    def _scenario(self, raw: Manifest, path: Path, report: Report, *, recording: bool) -> None:
        if self._result.scenario is not None:
            report.add(path, None, "a second scenario header; only one is allowed")
            return
        before = len(report.problems)
        header = parse_recording(raw, report) if recording else parse_header(raw, path, report)
        self._check_steps(raw if recording else raw.get("spec"), path, report, recording)
        if len(report.problems) == before:
            header["steps"] = [_step_cleaned(step) for step in header["steps"]]
        self._result.scenario = header
        self._is_recording = recording
        self._result.warnings += _not_simulated(raw) if recording else []

    def _check_steps(self, holder: Any, path: Path, report: Report, recording: bool) -> None:
        if not isinstance(holder, dict):
            return
        steps = cast("Manifest", holder).get("steps")
        path = ("steps",) if recording else (*path, "spec", "steps")
        for index, step in enumerate(cast("list[Any]", steps) if isinstance(steps, list) else []):
            for verb in ("create", "apply", "replace", "objects") if isinstance(step, dict) else ():
                body = cast("Manifest", step).get(verb)
                if body is None:
                    continue
                where = (*path, index, verb)
                if isinstance(body, list):
                    for number, item in enumerate(cast("list[Any]", body)):
                        _check(item, (*where, number), report)
                else:
                    _check(body, where, report)

    def _object(self, raw: Any, path: Path, origin: Origin, report: Report) -> None:
        unknown, problems = len(report.unknown), len(report.problems)
        nulls = _check(raw, path, report)
        if len(report.problems) > problems:
            return
        self._note_writes(raw["metadata"])
        manifest = clean(raw, nulls=nulls)
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
            self._object_again(place, LoadedObject(manifest, origin), path, report)
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
        self._places_of[key] = len(self._result.objects)
        self._result.objects.append(LoadedObject(manifest, origin))

    def _note_writes(self, metadata: Manifest) -> None:
        """Note the newest time in managed fields, which are then left out."""
        fields: Any = metadata.get("managedFields")
        for each in cast("list[Any]", fields) if isinstance(fields, list) else ():
            time = cast("Manifest", each).get("time") if isinstance(each, dict) else None
            if isinstance(time, str):
                self._result.newest_write = max(self._result.newest_write, time)

    def _object_again(self, place: int, again: LoadedObject, path: Path, report: Report) -> None:
        """Dumps overlap: what is identical is taken once, of two versions the newer."""
        first = self._result.objects[place]
        if again.manifest == first.manifest:
            self._repeated += 1
            return
        versions = _version(first.manifest), _version(again.manifest)
        if _uid(first.manifest) == _uid(again.manifest) != "" and 0 < min(versions) < max(versions):
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


def _taken_once(repeated: int, outdated: int) -> list[str]:
    """Notes about objects that stand in the files more than once."""
    found: list[str] = []
    if repeated:
        found.append(
            f"{repeated:,} repeated: objects that stand in the files more than once are taken once"
        )
    if outdated:
        found.append(
            f"{outdated:,} outdated: of objects that stand in the files in several versions the "
            "newest is taken"
        )
    return found


def _unread(result: LoadResult, read: frozenset[str]) -> list[Manifest]:
    """The objects of kinds that the run does nothing with, in files and in steps.

    *read* are the kinds of `OPTIONAL` that it does act on.
    """
    steps = (result.scenario or {}).get("steps") or ()
    made = [step["manifest"] for step in steps if "manifest" in step]
    aside = [one.manifest for one in result.kept_aside]
    unread = [*aside, *(each for each in made if not is_known(each))]
    ignored = OPTIONAL - read
    if ignored:
        given = (*result.manifests, *(each for each in made if is_known(each)))
        unread += [each for each in given if each["kind"] in ignored]
    return unread


def _names(files: list[str]) -> str:
    more = len(files) - 3
    return ", ".join(files[:3]) + (f" and {more:,} more" if more > 0 else "")


def _uid(manifest: Manifest) -> str:
    return manifest["metadata"].get("uid") or ""


def _version(manifest: Manifest) -> int:
    """The resourceVersion, where it is the number that API servers make it; else 0."""
    text: str = manifest["metadata"].get("resourceVersion") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _step_cleaned(step: Manifest) -> Manifest:
    if "manifest" in step:
        return {**step, "manifest": clean(step["manifest"])}
    return clean_command(step)


def _is_list(kind: str, manifest: Manifest) -> bool:
    return kind == "List" or (kind.endswith("List") and "items" in manifest)


def is_configuration(manifest: Manifest) -> bool:
    """Whether this says how a scheduler is set up, rather than what a cluster holds."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if kind == "KubeSchedulerConfiguration":
        return True
    policy = any(key in manifest for key in ("predicates", "priorities", "extenders"))
    return kind == "Policy" and (version in (None, "v1") or policy)


def _not_simulated(recording: Manifest) -> list[str]:
    """What a recording asks for and a run does not do."""
    found: list[str] = []
    fakes = recording.get("fakes")
    for fake, settings in cast("Manifest", fakes or {}).items() if isinstance(fakes, dict) else ():
        for name in cast("Manifest", settings) if isinstance(settings, dict) else ():
            if name.startswith("fail_") and name != "fail_nodes":
                found.append(f"fakes.{fake}.{name} is not simulated")
    return found


def _check(raw: Any, path: Path, report: Report) -> Nulls | None:
    """Report what is wrong with a manifest; see check_manifest()."""
    before = len(report.problems)
    if not isinstance(raw, dict):
        report.add(path, raw, f"expected a manifest, found {shown(raw)}")
        return None
    manifest = cast("Manifest", raw)
    for name in ("apiVersion", "kind"):
        value = manifest.get(name)
        if not isinstance(value, str) or not value:
            report.add((*path, name), value, "is missing" if value is None else "must be a text")
    if len(report.problems) == before:
        if manifest.get("metadata") is None:
            report.add((*path, "metadata"), None, f"a {manifest['kind']} needs metadata.name")
        else:
            return check_manifest(manifest, path, report)
    return None
