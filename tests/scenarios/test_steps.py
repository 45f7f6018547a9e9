"""What a step does to a running cluster, for the verbs that are more than a write."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario, Step
from engine.kernel.units import SECOND
from tests import builders
from tests.builders import budget, node
from tests.scenarios.played import Played

REFUSED = "TooManyRequests: Cannot evict pod as it would violate the pod's disruption budget."
NEEDS = " The disruption budget web needs {} healthy pods and has {} currently"


def pod(name: str, on: str = "n1", owner: str = "", **spec: Any) -> dict[str, Any]:
    made = builders.pod(name, cpu="", labels={"app": "web"}, nodeName=on, **spec)
    if owner:
        made["metadata"]["ownerReferences"] = [{"kind": owner, "name": "x", "uid": "u"}]
    return made


def play(objects: list[dict[str, Any]], *steps: tuple[int, str, str, int | None]) -> Played:
    return Played(
        Scenario(
            name="steps",
            objects=tuple(objects),
            steps=tuple(
                Step(at=at * SECOND, verb=verb, object=target, grace_seconds=grace)
                for at, verb, target, grace in steps
            ),
            until=60 * SECOND,
        )
    )


def refusals(played: Played) -> list[str]:
    return [event.message for event in played.events if event.kind == "CommandRejected"]


def test_eviction_without_a_budget_is_a_graceful_deletion() -> None:
    played = play([node("n1"), pod("a")], (5, "evict", "pod/default/a", None))
    assert played.story("PodTerminating", "PodDeleted") == [
        "5 PodTerminating pod/default/a",
        "6 PodDeleted pod/default/a",
    ]


def test_budget_allows_as_many_evictions_as_it_spares() -> None:
    objects = [node("n1"), *(pod(name) for name in "abc"), budget("web", minAvailable=2)]
    played = play(objects, *((5, "evict", f"pod/default/{name}", None) for name in "abc"))
    assert played.story("PodTerminating") == ["5 PodTerminating pod/default/a"]
    assert refusals(played) == [f"{REFUSED}{NEEDS.format(2, 3)}"] * 2


def test_eviction_by_labels_takes_the_first_pod_name() -> None:
    cluster = Cluster.create(Scenario(name="x", objects=(node("n1"), pod("b"), pod("a"))))
    cluster.advance(5 * SECOND)
    labels = cluster.store.get("Pod", "default/a").labels
    evict = Command(verb="evict", object="pod/default", labels=labels)
    assert cluster.apply(evict).applied
    assert cluster.store.get("Pod", "default/a").deletion_timestamp
    assert not cluster.store.get("Pod", "default/b").deletion_timestamp


def test_eviction_by_unknown_labels_is_refused() -> None:
    cluster = Cluster.create(Scenario(name="x", objects=(node("n1"), pod("a"))))
    evict = Command(verb="evict", object="pod/default", labels={"app": "db"})
    assert cluster.apply(evict).reason == (
        "NotFound: no pod in namespace default has the labels app=db"
    )


def test_eviction_is_noted_in_the_budget_beforehand() -> None:
    cluster = Cluster.create(
        Scenario(name="x", objects=(node("n1"), pod("a"), pod("b"), budget("web", minAvailable=1)))
    )
    cluster.advance(5 * SECOND)
    assert cluster.apply(Command(verb="evict", object="pod/default/a")).applied
    status = cluster.store.get("PodDisruptionBudget", "default/web").status
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["a"]
    assert cluster.apply(Command(verb="evict", object="pod/default/b")).reason == (
        f"{REFUSED}{NEEDS.format(1, 2)}"
    )


def test_uncounted_budget_allows_no_eviction() -> None:
    objects = (node("n1"), pod("a"))
    cluster = Cluster.create(Scenario(name="x", objects=objects))
    cluster.advance(5 * SECOND)
    guard = budget("web", minAvailable=0)
    cluster.apply(Command(verb="create", manifest=guard))
    assert cluster.apply(Command(verb="evict", object="pod/default/a")).reason == (
        f"{REFUSED} The disruption budget {guard['metadata']['name']} is still being "
        "processed by the server."
    )


def test_pending_pod_is_evicted_whatever_its_budget_says() -> None:
    waiting = pod("a", on="", nodeSelector={"no": "where"})
    played = play(
        [node("n1"), waiting, budget("web", minAvailable=1)], (5, "evict", "pod/default/a", None)
    )
    assert played.story("PodDeleted") == ["5 PodDeleted pod/default/a"]


def test_evicting_pods_of_a_node_leaves_daemons_alone() -> None:
    objects = [node("n1"), node("n2"), pod("a"), pod("b", on="n2"), pod("d", owner="DaemonSet")]
    played = play(objects, (5, "evict_pods", "node/n1", 0))
    assert sorted(played.pods()) == ["default/b", "default/d"]


def test_deleting_a_nodes_pods_by_force_is_immediate() -> None:
    objects = [node("n1"), pod("a"), pod("d", owner="DaemonSet")]
    played = play(objects, (5, "delete_pods", "node/n1", 0))
    assert played.pods() == {}
    assert [line[0] for line in played.story("PodDeleted")] == ["5", "5"]


def test_nothing_starts_or_ends_beside_a_stopped_kubelet() -> None:
    late = Step(at=8 * SECOND, verb="create", manifest=pod("late"))
    scenario = Scenario(
        name="steps",
        objects=(node("n1"), pod("a")),
        steps=(
            Step(at=5 * SECOND, verb="stop_kubelet", object="node/n1"),
            Step(at=6 * SECOND, verb="delete", object="pod/default/a"),
            late,
            Step(at=20 * SECOND, verb="start_kubelet", object="node/n1"),
        ),
        until=60 * SECOND,
    )
    played = Played(scenario)
    assert played.pods(played.at(19)) == {
        "default/a": ("Running", "n1"),
        "default/late": ("Pending", "n1"),
    }
    assert "deleting" in played.at(19)["pod/default/a"]
    assert played.story("KubeletStopped", "KubeletStarted", "PodDeleted", "PodRunning")[1:] == [
        "5 KubeletStopped node/n1",
        "20 KubeletStarted node/n1",
        "21 PodRunning pod/default/late",
        "21 PodDeleted pod/default/a",
    ]


def test_verbs_of_nodes_refuse_anything_else() -> None:
    cluster = Cluster.create(Scenario(name="x", objects=(node("n1"), pod("a"))))
    for verb in ("evict_pods", "delete_pods", "stop_kubelet", "start_kubelet", "cordon"):
        outcome = cluster.apply(Command(verb=verb, object="pod/default/a"))
        assert outcome.reason == "Invalid: pod/default/a is no node"
        assert not outcome.applied
    assert cluster.apply(Command(verb="evict", object="node/n1")).reason == (
        "Invalid: node/n1 is no pod"
    )


def test_step_that_names_nothing_is_refused_without_harm() -> None:
    played = play([node("n1"), pod("a")], (5, "delete", "pod/default/gone", None))
    assert refusals(played) == ['NotFound: Pod "default/gone" not found']
    assert played.pods() == {"default/a": ("Running", "n1")}
