"""How raw scores came about: terms from the code that scores."""

from typing import Any

import numpy as np
import pytest

from engine.framework.arithmetic import Arithmetic, Terms
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework, Search
from engine.scheduler.configuration.profiles import PROFILES
from tests.engine.scheduler_builders import make_node, make_pod

SOFT = {"key": "old", "effect": "PreferNoSchedule"}
IMAGE = {"names": ["app:latest"], "sizeBytes": 300 * 1024 * 1024}


def searched(version: str) -> tuple[Framework, Search]:
    """A pod with preferences, and three nodes that differ in what is scored."""
    handle = Handle()
    framework = PROFILES[version].build(handle)
    handle.table.add_node(make_node("a", cpu="2", labels={"disk": "ssd"}))
    handle.table.add_node(make_node("b", cpu="8", taints=[SOFT]))
    handle.table.add_node(make_node("c", memory="64Gi", images=[IMAGE]))
    ssd = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
    preferred = [{"weight": 7, "preference": ssd}]
    spec: dict[str, Any] = {
        "affinity": {
            "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        },
        "containers": [
            {"name": "main", "image": "app", "resources": {"requests": {"cpu": "500m"}}}
        ],
    }
    pod = PodInfo(make_pod("p", spec=spec), PROFILES[version].resource_rules)
    return framework, framework.find_feasible(pod, np.arange(3))


def terms_of(version: str, plugin: str, row: int) -> Terms:
    framework, search = searched(version)
    asked = framework.plugins.by_name[plugin]
    assert isinstance(asked, Arithmetic)
    return asked.arithmetic(search.state, row)


@pytest.mark.parametrize("version", ["v1.36", "v1.34", "v1.20"])
def test_terms_lead_to_the_raw_score(version: str) -> None:
    framework, search = searched(version)
    scores = framework.score(search.state, search.feasible)
    shown: dict[str, list[int]] = {}
    for score in scores.plugins:
        plugin = framework.plugins.by_name[score.name]
        if isinstance(plugin, Arithmetic):
            found = [plugin.arithmetic(search.state, row).raw for row in range(3)]
            assert found == score.raw.tolist(), score.name
            shown[score.name] = found
    known = {"ImageLocality", "NodeAffinity", "NodeResourcesFit", "TaintToleration"}
    assert set(shown) == known
    assert all(len(set(found)) > 1 for found in shown.values())


def test_room_is_shown_for_each_resource() -> None:
    terms = terms_of("v1.34", "NodeResourcesFit", 0)
    assert [(one.name, one.value, one.unit) for one in terms.terms[:3]] == [
        ("cpu used with the pod", 500, "m"),
        ("cpu allocatable", 2000, "m"),
        ("cpu score", 75, ""),
    ]


def test_a_preference_counts_with_its_weight() -> None:
    (term,) = terms_of("v1.34", "NodeAffinity", 0).terms
    assert term.value == 7
