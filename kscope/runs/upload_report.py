"""What the upload page says about the files that were read: counts by kind, problems, warnings."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from kscope.sim.loader import LoadedObject, LoadResult, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file: objects by kind, kinds that were kept aside, and what is wrong with it."""

    name: str
    documents: int
    kinds: dict[str, int] = field(default_factory=dict)
    aside: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadReport:
    """All files of one upload, in the order they were given."""

    files: list[FileReport]
    warnings: list[str]

    @property
    def problem_count(self) -> int:
        """How many problems there are; with one or more of them nothing is saved."""
        return sum(len(file.problems) for file in self.files)


def upload_report(names: Iterable[str], result: LoadResult) -> UploadReport:
    """The report on the files *names*, which were read into *result*."""
    files = [_file_report(name, result) for name in dict.fromkeys(names)]
    return UploadReport(files=files, warnings=list(result.warnings))


def _file_report(name: str, result: LoadResult) -> FileReport:
    objects = [each for each in result.objects if each.origin.file == name]
    aside = [each for each in result.kept_aside if each.origin.file == name]
    problems = [each for each in result.problems if each.file == name]
    documents = {each.origin.document for each in (*objects, *aside)}
    documents.update(problem.document for problem in problems if problem.document)
    return FileReport(
        name=name,
        documents=len(documents),
        kinds=_kinds(objects),
        aside=_kinds(aside),
        problems=problems,
    )


def _kinds(objects: list[LoadedObject]) -> dict[str, int]:
    counts = Counter(str(each.manifest.get("kind") or "without a kind") for each in objects)
    return dict(sorted(counts.items()))
