"""The code blocks of a document that can be run, and the files that they write."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tests.docs.documents import ROOT, TEXT, Block, Document

_FILE = re.compile(r"^# ([\w./-]+\.(?:py|toml|yaml))$")


def runnable(document: Document, *languages: str) -> list[Block]:
    """The blocks in one of *languages* that are not marked as not run; text is never run."""
    wanted = languages or ("python", "yaml", "json", "toml", "sh", "js")
    return [
        block
        for block in document.blocks
        if not block.not_run and block.language in wanted and block.language not in TEXT
    ]


def write_files(document: Document, folder: Path) -> list[str]:
    """Write every block that begins with the name of a file; the names that were written."""
    written: list[str] = []
    for block in runnable(document):
        named = _FILE.match(block.lines[0])
        if named:
            path = folder / named[1]
            path.parent.mkdir(exist_ok=True)
            path.write_text(block.text)
            written.append(named[1])
    return written


def install(folder: Path, **more: str) -> None:
    """Make *folder* an installed package: what its pyproject.toml says, and *more* plugins."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    points: dict[str, dict[str, str]] = project["entry-points"]
    points["kscope.plugins"] |= more
    lines: list[str] = []
    for group, plugins in points.items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in plugins.items())]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    text = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(text)
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


def link_checkout(folder: Path) -> None:
    """Make the commands of a document, which are run in the checkout, work in *folder*."""
    for name in (".venv", "manage.py", "scenarios"):
        (folder / name).symlink_to(ROOT / name)
