"""Pods that are scheduled together, behind the gates GenericWorkload and GangScheduling of v1.36."""

import random
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.report import Diagnosis
from engine.diagnosis.why import explain_object
from engine.input.reading import ConfigurationError
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from tests.builders import node, pod
from tests.builders.clusters import Manifest, apply_command, node_of, played, scene

GATES = {"GenericWorkload": True, "GangScheduling": True}
TO_APPEAR = "waiting for minCount pods from a gang to appear in scheduling queue"
TO_BE_SCHEDULED = (
    "pod group is unschedulable, waiting for minCount pods from a gang to be scheduled"
)


def _group(name: str = "train", minimum: int | None = 4) -> Manifest:
    policy: Manifest = {"basic": {}} if minimum is None else {"gang": {"minCount": minimum}}
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": policy},
    }


def _member(name: str, group: str = "train", **spec: Any) -> Manifest:
    return pod(name, schedulingGroup={"podGroupName": group}, **spec)


def _gang(count: int = 4, **spec: Any) -> list[Manifest]:
    return [_member(f"w{number}", **spec) for number in range(count)]


def _cluster(*objects: Manifest, seconds: float = 20, **fields: Any) -> Cluster:
    gates = fields.pop("feature_gates", GATES)
    scenario = scene(*objects, feature_gates=gates, **fields)
    return played(Cluster.create(scenario, profile="v1.36"), seconds)


def _pod(cluster: Cluster, name: str) -> Pod:
    found = cluster.store.get("Pod", f"default/{name}")
    assert isinstance(found, Pod)
    return found


def _nodes_of(cluster: Cluster, count: int = 4) -> list[str]:
    return [node_of(cluster, f"w{number}") for number in range(count)]


def _refusal(cluster: Cluster, name: str) -> str:
    conditions = _pod(cluster, name).status.get("conditions") or ()
    return next((one["message"] for one in conditions if one["status"] == "False"), "")


def _condition(cluster: Cluster, group: str = "train") -> tuple[str, str, str]:
    (found,) = cluster.store.get("PodGroup", f"default/{group}").status["conditions"]
    return found["status"], found["reason"], found["message"]


def test_a_gang_with_room_is_bound_whole() -> None:
    cluster = _cluster(_group(), node("n", cpu="4"), *_gang(cpu="1"))
    assert _nodes_of(cluster) == ["n"] * 4
    assert _condition(cluster) == ("True", "Scheduled", "")


def test_a_gang_without_room_takes_none() -> None:
    cluster = _cluster(_group(), node("n", cpu="3"), *_gang(cpu="1"), seconds=5)
    assert _nodes_of(cluster) == [""] * 4
    refusals = [_refusal(cluster, f"w{number}") for number in range(4)]
    assert refusals.count(TO_BE_SCHEDULED) == 3
    assert sum("Insufficient cpu" in each for each in refusals) == 1
    assert _condition(cluster)[:2] == ("False", "Unschedulable")


def test_without_the_gates_pods_go_one_by_one() -> None:
    objects = (_group(), node("n", cpu="3"), *_gang(cpu="1"))
    cluster = _cluster(*objects, feature_gates={})
    assert sorted(_nodes_of(cluster)) == ["", "n", "n", "n"]


def test_a_failed_gang_leaves_room_for_others() -> None:
    objects = (_group(), node("n", cpu="3"), *_gang(cpu="1"), pod("alone", cpu="3"))
    cluster = _cluster(*objects)
    assert node_of(cluster, "alone") == "n"


def test_gang_is_bound_when_a_node_is_added() -> None:
    steps = [(10, "create", {"manifest": node("more", cpu="4")})]
    cluster = _cluster(_group(), node("n", cpu="3"), *_gang(cpu="1"), steps=steps, seconds=60)
    assert "" not in _nodes_of(cluster)
    assert _condition(cluster)[0] == "True"


def test_pods_wait_for_the_rest_of_their_gang() -> None:
    late = {"manifest": _member("w3", cpu="1")}
    steps = [(10, "create", late)]
    objects = (_group(), node("n", cpu="4"), *_gang(3, cpu="1"))
    cluster = _cluster(*objects, steps=steps, seconds=9)
    assert _nodes_of(cluster, 3) == [""] * 3
    assert cluster.held_view()["pod/default/w0"]["queue"] == "gated"
    assert _nodes_of(played(cluster, 20)) == ["n"] * 4


def test_pods_wait_for_their_group_to_be_created() -> None:
    steps = [(10, "create", {"manifest": _group()})]
    cluster = _cluster(node("n", cpu="4"), *_gang(cpu="1"), steps=steps, seconds=9)
    assert _nodes_of(cluster) == [""] * 4
    assert _nodes_of(played(cluster, 20)) == ["n"] * 4


def test_pods_of_a_basic_group_go_separately() -> None:
    cluster = _cluster(_group(minimum=None), node("n", cpu="3"), *_gang(cpu="1"))
    assert sorted(_nodes_of(cluster)) == ["", "n", "n", "n"]
    assert _condition(cluster)[0] == "True"


def test_pods_beyond_the_minimum_follow() -> None:
    cluster = _cluster(_group(minimum=2), node("n", cpu="3"), *_gang(cpu="1"))
    assert sorted(_nodes_of(cluster)) == ["", "n", "n", "n"]


def test_a_gang_preempts_only_as_a_whole() -> None:
    low = [pod(f"low{number}", cpu="1", nodeName="n") for number in range(4)]
    objects = (_group(), node("n", cpu="4"), *low, *_gang(cpu="1", priority=10))
    cluster = _cluster(*objects, seconds=60)
    assert _nodes_of(cluster) == ["n"] * 4
    assert not [each for each in cluster.store.objects("Pod") if each.name.startswith("low")]


def test_members_are_tried_beside_each_other() -> None:
    """The second pod must not count on the port that the first one takes."""
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}
    gang = _gang(2, containers=[container])
    cluster = _cluster(_group(minimum=2), node("n", cpu="4"), *gang, seconds=5)
    assert _nodes_of(cluster, 2) == ["", ""]
    refusals = sorted(_refusal(cluster, f"w{number}") for number in range(2))
    assert refusals[0].startswith("0/1 nodes are available: 1 node(s) didn't have free ports")
    assert refusals[1] == TO_BE_SCHEDULED


def test_the_next_pods_condition_does_not_regress() -> None:
    steps = [(10, "create", {"manifest": _member("late", cpu="9")})]
    cluster = _cluster(_group(), node("n", cpu="4"), *_gang(cpu="1"), steps=steps)
    assert not node_of(cluster, "late")
    assert _condition(cluster)[0] == "True"


def test_a_restored_run_schedules_the_gang_alike() -> None:
    steps = [(10, "create", {"manifest": node("more", cpu="4")})]
    objects = (_group(), node("n", cpu="3"), *_gang(cpu="1"))
    cluster = _cluster(*objects, steps=steps, seconds=5)
    cluster.take()
    restored = Cluster.restore(cluster.checkpoint())
    assert _nodes_of(played(restored, 60)) == _nodes_of(played(cluster, 60))


def test_the_gang_gate_needs_the_other() -> None:
    with pytest.raises(ConfigurationError, match="requires GenericWorkload"):
        with_gates(VERSIONS["v1.36"], {"GangScheduling": True})


@pytest.mark.parametrize("version", ["v1.34", "v1.35"])
def test_older_versions_do_not_have_the_gates(version: str) -> None:
    with pytest.raises(ConfigurationError, match="does not have this feature gate"):
        with_gates(VERSIONS[version], GATES)


def test_a_deleted_member_lets_the_gang_wait_again() -> None:
    cluster = _cluster(_group(), node("n", cpu="3"), *_gang(cpu="1"), seconds=5)
    apply_command(cluster, verb="delete", object="pod/default/w3")
    played(cluster, 6 * MINUTE // SECOND)
    assert _nodes_of(cluster, 3) == [""] * 3


def _why(cluster: Cluster, name: str) -> Diagnosis:
    return explain_object(cluster, "Pod", f"default/{name}")


def test_why_names_the_pod_that_holds_its_gang() -> None:
    cluster = _cluster(_group(), node("n", cpu="3"), *_gang(cpu="1"), seconds=5)
    held = next(name for name in ("w0", "w1") if _refusal(cluster, name) == TO_BE_SCHEDULED)
    found = _why(cluster, held)
    assert found.sentence == "Gang default/train needs 4 pods on nodes at once; only 3 of them fit."
    assert any("fits nowhere: 0/1 nodes" in each.text for each in found.causes[0].because)
    assert [each.kind for each in found.fixes] == ["node", "gang"]


def test_why_counts_the_pods_that_do_not_exist() -> None:
    cluster = _cluster(_group(), node("n", cpu="4"), *_gang(3, cpu="1"), seconds=5)
    assert _why(cluster, "w0").sentence == "Gang default/train needs 4 pods, and 3 of them exist."


def test_why_names_the_group_that_does_not_exist() -> None:
    cluster = _cluster(node("n", cpu="4"), *_gang(cpu="1"), seconds=5)
    assert _why(cluster, "w0").sentence == (
        "Pod default/w0 waits for PodGroup default/train, which does not exist."
    )


def test_without_the_gate_no_gang_is_a_cause() -> None:
    cluster = _cluster(_group(), node("n", cpu="3"), *_gang(cpu="1"), feature_gates={})
    (waiting,) = [f"w{number}" for number in range(4) if not node_of(cluster, f"w{number}")]
    assert all(each.plugin == "NodeResourcesFit" for each in _why(cluster, waiting).causes[:1])


def _crowded(seed: int) -> list[Manifest]:
    """Gangs that have to preempt, some of them apart from one another."""
    draw = random.Random(seed)
    nodes = [
        node(f"n{number}", cpu=str(draw.randint(1, 3))) for number in range(draw.randint(1, 3))
    ]
    running = [
        pod(f"r{number}", nodeName=f"n{number % len(nodes)}", cpu="500m", priority=0)
        for number in range(draw.randint(2, 5))
    ]
    gangs: list[Manifest] = []
    for name in ("g0", "g1"):
        size = draw.randint(2, 4)
        gangs.append(_group(name, draw.randint(1, size)))
        spec = {"cpu": draw.choice(["500m", "1"]), "priority": draw.choice([0, 100])}
        gangs += [_member(f"{name}-{number}", name, **spec) for number in range(size)]
    return [*nodes, *running, *gangs]


@pytest.mark.parametrize("seed", range(6))
def test_no_gang_that_preempts_ends_the_run(seed: int) -> None:
    cluster = _cluster(*_crowded(seed), seconds=60)
    assert cluster.store.objects("PodGroup")


def test_a_member_on_trial_is_no_longer_nominated() -> None:
    gang = _gang(4, cpu="500m", priority=100)
    victims = [pod(f"r{number}", nodeName=f"n{number}", cpu="100m") for number in range(2)]
    nodes = [node(f"n{number}", cpu="1") for number in range(2)]
    cluster = _cluster(_group(minimum=3), *nodes, *victims, *gang, seconds=60)
    assert sum(bool(each) for each in _nodes_of(cluster)) == 4


def test_anti_affinity_of_tried_members_is_unseen() -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "quiet"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    loud = _member("w0", affinity=apart, priority=10)
    quiet = _member("w1", labels={"app": "quiet"})
    cluster = _cluster(_group(minimum=2), node("n"), loud, quiet)
    assert _nodes_of(cluster, 2) == ["n", "n"]
