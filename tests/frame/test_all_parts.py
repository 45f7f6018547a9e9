"""A part of the tests that fails keeps no other part from running."""

import os
import subprocess
from pathlib import Path

PARTS = Path(__file__).resolve().parents[2] / ".ci" / "parts"
MAKEFILE = """
good: ; @echo a good part ran
bad: ; @echo a bad part ran; exit 3
"""


def run(folder: Path, *parts: str) -> "subprocess.CompletedProcess[str]":
    (folder / "Makefile").write_text(MAKEFILE)
    # A Makefile that runs these tests must not have a say in how they run make.
    env = {key: value for key, value in os.environ.items() if key not in ("MAKE", "MAKEFLAGS")}
    words = [PARTS, *parts]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_all_parts_run_when_the_first_one_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "bad", "good")
    assert done.returncode == 1
    assert done.stdout.index("a bad part ran") < done.stdout.index("a good part ran")


def test_the_summary_says_how_each_part_went(tmp_path: Path) -> None:
    *_, bad, good = run(tmp_path, "bad", "good").stdout.splitlines()
    assert bad.split()[:2] == ["bad", "FAILED"]
    assert good.split()[:2] == ["good", "passed"]


def test_it_succeeds_only_when_every_part_does(tmp_path: Path) -> None:
    assert run(tmp_path, "good", "good").returncode == 0
