"""ServiceAffinity of profile v1.20: upstream's serviceaffinity plugin, by its configuration."""

from typing import Any

import pytest

from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.input.reading import ConfigurationError
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from tests.engine.scheduler_builders import make_node, make_pod

NAME = "ServiceAffinity"
APP = {"app": "x"}


def profile(*points: str, alone: bool = False, **arguments: Any) -> Profile:
    enabled = {"enabled": [{"name": NAME}]}
    if alone:
        enabled["disabled"] = [{"name": "*"}]
    told = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [
            {
                "plugins": dict.fromkeys(points, enabled),
                "pluginConfig": [{"name": NAME, "args": arguments}],
            }
        ],
    }
    return read_setup(told, "v1.20").profiles[0]


def algorithm_of(profile: Profile, **zones: str) -> SchedulingAlgorithm:
    """Nodes by name and zone, and a service of all pods with the label app=x."""
    algorithm = SchedulingAlgorithm(profile, Handle())
    for name, zone in zones.items():
        algorithm.table.add_node(make_node(name, labels={"zone": zone, "rack": name}))
    service = {"kind": "Service", "metadata": {"name": "s", "namespace": "default"}}
    algorithm.handle.listers.put(from_manifest({**service, "spec": {"selector": APP}}))
    return algorithm


def filtering(**zones: str) -> SchedulingAlgorithm:
    return algorithm_of(profile("preFilter", "filter", affinityLabels=["zone"]), **zones)


def spreading(*labels: str, **zones: str) -> SchedulingAlgorithm:
    told = profile("score", alone=True, antiAffinityLabelsPreference=list(labels))
    return algorithm_of(told, **zones)


def place(algorithm: SchedulingAlgorithm, name: str, on: str, **fields: Any) -> None:
    info = PodInfo(make_pod(name, node=on, **fields), algorithm.profile.resource_rules)
    algorithm.table.add_pod(algorithm.table.rows[on], info)


def schedule(algorithm: SchedulingAlgorithm, **fields: Any) -> ScheduleResult:
    info = PodInfo(make_pod("p", **fields), algorithm.profile.resource_rules)
    return algorithm.schedule(info)


def totals(algorithm: SchedulingAlgorithm, **fields: Any) -> list[int]:
    scores = schedule(algorithm, **fields).scores
    assert scores is not None
    return scores.total.tolist()


def test_pods_follow_the_first_of_their_service() -> None:
    algorithm = filtering(a1="a", b1="b", b2="b")
    place(algorithm, "there", "b1", labels=APP)
    assert schedule(algorithm, labels=APP).feasible == 2
    assert schedule(algorithm, labels={"app": "other"}).feasible == 3


def test_a_node_selector_replaces_the_first_pod() -> None:
    algorithm = filtering(a1="a", b1="b")
    place(algorithm, "there", "b1", labels=APP)
    assert schedule(algorithm, labels=APP, spec={"nodeSelector": {"zone": "a"}}).node == "a1"


def test_the_refusal_has_upstreams_words() -> None:
    algorithm = filtering(a1="a", b1="b")
    place(algorithm, "there", "b1", labels=APP)
    refused = schedule(algorithm, labels=APP, spec={"nodeSelector": {"rack": "a1"}})
    assert "1 node(s) didn't match service affinity" in refused.message


def test_a_nominated_first_pod_is_an_error() -> None:
    algorithm = filtering(a1="a")
    first = PodInfo(make_pod("first", labels=APP), algorithm.profile.resource_rules)
    algorithm.nominated.add("a1", first)
    result = schedule(algorithm, labels=APP)
    assert result.result == "error"
    assert "node not found" in result.message


def test_scores_spread_a_service_over_zones() -> None:
    algorithm = spreading("zone", a1="a", a2="a", b1="b", c1="c")
    for name, on in (("p1", "a1"), ("p2", "a2"), ("p3", "a2"), ("p4", "b1")):
        place(algorithm, name, on, labels=APP)
    assert totals(algorithm, labels=APP) == [25, 25, 75, 100]


def test_each_label_has_an_equal_share() -> None:
    """Upstream: every label accounts for one part of the score; the sum is cut off at the end."""
    algorithm = spreading("zone", "rack", "absent", a1="a", a2="a", b1="b")
    for name, on in (("p1", "a1"), ("p2", "a2"), ("p3", "b1")):
        place(algorithm, name, on, labels=APP)
    # Of zone a a third, of each rack two thirds, of a label that no node has nothing.
    assert totals(algorithm, labels=APP) == [33, 33, 44]


def test_without_pods_every_node_is_as_good() -> None:
    assert totals(spreading("zone", a1="a", b1="b"), labels=APP) == [100, 100]
    assert totals(spreading(a1="a", b1="b"), labels=APP) == [0, 0]


def test_the_plugin_is_no_default_of_v1_20() -> None:
    told = profile("score")
    assert dict(told.scores)[NAME] == 1
    assert NAME not in told.filters


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"labels": ["zone"]}, "profiles[0].pluginConfig[0].args.labels"),
        ({"affinityLabels": "zone"}, "profiles[0].pluginConfig[0].args.affinityLabels"),
    ],
)
def test_unknown_arguments_are_refused(arguments: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        profile("score", **arguments)
    assert caught.value.path == path
