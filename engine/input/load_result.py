"""What was read from files: objects and their origins, problems, and the check of the setup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Protocol

from engine.api_server.admission.setup_fault import SetupFault
from engine.input.assumed.placeholder import Placeholder
from engine.input.assumed.questions import Question
from engine.input.formats.collection import Collection
from engine.input.header.expectations import Expectation
from engine.input.sources.foreign import Skipped
from engine.input.sources.versions import versions_told
from engine.kernel.sentences import enumerated, say
from engine.objects.documents import Path, show_path
from engine.objects.unmodelled import LeftOut
from engine.objects.values.shown import shown

Manifest = dict[str, Any]
# How many skipped files, and how many placeholders, a report names.
MOST_SKIPPED: Final = 500


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a file has an object; document and line count from 1."""

    file: str
    document: int
    line: int

    def __str__(self) -> str:
        return say(
            "{file}, document {document}, line {line}",
            file=self.file,
            document=self.document,
            line=self.line,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong; line 0 and an empty field mean the whole file or document."""

    file: str
    message: str
    document: int = 0
    line: int = 0
    field: str = ""
    value: str = ""

    def __str__(self) -> str:
        where: list[str] = [self.file]
        where += [say("document {number}", number=self.document)] if self.document else []
        where += [say("line {number}", number=self.line)] if self.line else []
        where += [self.field] if self.field else []
        places = {"where": enumerated(where), "message": self.message}
        if not self.value or self.value.strip('"') in self.message:
            return say("{where}: {message}", **places)
        return say("{where}: {message}, found {value}", **places, value=self.value)


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """A manifest and its place in a file."""

    manifest: Manifest
    origin: Origin


@dataclass(frozen=True, slots=True)
class LoadedLesson:
    """A `kind: Lesson` document, its place in a file, and the line of each of its fields."""

    document: Manifest
    origin: Origin
    lines: Mapping[str, int]

    @property
    def name(self) -> str:
        return self.document["metadata"]["name"]

    def problem(self, path: Path, value: Any, message: str) -> Problem:
        """What is wrong with the field at *path*."""
        line = next(
            (
                self.lines[show_path(path[:length])]
                for length in range(len(path), 0, -1)
                if show_path(path[:length]) in self.lines
            ),
            self.origin.line,
        )
        return Problem(
            file=self.origin.file,
            document=self.origin.document,
            line=line,
            field=show_path(path),
            value="" if value is None else shown(value),
            message=message,
        )


@dataclass(slots=True)
class SetupReport:
    """What a SetupCheck found; `profile` is the one that the configuration needs, if any.

    `reads` are the kinds that the run's version of Kubernetes acts on and other versions do not.
    """

    faults: list[SetupFault] = field(default_factory=list[SetupFault])
    warnings: list[str] = field(default_factory=list[str])
    profile: str = ""
    reads: frozenset[str] = frozenset()


class SetupCheck(Protocol):
    """Checks how a run is configured. The engine provides it; this package imports no engine."""

    def __call__(
        self,
        scenario: Mapping[str, Any],
        configuration: Manifest | None,
        objects: Sequence[Manifest] = (),
        /,
    ) -> SetupReport:
        """Check a scenario's header, its scheduler's configuration, and its first objects."""
        ...


@dataclass(slots=True)
class FileContents:
    """How much of a file was understood: the number of documents, and of objects of each kind.

    `kinds` are the supported kinds; `aside` the others, which a run does not hold.
    """

    bytes: int = 0
    documents: int = 0
    kinds: dict[str, int] = field(default_factory=dict[str, int])
    aside: dict[str, int] = field(default_factory=dict[str, int])

    def count(self, kind: str, *, aside: bool = False) -> None:
        """Count one object of *kind*; with *aside*, of a kind that no engine knows."""
        counts = self.aside if aside else self.kinds
        counts[kind] = counts.get(kind, 0) + 1


@dataclass(slots=True)
class LoadResult:
    """What the files hold. With problems, only `files`, `skipped` and `sources` are not empty."""

    objects: list[LoadedObject] = field(default_factory=list[LoadedObject])
    scenario: dict[str, Any] | None = None
    # A KubeSchedulerConfiguration or a Policy, and its place in a file.
    configuration: Manifest | None = None
    configuration_origin: Origin | None = None
    # What is expected of the run at its end, each with its place in a file.
    expectations: list[tuple[Expectation, Origin]] = field(
        default_factory=list[tuple[Expectation, Origin]]
    )
    # What is told of the run, in file order.
    lessons: list[LoadedLesson] = field(default_factory=list[LoadedLesson])
    kept_aside: list[LoadedObject] = field(default_factory=list[LoadedObject])
    # Of those, by place: CustomResourceDefinitions and their objects, which the run holds as well.
    custom: dict[int, Manifest] = field(default_factory=dict[int, Manifest])
    # The newest time at which a client wrote an object; "" where the files name none.
    newest_write: str = ""
    # The newest time in the files, in whole seconds; and the same where they are a cluster as it
    # stands: they have no steps, and not only deletions tell the time. Whether an API server has
    # stored any of their objects.
    newest: str = ""
    instant: str = ""
    was_stored: bool = False
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    warnings: list[str] = field(default_factory=list[str])
    # The notes of `warnings` about fields that no object of its kind has.
    unknown_fields: list[str] = field(default_factory=list[str])
    problems: list[Problem] = field(default_factory=list[Problem])
    # Files and documents that are no manifests, with the reason; also when there are problems.
    skipped: list[Skipped] = field(default_factory=list[Skipped])
    # How a cluster was read, where `kscope collect` has written the files.
    collection: Collection | None = None
    # As `kubectl version` printed it.
    server_version: str = ""
    # What files, folders and archives were recognised as, by their names.
    sources: dict[str, str] = field(default_factory=dict[str, str])
    # Objects that stand in the place of some that the files name and do not hold.
    placeholders: list[Placeholder] = field(default_factory=list[Placeholder])
    questions: list[Question] = field(default_factory=list[Question])
    # The contents of each file by itself, also when it or another one has problems.
    files: dict[str, FileContents] = field(default_factory=dict[str, FileContents])

    @property
    def ok(self) -> bool:
        """Whether the files can be used."""
        return not self.problems

    @property
    def manifests(self) -> list[Manifest]:
        """The manifests of all objects, in file order."""
        return [one.manifest for one in self.objects]

    @property
    def held(self) -> list[Manifest]:
        """The manifests of all objects that a run holds."""
        return [*self.manifests, *self.custom.values()]

    @property
    def not_held(self) -> list[Manifest]:
        """The manifests of those that it does not hold."""
        kept = enumerate(self.kept_aside)
        return [one.manifest for place, one in kept if place not in self.custom]

    @property
    def everything(self) -> list[Manifest]:
        """The manifests of all objects, then those kept aside: what the files say of a cluster."""
        return [one.manifest for one in (*self.objects, *self.kept_aside)]

    @property
    def not_modelled(self) -> list[Manifest]:
        """What the run will not do that a real cluster does: see unmodelled.LeftOut."""
        return [one.to_dict() for one in self.left_out if not one.is_neutral]

    def to_report(self) -> Manifest:
        """What a first look at the files says of them, as JSON: how they were read."""
        # Objects that are left out are kept apart.
        told_apart = {*map(str, self.left_out), *self.unknown_fields}
        return {
            "files": [{"name": name, **asdict(found)} for name, found in self.files.items()],
            "warnings": [each for each in self.warnings if each not in told_apart],
            "sources": self.sources,
            "skipped": [asdict(each) for each in self.skipped[:MOST_SKIPPED]],
            "skipped_count": len(self.skipped),
            "unknown_fields": self.unknown_fields,
            "placeholders": [each.to_dict() for each in self.placeholders[:MOST_SKIPPED]],
            "placeholder_count": len(self.placeholders),
            "questions": [each.to_dict() for each in self.questions],
            "left_out": [
                {**one.to_dict(), "is_evidence": one.is_evidence} for one in self.left_out
            ],
            "versions": list(versions_told(self.manifests, self.served).versions),
        }

    @property
    def served(self) -> str:
        """What the API server said of its version: in a collection, or in what kubectl printed.

        A scenario that was written down keeps it in its header.
        """
        read = self.server_version or (self.collection.server_version if self.collection else "")
        return read or str((self.scenario or {}).get("served") or "")

    @property
    def aside_counts(self) -> dict[str, int]:
        """How many objects of each unknown kind were kept aside."""
        counts: dict[str, int] = {}
        for one in self.kept_aside:
            kind = one.manifest["kind"]
            counts[kind] = counts.get(kind, 0) + 1
        return dict(sorted(counts.items()))
