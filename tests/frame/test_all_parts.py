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
endless: ; @trap 'echo interrupted' INT; sleep 1000; exit 1
"""


def run(folder: Path, *lanes: str, **settings: str) -> "subprocess.CompletedProcess[str]":
    (folder / "Makefile").write_text(MAKEFILE)
    # A Makefile that runs these tests must not have a say in how they run make.
    env = {key: value for key, value in os.environ.items() if key not in ("MAKE", "MAKEFLAGS")}
    env |= settings
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


def test_an_endless_part_ends_with_a_summary(tmp_path: Path) -> None:
    done = run(tmp_path, "endless never", PARTS_SECONDS="1")
    assert done.returncode == 1
    *_, first, second = done.stdout.splitlines()
    assert first.split()[:2] == ["endless", "FAILED"]
    assert second.split()[:2] == ["never", "FAILED"]


def test_a_failed_part_is_shown_in_one_piece(tmp_path: Path) -> None:
    shown = run(tmp_path, "good bad", "good").stdout.splitlines()
    heading = shown.index("== what bad printed")
    assert shown[heading + 1] == "a bad part ran"
    assert "good       | a good part ran" in shown
    assert "== what good printed" not in shown


SKIPS = """
== short test summary info ==
SKIPPED [2] tests/e2e/conftest.py:105: no browser
SKIPPED [1] tests/e2e/pages/test_board.py:7: no browser
SKIPPED [1] tests/web/pages/test_pages.py:9: no /proc on this system
"""


def summary_of(folder: Path, printed: str) -> list[str]:
    """The end of what is shown of a target that prints this."""
    (folder / "printed").write_text(printed)
    (folder / "Makefile").write_text("told: ; @cat printed\n")
    env = {key: value for key, value in os.environ.items() if key not in ("MAKE", "MAKEFLAGS")}
    done = subprocess.run(
        [PARTS, "told"], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    return lines[next(place for place, line in enumerate(lines) if line.endswith(" summary")) + 1 :]


def test_skipped_tests_are_counted_by_reason(tmp_path: Path) -> None:
    part, *reasons = summary_of(tmp_path, f"{SKIPS}=== 5 passed, 4 skipped in 1.20s (0:01) ===\n")
    assert part.split()[1] == "passed"
    assert part.endswith("; 5 passed, 4 skipped")
    assert [line.strip() for line in reasons] == [
        "1 skipped: no /proc on this system",
        "3 skipped: no browser",
    ]


def test_a_part_that_skipped_all_has_not_passed(tmp_path: Path) -> None:
    part, *_ = summary_of(tmp_path, f"{SKIPS}=== 4 skipped in 1.20s ===\n")
    assert part.split()[1] == "SKIPPED"


def test_tests_of_node_are_counted_as_well(tmp_path: Path) -> None:
    printed = "ok 1 - a\nok 2 - b # SKIP no time zones\n# pass 1\n# fail 0\n# skipped 1\n"
    part, reason = summary_of(tmp_path, printed)
    assert part.endswith("; 1 passed, 1 skipped")
    assert reason.strip() == "1 skipped: no time zones"
