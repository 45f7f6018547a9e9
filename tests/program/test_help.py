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
# What the design has and the program has not yet: the commands that read a cluster itself, or that
# bring files in and out.
NOT_YET = {
    "help": [
        "  collect      Write what triage reads of a cluster as one tar.gz",
        "  follow       Keep a run in step with a cluster",
        "  rbac         Print the rights that kscope needs in a cluster",
        "      --context NAME           a context of your kubeconfig; read only",
        "      --kubeconfig FILE        default: $KUBECONFIG, then ~/.kube/config",
        "      --read KINDS             read only these kinds of the files or the cluster",
        "      --at TIME                the instant: 30s, 2026-11-27T14:20:00Z, or the seq of an event",
        "  kscope triage --context prod -o json | jq -r '.groups[].cause'",
    ],
    "kscope": [
        "Without a file, --context NAME reads the cluster itself. Nothing is ever written to it.",
    ],
    "help-why": [
        "  kscope why --context prod pod/web-3           a pod of a cluster, as it is now",
        "      --context NAME           a context of your kubeconfig; read only",
        "      --kubeconfig FILE        default: $KUBECONFIG, then ~/.kube/config",
        "      --request-timeout TIME   for each request to the cluster; default: 10s",
        "  -n, --namespace NAME         default: with --context, the namespace of the context",
        "  -o, --output FORMAT          json, yaml, ndjson or wide",
    ],
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
    assert re.fullmatch(r"kscope \d+\.\d+\.\d+\nprofiles v1\.36, .*\n", said.out)
