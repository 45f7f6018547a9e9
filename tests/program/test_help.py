"""The texts of help: as they were designed, true of the grammar, and quick."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kscope.program import grammar
from tests.program.asked import ROOT, Program
from tests.program.transcripts import stdout_of

HELPS = ROOT / "kscope" / "program" / "helps"
# What the design has and the program has not yet.
NOT_YET = {
    "help": [],
    "kscope": [],
    "help-why": [],
}


@pytest.mark.parametrize(
    ("name", "words"), [("kscope", ()), ("help", ("--help",)), ("help-why", ("why", "--help"))]
)
def test_help_is_worded_as_it_was_designed(
    kscope: Program, name: str, words: tuple[str, ...]
) -> None:
    said = kscope(*words).lines
    missing = [line for line in stdout_of(name) if line not in said]
    assert missing == NOT_YET[name]


@pytest.mark.parametrize("name", sorted(grammar.COMMANDS))
def test_help_of_a_command_names_its_flags(name: str) -> None:
    command = grammar.COMMANDS[name]
    text = (HELPS / f"{name}.txt").read_text()
    flags = text.partition("\nFlags\n")[2].partition("\nExit status")[0]
    named = set(re.findall(r"^ +(?:-\w, )?--([a-z-]+)", flags, re.MULTILINE))
    # --json stands beside -o, which it is short for.
    assert named == set(command.flags) - {"json"} | (
        {"color", "quiet"} if not command.hands_over else set()
    )


@pytest.mark.parametrize("path", sorted(HELPS.glob("*.txt")), ids=lambda path: path.stem)
def test_lines_of_help_have_100_columns(path: Path) -> None:
    assert max(map(len, path.read_text().splitlines())) <= 100


def test_all_commands_are_listed_and_known(kscope: Program) -> None:
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", kscope("--help").out, re.MULTILINE)
    assert sorted(listed) == sorted(grammar.COMMANDS)


def test_help_loads_neither_django_nor_engine() -> None:
    code = (
        "import sys; from kscope.program.main import main; main(['--help']);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert not {"django", "engine", "numpy", "orjson", "yaml"} & set(done.stderr.split())


def test_help_says_the_profiles_that_there_are() -> None:
    from engine.versions.registry import VERSIONS

    assert list(VERSIONS) == list(grammar.PROFILES)


def test_version_names_kscope_and_profiles(kscope: Program) -> None:
    said = kscope("--version")
    assert re.fullmatch(r"kscope \d+\.\d+\.\d+\nprofiles v1\.37, .*\n", said.out)
