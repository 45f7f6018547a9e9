"""The bench works: its parts that need no servers, at their least size (`make test-bench`: all)."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import BENCHES, ON_SERVERS

ROOM = Path(__file__).resolve().parents[2]
# Of its five processes each loads the engine, and they do what `engine` does.
SLOW = {"growth"}


def bench(*names: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "bench", "--least", *names],
        cwd=ROOM,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_bench_works_at_its_least_size() -> None:
    names = sorted(set(BENCHES) - ON_SERVERS - SLOW)
    done = bench(*names)
    assert done.returncode == 0, done.stderr
    assert all(f"[{name}, " in done.stdout for name in names)


def test_a_bench_that_breaks_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KSCOPE_OPENB", str(tmp_path))
    done = bench("openb")
    assert done.returncode == 1
    assert "openb broke: FileNotFoundError" in done.stderr
