"""What only v1.20 does. The recordings of a real control plane are the rest of its tests."""

import pytest

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from tests.engine.controllers.workloads.builders import Json, make, make_node, make_pod

ZONE = "topology.kubernetes.io/zone"


def scores_of_spreading(profile: str, *objects: Json) -> list[list[int]]:
    """[raw, normalised, weighted] per node, by name, for the pod that is scheduled last."""
    cluster = Cluster.create(Scenario(name="x", objects=objects), profile=profile)
    cluster.advance(SECOND)
    evidence = cluster.take().attempts[-1].evidence or {}
    return [
        scored["plugins"].get("PodTopologySpread", [])
        for _, scored in sorted(evidence["scores"].items())
    ]


def crowded(pods: int = 3, **labels: str) -> list[Json]:
    """Two nodes, one of which has all pods of a ReplicaSet but the last."""
    replica_set = make("ReplicaSet", replicas=pods + 1)
    replica_set["metadata"]["uid"] = "u"
    there = [make_pod(f"p{i}", "n1", replica_set) for i in range(pods)]
    return [make_node("n1", **labels), make_node("n2", **labels), replica_set, *there]


@pytest.mark.parametrize(("profile", "best"), [("v1.20", 0), ("v1.34", 100)])
def test_the_default_constraints_need_nodes_with_a_zone(profile: str, best: int) -> None:
    (_, first, _), (_, second, _) = scores_of_spreading(profile, *crowded())
    assert max(first, second) == best
    (_, first, _), (_, second, _) = scores_of_spreading(profile, *crowded(**{ZONE: "z"}))
    assert max(first, second) == 100


@pytest.mark.parametrize(("profile", "raw"), [("v1.20", 10), ("v1.34", 11)])
def test_spreading_scores_are_truncated(profile: str, raw: int) -> None:
    # Two pods on the node, two in its zone, weighed with ln 4 and ln 3; the skews add 2 and 4: 10.97.
    (first, *_), _ = scores_of_spreading(profile, *crowded(2, **{ZONE: "z"}))
    assert first == raw


@pytest.mark.parametrize(
    ("profile", "plugin"), [("v1.20", "VolumeBinding"), ("v1.34", "VolumeRestrictions")]
)
def test_the_first_plugin_reports_a_missing_claim(profile: str, plugin: str) -> None:
    pod = make_pod("a")
    claim = {"name": "v", "persistentVolumeClaim": {"claimName": "none"}}
    pod["spec"] = {**pod["spec"], "volumes": [claim]}
    cluster = Cluster.create(Scenario(name="x", objects=[make_node("n1"), pod]), profile=profile)
    cluster.advance(SECOND)
    cluster.take()
    assert cluster.view()["pod/default/a"]["blocker"]["plugin"] == plugin
