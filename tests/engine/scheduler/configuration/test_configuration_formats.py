"""Which formats of a KubeSchedulerConfiguration a profile reads, and what it offers for others."""

from typing import Any

import pytest
import yaml

from engine.input.reading import ConfigurationError
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.scheduler.configuration.setup import SchedulerSetup

LEAST, MOST = "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"
PACKING = {
    "score": {"disabled": [{"name": LEAST}], "enabled": [{"name": MOST, "weight": 5}]},
}


def told(version: str, *profiles: dict[str, Any], **fields: Any) -> dict[str, Any]:
    head = {
        "apiVersion": f"kubescheduler.config.k8s.io/{version}",
        "kind": "KubeSchedulerConfiguration",
    }
    return {**head, **({"profiles": list(profiles)} if profiles else {}), **fields}


def refusal(document: dict[str, Any], profile: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_setup(document, profile)
    assert caught.value.path == "apiVersion"
    return caught.value.problem


def offered(document: dict[str, Any], profile: str) -> dict[str, Any]:
    """The document that the refusal shows."""
    return yaml.safe_load(refusal(document, profile).partition(":\n")[2])


def taken(document: dict[str, Any], profile: str) -> SchedulerSetup:
    return read_setup(offered(document, profile), profile)


@pytest.mark.parametrize(
    ("version", "releases"),
    [
        ("v1beta3", "1.23 to 1.28"),
        ("v1beta2", "1.22 to 1.27"),
        ("v1beta1", "1.19 to 1.22"),
        ("v1alpha2", "1.18 to 1.19"),
        ("v1alpha1", "1.12 to 1.18"),
    ],
)
@pytest.mark.parametrize("profile", ["v1.34", "v1.35", "v1.36"])
def test_an_old_version_is_offered_as_v1(version: str, releases: str, profile: str) -> None:
    document = told(version, **{"schedulerName": "mine"} if version == "v1alpha1" else {})
    problem = refusal(document, profile)
    assert f"was served by Kubernetes {releases}; " in problem
    assert f"profile is {profile}, which reads v1. The same" in problem
    assert offered(document, profile)["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert len(taken(document, profile).profiles) == 1


def test_the_format_of_all_components_is_read() -> None:
    election = {"leaderElect": True, "lockObjectName": "mine", "lockObjectNamespace": "ours"}
    document = {
        "apiVersion": "componentconfig/v1alpha1",
        "kind": "KubeSchedulerConfiguration",
        "schedulerName": "mine",
        "failureDomains": "kubernetes.io/hostname",
        "leaderElection": election,
    }
    setup = read_setup(document, "v1.11")
    assert setup.profiles[0].name == "mine"
    assert setup.leader_election.resource_name == "mine"
    assert setup.leader_election.resource_namespace == "ours"
    assert "was served by Kubernetes 1.9 to 1.11; " in refusal(document, "v1.16")
    assert "failureDomains" not in offered(document, "v1.16")


def test_v1_says_who_serves_it() -> None:
    problem = refusal(told("v1"), "v1.20")
    assert "served by Kubernetes 1.25 and later; the scheduler's profile is v1.20" in problem


@pytest.mark.parametrize("old", ["v1beta2", "v1beta1"])
def test_an_old_score_becomes_a_strategy(old: str) -> None:
    profile = taken(told(old, {"schedulerName": "packs", "plugins": PACKING}), "v1.36").profiles[0]
    assert profile.name == "packs"
    assert dict(profile.scores)["NodeResourcesFit"] == 5
    assert profile.arguments["NodeResourcesFit"]["scoringStrategy"] == {"type": "MostAllocated"}


def test_the_arguments_of_a_score_move_along() -> None:
    resources = [{"name": "cpu", "weight": 3}]
    arguments = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
        "kind": "NodeResourcesMostAllocatedArgs",
        "resources": resources,
    }
    config = [{"name": MOST, "args": arguments}]
    document = told("v1beta1", {"plugins": PACKING, "pluginConfig": config})
    strategy = taken(document, "v1.34").profiles[0].arguments["NodeResourcesFit"]["scoringStrategy"]
    assert strategy == {"type": "MostAllocated", "resources": resources}


def test_a_strategy_becomes_an_old_score() -> None:
    arguments = {"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}}
    config = [{"name": "NodeResourcesFit", "args": arguments}]
    document = told("v1", {"pluginConfig": config, "percentageOfNodesToScore": 50})
    (profile,) = offered(document, "v1.20")["profiles"]
    assert profile["plugins"]["score"] == {
        "disabled": [{"name": LEAST}],
        "enabled": [{"name": MOST, "weight": 1}],
    }
    assert profile["pluginConfig"] == [{"name": MOST, "args": {"resources": [{"name": "cpu"}]}}]
    fit = taken(document, "v1.20").profiles[0].arguments["NodeResourcesFit"]
    assert fit["scoringStrategy"] == {"type": "MostAllocated", "resources": [{"name": "cpu"}]}


def test_a_weight_replaces_the_default_of_v1beta1() -> None:
    score = {"enabled": [{"name": "NodeResourcesFit", "weight": 9}]}
    scores = taken(told("v1beta3", {"plugins": {"score": score}}), "v1.20").profiles[0].scores
    assert dict(scores)["NodeResourcesFit"] == 9


def test_a_disabled_score_stays_disabled() -> None:
    score = {"disabled": [{"name": LEAST}, {"name": "NodePreferAvoidPods"}]}
    scores = taken(told("v1beta2", {"plugins": {"score": score}}), "v1.34").profiles[0].scores
    assert "NodeResourcesFit" not in dict(scores)
    assert "TaintToleration" in dict(scores)


def test_what_v1_dropped_is_gone() -> None:
    election = {"resourceLock": "endpointsleases", "leaderElect": True}
    document = told(
        "v1beta1", healthzBindAddress="0.0.0.0:10251", leaderElection=election, extenders=None
    )
    new = offered(document, "v1.34")
    assert "healthzBindAddress" not in new
    assert "extenders" not in new
    assert new["leaderElection"] == {"resourceLock": "leases", "leaderElect": True}


def test_the_one_scheduler_becomes_a_profile() -> None:
    document = told(
        "v1alpha1",
        schedulerName="mine",
        algorithmSource={"provider": "ClusterAutoscalerProvider"},
        hardPodAffinitySymmetricWeight=7,
        disablePreemption=True,
        bindTimeoutSeconds=20,
    )
    for version in ("v1.34", "v1.20"):
        profile = taken(document, version).profiles[0]
        assert profile.name == "mine"
        assert not profile.preempts
        assert profile.arguments["NodeResourcesFit"]["scoringStrategy"]["type"] == "MostAllocated"
        assert profile.arguments["InterPodAffinity"]["hardPodAffinityWeight"] == 7
        assert profile.bind_timeout == 20 * 10**9


def test_a_named_profile_becomes_one_scheduler() -> None:
    document = told("v1", {"schedulerName": "mine"}, percentageOfNodesToScore=40)
    assert taken(document, "v1.16").profiles[0].name == "mine"
    assert "cannot be written" in refusal(told("v1", {"plugins": PACKING}), "v1.16")


def test_a_policy_is_not_offered_as_v1() -> None:
    problem = refusal({"apiVersion": "v1", "kind": "Policy"}, "v1.34")
    assert problem.startswith(
        "Policy was served by Kubernetes 1.2 to 1.22; the scheduler's profile"
    )
    assert "cannot be written" in problem
    inline = told("v1alpha1", algorithmSource={"policy": {}})
    assert "cannot be written" in refusal(inline, "v1.34")


def test_what_stays_wrong_is_named() -> None:
    gone = {"filter": {"enabled": [{"name": "ServiceAffinity"}]}}
    problem = refusal(told("v1beta1", {"plugins": gone}), "v1.36")
    assert "As v1 it would be refused, too: profiles[0].plugins.filter.enabled[0].name" in problem
    both = {"score": {"enabled": [{"name": MOST}]}}
    assert "would be refused, too" in refusal(told("v1beta1", {"plugins": both}), "v1.36")
    broken = told("v1beta1", {"plugins": {"score": {"enabled": 3}}})
    assert "cannot be converted: profiles[0].plugins.score.enabled" in refusal(broken, "v1.36")


def test_a_very_long_configuration_is_not_shown() -> None:
    profiles = [{"schedulerName": f"scheduler-{place}"} for place in range(500)]
    assert "too long to be shown" in refusal(told("v1beta3", *profiles), "v1.34")


def test_an_upload_is_offered_the_right_version() -> None:
    report = check_setup({}, told("v1beta2", {"plugins": PACKING}))
    (fault,) = report.faults
    assert fault.path == "apiVersion"
    assert "type: MostAllocated" in fault.message
