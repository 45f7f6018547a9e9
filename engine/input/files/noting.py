"""Puts what is wrong with documents into the result, each problem with its line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from engine.api_server.validation.report import Report
from engine.input.load_result import LoadResult, Problem
from engine.input.streams.pieces import Item
from engine.input.unknown_fields import LONGEST_WITH_LINES, UnknownFields
from engine.kernel.sentences import grouped, say_count
from engine.objects.documents import Document, Path, find_lines, show_path
from engine.objects.values.shown import shown

MOST_PROBLEMS: Final = 200


@dataclass(slots=True)
class Notes:
    """What is wrong with the files of a result."""

    result: LoadResult
    unknown_fields: UnknownFields

    def of_documents(
        self, name: str, data: bytes, reports: Iterable[tuple[Document, Report]]
    ) -> None:
        """Report what is wrong with the documents of a file, which is only read for this."""
        given = list(reports)
        found = {each.index: report.problems[:MOST_PROBLEMS] for each, report in given}
        wanted = {index: {path for path, _, _ in some} for index, some in found.items()}
        if len(data) <= LONGEST_WITH_LINES:
            for document, report in given:
                wanted[document.index].update(report.unknown[:MOST_PROBLEMS])
        lines = find_lines(data, wanted) if any(wanted.values()) else {}
        self.unknown_fields.lines |= {(name, index): some for index, some in lines.items()}
        for document, report in given:
            self._add(name, document, report, lines.get(document.index, {}))

    def _add(
        self, name: str, document: Document, report: Report, lines: Mapping[Path, int]
    ) -> None:
        for path, value, message in report.problems[:MOST_PROBLEMS]:
            self.result.problems.append(
                Problem(
                    file=name,
                    document=document.index,
                    line=lines[path] or document.line,
                    field=show_path(path),
                    value="" if value is None else shown(value),
                    message=message,
                )
            )
        self.leave_out(name, document.index, len(report.problems) - MOST_PROBLEMS)

    def leave_out(self, name: str, document: int, more: int) -> None:
        """Tell of so many further problems of a document, if there are any."""
        if more > 0:
            message = say_count(
                "{count} more problem in this document is left out",
                "{count} more problems in this document are left out",
                more,
                count=grouped(more),
            )
            self.result.problems.append(Problem(file=name, document=document, message=message))


@dataclass(slots=True)
class ItemNotes:
    """What is wrong with the items of one file, whose text is known one by one."""

    notes: Notes
    name: str
    # By document: how many problems have been named, and how many paths have lines.
    _counts: dict[int, int] = field(default_factory=dict[int, int])
    _with_lines: int = 0

    def add(self, item: Item, report: Report, path: Path) -> None:
        """Note what is wrong with *item*, which stands at *path* in its document."""
        before = self._counts.get(item.document, 0)
        self._counts[item.document] = before + len(report.problems)
        problems = report.problems[: max(MOST_PROBLEMS - before, 0)]
        unknown = report.unknown if self._with_lines < MOST_PROBLEMS else []
        if not problems and not unknown:
            return
        lines = self._lines(item, path, [*(each[0] for each in problems), *unknown])
        self._with_lines += len(unknown)
        kept = self.notes.unknown_fields.lines.setdefault((self.name, item.document), {})
        kept |= {each: lines[each] for each in unknown}
        for where, value, message in problems:
            self.notes.result.problems.append(
                Problem(
                    file=self.name,
                    document=item.document,
                    line=lines[where],
                    field=show_path(where),
                    value="" if value is None else shown(value),
                    message=message,
                )
            )

    def _lines(self, item: Item, path: Path, wanted: Iterable[Path]) -> dict[Path, int]:
        """The line of each path of a document that leads into *item*."""
        inner = {each: (*item.path, *each[len(path) :]) for each in wanted}
        found = find_lines(item.text, {1: set(inner.values())})[1]
        return {each: item.line + max(found[there], 1) - 1 for each, there in inner.items()}

    def finish(self) -> None:
        """Tell how many problems were left out."""
        for document, count in self._counts.items():
            self.notes.leave_out(self.name, document, count - MOST_PROBLEMS)
