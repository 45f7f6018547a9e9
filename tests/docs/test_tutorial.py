"""The commands of the tutorial run in their order, and print what the page shows."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, Block, Document, read

TUTORIAL = ROOT / "docs" / "tutorial.md"
# What a command ends with, where it is not 0.
STATUS = re.compile(r"^<!-- status: (\d+) -->$")
LEFT_OUT = "…"


def steps(document: Document) -> Iterator[tuple[Block, int, list[str]]]:
    """Each block of commands, its status, and the lines that the next block shows of its output."""
    prose = dict(document.prose)
    shown = [*document.blocks, Block(0, "")]
    for block, after in zip(shown, shown[1:], strict=False):
        if block.language == "sh" and not block.not_run:
            found = STATUS.match(prose.get(block.line - 1, ""))
            lines = after.lines if after.language == "text" else []
            yield block, int(found[1]) if found else 0, lines


def shows(shown: list[str], printed: list[str]) -> bool:
    """Whether *printed* is what is *shown*, where "…" stands for any lines."""
    pattern = "".join(
        "(?:.*\n)*?" if each == LEFT_OUT else f"{re.escape(each)}\n" for each in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has the program, and a checkout in the own folder."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "kscope"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kscope.program "$@"\n')
    program.chmod(0o755)
    (tmp_path / "kscope").symlink_to(ROOT)
    left_out = ("GITHUB_ACTIONS", "COLUMNS", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | {
        "HOME": str(tmp_path),
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }


def test_every_command_prints_what_is_shown(machine: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    followed = list(steps(read(TUTORIAL)))
    assert len(followed) >= 8
    for block, status, shown in followed:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block.text],
            cwd=folder,
            env=machine,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, f"line {block.line}: {done.stdout}\n{done.stderr}"
        printed = done.stdout.splitlines()
        assert not shown or shows(shown, printed), f"line {block.line} prints\n{done.stdout}"


@pytest.mark.parametrize(
    ("shown", "is_so"),
    [
        (["one", "two", "three"], True),
        (["one", "…"], True),
        (["…", "two", "…"], True),
        (["one", "…", "one"], False),
        (["one", "three"], False),
        (["one"], False),
    ],
)
def test_lines_that_are_left_out(shown: list[str], is_so: bool) -> None:
    assert shows(shown, ["one", "two", "three"]) == is_so
