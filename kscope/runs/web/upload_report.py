"""What the upload page says about the files that were read: counts by kind, problems, warnings."""

from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, cast

from engine.input.load_result import FileContents, LoadResult, Problem
from engine.kernel.stored_sentences import restored


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file: objects of supported kinds and of ignored ones (`aside`), and its problems."""

    name: str
    documents: int
    kinds: dict[str, int] = field(default_factory=dict)
    aside: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


# The parts of a LoadResult's report that stand in the report of an upload as they are.
_TOLD = (
    *("sources", "skipped", "skipped_count", "left_out", "unknown_fields"),
    *("placeholders", "placeholder_count", "questions"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadReport:
    """All files of one upload, in the order they were given."""

    files: list[FileReport]
    warnings: list[str]
    # What was recognised, skipped and assumed, and what is open: see LoadResult.to_report().
    sources: dict[str, str] = field(default_factory=dict)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    skipped_count: int = 0
    left_out: list[dict[str, Any]] = field(default_factory=list)
    unknown_fields: list[str] = field(default_factory=list)
    placeholders: list[dict[str, str]] = field(default_factory=list)
    placeholder_count: int = 0
    questions: list[dict[str, str]] = field(default_factory=list)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> "UploadReport":
        """The report of which `asdict` made *raw*."""
        files = [
            FileReport(**{**file, "problems": [Problem(**each) for each in file["problems"]]})
            for file in raw["files"]
        ]
        return cls(**{**raw, "files": files})

    @property
    def problem_count(self) -> int:
        """How many problems there are; with one or more of them nothing is saved."""
        return sum(len(file.problems) for file in self.files)


def upload_report(names: Iterable[str], result: LoadResult) -> UploadReport:
    """The report on the files *names*, which were read into *result*."""
    problems: dict[str, list[Problem]] = {}
    for problem in result.problems:
        problems.setdefault(problem.file, []).append(problem)
    # Problems of the whole upload have an entry of their own, which is no file of *names*.
    found = dict.fromkeys([*names, *problems])
    files = [_file_report(name, result, problems.get(name, [])) for name in found]
    told = result.to_report()
    rest = {part: told[part] for part in _TOLD}
    return UploadReport(files=files, warnings=list(result.warnings), **rest)


def stored_report(report: dict[str, Any] | None) -> dict[str, Any] | None:
    """The report that is kept with a scenario, in the shape of that of an upload.

    What an older version did not write down is empty.
    """
    if report is None:
        return None
    kept = cast("dict[str, Any]", restored(report))
    absent = {name: each.default_factory() for name, each in _FIELDS.items()}
    counts = {"skipped_count": 0, "placeholder_count": 0}
    files = [{"problems": [], **file} for file in kept.get("files", ())]
    return {**absent, **counts, **kept, "files": files}


# Of an UploadReport, those that may be empty.
_FIELDS: dict[str, Any] = {
    each.name: each for each in fields(UploadReport) if each.default_factory is not MISSING
}


def _file_report(name: str, result: LoadResult, problems: list[Problem]) -> FileReport:
    contents = result.files.get(name, FileContents())
    return FileReport(
        name=name,
        documents=contents.documents,
        kinds=dict(sorted(contents.kinds.items())),
        aside=dict(sorted(contents.aside.items())),
        problems=problems,
    )
