"""KubeSchedulerConfiguration v1beta1 under profile v1.20."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.input.reading import ConfigurationError
from engine.kernel.units import SECOND
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import PROFILES, Profile
from tests.builders import Manifest, node, node_of, played, pod, scene
from tests.engine.plugins.test_extension_points import condition, installed, plugin

__all__ = ["installed"]


def document(**profile: Any) -> Manifest:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


def read(**profile: Any) -> Profile:
    return read_setup(document(**profile), "v1.20").profiles[0]


def enabled(*names: str) -> Manifest:
    return {"enabled": [{"name": name} for name in names]}


def test_an_empty_configuration_is_the_default_profile() -> None:
    assert read().filters == PROFILES["v1.20"].filters
    assert read().scores == PROFILES["v1.20"].scores
    assert read().reserves == PROFILES["v1.20"].reserves
    assert read().pre_enqueues == ()
    fit = read().arguments["NodeResourcesFit"]
    assert fit["scoringStrategy"] == {"type": "LeastAllocated"}


def test_an_empty_configuration_runs_as_the_profile_comes() -> None:
    objects = (node("a"), node("b"), pod("p"), pod("q", cpu="5"))
    plain = played(Cluster.create(scene(*objects), profile="v1.20"))
    told = played(Cluster.create(scene(*objects, configuration=document()), profile="v1.20"))
    plain.take()
    told.take()
    assert told.digest() == plain.digest()


def test_enabled_plugins_come_after_the_remaining_defaults() -> None:
    score = {"disabled": [{"name": "*"}], "enabled": [{"name": "NodePreferAvoidPods"}]}
    assert read(plugins={"score": score}).scores == (("NodePreferAvoidPodsPriority", 10),)
    told = read(plugins={"filter": {"disabled": [{"name": "NodeName"}], **enabled("NodeName")}})
    assert told.filters[-1] == "NodeName"


def test_nodes_may_be_packed_instead_of_spread() -> None:
    least, most = "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"
    score = {"disabled": [{"name": least}], "enabled": [{"name": most, "weight": 50}]}
    told = document(plugins={"score": score})
    there = pod("there", nodeName="b")
    cluster = Cluster.create(
        scene(node("a"), node("b"), there, pod("p"), configuration=told), profile="v1.20"
    )
    assert node_of(played(cluster), "p") == "b"


@pytest.mark.parametrize(
    ("profile", "path", "problem"),
    [
        (
            {"plugins": {"multiPoint": {}}},
            "profiles[0].plugins.multiPoint",
            'unknown field "multiPoint"',
        ),
        (
            {"plugins": {"filter": enabled("NodeName")}},
            "profiles[0].plugins.filter.enabled",
            'plugin "NodeName" already registered',
        ),
        (
            {"plugins": {"filter": enabled("DynamicResources")}},
            "profiles[0].plugins.filter.enabled[0].name",
            "there is no plugin 'DynamicResources' in v1.20",
        ),
        (
            {"plugins": {"score": enabled("NodeResourcesMostAllocated")}},
            "profiles[0].plugins.score.enabled",
            "NodeResourcesMostAllocated cannot be enabled beside another strategy",
        ),
        (
            {"percentageOfNodesToScore": 3},
            "profiles[0].percentageOfNodesToScore",
            "unknown field",
        ),
    ],
)
def test_what_v1_20_does_not_know_is_refused(profile: Manifest, path: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(**profile)
    assert caught.value.path == path
    assert caught.value.problem.startswith(problem)


def test_later_formats_are_not_for_v1_20() -> None:
    told = document() | {"apiVersion": "kubescheduler.config.k8s.io/v1"}
    with pytest.raises(
        ConfigurationError,
        match=r"1\.25 and later; the scheduler's profile is v1\.20",
    ):
        read_setup(told, "v1.20")


def _ledger(point: str, answer: str) -> Cluster:
    plugins = {name: enabled("Ledger") for name in ("reserve", "permit", "preBind", "postBind")}
    plugins["bind"] = {"disabled": [{"name": "DefaultBinder"}], **enabled("Ledger")}
    config = [{"name": "Ledger", "args": {point: answer}}]
    told = document(plugins=plugins, pluginConfig=config)
    return played(
        Cluster.create(scene(node("a"), pod("p"), configuration=told), profile="v1.20"), 1
    )


@pytest.mark.parametrize(
    ("point", "answer", "reason", "message"),
    [
        (
            "reserve",
            "no",
            "SchedulerError",
            'running Reserve plugin "Ledger": no quota left',
        ),
        (
            "permit",
            "no",
            "Unschedulable",
            'rejected pod "p" by permit plugin "Ledger": no quota left',
        ),
        (
            "permit",
            "error",
            "SchedulerError",
            'running Permit plugin "Ledger": the ledger is shut',
        ),
        ("pre_bind", "no", "SchedulerError", 'running PreBind plugin "Ledger": no quota left'),
        (
            "bind",
            "error",
            "SchedulerError",
            'binding rejected: running Bind plugin "Ledger": the ledger is shut',
        ),
    ],
)
def test_failures_use_the_words_of_their_version(
    point: str, answer: str, reason: str, message: str
) -> None:
    cluster = _ledger(point, answer)
    assert (condition(cluster)["reason"], condition(cluster)["message"]) == (reason, message)
    assert "unreserve a" in plugin(cluster, "Ledger").asked


def test_every_point_is_asked_in_order() -> None:
    cluster = _ledger("bind", "ok")
    assert plugin(cluster, "Ledger").asked == [
        "reserve a",
        "permit a",
        "pre_bind a",
        "bind a",
        "post_bind a",
    ]
    assert node_of(cluster, "p") == "a"


def test_a_rejected_waiting_pod_gets_the_reason() -> None:
    config = [{"name": "Gang", "args": {"size": 2, "timeout": 2 * SECOND}}]
    told = document(plugins={"permit": enabled("Gang")}, pluginConfig=config)
    cluster = played(
        Cluster.create(scene(node("a"), pod("p"), configuration=told), profile="v1.20"), 3
    )
    assert condition(cluster)["message"] == (
        'pod "p" rejected while waiting on permit: '
        "rejected due to timeout after waiting 2s at plugin Gang"
    )
    assert condition(cluster)["reason"] == "Unschedulable"


def test_post_filters_nominate_but_say_nothing() -> None:
    plugins = {"postFilter": enabled("Bouncer")}
    config = [{"name": "Bouncer", "args": {"says": "UNSCHEDULABLE"}}]
    told = document(plugins=plugins, pluginConfig=config)
    objects = (node("a"), pod("p", cpu="5"))
    cluster = played(Cluster.create(scene(*objects, configuration=told), profile="v1.20"), 1)
    assert condition(cluster)["message"] == "0/1 nodes are available: 1 Insufficient cpu."
    assert plugin(cluster, "Bouncer").statuses == {"a": "Insufficient cpu"}
