"""VolumeBinding's score, behind the feature gate StorageCapacityScoring."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.builders import (
    Manifest,
    claim,
    node,
    node_of,
    pod,
    scene,
    storage_class,
    volume,
)
from tests.builders.clusters import played
from tests.builders.storage import reachable_from

DRIVER = "disk.example.com"
GATE = {"StorageCapacityScoring": True}
HOST = "kubernetes.io/hostname"
FULLEST_FIRST = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


def _driver() -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER},
        "spec": {"storageCapacity": True},
    }


def _capacity(name: str, size: str, of: str = "disk") -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": f"{of}-{name}", "namespace": "default"},
        "storageClassName": of,
        "nodeTopology": {"matchLabels": {HOST: name}},
        "capacity": size,
    }


def _shaped(shape: list[dict[str, int]]) -> Manifest:
    arguments = [{"name": "VolumeBinding", "args": {"shape": shape}}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": arguments}],
    }


def _cluster(*objects: Manifest, gates: Any = GATE, **fields: Any) -> Cluster:
    nodes = [node(name, labels={HOST: name}) for name in ("a", "b")]
    world = (_driver(), storage_class("disk", DRIVER), *nodes, *objects)
    start = scene(*world, feature_gates=gates, **fields)
    return Cluster.create(start, profile="v1.36", tie_break="name")


def _scores(cluster: Cluster) -> dict[str, int]:
    """What VolumeBinding gave to each node in the last attempt that scored."""
    for attempt in reversed(cluster.take().attempts):
        nodes = (attempt.evidence or {}).get("scores") or {}
        if nodes:
            found = {name: one["plugins"].get("VolumeBinding") for name, one in nodes.items()}
            return {name: one[2] for name, one in found.items() if one is not None}
    return {}


ONE_CLAIM = (_capacity("a", "10Gi"), _capacity("b", "100Gi"), claim("data", "disk", "5Gi"))


def test_most_free_storage_wins_by_default() -> None:
    cluster = played(_cluster(*ONE_CLAIM, pod("p", claims=["data"])))
    assert _scores(cluster) == {"a": 50, "b": 95}
    assert node_of(cluster, "p") == "b"


def test_a_shape_may_prefer_full_storage() -> None:
    world = (*ONE_CLAIM, pod("p", claims=["data"]))
    cluster = played(_cluster(*world, configuration=_shaped(FULLEST_FIRST)))
    assert _scores(cluster) == {"a": 50, "b": 5}


def test_without_the_gate_nothing_is_scored() -> None:
    cluster = played(_cluster(*ONE_CLAIM, pod("p", claims=["data"]), gates={}))
    assert _scores(cluster) == {}
    assert node_of(cluster, "p") == "a"


def test_a_pod_without_claims_scores_nothing_anywhere() -> None:
    cluster = played(_cluster(*ONE_CLAIM, pod("p")))
    assert _scores(cluster) == {"a": 0, "b": 0}
    assert node_of(cluster, "p") == "a"


def test_equal_classes_score_the_same() -> None:
    objects = (
        storage_class("fast", DRIVER),
        *(_capacity("a", "10Gi"), _capacity("a", "10Gi", "fast")),
        *(_capacity("b", "10Gi"), _capacity("b", "40Gi", "fast")),
        *(claim("data", "disk", "5Gi"), claim("log", "fast", "10Gi")),
    )
    cluster = played(_cluster(*objects, pod("p", claims=["data", "log"])))
    # Half and all of it are used on the first node, half and a quarter on the other.
    assert _scores(cluster) == {"a": 25, "b": 63}


def test_claims_of_one_class_share_its_storage() -> None:
    objects = (
        *(_capacity("a", "20Gi"), _capacity("b", "10Gi")),
        *(claim("data", "disk", "5Gi"), claim("log", "disk", "5Gi")),
    )
    cluster = played(_cluster(*objects, pod("p", claims=["data", "log"])))
    # What they request is added up, but not what the node has.
    assert _scores(cluster) == {"a": 50, "b": 0}


def test_volumes_that_fit_tightly_score_less() -> None:
    """Where a volume is bound, what would be provisioned does not count."""
    objects: list[Manifest] = [storage_class("local")]
    for name, size in (("a", "5Gi"), ("b", "10Gi")):
        near = reachable_from(HOST, name)
        objects.append(volume(f"pv-{name}", "local", size, nodeAffinity=near))
    cluster = played(_cluster(*objects, claim("data", "local", "5Gi"), pod("p", claims=["data"])))
    assert _scores(cluster) == {"a": 0, "b": 50}
    assert node_of(cluster, "p") == "b"


def test_a_driver_that_reports_nothing_scores_nothing() -> None:
    silent = {**_driver(), "spec": {"storageCapacity": False}}
    nodes = [node(name, labels={HOST: name}) for name in ("a", "b")]
    objects = (silent, storage_class("disk", DRIVER), *nodes, *ONE_CLAIM, pod("p", claims=["data"]))
    start = scene(*objects, feature_gates=GATE)
    cluster = played(Cluster.create(start, profile="v1.36", tie_break="name"))
    assert _scores(cluster) == {"a": 0, "b": 0}


def test_a_checkpoint_keeps_the_score() -> None:
    late = [(10, "create", {"manifest": pod("p", claims=["data"])})]
    cluster = played(_cluster(*ONE_CLAIM, steps=late), 5)
    cluster.take()
    restored = Cluster.restore(cluster.checkpoint())
    restored.advance(60 * SECOND)
    assert node_of(restored, "p") == "b"


def test_an_ephemeral_claim_is_scored_like_others() -> None:
    spec = claim("x", "disk", "5Gi")["spec"]
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}
    objects = (_capacity("a", "10Gi"), _capacity("b", "100Gi"))
    cluster = played(_cluster(*objects, pod("p", volumes=[scratch])))
    assert node_of(cluster, "p") == "b"
