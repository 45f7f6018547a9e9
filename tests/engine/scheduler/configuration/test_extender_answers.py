"""Answers of extenders that are large, or not what was asked for."""

from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.why import explain_object
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.extenders import Extender, ExtenderCalls, ExtenderSettings
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from tests.builders import Manifest, node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod


class Said:
    """An extender that always says the same."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        """See ExtenderTransport."""
        SAID.append(orjson.loads(body))
        return self.answer


# What it was asked.
SAID: list[Manifest] = []


def _algorithm(version: str, answer: Any, **settings: Any) -> SchedulingAlgorithm:
    calls = ExtenderCalls()
    calls.transport = Said(orjson.dumps(answer))
    extender = Extender(ExtenderSettings(url_prefix="http://h", **settings), calls)
    return SchedulingAlgorithm(PROFILES[version], Handle(), extenders=[extender])


def cluster_of(answer: Any, *objects: Manifest, **fields: Any) -> Cluster:
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [{"urlPrefix": "http://h", **fields}],
    }
    cluster = Cluster.create(scene(*objects, configuration=configuration), tie_break="name")
    text = answer if isinstance(answer, bytes) else orjson.dumps(answer)
    cluster.extender_calls.transport = Said(text)
    return cluster


def message(cluster: Cluster) -> str:
    return cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]


def test_extender_answers_are_recorded_with_node_names_only() -> None:
    items = [{**node("b"), "status": {"images": [{"names": ["x" * 100]}] * 50}}]
    told = {"nodes": {"kind": "NodeList", "items": items}, "failedNodes": {"a": "no"}}
    cluster = played(cluster_of(told, node("a"), node("b"), pod("p"), filterVerb="filter"), 5)
    assert node_of(cluster, "p") == "b"
    called = next(one for one in cluster.take().events if one.kind == "ExtenderCalled")
    assert called.data is not None
    assert orjson.loads(called.data["answer"]) == {
        "nodes": {"items": [{"metadata": {"name": "b"}}]},
        "failedNodes": {"a": "no"},
    }


@pytest.mark.parametrize(
    "answer",
    [
        b"not JSON",
        [],
        {"nodes": {"items": [{}]}},
        {"nodes": {"items": ["a"]}},
        {"nodes": {"items": 7}},
        {"nodes": [], "nodeNames": 7},
        b'{"error": "a\\u0000b"}',
    ],
)
def test_an_unreadable_answer_fails_only_the_attempt(answer: Any) -> None:
    fields = {"filterVerb": "filter", "nodeCacheCapable": True}
    cluster = played(cluster_of(answer, node("a"), pod("p"), **fields), 5)
    assert node_of(cluster, "p") == ""
    assert "http://h" in message(cluster)


@pytest.mark.parametrize(
    "victims",
    [7, {"a": 7}, {"a": {"pods": 7}}, {"a": {"pods": [], "numPDBViolations": "many"}}],
)
def test_victims_that_cannot_be_read_are_no_victims(victims: Any) -> None:
    objects = (node("a", cpu="1"), pod("there", nodeName="a"), pod("p", priority=10))
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    cluster = played(cluster_of({"nodeNameToMetaVictims": victims}, *objects, **fields), 5)
    assert cluster.store.find("Pod", "default/there") is not None
    assert node_of(cluster, "p") == ""


@pytest.mark.parametrize(
    ("told", "weighted"),
    [
        ([{"host": "b", "score": 2}, {"host": "b", "score": 3}], 50),
        ([{"host": "b", "score": 2.5}], None),
        ([{"host": "b", "score": "3"}], None),
        ([{"host": "b", "score": True}], None),
    ],
)
def test_scores_of_a_node_add_up_as_integers(told: Any, weighted: int | None) -> None:
    fields = {"prioritizeVerb": "prioritize", "weight": 1}
    cluster = played(cluster_of(told, node("a"), node("b"), pod("p"), **fields), 5)
    evidence = cluster.take().attempts[0].evidence
    assert evidence is not None
    score = evidence["scores"]["b"]["plugins"].get("http://h")
    assert (score and score[-1]) == weighted


CANDIDATES = (
    node("a", cpu="1"),
    node("b", cpu="1"),
    pod("on-a", nodeName="a"),
    pod("on-b", nodeName="b", priority=10),
    pod("p", priority=10),
)
UNFIT = "0/2 nodes are available: 2 Insufficient cpu."


@pytest.mark.parametrize(
    ("victims", "text"),
    [
        ({}, "no new claims to deallocate, preemption: no candidate node for preemption"),
        # An error ends the round of the post-filters, whatever was said before.
        ({"a": {"pods": []}}, 'preemption: expected at least one victim pod on node "a"'),
        ({"x": {"pods": []}}, 'preemption: nodeinfo not found for node name "x"'),
        (
            {"a": {"pods": [{"uid": "y"}]}},
            "preemption: extender: http://h claims to preempt pod (UID: &{y}) on node: a, but the "
            "pod is not found on that node",
        ),
    ],
)
def test_extender_errors_about_victims_are_upstreams(victims: Any, text: str) -> None:
    """Upstream: preemption.go Preempt(), callExtenders(); extender.go convertPodUIDToPod()."""
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    cluster = cluster_of({"nodeNameToMetaVictims": victims}, *CANDIDATES, **fields)
    assert message(played(cluster, 5)) == f"{UNFIT} {text}"


def test_extender_may_name_a_node_beyond_the_candidates() -> None:
    objects = [{**one, "metadata": {**one["metadata"], "uid": "u"}} for one in CANDIDATES[3:4]]
    told = {"b": {"pods": [{"uid": "u"}], "numPDBViolations": 0}}
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    cluster = cluster_of(
        {"nodeNameToMetaVictims": told}, *CANDIDATES[:3], *objects, CANDIDATES[4], **fields
    )
    assert node_of(played(cluster, 60), "p") == "b"


def test_a_dry_run_without_victims_is_an_error() -> None:
    """Upstream: preemption.go DryRunPreemption()."""
    told = {"nodeNames": [], "failedNodes": {"a": "no licence"}}
    objects = (node("a"), pod("low", nodeName="a"), pod("p", priority=10))
    cluster = cluster_of(told, *objects, filterVerb="filter", nodeCacheCapable=True)
    assert message(played(cluster, 5)) == (
        "0/1 nodes are available: 1 no licence. "
        'preemption: expected at least one victim pod on node "a"'
    )


def _hopes(version: str, answer: Any, *objects: Manifest, **extender: Any) -> str:
    """The node that pod p is nominated to."""
    extenders = [{"urlPrefix": "http://h", **extender}]
    configuration: Manifest = {"apiVersion": "v1", "kind": "Policy", "extenders": extenders}
    if version == "v1.34":
        configuration |= {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }
    told = scene(*objects, configuration=configuration)
    cluster = Cluster.create(told, profile=version, tie_break="name")
    cluster.extender_calls.transport = Said(orjson.dumps(answer))
    status = played(cluster, 1).store.get("Pod", "default/p").status
    return status.get("nominatedNodeName") or ""


@pytest.mark.parametrize(("version", "hopes"), [("v1.16", "a"), ("v1.34", "")])
def test_a_node_without_a_reason_is_unresolvable(version: str, hopes: str) -> None:
    nobody = {"nodes": {"items": []}}
    assert _hopes(version, nobody, node("a"), pod("p"), filterVerb="filter") == hopes


@pytest.mark.parametrize(("version", "hopes"), [("v1.16", "a"), ("v1.34", "b")])
def test_v1_16_drops_the_extenders_number_of_violations(version: str, hopes: str) -> None:
    objects = [node("a", cpu="1"), node("b", cpu="1"), pod("p", priority=10)]
    for name in ("a", "b"):
        there = pod(f"there-{name}", nodeName=name)
        objects.append({**there, "metadata": {**there["metadata"], "uid": name}})
    victims = {
        name: {"pods": [{"uid": name}], "numPDBViolations": count}
        for name, count in (("a", 1), ("b", 0))
    }
    answer = {"nodeNameToMetaVictims": victims}
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    assert _hopes(version, answer, *objects, **fields) == hopes


@pytest.mark.parametrize(
    ("version", "text"),
    [("v1.16", "0/1 nodes are available: ."), ("v1.20", "0/1 nodes are available: .")],
)
def test_old_versions_print_an_empty_list_of_reasons(version: str, text: str) -> None:
    """Upstream: FitError.Error()."""
    algorithm = _algorithm(version, {"nodes": {"items": []}}, filter_verb="f")
    algorithm.table.add_node(make_node("n"))
    rules = algorithm.profile.resource_rules
    assert algorithm.schedule(PodInfo(make_pod("p"), rules)).message == text


@pytest.mark.parametrize(("version", "hopes"), [("v1.16", True), ("v1.20", True), ("v1.34", False)])
def test_evictions_may_help_unseen_nodes_in_old_versions(version: str, hopes: bool) -> None:
    """Upstream: nodesWherePreemptionMightHelp(), where an extender refused all that was found."""
    nobody = {"nodes": {"items": []}, "failedNodes": {"n000": "no"}}
    algorithm = _algorithm(version, nobody, filter_verb="f")
    for number in range(120):
        algorithm.table.add_node(make_node(f"n{number:03d}", cpu="1"))
    rules = algorithm.profile.resource_rules
    row = algorithm.table.rows["n119"]
    algorithm.table.add_pod(row, PodInfo(make_pod("low", node="n119", cpu="1"), rules))
    result = algorithm.schedule(PodInfo(make_pod("p", cpu="1", priority=9), rules))
    preemption = algorithm.preempt(result)
    assert result.evaluated < 120
    assert preemption is not None
    assert ("n119" in {one.node for one in preemption.candidates}) == hopes


@pytest.mark.parametrize(("version", "told"), [("v1.16", [0, 0]), ("v1.34", [1, 1])])
def test_v1_16_names_victims_without_their_broken_budgets(version: str, told: list[int]) -> None:
    """Upstream: v1.16 convertToNodeNameToMetaVictims()."""
    fields: dict[str, Any] = {"preempt_verb": "p", "node_cache_capable": True}
    algorithm = _algorithm(version, {}, **fields)
    budget = {"selector": {"matchLabels": {"app": "db"}}}
    metadata = {"name": "keep", "namespace": "default"}
    manifest = {"kind": "PodDisruptionBudget", "metadata": metadata, "spec": budget}
    algorithm.handle.listers.put(from_manifest({**manifest, "status": {"disruptionsAllowed": 0}}))
    rules = algorithm.profile.resource_rules
    for name in ("a", "b"):
        row = algorithm.table.add_node(make_node(name, cpu="1"))
        low = make_pod(f"on-{name}", node=name, cpu="1", labels={"app": "db"})
        algorithm.table.add_pod(row, PodInfo(low, rules))
    algorithm.preempt(algorithm.schedule(PodInfo(make_pod("p", cpu="1", priority=9), rules)))
    assert algorithm.extenders is not None
    said = SAID[-1]
    assert [one["NumPDBViolations"] for one in said["NodeNameToMetaVictims"].values()] == told


@pytest.mark.parametrize(
    ("version", "told", "node", "text"),
    [
        ("v1.16", "big", "big", ""),
        ("v1.16", "x", None, "nodeNameToInfo map"),
        ("v1.34", "big", None, "the input node list"),
    ],
)
def test_v1_16_lets_an_extender_bring_back_any_node(
    version: str, told: str, node: str | None, text: str
) -> None:
    """Upstream: v1.16 extender.go Filter(), which looks names up among all nodes."""
    settings: dict[str, Any] = {"filter_verb": "f", "node_cache_capable": True}
    algorithm = _algorithm(version, {"nodeNames": [told]}, **settings)
    algorithm.table.add_node(make_node("big", cpu="8", unschedulable=True))
    algorithm.table.add_node(make_node("small"))
    rules = algorithm.profile.resource_rules
    result = algorithm.schedule(PodInfo(make_pod("p"), rules))
    assert result.node == node
    assert text in result.message


@pytest.mark.parametrize(
    ("answer", "node", "text"),
    [
        ({"nodes": {"items": [{"metadata": {"name": "closed"}}]}}, "closed", ""),
        (
            {"nodes": {"items": []}, "failedNodes": {"closed": "too slow"}},
            None,
            "0/2 nodes are available: 1 too slow.",
        ),
    ],
)
def test_extenders_may_answer_for_other_nodes(answer: Any, node: str | None, text: str) -> None:
    """Upstream: extender.go Filter() looks up names only; findNodesThatPassExtenders()."""
    algorithm = _algorithm("v1.34", answer, filter_verb="filter")
    algorithm.table.add_node(make_node("closed", unschedulable=True))
    algorithm.table.add_node(make_node("open"))
    result = algorithm.schedule(PodInfo(make_pod("p"), algorithm.profile.resource_rules))
    assert (result.node, result.message) == (node, text)


def test_nodes_without_a_reason_count_as_not_evaluated() -> None:
    """It has no status of its own. Upstream: FitError.Error(), AbsentNodesStatus()."""
    answer = {"nodes": {"items": []}, "failedNodes": {"a": "too slow"}}
    algorithm = _algorithm("v1.34", answer, filter_verb="filter")
    for name in ("a", "b", "c"):
        algorithm.table.add_node(make_node(name))
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in ("a", "b")
    ]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    spec = {"affinity": {"nodeAffinity": required}}
    pod = PodInfo(make_pod("p", cpu="1", spec=spec), algorithm.profile.resource_rules)
    assert algorithm.schedule(pod).message == (
        "0/3 nodes are available: 1 too slow, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            {"nodeNames": [], "failedNodes": {"a": "no licence"}},
            "refused by an extender: no licence",
        ),
        ({"nodeNames": []}, "left out by an extender"),
    ],
)
def test_what_an_extender_refuses_is_explained_as_its(told: Any, text: str) -> None:
    fields = {"filterVerb": "filter", "nodeCacheCapable": True}
    cluster = played(cluster_of(told, node("a"), pod("p"), **fields), 5)
    attempt = cluster.take().attempts[0]
    assert attempt.evidence is not None
    verdict = attempt.evidence["verdicts"]["a"]
    assert (verdict["text"], verdict["detail"], verdict["failing"]) == (text, {}, ["Extender"])
    blocker = cluster.view()["pod/default/p"]["blocker"]
    assert blocker["sentence"] == f"Does not fit a, the only node looked at: {text}."
    found = explain_object(cluster, "Pod", "default/p")
    assert found.sentence == "An extender refused it at its last attempt; the filters pass a."
    assert found.causes[0].plugin == "Extender"


def test_changed_answer_of_an_extender_is_reported_anew() -> None:
    told = {"nodeNames": [], "failedNodes": {"a": "no licence"}}
    fields = {"filterVerb": "filter", "nodeCacheCapable": True}
    cluster = played(cluster_of(told, node("a"), pod("p"), **fields), 5)
    told["failedNodes"] = {"a": "wrong rack"}
    cluster.extender_calls.transport = Said(orjson.dumps(told))
    cluster.advance(400 * SECOND)
    cluster.take()
    assert "wrong rack" in cluster.view()["pod/default/p"]["blocker"]["sentence"]


def test_a_candidate_taken_out_is_on_the_ladder() -> None:
    objects = [{**one, "metadata": {**one["metadata"], "uid": "u"}} for one in CANDIDATES[2:3]]
    others = (*CANDIDATES[:2], pod("on-b", nodeName="b"), CANDIDATES[4])
    told = {"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "u"}], "numPDBViolations": 0}}}
    fields = {"preemptVerb": "preempt", "nodeCacheCapable": True}
    cluster = played(cluster_of(told, *objects, *others, **fields), 5)
    evidence = cluster.take().attempts[0].evidence
    assert evidence is not None
    preemption = evidence["preemption"]
    assert (preemption["node"], list(preemption["candidates"])) == ("a", ["a", "b"])
    assert preemption["rungs"][0] == {"rung": "extenders", "left": ["a"]}
