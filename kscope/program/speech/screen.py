"""The streams of the program: their widths and colours, notes beside the answer, and progress."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TextIO

from kscope.program.speech.errors import ProgramError
from kscope.program.speech.paper import WIDEST, Line, Paper

COLORS = ("auto", "always", "never")
# The eight colours of the terminal, so that its theme decides.
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_SIGNS = {"✓": "green", "◐": "yellow", "≠": "yellow", "FAIL": "red"}
_SIGN = re.compile("|".join(_SIGNS))
_PROGRESS_SECONDS, _BETWEEN_SECONDS = 1.0, 0.2
_ERASE = "\r\x1b[K"


@dataclass(slots=True)
class Screen:
    """Standard output and standard error, each with colours or without."""

    out: TextIO
    err: TextIO
    environment: Mapping[str, str]
    color: str = "auto"
    is_quiet: bool = False
    # Whether a cluster was read itself, and no files.
    is_of_cluster: bool = False
    # Whether nobody reads standard output any more.
    reader_is_gone: bool = False
    _began: float = field(default_factory=time.monotonic)
    _written: float = 0.0
    _has_progress: bool = False

    @classmethod
    def of_process(cls) -> Screen:
        """Those of this process."""
        return cls(sys.stdout, sys.stderr, os.environ)

    # -- the answer -------------------------------------------------------------------------------

    def paper(self) -> Paper:
        """An empty paper of the width of standard output."""
        return Paper(
            self._width(self.out),
            is_plain=not _has_signs(self.out),
            is_of_cluster=self.is_of_cluster,
        )

    def show(self, paper: Paper) -> None:
        """Write an answer to standard output."""
        self.end_progress()
        colored = self._has_colors(self.out)
        text = "".join((_styled(line) if colored else line.text) + "\n" for line in paper.lines)
        self._put(self.out, text)

    def write(self, text: str) -> None:
        """Write text to standard output as it is."""
        self.end_progress()
        self._put(self.out, text)

    def write_bytes(self, data: bytes) -> None:
        """Write a file to standard output."""
        self.end_progress()
        try:
            self.out.buffer.write(data)
            self.out.buffer.flush()
        except BrokenPipeError:
            discard(self.out)
            self.reader_is_gone = True

    # -- beside the answer ------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """What cannot change the answer; left out when the program is to be quiet."""
        if not self.is_quiet:
            self._beside("note: ", text, "dim")

    def warning(self, text: str, details: Iterable[tuple[str, str]] = ()) -> None:
        """What may change the answer; *details* are labels and texts: -->, as, effect, help."""
        self._beside("warning: ", text, "yellow")
        for label, detail in details:
            self._beside(f"  {label:<7}", detail, "")

    def did(self, text: str) -> None:
        """What an act has done."""
        if not self.is_quiet:
            self._beside("", text, "")

    def error(self, problem: ProgramError) -> None:
        """What is wrong, where, and what to type instead."""
        self.end_progress()
        colored, plain = self._has_colors(self.err), not _has_signs(self.err)
        paper = Paper(is_plain=plain)
        for place, text in enumerate(problem.lines()):
            paper.line(text, "" if place else "bold red")
        self._say(paper, colored=colored)

    def _beside(self, label: str, text: str, style: str) -> None:
        self.end_progress()
        paper = Paper(
            self._width(self.err),
            is_plain=not _has_signs(self.err),
            is_of_cluster=self.is_of_cluster,
        )
        paper.paragraph(text, first=label, style=style)
        self._say(paper, colored=self._has_colors(self.err))

    def _say(self, paper: Paper, *, colored: bool) -> None:
        # What was printed before stands before it, where both go to one place.
        self._put(self.out, "")
        text = "".join((_styled(line) if colored else line.text) + "\n" for line in paper.lines)
        self._put(self.err, text)

    def _put(self, stream: TextIO, text: str) -> None:
        """Write and flush. A closed pipe is no error: what comes after goes nowhere."""
        try:
            stream.write(text)
            stream.flush()
        except BrokenPipeError:
            discard(stream)
            self.reader_is_gone = self.reader_is_gone or stream is self.out

    # -- progress ---------------------------------------------------------------------------------

    def progress(self, text: str) -> None:
        """Say how far something is that takes long: one line, on a terminal, at most five times a second."""
        now = time.monotonic()
        is_early = now - self._began < _PROGRESS_SECONDS
        if self.is_quiet or is_early or now - self._written < _BETWEEN_SECONDS:
            return
        if self.err.isatty() and self.environment.get("TERM") != "dumb":
            self._written, self._has_progress = now, True
            self._put(self.err, _ERASE + text[: self._width(self.err) - 1])

    def end_progress(self) -> None:
        """Take the line of progress away."""
        if self._has_progress:
            self._has_progress = False
            self._put(self.err, _ERASE)

    # -- streams ----------------------------------------------------------------------------------

    def _width(self, stream: TextIO) -> int:
        """At most 100 columns; without a terminal 100, or COLUMNS."""
        given = self.environment.get("COLUMNS", "")
        if given.isdecimal() and int(given) > 0:
            return min(int(given), WIDEST)
        if not stream.isatty():
            return WIDEST
        return min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST)

    def _has_colors(self, stream: TextIO) -> bool:
        if self.color != "auto":
            return self.color == "always"
        environment = self.environment
        is_off = bool(environment.get("NO_COLOR")) or environment.get("TERM") == "dumb"
        return stream.isatty() and not is_off


def discard(*streams: TextIO) -> None:
    """Let what was and what will be printed go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in streams:
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _has_signs(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _styled(line: Line) -> str:
    """A line with the codes of its style, or of the signs in it."""
    if line.style:
        codes = ";".join(_CODES[word] for word in line.style.split())
        return f"\x1b[{codes}m{line.text}\x1b[0m"
    return _SIGN.sub(_colored_sign, line.text)


def _colored_sign(match: re.Match[str]) -> str:
    return f"\x1b[{_CODES[_SIGNS[match[0]]]}m{match[0]}\x1b[0m"
