"""Random clusters with gangs: a gang never has some of the pods that it needs on nodes."""

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.checks.determinism import check_determinism
from engine.cluster.cluster import Cluster
from engine.framework.pod_groups.groups import group_of
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from tests.builders import node, pod
from tests.builders.clusters import Manifest, scene
from tests.properties.examples import examples

GATES = {"GenericWorkload": True, "GangScheduling": True}
END = 120
SEEDS = st.integers(0, 10_000)


def _scenario(seed: int) -> Any:
    chance = Random(seed)
    objects: list[Manifest] = [
        node(f"n{number}", cpu=str(chance.randint(1, 4))) for number in range(chance.randint(1, 3))
    ]
    steps: list[tuple[float, str, Manifest]] = []
    for number in range(chance.randint(1, 3)):
        size = chance.randint(1, 4)
        objects.append(_group(f"g{number}", chance.randint(1, size)))
        for member in range(size):
            made = _member(f"g{number}-{member}", f"g{number}", chance)
            steps.append((chance.randint(0, 20), "create", {"manifest": made}))
    for number in range(chance.randint(0, 4)):
        alone = pod(f"alone{number}", cpu="1")
        steps.append((chance.randint(0, 30), "create", {"manifest": alone}))
    if chance.random() < 0.7:
        more = node("more", cpu=str(chance.randint(2, 6)))
        steps.append((chance.randint(20, 60), "create", {"manifest": more}))
    return scene(*objects, feature_gates=GATES, steps=sorted(steps, key=lambda step: step[0]))


def _group(name: str, minimum: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}},
    }


def _member(name: str, group: str, chance: Random) -> Manifest:
    cpu = chance.choice(["500m", "1", "2"])
    return pod(name, cpu=cpu, priority=0, schedulingGroup={"podGroupName": group})


def _partly_placed(cluster: Cluster) -> list[str]:
    """The gangs of which fewer pods than they need have a node."""
    placed: dict[str, int] = {}
    for each in cluster.store.objects("Pod"):
        if isinstance(each, Pod) and each.node_name and group_of(each):
            placed[group_of(each)] = placed.get(group_of(each), 0) + 1
    return [
        group
        for group, count in placed.items()
        if count < cluster.store.get("PodGroup", group).spec["schedulingPolicy"]["gang"]["minCount"]
    ]


@examples(20)
@given(SEEDS)
def test_gangs_are_placed_whole_or_not_at_all(seed: int) -> None:
    cluster = Cluster.create(_scenario(seed), profile="v1.36", seed=seed)
    while cluster.now < END * SECOND:
        # A gang is bound within some milliseconds of one cycle.
        cluster.advance(cluster.now + SECOND)
        if cluster.next_at is None:
            break
        assert _partly_placed(cluster) == [], cluster.now / SECOND


@examples(10)
@given(SEEDS)
def test_gangs_go_on_alike_after_a_restore(seed: int) -> None:
    assert check_determinism(_scenario(seed), seed, profile="v1.36", until=END * SECOND) is None
