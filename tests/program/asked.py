"""Calls the program in this process, and keeps what it says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from kscope.program.main import main

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
SCENARIOS = ROOT / "scenarios"


@dataclass(frozen=True, slots=True)
class Asked:
    """The status and the two streams of one call."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the answer."""
        return self.out.splitlines()


class Program:
    """Calls the program from a folder, as somebody would who stands there."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys, self._patch = capsys, patch
        for name in ("NO_COLOR", "COLUMNS", "TERM", "GITHUB_ACTIONS"):
            patch.delenv(name, raising=False)

    def __call__(self, *words: str, folder: Path = DATA, **environment: str) -> Asked:
        self._patch.chdir(folder)
        for name, value in environment.items():
            self._patch.setenv(name, value)
        self._capsys.readouterr()
        status = main(words)
        said = self._capsys.readouterr()
        return Asked(int(status), said.out, said.err)
