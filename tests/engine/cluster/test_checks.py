"""Each check of a cluster finds a fault that was planted for it, and nothing else."""

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.checks.health import health_differences
from engine.cluster.cluster import Cluster
from engine.framework.nodes.node_table import CPU
from engine.kernel.units import SECOND
from engine.objects.objects import from_manifest
from tests.builders import claim, node, played, scene, user_of, volume


def a_cluster() -> Cluster:
    """One pod runs on a node, with a claim that is bound to a volume."""
    disk = volume("v", hostPath={"path": "/v"})
    return played(Cluster.create(scene(node("n"), disk, claim("c"), user_of("c"))))


def test_a_sound_cluster_passes_every_check() -> None:
    assert cluster_findings(a_cluster()) == []


def test_a_pod_missing_from_the_cache_is_found() -> None:
    cluster = a_cluster()
    cache = cluster.scheduler.cache
    (state,) = cache.pods()
    cache.remove_pod(state.info)
    assert "store against cache: pod/default/p: the cache has nothing, the store the pod on n" in (
        cluster_findings(cluster)
    )


def test_a_wrong_sum_of_a_node_is_found() -> None:
    cluster = a_cluster()
    table = cluster.scheduler.handle.table
    table.requested[CPU, table.rows["n"]] += 1
    (found,) = [each for each in cluster_findings(cluster) if each.startswith("ledger")]
    assert found.startswith("ledger against nodes: requests of node/n: the cache has")


def test_an_attribute_shown_wrongly_is_found() -> None:
    cluster = a_cluster()
    cluster.take()
    cluster.view()["pod/default/p"]["node"] = "elsewhere"
    assert cluster_findings(cluster) == [
        "view against engine: pod/default/p: node is shown as 'elsewhere', and is 'n'"
    ]


def test_an_object_shown_after_its_end_is_found() -> None:
    cluster = a_cluster()
    cluster.take()
    cluster.view()["pod/default/ghost"] = {"created": 0}
    assert cluster_findings(cluster) == [
        "view against engine: pod/default/ghost: is shown, and the store does not have it"
    ]


def test_a_volume_bound_to_two_claims_is_found() -> None:
    cluster = a_cluster()
    raw = cluster.store.get("PersistentVolumeClaim", "default/c").raw
    twin = from_manifest({**raw, "metadata": {"name": "twin", "namespace": "default"}})
    # The store would take it, and the PV controller would then mend it.
    cluster.store.live("PersistentVolumeClaim")["default/twin"] = twin  # type: ignore[index]
    found = [str(finding) for finding in health_differences(cluster)]
    assert found == ["claim/default/twin: is Bound to volume v, as claim/default/c is"]


def test_a_running_pod_without_its_mount_is_found() -> None:
    cluster = a_cluster()
    manager = cluster.volumes.kubelets.volumes.nodes["n"]
    (running,) = cluster.store.objects("Pod")
    (name,) = manager.actual.volumes_of_pod(running.uid)
    manager.actual.mark_volume_as_unmounted(running.uid, name)
    found = [each for each in cluster_findings(cluster) if each.startswith("health")]
    assert found == [f"health against facts: pod/default/p: runs on n without its volumes {name}"]


def test_what_is_under_way_is_no_difference() -> None:
    cluster = a_cluster()
    cluster.store.delete("Node", "n", by="user")
    assert cluster_findings(cluster) == []
    cluster.advance(cluster.now + SECOND)
    assert cluster_findings(cluster) == []
