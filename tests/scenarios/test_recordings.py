"""Recordings and dumps of a real control plane are scenario files like any other."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from tests.conformance.vectors import parametrised
from tests.scenarios.played import Played
from tests.vectors import vector_set

FOLDER = vector_set("control-plane-1.20")


def recordings(name: str) -> list[Any]:
    if not FOLDER.exists():
        return parametrised(None, absent="control-plane-1.20")
    return parametrised((path.parent.name, path) for path in sorted(FOLDER.glob(f"*/{name}")))


def recorded_refusals(folder: Path) -> list[str]:
    """What the real API server said to the steps that it refused, but for its dumps of structs.

    After its message comes the cause that it gives for a refused eviction.
    """
    steps = json.loads((folder / "timeline.json").read_text())["steps"]
    return [said for step in steps if (said := _said(step.get("error") or ""))]


def _said(error: str) -> str:
    message, cause = (
        re.search(rf'{before}"message":"((?:[^"\\]|\\.)*)', error)
        for before in ("", '"reason":"DisruptionBudget",')
    )
    texts = [json.loads(f'"{found[1]}"') for found in (message, cause) if found]
    return " ".join(text.partition("\n")[0] for text in texts)


@pytest.mark.parametrize("path", recordings("scenario.yaml"))
def test_recorded_scenario_is_read_and_runs_through(path: Path) -> None:
    result = load_paths([path])
    assert result.problems == []
    scenario = Scenario.from_load(result, name=path.parent.name)
    # The texts of refusals are those of the control plane that was recorded.
    played = Played(replace(scenario, profile="v1.20"))
    assert played.cluster.next_at is None
    assert cluster_findings(played.cluster) == []
    refused = [event.message for event in played.events if event.kind == "CommandRejected"]
    assert [message.partition(": ")[2] for message in refused] == recorded_refusals(path.parent)


@pytest.mark.parametrize("path", recordings("dump.yaml"))
def test_dump_is_read_and_what_ran_runs_on(path: Path) -> None:
    result = load_paths([path])
    if not result.manifests:
        assert "nothing that kscope simulates" in result.problems[0].message
        return
    assert result.problems == []
    running = {
        f"{raw['metadata']['namespace']}/{raw['metadata']['name']}": raw["spec"]["nodeName"]
        for raw in result.manifests
        if raw["kind"] == "Pod" and raw.get("status", {}).get("phase") == "Running"
    }
    played = Played(Scenario.from_load(result, name="dump"))
    pods = played.pods()
    for name, node in running.items():
        assert pods[name] == ("Running", node)
