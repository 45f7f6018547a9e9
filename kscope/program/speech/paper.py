"""Lines of a width: paragraphs, labelled texts and tables, before they go to a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

from kscope.program.speech.of_cluster import of_cluster

WIDEST = 100
NARROW, SLIM = 90, 60
# What stands for each sign where the locale has no UTF-8.
_PLAIN = {
    "✓": "ok",
    "◐": "part",
    "·": "-",
    "≠": "!=",
    "…": "...",
    "–": "-",
    "×": "x",
    "→": "->",
}
_GAP = "  "
_LEAST = 16


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and how it is shown where there are colours: "bold", "bold red", "dim"."""

    text: str
    style: str = ""


@dataclass(slots=True)
class Paper:
    """What an answer is written on."""

    width: int = WIDEST
    is_plain: bool = False
    is_of_cluster: bool = False
    lines: list[Line] = field(default_factory=list[Line])

    @property
    def is_narrow(self) -> bool:
        """Whether a cell that does not fit goes to a line below its row."""
        return self.width < NARROW

    def signs(self, text: str) -> str:
        """*text* with signs that the locale has, and of a cluster where one was read."""
        if self.is_of_cluster:
            text = of_cluster(text)
        if not self.is_plain:
            return text
        for sign, plain in _PLAIN.items():
            text = text.replace(sign, plain)
        return text

    def line(self, text: str = "", style: str = "") -> None:
        """One line as it is, never wrapped or cut."""
        self.lines.append(Line(self.signs(text).rstrip(), style))

    def paragraph(
        self, text: str, *, first: str = "", rest: str | None = None, style: str = ""
    ) -> None:
        """*text* in lines; the first begins with *first*, the others with *rest* or as many blanks."""
        text, first = self.signs(text), self.signs(first)
        rest = " " * len(first) if rest is None else rest
        found = textwrap.wrap(
            text,
            self.width,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
        self.lines += [Line(each, style) for each in found or [first.rstrip()]]

    def table(
        self,
        rows: Sequence[Sequence[str]],
        *,
        indent: str = "",
        numbers: Sequence[int] = (),
        below: int | None = None,
    ) -> None:
        """Rows under a head, in columns.

        *numbers* are the columns that are set to the right, *below* the one that stands on a line of
        its own below its row where the paper is narrow.
        """
        cells = [[self.signs(each) for each in row] for row in rows]
        if self.width < SLIM:
            self._slim(cells, indent)
            return
        if below is not None and self.is_narrow:
            self._with_lines_below(cells, indent, numbers, below)
            return
        widths = self._widths(cells, len(indent))
        for place, row in enumerate(cells):
            self._row(row, widths, indent, numbers if place else (), "dim" if not place else "")

    def _with_lines_below(
        self, cells: list[list[str]], indent: str, numbers: Sequence[int], below: int
    ) -> None:
        kept = [[each for place, each in enumerate(row) if place != below] for row in cells]
        widths = self._widths(kept, len(indent))
        under = indent + " " * (sum(widths[: below - 1]) + len(_GAP) * (below - 1))
        for place, row in enumerate(kept):
            self._row(row, widths, indent, numbers if place else (), "dim" if not place else "")
            if place and cells[place][below]:
                self.paragraph(cells[place][below], first=under)

    def _slim(self, cells: list[list[str]], indent: str) -> None:
        head, *rows = cells
        for place, row in enumerate(rows):
            if place:
                self.line()
            for name, cell in zip(head, row, strict=True):
                if cell:
                    label = f"{indent}{name.lower()}: " if name else indent
                    self.paragraph(cell, first=label, rest=indent + "  ")

    def _widths(self, cells: list[list[str]], indent: int) -> list[int]:
        """The widths of the columns; the widest are made smaller until all fit, but no word is cut."""
        columns = list(zip(*cells, strict=True))
        widths = [max(map(len, column)) for column in columns]
        least = [max(_LEAST, _longest_word(column)) for column in columns]
        room = self.width - indent - len(_GAP) * (len(widths) - 1)
        while sum(widths) > room:
            wide = [place for place, width in enumerate(widths) if width > least[place]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
        return widths

    def _row(
        self, row: list[str], widths: list[int], indent: str, numbers: Sequence[int], style: str
    ) -> None:
        parts = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for number in range(max(map(len, parts))):
            cells = [part[number] if number < len(part) else "" for part in parts]
            shown = [
                cell.rjust(width) if place in numbers else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ]
            self.lines.append(Line((indent + _GAP.join(shown)).rstrip(), style))


def _longest_word(column: Sequence[str]) -> int:
    return max((len(word) for cell in column for word in cell.split()), default=0)


def _wrapped(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    # The second line of a change stands under its text, not under its sign.
    rest = "  " if cell[:2] in ("✓ ", "◐ ", "· ") else ""
    lines = textwrap.wrap(
        cell, width, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]
