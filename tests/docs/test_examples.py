"""The code blocks of the documents run, or say why they cannot."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.checks.lesson_checks import lesson_problems, play_to_end
from engine.cluster.cluster import Cluster
from engine.input.lessons.files import files_with
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from tests.docs.documents import ROOT, TEXT, Document, parse, paths, read
from tests.docs.examples import link_checkout, runnable

# Followed step by step in tests/docs (test_adding_a_plugin, test_tutorial) and tests/rest.
_ELSEWHERE = {"adding-a-plugin.md", "rest.md", "tutorial.md"}
_DOCUMENTS = [path for path in paths() if path.name not in _ELSEWHERE]
_LANGUAGES = {"python", "yaml", "json", "jsonl", "toml", "sh", "js", *TEXT}


def _run(document: Document, folder: Path) -> None:
    """Run every block of *document* that can be run; what fails raises."""
    names: dict[str, Any] = {"__name__": "example"}
    for number, block in enumerate(runnable(document)):
        if block.language == "python":
            exec(compile(block.text, f"{document.name}:{block.line}", "exec"), names)
        elif block.language == "json":
            json.loads(block.text)
        elif block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "yaml":
            path = folder / f"example-{number}.yaml"
            path.write_text(block.text)
            _play(path)
        elif block.language == "sh":
            _shell(block.text, folder)
        else:
            subprocess.run(["node", "--input-type=module", "-e", block.text], check=True)


def _play(path: Path) -> None:
    result = load_paths(files_with(path, ROOT / "scenarios"))
    assert [str(one) for one in lesson_problems(result, path.stem, play_to_end)] == []
    scenario = Scenario.from_load(result, name=path.stem)
    cluster = Cluster.create(scenario)
    cluster.advance(min(scenario.until, 60 * SECOND))
    rejected = [event.message for event in cluster.take().events if event.kind == "CommandRejected"]
    assert rejected == []


def _shell(commands: str, folder: Path) -> None:
    if not (folder / "manage.py").exists():
        link_checkout(folder)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        ["bash", "-euc", commands], cwd=folder, env=environment, check=True, capture_output=True
    )


@pytest.mark.parametrize("path", _DOCUMENTS, ids=lambda path: path.name)
def test_the_examples_of_a_document_run(path: Path, tmp_path: Path) -> None:
    _run(read(path), tmp_path)


@pytest.mark.parametrize(
    "block",
    [
        "```python\nassert 1 == 2\n```",
        "```json\n{bad}\n```",
        "```toml\nbad\n```",
        "```yaml\nkind: Scenario\napiVersion: kscope.dev/v1\nspec: {no_such_field: 1}\n```",
        "```sh\nfalse\n```",
    ],
)
def test_an_example_that_does_not_run_fails(block: str, tmp_path: Path) -> None:
    with pytest.raises(Exception):  # noqa: B017, PT011
        _run(parse(ROOT / "docs" / "bad.md", block), tmp_path)


def test_every_block_has_a_language_that_is_run() -> None:
    languages = {(block.language, path.name) for path in paths() for block in read(path).blocks}
    assert {one for one in languages if one[0] not in _LANGUAGES} == set()


def test_a_block_is_not_run_for_a_reason() -> None:
    text = "<!-- not run: it needs a server -->\n```sh\nfalse\n```\n```sh\ntrue\n```\n"
    document = parse(ROOT / "docs" / "bad.md", text)
    assert [block.not_run for block in document.blocks] == ["it needs a server", ""]
    assert [block.text for block in runnable(document)] == ["true\n"]
