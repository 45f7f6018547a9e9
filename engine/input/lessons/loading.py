"""The lessons of the files that are loaded together."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from engine.api_server.validation.report import Report
from engine.input.lessons.reading import read_lesson
from engine.input.load_result import LoadedLesson, LoadResult, Manifest, Origin, Problem, SetupCheck
from engine.kernel.sentences import say
from engine.objects.documents import Path, find_lines, show_path
from engine.objects.values.shown import shown


def is_lesson(manifest: Manifest) -> bool:
    """Whether this is a lesson, and no object of a cluster with that kind."""
    version = str(manifest.get("apiVersion"))
    return manifest.get("kind") == "Lesson" and version.startswith("kscope.dev/")


class LoadedLessons:
    """Collects lessons as files are read; `found` are those with nothing wrong."""

    def __init__(self) -> None:
        self.found: list[LoadedLesson] = []

    def document(self, manifest: Manifest, origin: Origin, report: Report) -> None:
        """Check one document, and keep it."""
        read_lesson(manifest, report)
        if report.problems:
            return
        name = manifest["metadata"]["name"]
        if any(one.name == name for one in self.found):
            report.add(("metadata", "name"), name, say("is the name of two lessons"))
            return
        self.found.append(LoadedLesson(manifest, origin, {}))

    def note_lines(self, file: str, data: bytes) -> None:
        """Note the lines of the file's lessons: what is wrong with one shows when its run is there."""
        mine = [one for one in self.found if one.origin.file == file]
        paths = {one.origin.document: set(_paths_in(one.document)) for one in mine}
        lines = find_lines(data, paths) if paths else {}
        self.found = [
            replace(one, lines=_shown_lines(lines[one.origin.document])) if one in mine else one
            for one in self.found
        ]

    def problems(self, result: LoadResult, check: SetupCheck | None) -> Iterator[Problem]:
        """Lessons of another scenario than that of *result*, or of an unknown Kubernetes."""
        scenario = (result.scenario or {}).get("name", "")
        for lesson in self.found:
            run: Manifest = lesson.document["spec"].get("run") or {}
            if run.get("scenario", scenario) != scenario:
                message = (
                    say(
                        "the files have the scenario {name}; load a lesson together with its scenario",
                        name=shown(scenario),
                    )
                    if scenario
                    else say("the files have no scenario; load a lesson together with its scenario")
                )
                yield lesson.problem(("spec", "run", "scenario"), run["scenario"], message)
            if run.get("profile") and check is not None:
                for fault in check({"profile": run["profile"]}, None).faults:
                    yield lesson.problem(("spec", "run", "profile"), fault.value, fault.message)


def _paths_in(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every field of *value*."""
    yield path
    if isinstance(value, dict):
        for key, each in cast("Manifest", value).items():
            yield from _paths_in(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(cast("list[Any]", value)):
            yield from _paths_in(each, (*path, index))


def _shown_lines(lines: Mapping[Path, int]) -> dict[str, int]:
    return {show_path(path): line for path, line in lines.items()}
