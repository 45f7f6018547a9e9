"""Garbage collection, node lifecycle, disruption budgets, namespaces, ephemeral claims."""

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.engine.controllers.workloads.builders import (
    Json,
    World,
    make,
    make_node,
    make_pod,
    template,
)

NODES = (make_node("n1"), make_node("n2"))


# Owners


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_what_a_deployment_made_goes_with_it(propagation: str) -> None:
    world = World(*NODES, make("Deployment", replicas=2))
    world.run(3)
    world.do("delete", "deployment/default/web", propagation=propagation)
    world.run(10)
    for kind in ("Deployment", "ReplicaSet", "Pod"):
        assert world.store.objects(kind) == []


def test_a_foreground_deletion_ends_with_the_owner() -> None:
    world = World(*NODES, make("Deployment", replicas=1))
    world.run(3)
    world.do("delete", "deployment/default/web", propagation="Foreground")
    assert world.get("Deployment").finalizers == ("foregroundDeletion",)
    world.run(10)
    gone = [world.facts(f"{kind}Deleted")[0] for kind in ("Pod", "ReplicaSet", "Deployment")]
    assert gone == sorted(gone)


def test_orphans_stay_and_belong_to_nobody() -> None:
    world = World(*NODES, make("Deployment", replicas=2))
    world.run(3)
    world.do("delete", "deployment/default/web", propagation="Orphan")
    world.run(10)
    (left,) = world.store.objects("ReplicaSet")
    assert left.owner_references == []
    assert len(world.names()) == 2


def test_a_dependent_with_another_owner_survives() -> None:
    first, second = make("ReplicaSet", "a", replicas=0), make("ReplicaSet", "b", replicas=0)
    first["metadata"]["uid"], second["metadata"]["uid"] = "ua", "ub"
    pod = make_pod("shared", "n1", first)
    other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "b", "uid": "ub"}
    pod["metadata"]["ownerReferences"].append(other)
    pod["metadata"]["labels"] = {"app": "a"}
    first["spec"]["replicas"] = 1
    world = World(*NODES, first, second, pod)
    world.do("delete", "replicaset/default/a")
    world.run(3)
    assert [ref["name"] for ref in world.get("Pod", "shared").owner_references] == ["b"]


# Nodes


def test_pods_of_deleted_nodes_go_after_40_seconds() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    world.run(7)
    world.do("delete", "node/n1")
    world.run(100)
    assert world.facts("PodDeleted") == [60.0]
    assert world.cluster.next_at is None


def terminating_on(taint: str, profile: str) -> World:
    """A pod whose node has a taint and whose kubelet, as its machine is off, never ends it."""
    node = make_node("n1", "False")
    node["spec"]["taints"] = [{"key": taint, "effect": "NoSchedule"}]
    world = World(node, NODES[1], make_pod("p", "n1"), profile=profile)
    world.run(1)
    world.do("fault", patch={"die": "n1"})
    world.do("delete", "pod/default/p")
    world.run(90)
    return world


def test_terminating_pods_on_failed_nodes_are_forced_out() -> None:
    world = terminating_on("node.kubernetes.io/out-of-service", "v1.36")
    assert world.facts("PodDeleted") == [20.0]
    (failed,) = [e for e in world.cluster.recorder.pending if e.kind == "PodFailed"]
    assert (failed.component, failed.at) == ("pod-garbage-collector", 20 * SECOND)
    assert "DisruptionTarget" not in str(failed.changes)


@pytest.mark.parametrize(
    ("taint", "profile"),
    [("example.com/other", "v1.36"), ("node.kubernetes.io/out-of-service", "v1.20")],
)
def test_other_pods_terminate_until_their_kubelet_returns(taint: str, profile: str) -> None:
    assert terminating_on(taint, profile).facts("PodDeleted") == []


def test_a_node_back_in_time_keeps_its_pods() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    world.do("delete", "node/n1")
    world.run(30)
    world.do("create", manifest=make_node("n1"))
    world.run(100)
    assert world.names() == ["p"]


def test_a_scenario_without_nodes_keeps_its_running_pods() -> None:
    world = World(make_pod("p", "n1"))
    world.run(200)
    assert world.names() == ["p"]


def not_ready(status: str = "False") -> Json:
    return {"conditions": [{"type": "Ready", "status": status}]}


def test_pods_leave_an_unready_node_when_tolerations_expire() -> None:
    patient = make_pod("patient", "n1")
    hasty = make_pod("hasty", "n1")
    hasty["spec"] = {
        **hasty["spec"],
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 10,
            }
        ],
    }
    world = World(*NODES, patient, hasty)
    world.run(7)
    world.patch("node/n1", status=not_ready())
    world.run(0.1)
    effects = [taint["effect"] for taint in world.store.get("Node", "n1").spec["taints"]]
    assert effects == ["NoSchedule"]
    world.run(400)
    assert world.said("taint-controller") == [
        "TaintManagerEviction: Marking for deletion Pod default/hasty",
        "TaintManagerEviction: Marking for deletion Pod default/patient",
    ]
    assert world.facts("TaintManagerEviction") == [20.001, 310.001]


def test_an_untolerated_taint_cancels_the_waiting_deletion() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    world.patch("node/n1", status=not_ready("Unknown"))
    world.run(60)
    taints = world.store.get("Node", "n1").spec["taints"]
    harsh = {"key": "harsh", "effect": "NoExecute"}
    world.patch("node/n1", spec={"taints": [*taints, harsh]})
    world.run(1)
    assert world.said("taint-controller") == [
        "TaintManagerEviction: Cancelling deletion of Pod default/p",
        "TaintManagerEviction: Marking for deletion Pod default/p",
    ]


@pytest.mark.parametrize("later", [5, 600])
def test_a_second_tolerated_taint_keeps_the_first_deletion(later: int) -> None:
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        for key, seconds in (("first", 60), ("second", later))
    ]
    pod = make_pod("p", "n1")
    pod["spec"]["tolerations"] = tolerations
    world = World(*NODES, pod)
    first, second = ({"key": key, "effect": "NoExecute"} for key in ("first", "second"))
    world.patch("node/n1", spec={"taints": [first]})
    world.run(20)
    world.patch("node/n1", spec={"taints": [first, second]})
    world.run(30)
    assert world.names() == ["p"]
    world.run(15)
    assert world.names() == []
    assert world.said("taint-controller") == [
        "TaintManagerEviction: Marking for deletion Pod default/p"
    ]


def test_node_that_recovers_in_time_keeps_its_pods() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    world.patch("node/n1", status=not_ready("Unknown"))
    world.run(60)
    keys = {taint["key"] for taint in world.store.get("Node", "n1").spec["taints"]}
    assert keys == {"node.kubernetes.io/unreachable"}
    world.patch("node/n1", status=not_ready("True"))
    world.run(600)
    assert world.names() == ["p"]
    assert not world.store.get("Node", "n1").spec.get("taints")
    assert world.said("taint-controller") == [
        "TaintManagerEviction: Cancelling deletion of Pod default/p"
    ]


def test_nothing_is_evicted_when_every_node_is_unready() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    for name in ("n1", "n2"):
        world.patch(f"node/{name}", status=not_ready("Unknown"))
    world.run(900)
    assert world.names() == ["p"]
    assert world.cluster.next_at is None


def test_cordoning_adds_and_removes_the_taint() -> None:
    world = World(*NODES)
    world.do("cordon", "node/n1")
    world.run(1)
    (taint,) = world.store.get("Node", "n1").spec["taints"]
    assert (taint["key"], taint["effect"]) == ("node.kubernetes.io/unschedulable", "NoSchedule")
    world.do("uncordon", "node/n1")
    world.run(1)
    assert not world.store.get("Node", "n1").spec.get("taints")


def test_pods_tolerate_an_unready_node_for_five_minutes() -> None:
    world = World(*NODES, make_pod("p", "n1"))
    tolerated = world.get("Pod", "p").spec["tolerations"]
    assert [(each["key"], each["tolerationSeconds"]) for each in tolerated] == [
        ("node.kubernetes.io/not-ready", 300),
        ("node.kubernetes.io/unreachable", 300),
    ]


# Budgets


def budget(**spec: object) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


@pytest.mark.parametrize(
    ("spec", "allowed", "desired"),
    [
        ({"minAvailable": 2}, 2, 2),
        ({"minAvailable": "60%"}, 1, 3),
        ({"maxUnavailable": 1}, 1, 3),
        ({"maxUnavailable": "30%"}, 2, 2),
    ],
)
def test_a_budget_says_how_many_pods_may_go(spec: Json, allowed: int, desired: int) -> None:
    world = World(*NODES, make("Deployment", replicas=4), budget(**spec))
    world.run(5)
    status = world.get("PodDisruptionBudget").status
    assert status["expectedPods"] == status["currentHealthy"] == 4
    assert (status["disruptionsAllowed"], status["desiredHealthy"]) == (allowed, desired)


def test_a_budget_follows_its_pods() -> None:
    world = World(*NODES, make("ReplicaSet", replicas=2), budget(minAvailable=1))
    world.run(5)
    world.do("delete", f"pod/default/{world.names()[0]}")
    world.run(0.1)
    assert world.get("PodDisruptionBudget").status["disruptionsAllowed"] == 0
    world.run(10)
    assert world.get("PodDisruptionBudget").status["disruptionsAllowed"] == 1


def test_events_about_an_empty_budget_are_limited() -> None:
    world = World(*NODES, budget(minAvailable=1), profile="v1.20")
    world.run(95)
    assert [round(at) for at in world.facts("NoPods")] == [0, 0, 30, 60, 90]
    world.run(1500)
    assert len(world.facts("NoPods")) == 25 + 1595 // 300


def test_empty_budgets_are_quiet_without_informer_resyncs() -> None:
    world = World(*NODES, budget(minAvailable=1), profile="v1.34")
    world.run(600)
    assert [round(at) for at in world.facts("NoPods")] == [0, 0]


def test_scaling_a_set_does_not_queue_budgets() -> None:
    world = World(*NODES, make("Deployment", replicas=0), budget(minAvailable=1), profile="v1.34")
    world.run(5)
    before = len(world.facts("NoPods"))
    world.patch("deployment/default/web", spec={"paused": True, "replicas": 0})
    world.do("create", manifest=make("ReplicaSet", "other", replicas=0))
    world.run(5)
    assert len(world.facts("NoPods")) == before


# Namespaces and claims


def test_a_namespace_goes_after_its_content() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    deployment = make("Deployment", replicas=1)
    deployment["metadata"]["namespace"] = "team"
    world = World(*NODES, namespace, deployment)
    world.run(3)
    world.do("delete", "namespace/team")
    assert world.store.get("Namespace", "team").status["phase"] == "Terminating"
    world.run(4)
    assert len(world.names()) == 1
    world.run(30)
    assert world.names() == []
    assert world.store.find("Namespace", "team") is None


def test_an_ephemeral_claim_is_deleted_with_its_pod() -> None:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    pod = make_pod("p")
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    pod["spec"] = {**pod["spec"], "volumes": [scratch]}
    world = World(*NODES, pod)
    world.run(1)
    claim = world.get("PersistentVolumeClaim", "p-scratch")
    assert [ref["name"] for ref in claim.owner_references] == ["p"]
    world.do("delete", "pod/default/p")
    world.run(1)
    assert world.store.objects("PersistentVolumeClaim") == []


# Runs


def test_workloads_continue_unchanged_after_a_checkpoint() -> None:
    def world() -> World:
        sets = make("Deployment", replicas=3), make("StatefulSet", "db", replicas=2)
        return World(*NODES, *sets, make("DaemonSet", "agent"), make("Job", "once"), seed=3)

    straight, saved = world(), world()
    straight.run(30)
    saved.run(0.9)
    saved.cluster.take()
    saved.cluster = Cluster.restore(saved.cluster.checkpoint())
    saved.run(29.1)
    straight.cluster.take()
    saved.cluster.take()
    assert saved.cluster.digest() == straight.cluster.digest()


def test_without_workloads_the_controllers_write_nothing() -> None:
    world = World(*NODES, make_pod("a", "n1"), make_pod("b"))
    world.run(60)
    authors = {event.component for event in world.cluster.recorder.pending}
    assert authors <= {"run", "scenario", "scheduler", "kubelet"}


def test_pods_carry_the_template_of_their_set() -> None:
    world = World(*NODES, make("ReplicaSet", replicas=1, template=template("web", priority=5)))
    world.run(1)
    (pod,) = world.pods()
    assert pod.priority == 5
    assert pod.metadata["generateName"] == "web-"


def test_initial_budgets_are_counted_at_the_start() -> None:
    guard = make("PodDisruptionBudget", version="policy/v1", minAvailable=1)
    del guard["spec"]["template"]
    world = World(*NODES, make_pod("a", "n1"), make_pod("b", "n2"), guard)
    assert world.get("PodDisruptionBudget").status["disruptionsAllowed"] == 1


def test_a_circle_of_owners_blocks_no_foreground_deletion() -> None:
    pods = [make_pod(f"p{number}", "n1") for number in range(3)]
    for number, each in enumerate(pods):
        each["metadata"]["uid"] = f"u{number}"
        owner = pods[number - 1]
        reference = {"apiVersion": "v1", "kind": "Pod", "name": owner["metadata"]["name"]}
        reference |= {"uid": f"u{(number - 1) % 3}", "blockOwnerDeletion": True}
        each["metadata"]["ownerReferences"] = [reference]
    world = World(*NODES, *pods)
    world.run(3)
    world.do("delete", "pod/default/p0", propagation="Foreground")
    world.run(60)
    assert world.store.objects("Pod") == []


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_controllers_restore_a_status_that_was_overwritten(kind: str) -> None:
    given: Json = {} if kind == "DaemonSet" else {"replicas": 2}
    world = World(*NODES, make(kind, **given))
    world.run(60)
    before = world.get(kind).status
    count = "numberReady" if kind == "DaemonSet" else "readyReplicas"
    assert before[count] == 2
    world.patch(f"{kind.lower()}/default/web", status={count: 0})
    world.run(1)
    assert world.get(kind).status == before
