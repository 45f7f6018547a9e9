"""The documents name nothing that does not exist, and such a name is found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs import mentions, truth, wrapping
from tests.docs.documents import ROOT, parse, paths, read

# What each kind of name looks like in a document, and is called in the message.
BAD = {
    "path in prose": ("See engine/no_such_file.py.", "file or folder"),
    "file": ("It is in `no_such_module.py`.", "file or folder"),
    "folder": ("All of `scheduling/no_such_room/` is new.", "file or folder"),
    "link": ("Read [this](no-such-page.md).", "file or folder"),
    "path in a command": ("```sh\npytest tests/no_such_folder\n```", "file or folder"),
    "module": ("`kscope.runs.nothing` does it.", "module"),
    "make target": ("Run `make no-such-target`.", "make target"),
    "make target in a block": ("```sh\nmake no-such-target\n```", "make target"),
    "make variable": ("```sh\nmake fuzz NO_SUCH_VARIABLE=1\n```", "setting"),
    "command": ("`manage.py nothing`", "manage.py command"),
    "option of a command": (
        "```sh\n.venv/bin/python manage.py simulate x --no-such-option\n```",
        "option of manage.py simulate",
    ),
    "subcommand": ("`manage.py account destroy NAME`", "subcommand of manage.py account"),
    "module to run": ("```sh\npython -m bench.nothing\n```", "module to run"),
    "option of a module": ("`python -m bench.load --no-such-option`", "option of bench.load"),
    "option alone": ("With `--no-such-option` it is faster.", "option"),
    "setting": ("KSCOPE_NO_SUCH_SETTING turns it off.", "setting"),
    "plugin": ("NodeResourcesFitt is a plugin.", "plugin, event kind or Kubernetes name"),
    "event kind": ("The event is PodPutAside.", "plugin, event kind or Kubernetes name"),
    "attribute": ("The event has `no_such_attribute`.", "name"),
    "test": ("`test_nothing_of_the_kind` shows it.", "test"),
    "test cut off": ("| demo | a_test_of_nothing… |", "test or attribute"),
    "page": ("```sh\ncurl localhost:8000/no-such-page/\n```", "address"),
    "address": ("`GET /api/v1/runs/<id>/no-such-part/`", "address"),
    "address of a socket": ("`/ws/no-such-stream/ID/`", "address"),
    "relative address": ("`POST runs/<id>/no-such-part/`", "address"),
    "method": ("`DELETE /api/v1/runs/<id>/commands/`", "DELETE at"),
}


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.name)
def test_a_document_names_only_what_exists(path: Path) -> None:
    assert [str(one) for one in mentions.missing(read(path))] == []


@pytest.mark.skipif(not truth.is_clone(), reason="not a clone, or there is no git")
def test_files_are_found_without_git_too() -> None:
    assert sorted(truth.listed_by_walking()) == sorted(truth.listed_by_git())


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.name)
def test_prose_is_wrapped_at_100_columns(path: Path) -> None:
    assert wrapping.long_lines(read(path)) == []


@pytest.mark.parametrize(
    ("line", "is_long"),
    [
        ("word " * 21, True),
        (f"- [a page]({'x' * 100})", False),
        (f"See https://example.com/{'x' * 100}", False),
        (f"| a | {'b' * 100} |", False),
        (f"```text\n{'code ' * 21}\n```", False),
    ],
)
def test_only_prose_counts_as_too_long(line: str, is_long: bool) -> None:
    assert bool(wrapping.long_lines(parse(ROOT / "docs" / "page.md", line))) == is_long


@pytest.mark.parametrize("case", BAD)
def test_a_name_that_does_not_exist_is_found(case: str) -> None:
    text, what = BAD[case]
    found = mentions.missing(parse(ROOT / "docs" / "bad.md", text))
    assert [one.what for one in found] == [what]


def test_every_kind_of_name_is_looked_for() -> None:
    counts: dict[str, int] = {}
    for path in paths():
        for what, count in mentions.counted(read(path)).items():
            counts[what] = counts.get(what, 0) + count
    kinds = ("make target", "manage.py command", "module to run", "setting", "address", "test")
    assert all(counts[kind] >= 10 or kind == "module to run" for kind in kinds), counts
    assert counts["file or folder"] > 100
    assert counts["plugin, event kind or Kubernetes name"] > 200


def test_the_check_fails_for_a_bad_document(tmp_path: Path) -> None:
    bad = tmp_path / "bad.md"
    bad.write_text("Run `make no-such-target`.\n")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.docs", str(bad)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kscope.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "bad.md:1: there is no make target 'no-such-target'" in ran.stdout
