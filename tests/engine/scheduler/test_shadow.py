"""Shadow decisions: what this scheduler says of what a client decides in its place."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.inquiry import diagnose
from engine.input.budget import Budget
from engine.input.reading import ConfigurationError
from engine.kernel.recorder import Event
from engine.kernel.units import MINUTE, SECOND
from engine.scheduler.cycle import state
from tests.builders import claim, node, node_of, pod, scene, storage_class

EXTERNAL = ({"name": "default-scheduler", "external": True},)


def outside(*objects: Any, **settings: Any) -> Cluster:
    """A cluster whose pods a client schedules, after one second."""
    cluster = Cluster.create(scene(*objects, schedulers=EXTERNAL), **settings)
    cluster.advance(SECOND)
    return cluster


def bind(cluster: Cluster, name: str, node: str) -> None:
    command = Command(verb="bind", object=f"pod/default/{name}", node=node)
    assert cluster.apply(command).applied


def refuse(cluster: Cluster, name: str, message: str, nominated: str = "") -> None:
    """What kube-scheduler writes of a pod that fits nowhere."""
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": message,
    }
    status: dict[str, Any] = {"conditions": [condition]}
    if nominated:
        status["nominatedNodeName"] = nominated
    change(cluster, f"pod/default/{name}", {"status": status})


def change(cluster: Cluster, name: str, patch: dict[str, Any]) -> None:
    assert cluster.apply(Command(verb="patch", object=name, patch=patch)).applied


def decisions(cluster: Cluster) -> list[Event]:
    return [one for one in cluster.untaken if one.kind == "ShadowDecision"]


def verdicts(cluster: Cluster) -> list[str]:
    return [(one.data or {})["verdict"] for one in decisions(cluster)]


def test_nobody_schedules_the_pods_of_an_external_scheduler() -> None:
    cluster = outside(node("a"), pod("p"))
    assert node_of(cluster, "p") == ""
    assert not any(one.kind in ("PodQueued", "AttemptStarted") for one in cluster.untaken)


def test_the_best_node_agrees() -> None:
    cluster = outside(node("a", cpu="4"), node("b", cpu="8"), pod("p"))
    bind(cluster, "p", "b")
    assert verdicts(cluster) == ["agrees"]
    assert "b has the best score" in decisions(cluster)[0].message
    cluster.take()
    assert cluster.view()["pod/default/p"]["shadow"] == "agrees"


def test_differing_decision_may_come_from_an_extender() -> None:
    extender = {"urlPrefix": "http://127.0.0.1:9", "prioritizeVerb": "p", "weight": 1}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }
    scheduler = {**EXTERNAL[0], "configuration": configuration}
    nodes = [node("a", cpu="4"), node("b", cpu="8")]
    cluster = Cluster.create(scene(*nodes, pod("p"), pod("q"), schedulers=(scheduler,)))
    cluster.advance(SECOND)
    bind(cluster, "p", "a")
    bind(cluster, "q", "b")
    differs, agrees = decisions(cluster)
    assert differs.message.endswith("Its extenders, which have a say in it, are not asked here.")
    assert agrees.message.startswith("b has the best score")
    assert "extenders" not in agrees.message


def test_one_of_several_best_nodes_is_tied() -> None:
    cluster = outside(node("a"), node("b"), pod("p"))
    bind(cluster, "p", "b")
    [decided] = decisions(cluster)
    assert decided.data is not None
    assert (decided.data["verdict"], decided.data["best"]) == ("tied", ["a", "b"])


def test_a_node_with_a_lower_score_differs() -> None:
    cluster = outside(node("a", cpu="4"), node("b", cpu="8"), pod("p"))
    bind(cluster, "p", "a")
    [decided] = decisions(cluster)
    data = decided.data or {}
    assert (data["verdict"], data["node"], data["chosen"]) == ("differs", "a", "b")
    assert data["score"] > data["score_of_node"]


@pytest.mark.parametrize("eager_nodes", [0, 200])
def test_a_node_that_does_not_fit_says_why(
    eager_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "EAGER_EVIDENCE_NODES", eager_nodes)
    cluster = outside(node("a", cpu="1"), node("b", cpu="8"), pod("p", cpu="2"))
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["differs"]
    assert decisions(cluster)[0].message == "b fits; a does not: cpu 1 short."


def test_bindings_of_one_instant_count_for_each_other() -> None:
    cluster = outside(node("a", cpu="1"), node("b", cpu="1"), pod("p", cpu="1"), pod("q", cpu="1"))
    bind(cluster, "p", "a")
    bind(cluster, "q", "b")
    assert verdicts(cluster) == ["tied", "agrees"]
    cluster.advance(10 * SECOND)
    cluster.take()
    assert cluster.view()["node/a"]["requested"]["cpu"] == 1000


def test_node_right_a_moment_ago_is_stale() -> None:
    cluster = outside(node("a", cpu="3"), node("b", cpu="2"), pod("p", cpu="2"), pod("q", cpu="1"))
    bind(cluster, "p", "a")
    # Without p on it, a has more left than b.
    bind(cluster, "q", "a")
    assert verdicts(cluster) == ["agrees", "stale"]
    assert decisions(cluster)[1].message == "a was right before default/p had a node."


def test_node_right_after_the_next_binding_is_stale() -> None:
    cluster = outside(node("a", cpu="3"), node("b", cpu="2"), pod("p", cpu="2"), pod("q", cpu="1"))
    # Decided after p, and told before it.
    bind(cluster, "q", "b")
    first = decisions(cluster)[0]
    bind(cluster, "p", "a")
    cluster.advance(10 * SECOND)
    assert verdicts(cluster) == ["differs", "agrees", "stale"]
    assert (decisions(cluster)[2].data or {})["instead_of"] == first.seq


def test_overtaking_bindings_are_taken_in_queue_order() -> None:
    nodes = [node(name, cpu=str(cpu)) for name, cpu in zip("abcd", (5, 4, 3, 2), strict=True)]
    pods = [pod(name, cpu=cpu) for name, cpu in zip("pqrs", ("3", "2", "1", "1"), strict=True)]
    cluster = outside(*nodes, *pods)
    # Decided as p, q, r, s.
    for name, chosen in (("s", "b"), ("r", "c"), ("q", "b"), ("p", "a")):
        bind(cluster, name, chosen)
    first = [one.seq for one in decisions(cluster)[:3]]
    assert verdicts(cluster) == ["differs", "differs", "differs", "agrees", "stale", "stale"]
    explained = [(one.data or {}).get("instead_of") for one in decisions(cluster)[4:]]
    # On b, s is no better than before, whatever the order.
    assert explained == [first[1], first[2]]
    assert decisions(cluster)[5].message == "b is right if default/p came before it."


def test_pod_tried_again_may_have_come_before() -> None:
    nodes = [node("a", cpu="3"), node("b", cpu="2")]
    cluster = outside(*nodes, pod("p", cpu="2"), pod("q", cpu="1"))
    refuse(cluster, "p", "0/2 nodes are available: 2 Insufficient cpu.")
    bind(cluster, "q", "b")
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["differs", "differs", "agrees", "stale"]
    assert decisions(cluster)[-1].message == "b is right if default/p came before it."


def test_pod_without_place_delays_no_other_in_order() -> None:
    cluster = outside(
        node("a", cpu="3"),
        node("b", cpu="2"),
        pod("huge", cpu="9"),
        pod("p", cpu="2"),
        pod("q", cpu="1"),
    )
    refuse(cluster, "huge", "0/2 nodes are available: 2 Insufficient cpu.")
    bind(cluster, "q", "b")
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["agrees", "differs", "agrees", "stale"]


def choose(cluster: Cluster, claim: str, node: str) -> None:
    """What kube-scheduler writes before a volume is provisioned."""
    annotations = {"volume.kubernetes.io/selected-node": node}
    change(cluster, f"claim/default/{claim}", {"metadata": {"annotations": annotations}})


def late_claims(*names: str) -> list[Any]:
    return [storage_class("late", "csi.example.com"), *(claim(name, "late") for name in names)]


def test_pod_counts_on_the_node_of_its_volume() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="3")]
    pods = [pod("p", cpu="2", claims=["data"]), pod("q", cpu="1")]
    cluster = outside(*nodes, *late_claims("data"), *pods)
    choose(cluster, "data", "a")
    assert verdicts(cluster) == ["agrees"]
    bind(cluster, "q", "b")
    # Its binding, which comes later, is no second decision.
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["agrees", "agrees"]
    cluster.advance(10 * SECOND)
    cluster.take()
    assert cluster.view()["node/a"]["requested"]["cpu"] == 2000


def nominate(cluster: Cluster, name: str, node: str) -> None:
    """What kube-scheduler writes since v1.35 before it binds what a pod needs."""
    change(cluster, f"pod/default/{name}", {"status": {"nominatedNodeName": node}})


def test_pod_counts_once_on_its_future_node() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="3")]
    pods = [pod("p", cpu="2", claims=["data"]), pod("q", cpu="1"), pod("r", cpu="2")]
    cluster = outside(*nodes, *late_claims("data"), *pods)
    nominate(cluster, "p", "a")
    choose(cluster, "data", "a")
    cluster.advance(SECOND)
    assert verdicts(cluster) == ["agrees"]
    bind(cluster, "q", "b")
    bind(cluster, "r", "a")
    bind(cluster, "p", "a")
    cluster.advance(10 * SECOND)
    assert verdicts(cluster) == ["agrees", "agrees", "agrees"]
    cluster.take()
    assert cluster.view()["node/a"]["requested"]["cpu"] == 4000


def test_unbound_pod_keeps_its_node_free_on_failure() -> None:
    cluster = outside(node("a", cpu="2"), node("b", cpu="1"), pod("p", cpu="2"), pod("q", cpu="1"))
    nominate(cluster, "p", "a")
    bind(cluster, "q", "b")
    assert verdicts(cluster) == ["agrees", "agrees"]
    refuse(cluster, "p", "0/2 nodes are available: 2 Insufficient cpu.", nominated="a")
    cluster.advance(SECOND)
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["agrees", "agrees", "differs", "agrees"]


def test_pod_failing_to_bind_its_volume_counts_nowhere() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="3")]
    pods = [pod("p", cpu="2", claims=["data"]), pod("q", cpu="1")]
    cluster = outside(*nodes, *late_claims("data"), *pods)
    choose(cluster, "data", "a")
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulerError"}
    status = {"conditions": [{**condition, "message": "binding volumes: timed out"}]}
    change(cluster, "pod/default/p", {"status": status})
    bind(cluster, "q", "a")
    assert verdicts(cluster) == ["agrees", "agrees"]


def test_best_node_of_a_sample_is_tied() -> None:
    # Of 150 nodes, 100 are looked at. All but the second are alike.
    nodes = [node(f"n{number:03}", cpu="8" if number == 1 else "4") for number in range(150)]
    cluster = outside(*nodes, pod("p"), pod("q"))
    bind(cluster, "p", "n120")
    [decided] = decisions(cluster)
    data = decided.data or {}
    assert (data["verdict"], data["chosen"], data["sampled"]) == ("tied", "n001", 100)
    assert decided.message == "n120 has the best score of 100 nodes in a row, as many as are tried."
    cluster.advance(MINUTE)
    bind(cluster, "q", "n120")
    assert verdicts(cluster) == ["tied", "differs"]


def test_the_same_refusal_agrees() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="2"))
    refuse(cluster, "p", "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes …")
    assert verdicts(cluster) == ["agrees"]


def test_a_refusal_for_another_reason_differs() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="2"))
    refuse(cluster, "p", "0/1 nodes are available: 1 Insufficient memory.")
    assert verdicts(cluster) == ["differs"]
    assert "for other reasons: 0/1 nodes are available" in decisions(cluster)[0].message


def test_a_refusal_of_a_pod_that_fits_differs() -> None:
    cluster = outside(node("a"), pod("p"))
    refuse(cluster, "p", "0/1 nodes are available: 1 Insufficient cpu.")
    assert verdicts(cluster) == ["differs"]
    assert decisions(cluster)[0].message == "The pod fits a."


def test_refusal_that_overtakes_earlier_bindings_is_stale() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="1"), pod("q", cpu="1"))
    refuse(cluster, "q", "0/1 nodes are available: 1 Insufficient cpu.")
    first = decisions(cluster)[0]
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["differs", "agrees", "stale"]
    explained = decisions(cluster)[2]
    assert (explained.data or {})["instead_of"] == first.seq
    assert explained.message == "The refusal is right if default/p came before it."


def test_refusal_before_news_of_a_deletion_is_stale() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="1"), pod("q", cpu="1"))
    bind(cluster, "p", "a")
    cluster.advance(10 * SECOND)
    delete = Command(verb="delete", object="pod/default/p", grace_seconds=0)
    assert cluster.apply(delete).applied
    cluster.advance(SECOND // 10)
    refuse(cluster, "q", "0/1 nodes are available: 1 Insufficient cpu.")
    assert verdicts(cluster) == ["agrees", "stale"]
    assert decisions(cluster)[1].message == "The refusal was right before default/p went."


def test_binding_before_news_of_a_node_is_stale() -> None:
    cluster = outside(node("a", cpu="8"), node("b", cpu="4"), pod("p"), pod("q"))
    change(cluster, "node/a", {"spec": {"unschedulable": True}})
    cluster.advance(cluster.now + SECOND)
    bind(cluster, "p", "a")
    cluster.advance(10 * SECOND)
    bind(cluster, "q", "a")
    assert verdicts(cluster) == ["stale", "differs"]
    assert decisions(cluster)[0].message.startswith("Node a changed ")


def test_node_changed_as_a_pod_left_is_stale() -> None:
    nodes = [node("a", cpu="4"), node("b", cpu="16"), node("c", cpu="8")]
    cluster = outside(*nodes, pod("x", cpu="14"), pod("p"))
    bind(cluster, "x", "b")
    change(cluster, "node/c", {"spec": {"unschedulable": True}})
    cluster.advance(cluster.now + 10 * SECOND)
    change(cluster, "node/c", {"spec": {"unschedulable": None}})
    delete = Command(verb="delete", object="pod/default/x", grace_seconds=0)
    assert cluster.apply(delete).applied
    cluster.advance(cluster.now + SECOND // 10)
    # The client saw neither: with x on it, b has less left than c.
    bind(cluster, "p", "a")
    assert verdicts(cluster) == ["agrees", "stale"]
    assert decisions(cluster)[1].message.startswith("default/x went just before. Node c changed ")


def test_refusal_before_news_of_a_node_is_stale() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="2"), pod("q", cpu="2"))
    change(cluster, "node/a", {"spec": {"unschedulable": True}})
    cluster.advance(cluster.now + SECOND // 10)
    refuse(cluster, "p", "0/1 nodes are available: 1 Insufficient cpu.")
    cluster.advance(cluster.now + 10 * SECOND)
    refuse(cluster, "q", "0/1 nodes are available: 1 Insufficient cpu.")
    assert verdicts(cluster) == ["stale", "differs"]


def test_bindings_in_another_order_are_stale() -> None:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "q"}}}
    near = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    nodes = [node(name, labels={"kubernetes.io/hostname": name}) for name in "ab"]
    cluster = outside(*nodes, pod("p", affinity=near), pod("q", labels={"app": "q"}))
    # Decided as q, p, although p came first to the queue: it had waited for something else.
    bind(cluster, "p", "a")
    first = decisions(cluster)[0]
    bind(cluster, "q", "a")
    cluster.advance(cluster.now + 5 * SECOND)
    assert [verdicts(cluster)[0], verdicts(cluster)[-1]] == ["differs", "stale"]
    explained = decisions(cluster)[-1]
    assert (explained.data or {})["instead_of"] == first.seq
    assert explained.message == "a is right if default/q came before it."


def test_refusal_before_news_of_a_claim_is_stale() -> None:
    cluster = outside(node("a"), *late_claims(), pod("p", claims=["data"]))
    command = Command(verb="create", manifest=claim("data", "late"))
    assert cluster.apply(command).applied
    message = 'persistentvolumeclaim "data" not found'
    refuse(cluster, "p", f"0/1 nodes are available: {message}. not found")
    assert verdicts(cluster) == ["stale"]


def test_bindings_in_the_order_of_clients_are_stale() -> None:
    nodes = [node(name, cpu=str(cpu)) for name, cpu in zip("ab", (5, 4), strict=True)]
    pods = [pod(name, cpu=cpu) for name, cpu in zip("pqr", ("1", "2", "3"), strict=True)]
    cluster = outside(*nodes, *pods)
    # Decided as r, q, p by a client that was started again, and told in another order.
    for name, chosen in (("q", "b"), ("r", "a"), ("p", "a")):
        bind(cluster, name, chosen)
    cluster.advance(5 * SECOND)
    assert verdicts(cluster)[0] == "differs"
    explained = {(one.data or {}).get("instead_of") for one in decisions(cluster)}
    assert decisions(cluster)[0].seq in explained


def test_a_nominated_node_is_kept_free() -> None:
    cluster = outside(node("a", cpu="2"), node("b", cpu="1"), pod("p", cpu="2"), pod("q", cpu="1"))
    refuse(cluster, "p", "0/2 nodes are available: 2 Insufficient cpu.", nominated="a")
    cluster.advance(2 * SECOND)
    bind(cluster, "q", "b")
    assert verdicts(cluster)[-1] == "agrees"


def test_every_shadow_decision_has_its_evidence() -> None:
    cluster = outside(node("a", cpu="4"), node("b", cpu="8"), pod("p"))
    bind(cluster, "p", "a")
    [decided] = decisions(cluster)
    [attempt] = cluster.take().attempts
    assert (attempt.seq, attempt.node, attempt.number) == (decided.seq, "b", 1)
    assert attempt.evidence is not None
    assert attempt.evidence["scores"].keys() == {"a", "b"}


def test_the_run_is_held_open_until_its_duration() -> None:
    cluster = outside(node("a"), pod("p"))
    cluster.advance(5 * MINUTE)
    assert cluster.next_at is not None
    cluster.advance(cluster.horizon)
    assert cluster.next_at is None
    bind(cluster, "p", "a")
    assert cluster.next_at is not None


def test_pending_pod_is_explained_as_ours_would_be() -> None:
    cluster = outside(node("a", cpu="1"), pod("p", cpu="2"))
    cluster.take()
    found = diagnose(cluster, "default/p")
    assert "cpu" in found.sentence
    assert found.fixes
    assert node_of(cluster, "p") == ""


def test_an_external_scheduler_has_no_replicas() -> None:
    entries = ({"name": "s", "external": True, "replicas": 2},)
    with pytest.raises(ConfigurationError, match="no replicas"):
        Cluster.create(scene(node("a"), schedulers=entries))


def test_a_checkpoint_goes_on_with_the_same_decisions() -> None:
    cluster = outside(node("a", cpu="3"), node("b", cpu="2"), pod("p", cpu="2"), pod("q", cpu="1"))
    bind(cluster, "q", "b")
    cluster.take()
    again = Cluster.restore(cluster.checkpoint())
    for each in (cluster, again):
        bind(each, "p", "a")
        each.advance(10 * SECOND)
        each.take()
    assert again.digest() == cluster.digest()


def test_open_run_does_not_end_before_its_time() -> None:
    cluster = Cluster.create(scene(node("a"), pod("p"), schedulers=EXTERNAL, until=1 << 61))
    cluster.limit(Budget())
    cluster.advance(MINUTE)
    assert cluster.budget_stop is None
