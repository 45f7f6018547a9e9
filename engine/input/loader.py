"""Reads what users bring into checked manifests, each with its file, document and line.

    folders, archives ──▶ files ──▶ documents ──▶ objects ──▶ placeholders ──▶ LoadResult

Either all files are fine and their objects come back, or `problems` says what is wrong in which
file, document, line and field, and nothing comes back. What is no manifest at all is skipped and
listed. docs/scenario-format.md has the formats.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any, cast

from engine.api_server.admission.setup_fault import SetupFault
from engine.api_server.validation.kinds import is_known
from engine.api_server.validation.report import Report
from engine.input.assembly import Assembly, Place
from engine.input.collected import Collected
from engine.input.collected import check as check_object
from engine.input.document_reader import DocumentReader
from engine.input.formats.watches import Version, versions_of
from engine.input.header.expectations import Expectation
from engine.input.instants import is_dated, newest_of, was_stored
from engine.input.lessons.loading import LoadedLessons
from engine.input.load_result import (
    FileContents,
    LoadResult,
    Manifest,
    Origin,
    Problem,
    SetupCheck,
)
from engine.input.options import IntakeOptions
from engine.input.sources.archives import ArchiveError, is_archive, members
from engine.input.sources.bundles import bundle_of, without_logs
from engine.input.sources.folders import TooManyFiles, files_below
from engine.input.sources.foreign import (
    HELM,
    NOT_TEXT,
    Skipped,
    is_template,
    name_fault,
    names_a_type,
)
from engine.input.sources.runs import IS_A_RUN, is_run_file
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
from engine.objects.unmodelled import OPTIONAL, left_out
from engine.objects.values.shown import shown

_MAX_PROBLEMS = 200
STDIN = "-"

_EMPTY = (
    "the file is empty; kubectl prints nothing when it does not know one of the kinds that it is "
    "asked for, so look at its message and leave that kind out"
)


def _expectations(
    scenario: dict[str, Any] | None, place: Place | None
) -> list[tuple[Expectation, Origin]]:
    """What a scenario expects, each with its line; the scenario keeps nothing of it."""
    found = cast("list[Expectation]", (scenario or {}).pop("expect", None) or [])
    if not found or place is None:
        return []
    paths: list[Path] = [(*place.path, "expect", each.place) for each in found]
    lines = find_lines(place.data, {place.document: set(paths)})[place.document]
    origins = (Origin(place.file, place.document, lines[path]) for path in paths)
    return list(zip(found, origins, strict=True))


def load_paths(
    paths: Iterable[FilePath],
    limits: Limits | None = None,
    *,
    check: SetupCheck | None = None,
    options: IntakeOptions | None = None,
) -> LoadResult:
    """Read and check files and folders on disk, and `-`, the standard input.

    A file over the limit is refused by its size, unread. Raises OSError for what cannot be read.
    """
    loader, limits = Loader(check, options), limits or Limits()
    given = list(paths)
    for path in given:
        if str(path) == STDIN:
            loader.read("stdin", sys.stdin.buffer.read(limits.bytes + 1), limits)
        elif path.is_dir():
            _read_folder(loader, path, limits)
        else:
            _read_path(loader, path, limits, is_alone=len(given) == 1)
    return loader.finish()


def _read_folder(loader: Loader, folder: FilePath, limits: Limits) -> None:
    names: list[str] = []
    try:
        for path in files_below(folder):
            names.append(path.relative_to(folder).as_posix())
            _read_path(loader, path, limits, is_alone=False, is_found=True)
    except TooManyFiles as error:
        loader.refuse(str(folder), str(error))
        return
    loader.note_source(str(folder), names)


def _read_path(
    loader: Loader, path: FilePath, limits: Limits, *, is_alone: bool, is_found: bool = False
) -> None:
    with path.open("rb") as file:
        head = file.read(4096)
        fault = "" if is_alone or is_archive(head) else name_fault(path.name, head)
        # One byte over the limit is enough to know, even without a size (a pipe).
        size = path.stat().st_size
        if fault:
            loader.skip(str(path), fault)
        elif size > limits.bytes:
            loader.refuse(str(path), too_large(size, limits))
        else:
            data = head + file.read(limits.bytes + 1 - len(head))
            loader.read(str(path), data, limits, is_found=is_found)


def load_files(
    files: Iterable[tuple[str, bytes]],
    limits: Limits | None = None,
    *,
    check: SetupCheck | None = None,
    options: IntakeOptions | None = None,
) -> LoadResult:
    """Read and check files of (name, content)."""
    loader = Loader(check, options)
    for name, data in files:
        loader.read(name, data, limits or Limits())
    return loader.finish()


class Loader:
    """Reads files one by one; `finish` checks them together.

    *check* is the check of how a run is configured. See `load_files`.
    """

    def __init__(
        self, check: SetupCheck | None = None, options: IntakeOptions | None = None
    ) -> None:
        self._result = LoadResult()
        self._options = options or IntakeOptions()
        self._check_setup = check
        self._unknown_fields = UnknownFields()
        self._lessons = LoadedLessons()
        self._collected = Collected(self._result, self._options, self._unknown_fields)
        self._reader = DocumentReader(self._result, self._collected, self._lessons)
        # Where the scheduler's configuration and the scenario's spec stand.
        self._places: dict[str, Place] = {}
        self._assembly = Assembly(
            self._result, self._collected, self._reader, self._options, self._places
        )

    def read(self, name: str, data: bytes, limits: Limits, *, is_found: bool = False) -> None:
        """Read one file, or the files of an archive.

        What *is_found* in a folder or an archive, and not named by a person, may be no manifest.
        """
        if is_run_file(data):
            self.refuse(name, IS_A_RUN)
            return
        if is_archive(data):
            self._archive(name, data, limits)
            return
        contents = self._result.files.setdefault(name, FileContents())
        contents.bytes = len(data)
        try:
            documents = read_documents(name, without_logs(data), limits)
        except DocumentError as error:
            self._unreadable(name, data, error, is_found=is_found)
            return
        if not documents:
            self._empty(name, is_found=is_found)
        contents.documents += len(documents)
        versions = versions_of(documents)
        if versions:
            self._watch(name, data, versions)
            return
        reports: list[tuple[Document, Report]] = []
        for document in documents:
            report = Report()
            self._document(name, data, document, report, is_found=is_found)
            if report.problems or report.unknown:
                reports.append((document, report))
        self._note(name, data, reports)
        self._lessons.note_lines(name, data)

    def refuse(self, name: str, message: str) -> None:
        """A file that is not read; *message* says why."""
        self._result.problems.append(Problem(file=name, message=message))

    def skip(self, name: str, why: str) -> None:
        """A file that is none of a cluster's; *why* is told."""
        self._result.skipped.append(Skipped(name, why))

    def note_source(self, name: str, names: Sequence[str]) -> None:
        """Note what the files called *names* of a folder or an archive are together."""
        found = bundle_of(names)
        if found:
            self._result.sources[name] = found

    def _archive(self, name: str, data: bytes, limits: Limits) -> None:
        names: list[str] = []
        try:
            for each in members(name, data):
                where = f"{name}/{each.name}"
                names.append(each.name)
                fault = each.why or name_fault(each.name, each.data)
                if PurePosixPath(each.name).name.startswith("."):
                    continue
                if fault:
                    self.skip(where, fault)
                elif is_archive(each.data):
                    self.skip(where, "archives within archives are not read")
                else:
                    self.read(where, each.data, limits, is_found=True)
        except ArchiveError as error:
            self.refuse(name, str(error))
            return
        self._result.files.setdefault(name, FileContents(bytes=len(data)))
        self.note_source(name, names)

    def _unreadable(self, name: str, data: bytes, error: DocumentError, *, is_found: bool) -> None:
        """A file that is neither YAML nor JSON: a template, something else, or a problem."""
        is_text = "UTF-8" not in error.why
        if is_text and is_template(data):
            self.skip(name, HELM)
        elif is_found and not (is_text and names_a_type(data)):
            self.skip(name, f"{NOT_TEXT}" if not is_text else f"it is no manifest: {error.why}")
        else:
            self._result.problems.append(
                Problem(file=name, document=error.document, line=error.line, message=error.why)
            )

    def _empty(self, name: str, *, is_found: bool) -> None:
        if is_found:
            self.skip(name, "the file is empty")
        else:
            self.refuse(name, _EMPTY)

    def _document(
        self, name: str, data: bytes, document: Document, report: Report, *, is_found: bool
    ) -> None:
        result = self._result
        before = result.scenario, result.configuration
        self._reader.read(name, document, report, is_found=is_found)
        whole = result.scenario, result.configuration
        if whole != before and not report.problems:
            result.files[name].count(str(document.value.get("kind") or "Scenario"))
        if result.configuration is not before[1]:
            path = self._reader.configuration_path
            self._places["configuration"] = Place(name, document.index, data, path)
        if result.scenario is not before[0]:
            self._places["spec"] = Place(name, document.index, data, ("spec",))

    def _watch(self, name: str, data: bytes, versions: list[Version]) -> None:
        """Check the versions of objects of a file; they are put together once all is read."""
        reports: list[tuple[Document, Report]] = []
        for each in versions:
            report = Report()
            check_object(each.manifest, (), report)
            if report.problems:
                reports.append((Document(each.document, each.manifest, each.line), report))
        self._note(name, data, reports)
        if not reports:
            self._assembly.watched[name] = versions
            self._places.setdefault("spec", Place(name, 1, data, ()))

    def finish(self) -> LoadResult:
        """What the files hold, once all are read."""
        result = self._result
        if not result.problems:
            self._assembly.complete()
        result.lessons = self._lessons.found
        result.problems += self._lessons.problems(result, self._check_setup)
        profile, read = self._checked_setup()
        if result.problems:
            return self._refusal(result.problems)
        if not result.objects and result.scenario is None:
            return self._refusal(self._nothing_found())
        result.expectations = _expectations(result.scenario, self._places.get("spec"))
        self._leave_out_fields(profile)
        result.left_out = left_out(_unread(result, read))
        result.warnings += [str(one) for one in result.left_out]
        result.warnings += self._collected.notes()
        if profile:
            result.scenario = {**(result.scenario or {}), "profile": profile}
        if not self._reader.is_recording and not (result.scenario or {}).get("steps"):
            everything = result.everything
            result.newest = newest_of(everything, result.newest_write)
            if is_dated(everything, result.newest_write):
                result.instant = result.newest
            result.was_stored = any(map(was_stored, result.everything))
            if result.collection is not None:
                # Whoever has read it knows the time.
                result.newest = result.instant = result.collection.read_at
        return result

    def _refusal(self, problems: list[Problem]) -> LoadResult:
        result = self._result
        return LoadResult(
            problems=problems, files=result.files, skipped=result.skipped, sources=result.sources
        )

    def _nothing_found(self) -> list[Problem]:
        """Why nothing is left: of each file that was skipped, or of all together."""
        result = self._result
        aside = ", ".join(f"{count} {kind}" for kind, count in result.aside_counts.items())
        if result.skipped and not aside and result.configuration is None:
            return [
                Problem(file=each.file, document=each.document, message=each.why)
                for each in result.skipped[:_MAX_PROBLEMS]
            ]
        message = "nothing that kscope simulates was found"
        message += f", only {aside}" if aside else ""
        kinds = left_out(one.manifest for one in result.kept_aside)
        if len(kinds) == 1 and not kinds[0].is_neutral:
            message += f" ({kinds[0].note})"
        return [Problem(file=_names(list(result.files)), message=message)]

    # -- checks --------------------------------------------------------------------------------------

    def _checked_setup(self) -> tuple[str, frozenset[str]]:
        """The profile that the configuration is for, and the optional kinds that its version reads."""
        result = self._result
        if result.problems or self._check_setup is None:
            return "", frozenset()
        report = self._check_setup(result.scenario or {}, result.configuration, result.manifests)
        wrong = [each for each in report.faults if each.part == "configuration"]
        if wrong and self._options.known_plugin is not None:
            # Who leaves out what kscope does not know wants the objects that came with it.
            result.warnings.append(
                f"The scheduler's configuration is left out, and the default scheduler decides: "
                f"{wrong[0].path}: {wrong[0].message}"
            )
            result.configuration = result.configuration_origin = None
            report = self._check_setup(result.scenario or {}, None, result.manifests)
        found = report.faults[:_MAX_PROBLEMS]
        result.problems += [self._setup_problem(fault) for fault in found]
        result.warnings += report.warnings
        return report.profile, report.reads

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
        result.unknown_fields = self._unknown_fields.notes()
        result.warnings += result.unknown_fields

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

    def _note(self, name: str, data: bytes, reports: list[tuple[Document, Report]]) -> None:
        """Report what is wrong with the documents of a file, which is only read for this."""
        found = {document.index: report.problems[:_MAX_PROBLEMS] for document, report in reports}
        wanted = {index: {path for path, _, _ in some} for index, some in found.items()}
        if len(data) <= LONGEST_WITH_LINES:
            for document, report in reports:
                wanted[document.index].update(report.unknown[:_MAX_PROBLEMS])
        lines = find_lines(data, wanted) if any(wanted.values()) else {}
        self._unknown_fields.lines |= {(name, index): some for index, some in lines.items()}
        for document, report in reports:
            index = document.index
            for path, value, message in found[index]:
                self._result.problems.append(
                    Problem(
                        file=name,
                        document=index,
                        line=lines[index][path] or document.line,
                        field=show_path(path),
                        value="" if value is None else shown(value),
                        message=message,
                    )
                )
            more = len(report.problems) - len(found[index])
            if more:
                message = f"{more:,} more problems in this document are left out"
                self._result.problems.append(Problem(file=name, document=index, message=message))


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
