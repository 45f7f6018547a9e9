"""The grammar: flags anywhere, objects as kubectl has them, and errors that say what to type."""

from pathlib import Path

import pytest

from kscope.program.asking.reading.kinds import Named
from kscope.program.asking.reading.sources import files_and_object
from kscope.program.grammar import parsed
from tests.program.asked import DATA, Program


@pytest.mark.parametrize(
    "words",
    [
        ["why", "prod-eu.yaml", "pod/web-1", "-n", "shop"],
        ["why", "-n", "shop", "prod-eu.yaml", "pod/web-1"],
        ["-n", "shop", "why", "prod-eu.yaml", "pod/web-1"],
        ["why", "prod-eu.yaml", "--namespace=shop", "pod/web-1"],
        ["why", "pod/web-1", "-f", "prod-eu.yaml", "-nshop"],
        ["why", "prod-eu.yaml", "pod", "web-1", "-n", "shop"],
    ],
)
def test_flags_and_names_may_stand_anywhere(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(DATA)
    request = parsed(words)
    assert (request.command, request["namespace"]) == ("why", "shop")
    assert files_and_object(request) == (["prod-eu.yaml"], Named("pod", "web-1"))


def test_type_and_namespaced_name_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)
    _, named = files_and_object(parsed(["why", "prod-eu.yaml", "pod", "shop/web-1"]))
    assert named is not None
    assert (named.namespace, named.own_name) == ("shop", "web-1")


def test_a_path_with_slashes_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "a.yaml").touch()
    assert files_and_object(parsed(["triage", "pod/a.yaml"])) == (["pod/a.yaml"], None)


def test_standard_input_may_stand_anywhere() -> None:
    assert files_and_object(parsed(["triage", "-n", "shop", "-"])) == (["-"], None)


def test_json_is_the_format_json() -> None:
    assert parsed(["triage", "a.yaml", "--json"]).output == "json"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["triage", "--namespce", "shop"],
            "error: unknown flag --namespce\n  help: a flag with a similar name exists: --namespace",
        ),
        (
            ["traige"],
            "error: no command is called traige\n  help: a command with a similar name exists: triage",
        ),
        (
            ["triage", "a.yaml", "-o", "table"],
            "error: no output format is called table\n  help: json, yaml, ndjson or wide",
        ),
        (["triage", "-n"], "error: -n, --namespace needs a value"),
        (["triage", "--strict=yes"], "error: --strict takes no value"),
        (["triage"], "error: no cluster was named"),
        (["triage", "nowhere.yaml"], "error: nowhere.yaml: no such file or folder"),
        (["why", "prod-eu.yaml"], "error: no object was named"),
        (["completion", "tcsh"], "error: no completion for tcsh"),
        (
            ["why", "prod-eu.yaml", "podd/web-1"],
            "error: no kind is called podd\n  help: a kind with a similar name exists: pod",
        ),
        (
            ["why", "prod-eu.yaml", "pod/checkout-api-99", "-n", "shop"],
            "error: no pod checkout-api-99 in namespace shop of prod-eu.yaml\n"
            "  help: pods with similar names: checkout-api-9",
        ),
        (
            ["why", "prod-eu.yaml", "pod/web-1", "-n", "ml"],
            "error: no pod web-1 in namespace ml of prod-eu.yaml\n  help: there is one in namespace shop",
        ),
        (["diff", "prod-eu.yaml"], "error: diff compares two profiles, and 0 were given"),
        (["triage", "prod-eu.yaml", "-A", "-n", "shop"], "error: -n and -A were both given"),
        (["triage", "prod-eu.yaml", "-l", "a in b"], "error: 'a in b' is no label selector"),
        (
            ["triage", "prod-eu.yaml", "--nodes", "4xgeneral-a9"],
            "error: there is no instance type and no node of the files called 'general-a9'; do you mean general-a",
        ),
        (["simulate", "prod-eu.yaml", "--fail-on", "pendng"], "error: --fail-on knows no pendng"),
        (["up", "--port", "0"], "error: --port: '0' is not a number from 1 to 65,535"),
    ],
    ids=lambda value: value[0][:8] if isinstance(value, list) else "error",
)
def test_an_error_says_what_to_type_instead(kscope: Program, words: list[str], error: str) -> None:
    said = kscope(*words)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith(error), said.err


def test_an_internal_error_leaves_a_file(
    kscope: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def broken(*_: object) -> int:
        raise KeyError("general-a1-more")

    monkeypatch.setattr("kscope.program.main._answer_of", lambda _: broken)
    said = kscope("triage", "prod-eu.yaml", XDG_STATE_HOME=str(tmp_path))
    assert said.status == 4
    assert "Traceback" not in said.err
    (file,) = (tmp_path / "kscope").iterdir()
    assert str(file) in said.err
    assert "general-a1-more" in file.read_text()


@pytest.mark.parametrize(
    "flags", [["--without", "inside,why"], ["--without", "inside", "--without=why"]]
)
def test_repeated_choices_may_stand_behind_commas(flags: list[str]) -> None:
    assert parsed(["export", "run.kscope", "run.html", *flags])["without"] == ["inside", "why"]
