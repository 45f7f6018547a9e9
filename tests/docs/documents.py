"""The documents of the project, line by line: prose, code spans and code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^```(\S*)\s*$")
_SPAN = re.compile(r"`([^`]+)`")
_NOT_RUN = re.compile(r"^<!-- not run: (.+) -->$")
_LINK = re.compile(r"\]\(([^)#]+)")
# A language for text that is no example: diagrams, output, lists of pages for the site.
TEXT = ("", "text", "{toctree}")


@dataclass(slots=True)
class Block:
    """A fenced code block. `not_run` is the reason given in a comment just above it, or ""."""

    line: int
    language: str
    not_run: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The code."""
        return "\n".join(self.lines) + "\n"


@dataclass(slots=True)
class Document:
    """One Markdown file. Lines are counted from 1."""

    path: Path
    prose: list[tuple[int, str]] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The path from the root of the repository, as messages say it."""
        inside = ROOT in self.path.parents
        return self.path.relative_to(ROOT).as_posix() if inside else str(self.path)

    def spans(self) -> Iterator[tuple[int, str]]:
        """Every `code span` of the prose, and the target of every link."""
        for number, line in self.prose:
            for found in (*_SPAN.findall(line), *_LINK.findall(line)):
                yield number, found

    def code_lines(self) -> Iterator[tuple[int, str, str]]:
        """(line number, language, line) of every code block."""
        for block in self.blocks:
            for number, line in enumerate(block.lines, block.line + 1):
                yield number, block.language, line

    def everything(self) -> Iterator[tuple[int, str]]:
        """Every line of prose and code."""
        yield from self.prose
        yield from ((number, line) for number, _, line in self.code_lines())


def paths() -> list[Path]:
    """README.md, CONTRIBUTING.md, STYLE.md, and everything below docs/."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "STYLE.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def read(path: Path) -> Document:
    """The document at *path*."""
    return parse(path, path.read_text())


def parse(path: Path, text: str) -> Document:
    """*text* as the document at *path*.

    Raises:
        ValueError: a code block is not closed.
    """
    document = Document(path)
    block: Block | None = None
    not_run = ""
    # A block may also be indented by four spaces, after an empty line. It then holds commands.
    is_indented = before_is_empty = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if block is not None and fence:
            block = None
        elif block is not None:
            block.lines.append(line)
        elif line.startswith("    ") and (before_is_empty or is_indented):
            if not is_indented:
                document.blocks.append(Block(number - 1, "sh", "indented"))
            is_indented = True
            document.blocks[-1].lines.append(line.strip())
            continue
        elif fence:
            block = Block(number, fence[1], not_run)
            document.blocks.append(block)
        else:
            document.prose.append((number, line))
        comment = _NOT_RUN.match(line)
        not_run = comment[1] if comment else ""
        before_is_empty, is_indented = not line.strip(), False
    if block is not None:
        raise ValueError(f"{document.name}:{block.line}: the code block is not closed")
    return document
