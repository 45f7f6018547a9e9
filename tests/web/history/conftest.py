"""A run with many keyframes, in which objects go and come again under their old names."""

from typing import Any

import pytest

from engine.input.loader import load_files
from engine.kernel.view import State, fold
from kscope.runs import services
from kscope.runs.drive.moving import clock
from kscope.runs.drive.turns import stint
from kscope.runs.history import chunks, keyframes, states
from kscope.runs.models import Run, RunEvent
from tests.web.conftest import CLUSTER, drive

POD = "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c, image: app:%s}]}}"
STEPS = f"""  - at: 2s
    create: {POD % ("late", 1)}
  - at: 3s
    delete: pod/default/web
  - at: 40s
    create: {POD % ("web", 2)}
  - at: 45s
    delete: node/n2
  - at: 50s
    delete: pod/default/web
"""
_STEP = CLUSTER[CLUSTER.index("  - at: 2s") : CLUSTER.index("---")]


@pytest.fixture
def kept_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A keyframe every few events, of chunks with few entities; nothing kept in this process."""
    monkeypatch.setattr(stint, "SLICE_SECONDS", 0.0001)
    monkeypatch.setattr(clock, "CHUNK", 2)
    monkeypatch.setattr(keyframes, "KEYFRAME_EVENTS", 5)
    monkeypatch.setattr(keyframes, "PART", 1)
    monkeypatch.setattr(chunks, "ENTITIES", 2)
    monkeypatch.setattr(states, "_kept", states._Kept())


@pytest.fixture
def churned(kept_often: None, transactional_db: Any) -> Run:
    """Such a run, at its end."""
    files = load_files([("churn.yaml", CLUSTER.replace(_STEP, STEPS).encode())])
    scenario = services.scenario_store(name="churn", result=files)
    run = services.run_create(scenario=scenario, play=True, speed="max")
    drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    return run


def folded(run: Run) -> list[State]:
    """The state after each event, from 0 on, folded from the first event."""
    state: State = {}
    found: list[State] = [{}]
    for event in RunEvent.objects.filter(run=run).order_by("seq"):
        fold(state, event.changes or {})
        found.append(dict(state))
    return found
