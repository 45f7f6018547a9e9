"""Reads what users bring into checked manifests, each with its file, document and line.

    folders, archives ──▶ files ──▶ documents ──▶ objects ──▶ placeholders ──▶ LoadResult

Either all files are fine and their objects come back, or `problems` says what is wrong in which
file, document, line and field, and nothing comes back. What is no manifest at all is skipped and
listed. docs/scenario-format.md has the formats.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from engine.input.files.noting import MOST_PROBLEMS, Notes
from engine.input.files.streamed import StreamedFile
from engine.input.formats.openb import OPENB, is_openb, openb_versions
from engine.input.formats.traces import SIMKUBE, is_trace, recording_of, trace_versions
from engine.input.formats.watches import Version
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
from engine.input.sources.archives import (
    ArchiveError,
    ArchiveLimits,
    Member,
    is_archive,
    members,
)
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
from engine.input.streams.reader import pieces_of
from engine.input.streams.window import Window
from engine.input.unknown_fields import UnknownFields
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import enumerated, said_by, say
from engine.objects.documents import (
    Document,
    DocumentError,
    Limits,
    Path,
    find_lines,
    read_documents,
    read_path,
    show_path,
    too_large_packed,
    too_large_stream,
    too_large_whole,
)
from engine.objects.unmodelled import OPTIONAL, left_out
from engine.objects.values.shown import shown

_HEAD = 4096  # bytes by which a file is recognised
STDIN = "-"

_EMPTY = say(
    "the file is empty; kubectl prints nothing when it does not know one of the kinds that it is asked for, so look at its message and leave that kind out"
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


# Told how far the reading of a file is: its name, the bytes read, and how many it has (0: unknown).
Progress = Callable[[str, int, int], None]


def load_paths(
    paths: Iterable[FilePath],
    limits: Limits | None = None,
    *,
    check: SetupCheck | None = None,
    options: IntakeOptions | None = None,
    progress: Progress | None = None,
) -> LoadResult:
    """Read and check files and folders on disk, and `-`, the standard input.

    A file over the limit is refused by its size, unread. Raises OSError for what cannot be read.
    """
    loader, tell = Loader(check, options, limits), progress or _no_progress
    given = list(paths)
    with collector_paused():
        for path in given:
            if str(path) == STDIN:
                for done in loader.stream("stdin", Window(sys.stdin.buffer)):
                    tell("stdin", done, 0)
            elif path.is_dir():
                _read_folder(loader, path, tell)
            else:
                _read_path(loader, path, tell, is_alone=len(given) == 1)
        return loader.finish()


def reading_words(name: str, done: int, size: int) -> str:
    """How far the reading of a file is, for people: "all.json: 120 of 1,140 MiB"."""
    of = f" of {size >> 20:,}" if size >= done else ""
    return f"{name}: {done >> 20:,}{of} MiB"


def _no_progress(name: str, done: int, size: int) -> None:
    """Nobody looks."""


def _read_folder(loader: Loader, folder: FilePath, tell: Progress) -> None:
    names: list[str] = []
    try:
        for path in files_below(folder):
            names.append(path.relative_to(folder).as_posix())
            _read_path(loader, path, tell, is_alone=False, is_found=True)
    except TooManyFiles as error:
        loader.refuse(str(folder), said_by(error))
        return
    loader.note_source(str(folder), names)


def _read_path(
    loader: Loader, path: FilePath, tell: Progress, *, is_alone: bool, is_found: bool = False
) -> None:
    with path.open("rb") as file:
        window = Window(file, path.stat().st_size)
        for done in loader.given(str(path), window, is_alone=is_alone, is_found=is_found):
            tell(str(path), done, window.total)


def load_files(
    files: Iterable[tuple[str, bytes]],
    limits: Limits | None = None,
    *,
    check: SetupCheck | None = None,
    options: IntakeOptions | None = None,
) -> LoadResult:
    """Read and check files of (name, content)."""
    loader = Loader(check, options, limits)
    for name, data in files:
        for _ in loader.stream(name, Window(io.BytesIO(data), len(data))):
            pass
    return loader.finish()


class Loader:
    """Reads files one by one; `finish` checks them together.

    *check* is the check of how a run is configured. See `load_files`.
    """

    def __init__(
        self,
        check: SetupCheck | None = None,
        options: IntakeOptions | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._result = LoadResult()
        self._limits = limits or Limits()
        self._options = options or IntakeOptions()
        self._check_setup = check
        self._unknown_fields = UnknownFields()
        self._lessons = LoadedLessons()
        self._notes = Notes(self._result, self._unknown_fields)
        self._collected = Collected(self._result, self._options, self._unknown_fields)
        self._reader = DocumentReader(self._result, self._collected, self._lessons)
        # Where the scheduler's configuration and the scenario's spec stand.
        self._places: dict[str, Place] = {}
        self._assembly = Assembly(
            self._result, self._collected, self._reader, self._options, self._places
        )

    def given(
        self, name: str, window: Window, *, is_alone: bool, is_found: bool = False
    ) -> Iterator[int]:
        """Read one of the files that came together, as `stream` does; some are not looked into."""
        head = window.look(_HEAD)
        fault = "" if is_alone or is_archive(head) else name_fault(name, head)
        if fault:
            self.skip(name, fault)
        else:
            yield from self.stream(name, window, is_found=is_found)

    def stream(self, name: str, window: Window, *, is_found: bool = False) -> Iterator[int]:
        """Read one file, or the files of an archive; yields now and then how many bytes are read.

        A large list of objects is read item by item. What *is_found* in a folder or an archive, and
        not named by a person, may be no manifest.
        """
        if window.total > self._limits.stream_bytes:
            self.refuse(name, too_large_stream(self._limits.stream_bytes))
            return
        if is_run_file(window.look(_HEAD)):
            self.refuse(name, IS_A_RUN)
            return
        if is_archive(window.look(_HEAD)):
            yield from self._archive(name, window)
            return
        is_large = window.hold(self._options.whole_bytes)
        pieces = pieces_of(window, self._limits) if is_large else None
        if pieces is not None:
            self._result.files.setdefault(name, FileContents())
            file = StreamedFile(name, window, self._reader, self._notes, is_found)
            yield from file.take(pieces, self._limits.stream_bytes)
        elif window.total > self._limits.bytes or window.hold(self._limits.bytes + 1):
            self.refuse(name, too_large_whole(window.total, self._limits))
        else:
            self._read(name, window.take(window.size), is_found=is_found)

    def _read(self, name: str, data: bytes, *, is_found: bool) -> None:
        contents = self._result.files.setdefault(name, FileContents())
        contents.bytes = len(data)
        if is_trace(data) or is_openb(data):
            self._trace(name, data)
            return
        try:
            documents = read_documents(name, without_logs(data), self._limits)
            versions, what = recording_of(documents)
        except DocumentError as error:
            self._unreadable(name, data, error, is_found=is_found)
            return
        if not documents:
            self._empty(name, is_found=is_found)
        contents.documents += len(documents)
        if versions:
            self._watch(name, data, versions, what)
            return
        reports: list[tuple[Document, Report]] = []
        for document in documents:
            report = Report()
            self._document(name, data, document, report, is_found=is_found)
            if report.problems or report.unknown:
                reports.append((document, report))
        self._notes.of_documents(name, data, reports)
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

    def _archive(self, name: str, window: Window) -> Iterator[int]:
        names: list[str] = []
        data = window.rest(self._limits.bytes)
        try:
            if len(data) > self._limits.bytes:
                raise ArchiveError(too_large_packed(self._limits))
            for each in members(name, data, ArchiveLimits(bytes=self._limits.stream_bytes)):
                names.append(each.name)
                yield from self._member(f"{name}/{each.name}", each)
        except ArchiveError as error:
            self.refuse(name, said_by(error))
            return
        self._result.files.setdefault(name, FileContents(bytes=len(data)))
        self.note_source(name, names)

    def _member(self, where: str, member: Member) -> Iterator[int]:
        window = Window(member.file)
        if PurePosixPath(member.name).name.startswith("."):
            return
        head = window.look(_HEAD)
        fault = member.why or name_fault(member.name, head)
        if fault:
            self.skip(where, fault)
        elif is_archive(head):
            self.skip(where, say("archives within archives are not read"))
        else:
            yield from self.stream(where, window, is_found=True)

    def _unreadable(self, name: str, data: bytes, error: DocumentError, *, is_found: bool) -> None:
        """A file that is neither YAML nor JSON: a template, something else, or a problem."""
        is_text = "UTF-8" not in error.why
        if is_text and is_template(data):
            self.skip(name, HELM)
        elif is_found and not (is_text and names_a_type(data)):
            self.skip(name, say("it is no manifest: {why}", why=error.why) if is_text else NOT_TEXT)
        else:
            self._result.problems.append(
                Problem(file=name, document=error.document, line=error.line, message=error.why)
            )

    def _empty(self, name: str, *, is_found: bool) -> None:
        if is_found:
            self.skip(name, say("the file is empty"))
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

    def _trace(self, name: str, data: bytes) -> None:
        """Read a recording that is neither YAML nor JSON."""
        self._result.files[name].documents += 1
        try:
            versions = (
                trace_versions(data, self._limits) if is_trace(data) else openb_versions(data)
            )
        except (DocumentError, UnicodeDecodeError) as error:
            self.refuse(name, str(error))
        else:
            self._watch(name, b"", versions, SIMKUBE if is_trace(data) else OPENB)

    def _watch(self, name: str, data: bytes, versions: list[Version], what: str) -> None:
        """Check the versions of objects of a file; they are put together once all is read."""
        reports: list[tuple[Document, Report]] = []
        for each in versions:
            report = Report()
            if each.type != "DELETED":
                check_object(each.manifest, (), report)
            if report.problems:
                reports.append((Document(each.document, each.manifest, each.line), report))
        self._notes.of_documents(name, data, reports)
        if not reports:
            self._assembly.watched[name], self._assembly.called[name] = versions, what
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
        aside = enumerated([f"{count} {kind}" for kind, count in result.aside_counts.items()])
        if result.skipped and not aside and result.configuration is None:
            return [
                Problem(file=each.file, document=each.document, message=each.why)
                for each in result.skipped[:MOST_PROBLEMS]
            ]
        message = (
            say("nothing that kscope simulates was found, only {list}", list=aside)
            if aside
            else say("nothing that kscope simulates was found")
        )
        kinds = left_out(one.manifest for one in result.kept_aside)
        if len(kinds) == 1 and not kinds[0].is_neutral:
            message = say("{message} ({note})", message=message, note=kinds[0].note)
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
                say(
                    "The scheduler's configuration is left out, and the default scheduler decides: "
                    "{path}: {message}",
                    path=wrong[0].path,
                    message=wrong[0].message,
                )
            )
            result.configuration = result.configuration_origin = None
            report = self._check_setup(result.scenario or {}, None, result.manifests)
        found = report.faults[:MOST_PROBLEMS]
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


def _unread(result: LoadResult, read: frozenset[str]) -> list[Manifest]:
    """The objects of kinds that the run does nothing with, in files and in steps.

    *read* are the kinds of `OPTIONAL` that it does act on.
    """
    steps = (result.scenario or {}).get("steps") or ()
    made = [step["manifest"] for step in steps if "manifest" in step]
    unread = [*result.not_held, *(each for each in made if not is_known(each))]
    ignored = OPTIONAL - read
    if ignored:
        given = (*result.manifests, *(each for each in made if is_known(each)))
        unread += [each for each in given if each["kind"] in ignored]
    return unread


def _names(files: list[str]) -> str:
    more = len(files) - 3
    return ", ".join(files[:3]) + (f" and {more:,} more" if more > 0 else "")
