"""`.ci/parts` makes targets in lanes: all of them, even when one fails, and reports on each."""

import os
import subprocess
from pathlib import Path

PARTS = Path(__file__).resolve().parents[2] / ".ci" / "parts"
MAKEFILE = """
good: ; @echo a good part ran
bad: ; @echo a bad part ran; exit 3
first: ; @touch first; until test -e second; do sleep 0.01; done
second: ; @touch second; until test -e first; do sleep 0.01; done
"""


def run(folder: Path, *lanes: str) -> "subprocess.CompletedProcess[str]":
    (folder / "Makefile").write_text(MAKEFILE)
    # A Makefile that runs these tests must not have a say in how they run make.
    env = {key: value for key, value in os.environ.items() if key not in ("MAKE", "MAKEFLAGS")}
    words = [PARTS, *lanes]
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_all_parts_run_when_the_first_fails(tmp_path: Path) -> None:
    done = run(tmp_path, "bad good")
    assert done.returncode == 1
    assert done.stdout.index("a bad part ran") < done.stdout.index("a good part ran")


def test_the_summary_says_how_each_part_went(tmp_path: Path) -> None:
    *_, bad, good = run(tmp_path, "bad good").stdout.splitlines()
    assert bad.split()[:2] == ["bad", "FAILED"]
    assert good.split()[:2] == ["good", "passed"]


def test_it_succeeds_only_when_every_part_does(tmp_path: Path) -> None:
    assert run(tmp_path, "good good").returncode == 0
    assert run(tmp_path, "good", "bad").returncode == 1


def test_lanes_run_beside_each_other(tmp_path: Path) -> None:
    # Each of the two waits until the other one has begun.
    assert run(tmp_path, "first", "second").returncode == 0


def test_a_failed_part_is_shown_in_one_piece(tmp_path: Path) -> None:
    shown = run(tmp_path, "good bad", "good").stdout.splitlines()
    heading = shown.index("== what bad printed")
    assert shown[heading + 1] == "a bad part ran"
    assert "good       | a good part ran" in shown
    assert "== what good printed" not in shown
