"""What the page of a triage draws: counts of workloads, nodes by reason, what happened before."""

from functools import cache
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.triage import triage
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import ELEVEN, deployment, event, only_group, triage_of

_PROD_EU = Path(__file__).parents[3] / "data" / "prod-eu.yaml"
_BEFORE = "2026-11-20T11:58:00Z"


@cache
def _prod_eu() -> list[dict[str, Any]]:
    """The three causes of the cluster that the page was designed after."""
    loaded = load_paths([_PROD_EU])
    cluster = Cluster.create(Scenario.from_load(loaded, name="prod-eu"))
    found = triage(cluster, Evidence(loaded.everything), tries_changes=False)
    return found.to_dict()["groups"]


def test_causes_of_prod_eu_have_few_words() -> None:
    assert [each["short"] for each in _prod_eu()] == [
        "short of memory",
        "kept off by taint nvidia.com/gpu",
        "volumes only usable on general-c1",
    ]


def test_bare_pods_are_counted_by_their_names() -> None:
    counts = [tuple(each.values()) for each in _prod_eu()[0]["workload_counts"]]
    assert counts == [
        ("pod/shop/checkout-api-*", 9, 12, 21),
        ("pod/shop/search-*", 7, 12, 19),
        ("pod/batch/invoice-*", 4, 0, 4),
    ]


def test_nodes_of_prod_eu_add_up_to_eleven() -> None:
    shown = [
        [(each["count"], each["reason"], each["detail"]) for each in group["nodes_by_reason"]]
        for group in _prod_eu()[:2]
    ]
    assert shown == [
        [
            (6, "memory 1Gi short", "26Gi of 31Gi memory requested on general-a1"),
            (2, "taint nvidia.com/gpu", ""),
            (2, "taint CriticalAddonsOnly", ""),
            (1, "unreachable", ""),
        ],
        [
            (2, "taint nvidia.com/gpu", "12 of 16 nvidia.com/gpu free"),
            (6, "memory 3Gi short, nvidia.com/gpu 1 short", ""),
            (2, "taint CriticalAddonsOnly; nvidia.com/gpu 1 short", ""),
            (1, "unreachable; nvidia.com/gpu 1 short", ""),
        ],
    ]


def test_the_node_of_a_volume_is_closest() -> None:
    closest = _prod_eu()[2]["nodes_by_reason"][0]
    assert (closest["nodes"], closest["is_closest"]) == (("general-c1",), True)


def _of_web(made: dict[str, Any], created: str = "") -> dict[str, Any]:
    """A pod of Deployment web."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    made["metadata"] |= {"ownerReferences": [owner], "creationTimestamp": created or None}
    return made


def test_running_pods_of_a_workload_are_counted() -> None:
    runs = _of_web(pod("web-a", phase="Running", nodeName="n1"))
    waits = _of_web(pod("web-b", cpu="9"))
    (count,) = only_group(node("n1"), deployment("web", 2, 1), runs, waits).workload_counts
    assert (count.workload, count.waiting) == ("deployment/default/web", 1)
    assert (count.running, count.of) == (1, 2)


def test_what_changed_before_a_wait_is_reported() -> None:
    owner = deployment("web", 3, 0)
    message = "Scaled up replica set web-5d9 from 1 to 3"
    scaled = event(owner, "ScalingReplicaSet", message, lastTimestamp=_BEFORE, type="Normal")
    waits = _of_web(pod("web-b", cpu="9"), created=_BEFORE)
    (told,) = triage_of(node("n1"), owner, scaled, waits).happened
    assert (told.at, told.text) == (_BEFORE, "deployment default/web scaled from 1 to 3")


def test_what_changed_long_before_is_not_reported() -> None:
    owner = deployment("web", 3, 0)
    message = "Scaled up replica set web-5d9 from 1 to 3"
    scaled = event(owner, "ScalingReplicaSet", message, lastTimestamp=ELEVEN, type="Normal")
    waits = _of_web(pod("web-b", cpu="9"), created=_BEFORE)
    assert triage_of(node("n1"), owner, scaled, waits).happened == ()
