"""Health against facts: is what objects say of themselves so?

A claim that says Bound has a volume for itself. A pod that says Running has its volumes mounted,
where a kubelet knows of them.
"""

from collections.abc import Iterator

from engine.cluster.checks.finding import Finding
from engine.cluster.cluster import Cluster
from engine.objects.objects import PersistentVolumeClaim, Pod


def health_differences(cluster: Cluster) -> list[Finding]:
    """Each object that is not as well as it says."""
    return [*_volumes_of_two_claims(cluster), *_running_without_volumes(cluster)]


def _volumes_of_two_claims(cluster: Cluster) -> Iterator[Finding]:
    owners: dict[str, str] = {}
    for claim in cluster.store.objects("PersistentVolumeClaim"):
        assert isinstance(claim, PersistentVolumeClaim)
        if claim.phase == "Bound" and claim.volume_name:
            owner = owners.setdefault(claim.volume_name, claim.id)
            if owner != claim.id:
                yield Finding(claim.id, f"is Bound to volume {claim.volume_name}, as {owner} is")


def _running_without_volumes(cluster: Cluster) -> Iterator[Finding]:
    managers = cluster.volumes.kubelets.volumes.nodes
    for pod in cluster.store.objects("Pod"):
        assert isinstance(pod, Pod)
        manager = managers.get(pod.node_name)
        if manager is None or pod.phase != "Running" or pod.deletion_timestamp:
            continue
        mounted = manager.actual.volumes_of_pod(pod.uid)
        wanted = [volume.volume_name for volume in manager.desired.volumes_of_pod(pod.uid)]
        if missing := [name for name in wanted if name not in mounted]:
            what = ", ".join(missing)
            yield Finding(pod.id, f"runs on {pod.node_name} without its volumes {what}")
