"""Scenarios, and how the files of an upload were read."""

from typing import NotRequired, TypedDict

from kscope.runs.web.shapes.open import Visibility


class FileProblem(TypedDict):
    """What is wrong with a file."""

    file: str
    document: int
    """of the file, from 1; 0: the whole file"""
    line: int
    """from 1; 0: the whole document"""
    field: str
    """a path: spec.nodeName"""
    value: str
    """what stands there"""
    message: str


class FileReport(TypedDict):
    """What was understood of one file."""

    name: str
    bytes: NotRequired[int]
    documents: int
    kinds: dict[str, int]
    """objects that a run holds, by kind"""
    aside: dict[str, int]
    """objects of other kinds"""
    problems: list[FileProblem]


class SkippedFile(TypedDict):
    """A file, or a document of one, that was not read, and why."""

    file: str
    why: str
    document: int
    """from 1; 0: the whole file"""


class LeftOut(TypedDict):
    """Objects of one kind that a run does without."""

    kind: str
    group: str
    count: int
    note: str
    """what that changes"""
    is_neutral: bool
    """whether nothing that is played depends on them"""
    is_evidence: NotRequired[bool]
    """whether answers heed them all the same"""


class Placeholder(TypedDict):
    """An object that the files name and do not hold, so that one was assumed."""

    kind: str
    key: str
    """its name, after its namespace and a slash if it has one"""
    sentence: str


class OpenQuestion(TypedDict):
    """What the files leave open."""

    name: str
    text: str
    answer: str
    """how it can be answered"""


class IntakeReport(TypedDict):
    """How the files of an upload were read: docs/scenario-format.md."""

    files: list[FileReport]
    warnings: list[str]
    sources: dict[str, str]
    """what files, folders and archives were recognised as, by name"""
    skipped: list[SkippedFile]
    """the first 500"""
    skipped_count: int
    left_out: list[LeftOut]
    unknown_fields: list[str]
    """a sentence for each field that its kind does not have, with the nearest name"""
    placeholders: list[Placeholder]
    """the first 500"""
    placeholder_count: int
    questions: list[OpenQuestion]
    versions: NotRequired[list[str]]
    """the versions of Kubernetes that the files tell, each once"""


class ListedScenario(TypedDict):
    """A scenario, from which runs start."""

    id: int
    name: str
    question: str
    is_demo: bool
    """whether it came with kscope"""
    owner: str
    """an account's name; empty where no login is required, and of demos"""
    visibility: Visibility
    bytes: int
    """of what is kept; counts for the quota"""
    summary: dict[str, int]
    """objects by kind"""


class ScenarioDetail(ListedScenario):
    """A scenario with what its runs start from, without its objects: these are in the download."""

    digest: str
    """over its content"""
    created: str
    """RFC 3339"""
    as_brought: bool
    """a cluster as it stands: files without steps or faults"""
    instant: str
    """at which it stood so, RFC 3339; or empty"""
    title: str
    profile: str
    """the version of Kubernetes that it asks for; empty: none"""
    seed: int
    until: int
    """virtual nanoseconds at which a run of it is finished"""
    steps: int
    """how many there are"""
    not_modelled: list[LeftOut]
    report: IntakeReport | None
    """how its files were read; null for one that an older version stored"""
    runs: int
    """how many the visitor may see"""


class UploadedScenario(ListedScenario):
    """A scenario that was made of files, with the report of how they were read."""

    report: IntakeReport
