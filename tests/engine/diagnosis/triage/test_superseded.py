"""The mark of causes that the run has superseded: the same words as on pages (tests/js too)."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.diagnosis.triage.superseded import superseded

_CASES = json.loads(Path("tests/data/superseded.json").read_bytes())


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case["name"])
def test_mark_says_what_pages_say(case: dict[str, Any]) -> None:
    group = {name: case.get(name, []) for name in ("pods", "claims", "nodes")}
    mark = superseded(group, case["state"], case["at"])
    assert ("" if mark is None else mark["text"]) == case["text"]


def test_mark_counts_what_goes_on_and_is_gone() -> None:
    case = _CASES[2]
    group = {name: case.get(name, []) for name in ("pods", "claims", "nodes")}
    mark = superseded(group, case["state"], case["at"])
    assert mark is not None
    assert (mark["at"], mark["pods"]) == (case["at"], {"of": 7, "go_on": 2, "gone": 1})
