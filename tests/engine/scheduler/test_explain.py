"""What people are told about a decision."""

import json
from typing import Any

import numpy as np
import pytest

from engine.cluster.cluster import Cluster
from engine.framework.handle import Handle
from engine.framework.messages import sentence_of
from engine.framework.pods.pod_info import PodInfo
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.explain import blocker, evidence, rejecting_plugins, summary
from tests.builders import node, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod


def _cluster(*nodes: Any) -> SchedulingAlgorithm:
    algorithm = SchedulingAlgorithm(PROFILES["v1.34"], Handle())
    for each in nodes:
        algorithm.table.add_node(each)
    return algorithm


def _schedule(algorithm: SchedulingAlgorithm, **fields: Any) -> ScheduleResult:
    info = PodInfo(make_pod("p", **fields), algorithm.profile.resource_rules)
    return algorithm.schedule(info)


def test_the_closest_node_is_named_with_its_shortage() -> None:
    algorithm = _cluster(make_node("far", cpu="1"), make_node("near", cpu="1800m"))
    told = blocker(_schedule(algorithm, cpu="2"), algorithm, 3)
    assert told is not None
    assert told["sentence"] == "Fits none of 2 nodes; closest is near, cpu 200m short."
    assert told["short"] == "cpu 200m short on near"
    assert (told["value"], told["unit"], told["attempt"]) == (200, "cpu", 3)


def test_a_fix_that_is_offered_really_fits() -> None:
    algorithm = _cluster(make_node("near", cpu="1800m"))
    decision = _schedule(algorithm, cpu="2")
    told = blocker(decision, algorithm, 1)
    assert told is not None
    fix = told["fixes"][0]
    assert fix["text"] == "Ask for 1800m cpu instead of 2 and it fits near now."
    mended = PodInfo(decision.pod.pod.patched(fix["patch"]), decision.pod.rules)
    assert algorithm.schedule(mended).node == "near"


def test_a_missing_label_does_not_hide_a_shortage() -> None:
    """v1.16 tells both in one predicate; the label that was found is None then."""
    algorithm = SchedulingAlgorithm(PROFILES["v1.16"], Handle())
    algorithm.table.add_node(make_node("n", cpu="1"))
    told = blocker(_schedule(algorithm, cpu="2", spec={"nodeSelector": {"a": "b"}}), algorithm, 1)
    assert told is not None
    assert told["fixes"] == []


def test_no_fix_is_offered_for_two_obstacles() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    algorithm = _cluster(make_node("n", cpu="1", taints=taints))
    told = blocker(_schedule(algorithm, cpu="2"), algorithm, 1)
    assert told is not None
    assert told["fixes"] == []


def test_a_toleration_is_offered_for_a_taint() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    algorithm = _cluster(make_node("n", taints=taints))
    decision = _schedule(algorithm)
    told = blocker(decision, algorithm, 1)
    assert told is not None
    assert told["short"] == "untolerated taint gpu=yes:NoSchedule"
    mended = PodInfo(decision.pod.pod.patched(told["fixes"][0]["patch"]), decision.pod.rules)
    assert algorithm.schedule(mended).node == "n"


def test_a_preemptor_waits_for_its_victims() -> None:
    algorithm = _cluster(make_node("n", cpu="1"))
    old = PodInfo(make_pod("old", node="n", cpu="1"), algorithm.profile.resource_rules)
    algorithm.table.add_pod(0, old)
    decision = _schedule(algorithm, cpu="1", priority=5)
    algorithm.preempt(decision)
    told = blocker(decision, algorithm, 1)
    assert told is not None
    assert told["sentence"] == "Waits for old to leave n."


def test_evidence_holds_the_matrix_past_the_first_refusal() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    algorithm = _cluster(make_node("n", cpu="1", taints=taints), make_node("ok"))
    decision = _schedule(algorithm, cpu="2")
    told = json.loads(json.dumps(evidence(decision, algorithm, 2, 7), default=dict))
    verdict = told["verdicts"]["n"]
    assert verdict["plugin"] == "TaintToleration"
    assert verdict["failing"] == ["TaintToleration", "NodeResourcesFit"]
    assert told["scores"]["ok"]["plugins"]["TaintToleration"] == [0, 100, 300]
    assert (told["number"], told["cycle"], told["node"]) == (2, 7, "ok")
    assert told["not_evaluated"] == []


def test_every_filter_that_refuses_shows_its_numbers() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    algorithm = _cluster(make_node("n", cpu="1", taints=taints))
    told = evidence(_schedule(algorithm, cpu="1500m"), algorithm, 1, 1)
    room = told["verdicts"]["n"]["also"]["NodeResourcesFit"]
    assert (room["text"], room["short"], room["reasons"]) == (
        "cpu 500m short",
        500,
        ["Insufficient cpu"],
    )
    assert told["filters"].index("TaintToleration") < told["filters"].index("NodeResourcesFit")


def test_scores_show_weights_and_skipped_plugins() -> None:
    algorithm = _cluster(make_node("a"), make_node("b"))
    told = evidence(_schedule(algorithm), algorithm, 1, 1)
    assert told["weights"]["TaintToleration"] == 3
    assert "PodTopologySpread" in told["not_scored"]
    assert set(told["weights"]).isdisjoint(told["not_scored"])


def test_each_candidate_shows_its_cost_at_every_rung() -> None:
    algorithm = _cluster(make_node("n", cpu="2"))
    for name, priority in (("low", 1), ("high", 3)):
        pod = make_pod(name, node="n", cpu="1", priority=priority)
        algorithm.table.add_pod(0, PodInfo(pod, algorithm.profile.resource_rules))
    decision = _schedule(algorithm, cpu="2", priority=5)
    algorithm.preempt(decision)
    told = evidence(decision, algorithm, 1, 1)["preemption"]
    assert told["candidates"]["n"]["costs"] == {
        "fewest PDB violations": 0,
        "lowest highest priority": 3,
        "smallest priority sum": 2 * 2**31 + 4,
        "fewest victims": 2,
        "latest start time": None,
    }


def test_nodes_that_were_not_looked_at_are_listed() -> None:
    algorithm = _cluster(*(make_node(f"n{number:03d}") for number in range(150)))
    told = evidence(_schedule(algorithm), algorithm, 1, 1)
    assert (told["evaluated"], len(told["not_evaluated"])) == (100, 50)


def test_rejecting_plugins_are_those_that_refused_some_node() -> None:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    algorithm = _cluster(make_node("a", cpu="1"), make_node("b", taints=taints))
    decision = _schedule(algorithm, cpu="2")
    assert sorted(rejecting_plugins(decision)) == ["NodeResourcesFit", "TaintToleration"]


def test_summary_counts_the_tied_nodes() -> None:
    algorithm = _cluster(make_node("a"), make_node("b"))
    told = summary(_schedule(algorithm))
    assert told["tied"] == 2
    assert isinstance(told["score"], int)


@pytest.mark.parametrize(
    ("profile", "tie_break", "way"),
    [("v1.36", "random", "random"), ("v1.36", "name", "name"), ("v1.11", "random", "turn")],
)
def test_evidence_says_how_one_of_equals_is_chosen(profile: str, tie_break: str, way: str) -> None:
    both = scene(node("a"), node("b"), pod("p"))
    cluster = played(Cluster.create(both, profile=profile, tie_break=tie_break))
    [attempt] = cluster.take().attempts
    assert attempt.evidence is not None
    assert (attempt.evidence["tied"], attempt.evidence["tie_break"]) == (["a", "b"], way)


def test_results_are_plain_numbers_and_texts() -> None:
    algorithm = _cluster(make_node("a", cpu="1"))
    told = evidence(_schedule(algorithm, cpu="2"), algorithm, 1, 1)
    assert not any(isinstance(value, np.generic) for value in told.values())
    json.dumps(told)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            'persistentvolumeclaim "data" not found',
            'PersistentVolumeClaim "data" not found.',
        ),
        (
            "pod has unbound immediate PersistentVolumeClaims. preemption: none",
            "Pod has unbound immediate PersistentVolumeClaims. preemption: none.",
        ),
        ("node(s) had taints", "Node(s) had taints."),
        ("no nodes available to schedule pods", "No nodes available to schedule pods."),
        (
            'storageclass.storage.k8s.io "fast" not found',
            'storageclass.storage.k8s.io "fast" not found.',
        ),
        ("web-3 is gone!", "web-3 is gone!"),
        ('"x" is not a plugin.', '"x" is not a plugin.'),
        ("0/2 nodes are available", "0/2 nodes are available."),
    ],
)
def test_sentence_starts_with_a_capital_like_its_word(text: str, sentence: str) -> None:
    assert sentence_of(text) == sentence
