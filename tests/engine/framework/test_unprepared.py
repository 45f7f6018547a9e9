"""In-tree plugins whose PreFilter or PreScore a configuration switches off, as in v1.34."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from tests.builders import node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod

Switched = tuple[str, str]

# Gt wants a number; the API server takes this from preferences.
_GREATER = {"key": "gen", "operator": "Gt", "values": ["abc"]}
_PREFERRED = {"weight": 1, "preference": {"matchExpressions": [_GREATER]}}
UNREADABLE = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_PREFERRED]}}


def document(*switched: Switched, **plugins: Any) -> dict[str, Any]:
    for point, name in switched:
        plugins.setdefault(point, {"disabled": []})["disabled"].append({"name": name})
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }


def without(*switched: Switched) -> Profile:
    """The default profile, but that plugins take no part at points: (point, plugin)."""
    return read_setup(document(*switched), "v1.34").profiles[0]


def cluster(*switched: Switched, nodes: int = 2) -> SchedulingAlgorithm:
    return _cluster_of(without(*switched), nodes)


def _cluster_of(profile: Profile, nodes: int = 2) -> SchedulingAlgorithm:
    algorithm = SchedulingAlgorithm(profile, Handle())
    for number in range(nodes):
        algorithm.table.add_node(make_node(f"n{number}"))
    return algorithm


def tried(algorithm: SchedulingAlgorithm, **fields: Any) -> ScheduleResult:
    info = PodInfo(make_pod("p", **fields), algorithm.profile.resource_rules)
    result = algorithm.schedule(info)
    algorithm.preempt(result)
    return result


def scores_of(result: ScheduleResult) -> dict[str, list[int]]:
    assert result.scores is not None
    return {one.name: one.weighted.tolist() for one in result.scores.plugins}


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("NodePorts", 'reading "PreFilterNodePorts" from cycleState: not found'),
        (
            "NodeResourcesFit",
            'error reading "PreFilterNodeResourcesFit" from cycleState: not found',
        ),
        ("VolumeRestrictions", 'cannot read "PreFilterVolumeRestrictions" from cycleState'),
        ("VolumeBinding", "not found"),
        ("PodTopologySpread", 'reading "PreFilterPodTopologySpread" from cycleState: not found'),
        (
            "InterPodAffinity",
            'error reading "PreFilterInterPodAffinity" from cycleState: not found',
        ),
        ("DynamicResources", "not found"),
    ],
)
def test_filter_without_its_pre_filter_fails_every_attempt(plugin: str, error: str) -> None:
    result = tried(cluster(("preFilter", plugin)))
    assert result.result == "error"
    assert result.message == f'running "{plugin}" filter plugin: {error}'


@pytest.mark.parametrize(
    ("plugin", "error"),
    [
        ("TaintToleration", 'failed to read "PreScoreTaintToleration" from cycleState: not found'),
        (
            "PodTopologySpread",
            'error reading "PreScorePodTopologySpread" from cycleState: not found',
        ),
        (
            "InterPodAffinity",
            'failed to read "PreScoreInterPodAffinity" from cycleState: not found',
        ),
    ],
)
def test_score_without_pre_score_fails_where_choice_exists(plugin: str, error: str) -> None:
    result = tried(cluster(("preScore", plugin)))
    text = f'running Score plugins: plugin "{plugin}" failed with: {error}'
    assert (result.result, result.message) == ("error", text)
    assert tried(cluster(("preScore", plugin), nodes=1)).node == "n0"


def test_first_of_two_failing_scores_is_named() -> None:
    points = [("preScore", "TaintToleration"), ("preScore", "InterPodAffinity")]
    told = document(*points, score={"enabled": [{"name": "InterPodAffinity"}]})
    result = tried(_cluster_of(read_setup(told, "v1.34").profiles[0]))
    assert result.message.startswith('running Score plugins: plugin "InterPodAffinity" failed')


def test_an_explanation_is_kept_where_a_score_fails() -> None:
    algorithm = cluster(("preScore", "TaintToleration"))
    info = PodInfo(make_pod("p"), algorithm.profile.resource_rules)
    assert algorithm.schedule(info, explain=False, keep=True).result == "error"


def test_unreadable_preference_fails_at_pre_score_without_score() -> None:
    result = tried(cluster(("score", "NodeAffinity")), spec={"affinity": UNREADABLE})
    assert result.message.startswith('running PreScore plugin "NodeAffinity": [0].matchExpressions')


def test_unreadable_preference_fails_behind_earlier_scores() -> None:
    points = [("preScore", "TaintToleration"), ("preScore", "NodeAffinity")]
    result = tried(cluster(*points), spec={"affinity": UNREADABLE})
    assert result.message.startswith('running Score plugins: plugin "TaintToleration" failed')


def test_node_affinity_and_resources_need_no_pre_score() -> None:
    points = [
        ("preScore", "NodeAffinity"),
        ("preScore", "NodeResourcesFit"),
        ("preScore", "NodeResourcesBalancedAllocation"),
    ]
    asking, best_effort = tried(cluster(*points), cpu="1"), tried(cluster(*points))
    assert scores_of(asking) == {**scores_of(tried(cluster(), cpu="1")), "NodeAffinity": [0, 0]}
    # No PreScore leaves them out.
    assert scores_of(best_effort)["NodeResourcesBalancedAllocation"] == [0, 0]


def test_earlier_refusal_keeps_later_filters_from_failing() -> None:
    algorithm = cluster(("preFilter", "InterPodAffinity"))
    assert tried(algorithm, cpu="64").message.startswith("0/2 nodes are available: 2 Insufficient")


def test_a_dry_run_of_evictions_may_fail_too() -> None:
    algorithm = cluster(("preFilter", "InterPodAffinity"), nodes=1)
    low = PodInfo(make_pod("low", cpu="4", node="n0"), algorithm.profile.resource_rules)
    algorithm.table.add_pod(0, low)
    error = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert tried(algorithm, cpu="4", priority=1).message == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        f'preemption: running "InterPodAffinity" filter plugin: {error}'
    )


def test_volume_zone_finds_at_filter_what_pre_lacked() -> None:
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "gone"}}
    # The others would see that it is gone at PreFilter.
    others = [
        (point, name)
        for name in ("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding")
        for point in ("preFilter", "filter", "reserve", "preBind")
    ]
    algorithm = cluster(("preFilter", "VolumeZone"), *others)
    assert tried(algorithm).node == "n0"
    refused = tried(algorithm, spec={"volumes": [claim]})
    assert refused.message.startswith(
        '0/2 nodes are available: 2 persistentvolumeclaim "gone" not found.'
    )


def test_a_filter_is_switched_off_alone() -> None:
    """Its PreFilter goes on, and no longer has a say."""
    algorithm = cluster(("filter", "NodeResourcesFit"))
    assert tried(algorithm, cpu="64").node == "n0"


@pytest.mark.parametrize("plugin", ["VolumeBinding", "DynamicResources"])
def test_reserve_without_pre_filter_fails_what_fits(plugin: str) -> None:
    points = [("preFilter", plugin), ("filter", plugin)]
    result = tried(cluster(*points))
    text = f'running Reserve plugin "{plugin}": not found'
    assert (result.result, result.message) == ("error", text)
    assert tried(cluster(*points, ("reserve", plugin), ("preBind", plugin))).node == "n0"


def test_dynamic_resources_post_filter_ends_unprepared_rounds() -> None:
    algorithm = cluster(("preFilter", "DynamicResources"))
    message = tried(algorithm, cpu="64").message
    assert message == "0/2 nodes are available: 2 Insufficient cpu. not found"


def test_pre_filters_are_asked_in_their_own_order() -> None:
    profile = read_setup(
        document(preFilter={"enabled": [{"name": "VolumeZone"}]}), "v1.34"
    ).profiles[0]
    algorithm = SchedulingAlgorithm(profile, Handle())
    asked = [plugin.name for plugin in algorithm.framework.plugins.pre_filter]
    assert asked[:2] == ["VolumeZone", "NodeAffinity"]


def test_pod_backs_off_after_errors_in_runs() -> None:
    configuration = document(("preFilter", "NodePorts"))
    ran = Cluster.create(scene(node("n1"), pod("p"), configuration=configuration))
    played(ran, 5)
    assert node_of(ran, "p") == ""
    (condition,) = ran.store.get("Pod", "default/p").status["conditions"]
    assert condition["reason"] == "SchedulerError"
    assert condition["message"].startswith('running "NodePorts" filter plugin: reading')
