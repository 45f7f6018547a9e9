"""How raw scores came about: terms from the code that scores."""

from random import Random
from typing import Any

import numpy as np
import orjson
import pytest

from engine.framework.arithmetic import Arithmetic, Terms
from engine.framework.framework import PreScorePlugin, ScorePlugin
from engine.framework.handle import Handle
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework, PluginSet, Search
from engine.objects.objects import Node, from_manifest
from engine.objects.pods.pod_resources import ResourceRules
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.configuration.registry import IN_TREE
from engine.versions.registry import VERSIONS
from tests.engine.scheduler_builders import make_node, make_pod

HOSTNAME = "kubernetes.io/hostname"
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
    assert known <= set(shown)
    assert all(len(set(shown[name])) > 1 for name in known)


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


# The raw score of these is the sum of their terms.
_SUMS = (
    "InterPodAffinity",
    "InterPodAffinityPriority",
    "NodeAffinity",
    "NodeAffinityPriority",
    "TaintToleration",
    "EvenPodsSpreadPriority",
    "SelectorSpreadPriority",
)


def _choice(random: Random, *choices: Any) -> Any:
    return choices[random.randrange(len(choices))]


def _spec(random: Random) -> dict[str, Any]:
    """Preferences, soft constraints and pod affinity, each with other numbers."""
    app = {"labelSelector": {"matchLabels": {"app": _choice(random, "a", "b")}}}
    term = {**app, "topologyKey": _choice(random, "zone", HOSTNAME)}
    weighted = [{"weight": random.randint(1, 9), "podAffinityTerm": term}]
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    zone = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["x"]}]}
    return {
        "affinity": {
            "nodeAffinity": {preferred: [{"weight": random.randint(1, 9), "preference": zone}]},
            _choice(random, "podAffinity", "podAntiAffinity"): {preferred: weighted},
        },
        "topologySpreadConstraints": [
            {**term, "maxSkew": random.randint(1, 3), "whenUnsatisfiable": "ScheduleAnyway"}
        ],
        "containers": [
            {
                "name": "main",
                "image": "app",
                "resources": {
                    "requests": {"cpu": f"{random.randint(1, 900)}m", "memory": "1Gi"},
                    "limits": {"cpu": "2", "memory": "4Gi"},
                },
            }
        ],
    }


_OWNER = {"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
_AVOIDED = {"podSignature": {"podController": _OWNER}}
_SERVICE = from_manifest(
    {
        "kind": "Service",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"app": "a"}},
    }
)


def _avoiding(random: Random, node: Node) -> Node:
    """The node, or the same with an annotation that avoids the pods of a controller."""
    text = orjson.dumps({"preferAvoidPods": [_AVOIDED]}).decode()
    annotations = {"scheduler.alpha.kubernetes.io/preferAvoidPods": text}
    return _choice(random, node, node.with_metadata(annotations=annotations))


def _random_cluster(random: Random, table: NodeTable, rules: ResourceRules) -> None:
    for number in range(5):
        labels = {HOSTNAME: f"n{number}", "zone": _choice(random, "x", "y")}
        if number == 4:
            del labels["zone"]
        taints = _choice(random, [SOFT], [])
        images = _choice(random, [IMAGE], [])
        cpu, memory = _choice(random, "1", "4"), _choice(random, "2Gi", "8Gi")
        table.add_node(
            _avoiding(
                random,
                make_node(
                    f"n{number}",
                    cpu=cpu,
                    memory=memory,
                    labels=labels,
                    taints=taints,
                    images=images,
                ),
            )
        )
    for number in range(8):
        labels = {"app": _choice(random, "a", "b")}
        name = f"n{random.randrange(5)}"
        placed = make_pod(f"p{number}", node=name, labels=labels, spec=_spec(random))
        table.add_pod(table.rows[name], PodInfo(placed, rules))


# What a plugin that needs arguments is given.
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "NodeLabelPriority": {"label": "zone", "presence": True},
    "ServiceAffinity": {"antiAffinityLabelsPreference": ["zone"]},
    "ServiceAntiAffinityPriority": {"label": "zone"},
}
# The same on every node: the first says 1; the others score what claims ask for, and this pod has none.
_CONSTANT = {"EqualPriority", "DynamicResources", "VolumeBinding"}


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_every_score_is_made_of_its_terms(version: str) -> None:
    """Every plugin and priority that scores; one that has not been met fails it."""
    rules, met = PROFILES[version].resource_rules, dict[str, set[int]]()
    for seed in range(8):
        random, handle = Random(seed), Handle()
        _random_cluster(random, handle.table, rules)
        handle.listers.put(_SERVICE)
        owned = make_pod("new", labels={"app": "a"}, spec=_spec(random))
        pod = PodInfo(owned.with_metadata(ownerReferences=[_OWNER]), rules)
        state = Framework(handle, PluginSet()).new_state(pod)
        # Of every second cluster not all nodes fit.
        rows = handle.table.active[2 * (seed % 2) :]
        for name, factory in IN_TREE.items():
            arguments = {
                **(PROFILES[version].arguments.get(name) or {}),
                **_ARGUMENTS.get(name, {}),
            }
            plugin = factory({**arguments, "scores_capacity": True}, handle)
            if not isinstance(plugin, ScorePlugin):
                continue
            assert isinstance(plugin, Arithmetic), name
            scores = met.setdefault(name, set())
            if isinstance(plugin, PreScorePlugin) and not plugin.pre_score(state, rows).is_success:
                continue
            raw = plugin.score(state, rows).tolist()
            found = [plugin.arithmetic(state, row) for row in rows.tolist()]
            assert [one.raw for one in found] == raw, (seed, name)
            if name in _SUMS:
                assert [sum(term.value for term in one.terms) for one in found] == raw
            scores.update(raw)
    assert {name for name, scores in met.items() if len(scores) < 2} == _CONSTANT
    defaults = {name for name, _ in VERSIONS[version].plugins.scores}
    assert defaults <= set(met)
