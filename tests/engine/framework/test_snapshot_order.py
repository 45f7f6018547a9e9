"""In which order the nodes of a running cluster are looked at."""

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.builders import apply_command, node, node_of, pod, scene


def test_node_that_returns_between_cycles_keeps_its_place() -> None:
    """Upstream: cache.go UpdateSnapshot(), updateAllLists."""
    nothing_scored = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
    }
    nodes = [node(name) for name in "abc"]
    cluster = Cluster.create(scene(*nodes, pod("first"), configuration=nothing_scored))
    cluster.advance(5 * SECOND)
    assert node_of(cluster, "first") == "a"
    apply_command(cluster, verb="delete", object="node/b")
    cluster.advance(6 * SECOND)
    apply_command(cluster, verb="create", manifest=node("b"))
    cluster.advance(7 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("second"))
    cluster.advance(8 * SECOND)
    assert node_of(cluster, "second") == "b"
