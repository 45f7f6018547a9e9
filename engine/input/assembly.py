"""Puts together what the files hold: watches, test cases, chosen nodes, and what all of it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from engine.api_server.custom.imported import custom_objects
from engine.api_server.validation.report import Report
from engine.input.assumed.classes import absent_classes
from engine.input.assumed.namespaces import absent_namespaces
from engine.input.assumed.nodes import absent_nodes
from engine.input.assumed.placeholder import FILE as ASSUMED
from engine.input.assumed.questions import questions_of
from engine.input.assumed.volumes import Storage
from engine.input.cleaning import clean, clean_command
from engine.input.collected import Collected, check
from engine.input.document_reader import DocumentReader, PerfFile
from engine.input.formats.plugins import without_unknown_plugins
from engine.input.formats.scheduler_perf import PerfFault, perf_scenario, template_paths
from engine.input.formats.watches import Recording, Version, newest, recording_of
from engine.input.load_result import (
    FileContents,
    LoadedObject,
    LoadResult,
    Manifest,
    Origin,
    Problem,
)
from engine.input.machines.wanted import nodes_of
from engine.input.options import IntakeOptions
from engine.kernel.sentences import said_by, say
from engine.objects.documents import Path, show_path
from engine.objects.values.shown import shown

# Where nodes that were asked for stand.
# Where they stand, in the place of a file.
WANTED: Final = "(nodes that were asked for)"


@dataclass(frozen=True, slots=True)
class Place:
    """A document whose lines may be asked for once everything is read."""

    file: str
    document: int
    data: bytes
    path: Path


class Assembly:
    """Completes a LoadResult once all files are read."""

    def __init__(
        self,
        result: LoadResult,
        collected: Collected,
        reader: DocumentReader,
        options: IntakeOptions,
        places: dict[str, Place],
    ) -> None:
        self._result = result
        self._collected = collected
        self._reader = reader
        self._options = options
        self._places = places
        # By file, the versions of objects that a watch has printed.
        self.watched: dict[str, list[Version]] = {}
        # Likewise, what the file is called.
        self.called: dict[str, str] = {}

    def complete(self) -> None:
        """Put watches and test cases together, and add what the files rest on."""
        self._put_watches_together()
        for each in self._reader.perf[:1]:
            self._perf(each)
        self._collected.give_names()
        result = self._result
        result.custom, notes = custom_objects([one.manifest for one in result.kept_aside])
        result.warnings += notes
        self._choose_plugins()
        self._add_wanted_nodes()
        if not self._result.problems:
            self._add_placeholders()

    def _put_watches_together(self) -> None:
        if not self.watched:
            return
        recording = recording_of(list(self.watched.values()))
        has_header = self._result.scenario is not None
        if self._options.watch == "newest" or not recording.steps or has_header:
            self._take_newest()
        else:
            self._take_recording(recording)

    def _take_newest(self) -> None:
        for name, versions in self.watched.items():
            self._take_versions(name, newest(versions))
            self._result.sources[name] = say(
                "{what}, of which the newest version of each object is taken",
                what=self.called[name],
            )

    def _take_recording(self, recording: Recording) -> None:
        for name, versions in self.watched.items():
            self._take_versions(name, recording.listed_of(versions))
            self._result.sources[name] = say(
                "{what}, read as a recording: what people did are its steps", what=self.called[name]
            )
        steps = [_cleaned(step) for step in recording.steps]
        steps = [each for each in steps if self._admits(each)]
        instant = {"instant": recording.instant} if recording.instant else {}
        self._result.scenario = {"steps": steps, "until": recording.until, **instant}
        if not recording.instant:
            self._result.warnings.append(
                say(
                    "The objects of the watch name no times; each change comes one second after the "
                    "one before it."
                )
            )

    def _take_versions(self, name: str, versions: Iterable[Version]) -> None:
        for each in versions:
            self._take(each.manifest, Origin(name, each.document, each.line))

    def _admits(self, step: Manifest) -> bool:
        return "manifest" not in step or self._options.admits(step["manifest"])

    def _perf(self, file: PerfFile) -> None:
        result, origin = self._result, file.origin
        paths = template_paths(file.cases)
        files = {path: self._file_of_template(path, origin.file) for path in paths}
        templates: dict[str, list[Manifest]] = {}
        for one in result.objects:
            templates.setdefault(one.origin.file, []).append(one.manifest)
        named = {name for name in files.values() if name}
        self._collected.leave(named)
        try:
            found = perf_scenario(
                file.cases, self._options.case, lambda path: templates.get(files.get(path, ""), [])
            )
        except PerfFault as fault:
            result.problems.append(
                Problem(
                    file=origin.file,
                    document=origin.document,
                    line=origin.line,
                    field=show_path(fault.path),
                    message=said_by(fault),
                )
            )
            return
        for manifest in found.objects:
            self._take(manifest, origin)
        steps = [step for step in found.steps if self._is_right(step["manifest"], origin)]
        result.scenario = {
            "name": found.name,
            "feature_gates": found.gates,
            "steps": [_cleaned(step) for step in steps],
            "until": found.until,
        }
        self._places["spec"] = Place(origin.file, origin.document, b"", ())
        result.warnings += found.notes
        result.sources[origin.file] = say("the scheduler_perf test case {name}", name=found.name)

    def _file_of_template(self, path: str, beside: str) -> str:
        """The file that a test case means by *path*: the one whose path ends most like it."""
        wanted = PurePosixPath(path.replace("../", "")).parts
        for length in range(len(wanted), 0, -1):
            ending = wanted[-length:]
            for name in self._result.files:
                if PurePosixPath(name).parts[-length:] == ending and name != beside:
                    return name
        return ""

    def _take(self, manifest: Manifest, origin: Origin) -> None:
        report = Report()
        self._collected.take(manifest, (), origin, report)
        self._add_problems(origin, report)

    def _is_right(self, manifest: Manifest, origin: Origin) -> bool:
        report = Report()
        check(manifest, (), report)
        self._add_problems(origin, report)
        return not report.problems

    def _add_problems(self, origin: Origin, report: Report) -> None:
        for path, value, message in report.problems:
            self._result.problems.append(
                Problem(
                    file=origin.file,
                    document=origin.document,
                    line=origin.line,
                    field=show_path(path),
                    value="" if value is None else shown(value),
                    message=message,
                )
            )

    def _choose_plugins(self) -> None:
        is_known, configuration = self._options.known_plugin, self._result.configuration
        if is_known is None or configuration is None:
            return
        changed, notes = without_unknown_plugins(configuration, is_known)
        self._result.configuration = changed
        self._result.warnings += notes

    def _add_wanted_nodes(self) -> None:
        if not self._options.nodes:
            return
        given = self._by_name("Node"), self._by_name("CSINode")
        try:
            made = nodes_of(self._options.nodes, *given)
        except ValueError as error:
            self._result.problems.append(Problem(file=WANTED, message=said_by(error)))
            return
        self._add_all(WANTED, [clean(each) for each in made])

    def _by_name(self, kind: str) -> dict[str, Manifest]:
        return {
            one["metadata"]["name"]: one for one in self._result.manifests if one["kind"] == kind
        }

    def _add_all(self, file: str, manifests: Iterable[Manifest]) -> None:
        contents = self._result.files.setdefault(file, FileContents(documents=1))
        for each in manifests:
            contents.count(each["kind"])
            self._collected.add(LoadedObject(each, Origin(file, 1, 0)))

    def _add_placeholders(self) -> None:
        """Add what a cluster as it stands rests on; what is told step by step may be incomplete."""
        result = self._result
        steps = (result.scenario or {}).get("steps") or ()
        if not steps and not self._reader.is_recording:
            kept = [one.manifest for one in result.kept_aside]
            storage = Storage(result.manifests, kept)
            nodes = absent_nodes(result.manifests, kinds_are_left_out=bool(self._options.kinds))
            found = [*nodes, *storage.placeholders(), *absent_classes(result.manifests)]
            found += absent_namespaces(result.manifests)
            if found:
                self._add_all(ASSUMED, [each.manifest for each in found])
            snapshots = list(storage.absent_snapshots())
            origin = Origin(ASSUMED, 1, 0)
            result.kept_aside += [LoadedObject(each.manifest, origin) for each in snapshots]
            result.placeholders = [*found, *snapshots]
        result.questions = questions_of(result.manifests, steps)


def _cleaned(step: Manifest) -> Manifest:
    return (
        {**step, "manifest": clean(step["manifest"])} if "manifest" in step else clean_command(step)
    )
