"""Every sample of docs/scenario-format.md is read as the document says."""

import re
from pathlib import Path

import pytest

from engine.input.loader import load_files
from engine.input.options import IntakeOptions
from engine.scheduler.configuration.scenario_schedulers import check_setup, is_known_plugin

DOCUMENT = Path(__file__).parents[2] / "docs" / "scenario-format.md"
SAMPLE = re.compile(r"<!-- sample: (\w+) -->\n```(\w+)\n(.*?)```", re.DOTALL)
SAMPLES = {name: (suffix, text) for name, suffix, text in SAMPLE.findall(DOCUMENT.read_text())}
KINDS = {
    "lists": ["Pod"],
    "lines": ["Node", "Node"],
    "snapshot": ["Node"],
    "generated": ["Pod"],
    "containers": [],
    "places": [],
    "webhooks": [],
    "watch": ["Node"],
    "perf": ["Node"] * 5,
}


def test_every_sample_is_known() -> None:
    assert sorted(SAMPLES) == sorted(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_samples_are_read_as_the_document_says(name: str) -> None:
    suffix, text = SAMPLES[name]
    options = IntakeOptions.read({"ignore_unknown_plugins": "on"}, is_known_plugin)
    loaded = load_files([(f"a.{suffix}", text.encode())], check=check_setup, options=options)
    assert loaded.ok, loaded.problems
    assert [each["kind"] for each in loaded.manifests] == KINDS[name]
    steps = (loaded.scenario or {}).get("steps") or []
    assert [step["verb"] for step in steps] == {"watch": ["patch"], "perf": ["create"] * 3}.get(
        name, []
    )
