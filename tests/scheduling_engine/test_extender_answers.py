"""Answers of extenders that are large, or not what was asked for."""

from typing import Any

import orjson
import pytest

from scheduling.engine.cluster import Cluster
from tests.scheduling_engine.scenes import Manifest, node, node_of, played, pod, scene


class Said:
    """An extender that always says the same."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        """See ExtenderTransport."""
        return self.answer


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


def test_of_the_nodes_in_an_answer_only_the_names_are_recorded() -> None:
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
def test_an_answer_that_cannot_be_read_fails_the_attempt_and_not_the_run(answer: Any) -> None:
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
