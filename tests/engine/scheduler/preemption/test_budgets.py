"""Whom disruption budgets cover, and whose eviction breaks one."""

from typing import Any

import pytest

from engine.framework.nodes.listers import Listers
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.preemption.budgets import KIND, Budgets
from tests.engine.scheduler_builders import make_pod


def _put(listers: Listers, selector: Any, **status: Any) -> None:
    metadata = {"name": "budget", "namespace": "default"}
    spec = {"selector": selector}
    manifest = {"kind": KIND, "metadata": metadata, "spec": spec, "status": status}
    listers.put(from_manifest(manifest))


def _pods(*names: str, app: str = "a") -> list[PodInfo]:
    rules = PROFILES["v1.34"].resource_rules
    return [PodInfo(make_pod(name, labels={"app": app}), rules) for name in names]


def _split(budgets: Budgets, pods: list[PodInfo]) -> tuple[list[str], list[str]]:
    violating, others = budgets.split(pods)
    return [pod.pod.name for pod in violating], [pod.pod.name for pod in others]


@pytest.mark.parametrize(
    ("count_down", "violating", "others"),
    [(True, ["z"], ["x", "y"]), (False, [], ["x", "y", "z"])],
)
def test_nodes_pods_use_budgets_jointly_or_alone(
    count_down: bool, violating: list[str], others: list[str]
) -> None:
    listers = Listers()
    _put(listers, {"matchLabels": {"app": "a"}}, disruptionsAllowed=2)
    budgets = Budgets(listers, count_down=count_down)
    budgets.refresh()
    assert _split(budgets, _pods("x", "y", "z")) == (violating, others)


def test_pod_under_disruption_does_not_count_again() -> None:
    listers = Listers()
    disrupted = {"x": "2026-01-01T00:00:00Z"}
    _put(listers, {"matchLabels": {"app": "a"}}, disruptionsAllowed=1, disruptedPods=disrupted)
    budgets = Budgets(listers)
    budgets.refresh()
    assert _split(budgets, _pods("x", "y", "z")) == (["z"], ["x", "y"])


def test_a_budget_with_an_empty_selector_covers_nobody() -> None:
    listers = Listers()
    _put(listers, {}, disruptionsAllowed=0)
    budgets = Budgets(listers)
    budgets.refresh()
    assert budgets.covering(_pods("x")[0]) == ()


def test_new_selector_changes_coverage_and_new_status_not() -> None:
    listers = Listers()
    budgets = Budgets(listers)
    _put(listers, {"matchLabels": {"app": "a"}}, disruptionsAllowed=0)
    budgets.refresh()
    version, (pod,) = budgets.version, _pods("x", app="b")
    assert budgets.covering(pod) == ()
    _put(listers, {"matchLabels": {"app": "a"}}, disruptionsAllowed=1)
    budgets.refresh()
    assert budgets.version == version
    _put(listers, {"matchLabels": {"app": "b"}}, disruptionsAllowed=0)
    budgets.refresh()
    assert budgets.version != version
    assert budgets.covering(pod) == (0,)
