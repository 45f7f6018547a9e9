"""What an answer costs follows what the pod needs: counted, not timed."""

import pickle
from typing import Any

import pytest

from engine.api_server.store.pods_by_node import PodsByNode
from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.diagnosis.fork import Original
from engine.diagnosis.world import World
from engine.framework.nodes.node_table import NodeTable
from engine.objects.objects import Pod
from tests.builders import node, played, pod, scene

NODES = 4


def _cluster(pods: int) -> Cluster:
    """The pod p fits nowhere; each node has so many others, of another priority each."""
    placed = [
        {**pod(f"on-{at}-{place}", cpu="1m", priority=place), "status": {"phase": "Running"}}
        for at in range(NODES)
        for place in range(pods)
    ]
    for index, each in enumerate(placed):
        each["spec"]["nodeName"] = f"n{index // pods}"
    nodes = [node(f"n{at}", cpu="4") for at in range(NODES)]
    return played(Cluster.create(scene(*nodes, *placed, pod("p", cpu="100", priority=5))), 5)


def _world(cluster: Cluster) -> World:
    waiting, algorithm = cluster.store.get("Pod", "default/p"), cluster.scheduler.algorithm
    assert isinstance(waiting, Pod)
    return World(algorithm, waiting)


def _copied(pods: int) -> int:
    """Bytes of what a scheduler knows that are copied for a question."""
    algorithm = _cluster(pods).scheduler.algorithm
    shared = [algorithm.table.lister, algorithm.handle.loop]
    return len(Original((algorithm.handle, algorithm.nominated), shared, shares_pods=True).blob)


def _rows_copied(table: NodeTable, original: NodeTable) -> list[int]:
    pairs = zip(table.pods, original.pods, strict=True)
    return [row for row, (copy, pods) in enumerate(pairs) if copy is not pods]


def test_question_copies_nodes_and_no_pods() -> None:
    assert abs(_copied(40) - _copied(20)) < 500


def test_trial_copies_the_rows_it_changes() -> None:
    cluster = _cluster(10)
    original = cluster.scheduler.algorithm.table
    before = pickle.dumps(original)
    world = _world(cluster)
    table = world.table
    world.decide()
    assert _rows_copied(table, original) == []
    row = table.rows["n2"]
    gone = table.remove_pod(row, "default/on-2-3")
    assert _rows_copied(table, original) == [row]
    assert pickle.dumps(original) == before
    table.add_pod(row, gone)
    assert world.decide().result == _world(cluster).decide().result


@pytest.mark.parametrize("pods", [5, 50])
def test_question_looks_at_all_pods_once(pods: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, looks = _cluster(pods), list[int]()
    read, index = ObjectStore.objects, PodsByNode.__init__

    def counted(store: ObjectStore, kind: str) -> list[Any]:
        found = read(store, kind)
        if kind == Pod.KIND:
            looks.append(len(found))
        return found

    def indexed(self: PodsByNode, found: Any) -> None:
        all_pods = [*found]
        looks.append(len(all_pods))
        index(self, all_pods)

    monkeypatch.setattr(ObjectStore, "objects", counted)
    monkeypatch.setattr(PodsByNode, "__init__", indexed)
    assert diagnose(cluster, "default/p", make_forks=InPlace).fixes
    assert looks == [NODES * pods + 1]


class InPlace:
    """Forks that share the memory of the cluster, as forked processes do."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def run(self, trial: Any) -> Any:
        """See Forks."""
        blob = Original(self._cluster).copy()
        blob.store._pods_by_node = pickle.loads(pickle.dumps(self._cluster.store._pods_by_node))
        return trial(blob)
