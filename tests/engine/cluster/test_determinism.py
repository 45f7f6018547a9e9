"""check_determinism: what it finds, and where it says that two histories part."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from engine import check_determinism
from engine.framework.framework import CycleState, Plugin
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.kernel.rng import Stream
from engine.kernel.units import SECOND
from engine.scheduler.configuration import registry
from tests.builders import node, pod, scene


class Counting(Plugin):
    """Scores by how often it was asked in this process, which a run must not depend on."""

    name: ClassVar[str] = "Counting"
    asked: ClassVar[int] = 0

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        pass

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Another node each time, over all runs."""
        Counting.asked += 1
        return np.array([100 * (int(row) == Counting.asked % 3) for row in rows], np.int64)


class Forgetting(Counting):
    """Scores by how often it was asked in this run, and loses the number with a checkpoint."""

    name: ClassVar[str] = "Forgetting"

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._asked = 0

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Another node each time."""
        self._asked += 1
        return np.array([100 * (int(row) == self._asked % 3) for row in rows], np.int64)

    def __getstate__(self) -> dict[str, int]:
        return {"_asked": 0}


PODS = [(second, "create", {"manifest": pod(f"p{second}")}) for second in range(1, 11)]
NODES = [node("a"), node("b"), node("c")]


def configured(plugin: str) -> dict[str, object]:
    enabled = {"enabled": [{"name": plugin, "weight": 1000}]}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", "plugins": {"score": enabled}}],
    }


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {plugin.name: plugin for plugin in (Counting, Forgetting)}
    entries = [SimpleNamespace(name=name, load=partial(kinds.get, name)) for name in kinds]
    monkeypatch.setattr(registry, "entry_points", lambda *, group: entries)


def test_a_pure_run_has_one_history() -> None:
    scenario = scene(*NODES, steps=PODS)
    assert check_determinism(scenario, 3, until=20 * SECOND) is None


@pytest.mark.parametrize("plugin", ["Counting", "Forgetting"])
def test_a_plugin_with_state_elsewhere_is_found(plugin: str) -> None:
    scenario = scene(*NODES, steps=PODS, configuration=configured(plugin))
    found = check_determinism(scenario, 3, until=20 * SECOND, cuts=Stream(1))
    assert found is not None
    assert found.component == "scheduler"
    assert found.straight is not None
    assert found.cut is not None
    assert (found.straight.kind, found.straight.seq) == (found.cut.kind, found.cut.seq)
    assert str(found.seq) in str(found)
    assert found.straight != found.cut


def test_the_same_cuts_are_drawn_again() -> None:
    scenario = scene(*NODES, steps=PODS, configuration=configured("Forgetting"))
    first, second = (check_determinism(scenario, until=20 * SECOND, cuts=Stream(5)) for _ in "ab")
    assert first is not None
    assert first == second
