"""The bench works: one of its parts, at its least size (`make test-bench` tries all)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parents[2]


def bench(*names: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bench", "--least", *names],
        cwd=ROOM,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_bench_works_at_its_least_size() -> None:
    done = bench("volumes")
    assert done.returncode == 0, done.stderr
    assert "[volumes, " in done.stdout


def test_a_bench_that_breaks_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KSCOPE_OPENB", str(tmp_path))
    done = bench("openb")
    assert done.returncode == 1
    assert "openb broke: FileNotFoundError" in done.stderr
