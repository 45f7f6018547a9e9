"""What must hold of a cluster whatever goes wrong: at every instant, and once it has come to rest."""

from collections import Counter
from collections.abc import Iterable

from engine.cluster.cluster import Cluster
from engine.kernel.recorder import Event
from engine.kubelet.volume_manager.actual_state import AttachedVolume
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim, Pod


def bound_twice(cluster: Cluster) -> list[str]:
    """Volumes that two claims are bound to, both as Bound claims."""
    claims = [each for each in _claims(cluster) if each.phase == "Bound" and each.volume_name]
    counts = Counter(each.volume_name for each in claims)
    return [name for name, count in counts.items() if count > 1]


class Detachments:
    """Follows the events of a run: what was detached, and whether it was mounted then."""

    def __init__(self) -> None:
        self._attachments: dict[str, tuple[str, str]] = {}
        self._forced: dict[str, None] = {}

    def hurt(self, cluster: Cluster, events: Iterable[Event]) -> list[str]:
        """What of *events* took a volume from a node that had it mounted, and was not forced to."""
        found: list[str] = []
        for event in events:
            if event.kind == "VolumeAttachmentCreated" and event.data is not None:
                self._attachments[event.object] = event.data["volume"], event.data["node"]
            elif event.kind == "VolumeDetachForced":
                self._forced[event.object] = None
            elif event.kind in ("VolumeAttachmentTerminating", "VolumeAttachmentDeleted"):
                volume, node = self._attachments[event.object]
                if f"node/{node}" not in self._forced and _is_mounted(cluster, volume, node):
                    found.append(f"{volume} on {node} at {event.at}")
        return found


def mounted_in_vain(cluster: Cluster) -> list[str]:
    """Mounts that no pod wants."""
    found: list[str] = []
    for node, manager in cluster.volumes.kubelets.volumes.nodes.items():
        for volume in manager.actual.get_attached_volumes():
            if volume.device_may_be_mounted and not manager.desired.volume_exists(volume.name):
                found.append(f"device {volume.name} on {node}")
            found += [
                f"{volume.name} on {node} for {uid}"
                for uid in volume.pods
                if not manager.desired.pod_exists_in_volume(uid, volume.name)
            ]
    return found


def unmounted_without_reason(cluster: Cluster, events: list[Event]) -> list[str]:
    """Pods on living nodes whose volumes are not mounted, and of which no warning tells why."""
    warned = {event.object for event in events if _is_warning(event)}
    found: list[str] = []
    for pod in _pods(cluster):
        manager = cluster.volumes.kubelets.volumes.nodes.get(pod.node_name)
        if not _should_run(cluster, pod) or not pod.volumes:
            continue
        mounted = 0 if manager is None else len(manager.actual.get_mounted_volumes_for_pod(pod.uid))
        if mounted < len(pod.volumes) and pod.id not in warned:
            found.append(f"{pod.id}: {mounted} of {len(pod.volumes)}")
    return found


def held_without_reason(cluster: Cluster) -> list[str]:
    """Objects marked for deletion that a finalizer holds though nothing speaks for it."""
    found: list[str] = []
    for kind in cluster.store.kinds():
        for obj in cluster.store.objects(kind):
            if obj.deletion_timestamp:
                found += [f"{obj.id}: {f}" for f in obj.finalizers if not _holds(cluster, obj, f)]
    return found


def _holds(cluster: Cluster, obj: ApiObject, finalizer: str) -> bool:
    if finalizer == "kubernetes.io/pvc-protection":
        return any(
            pod.node_name and f"{pod.namespace}/{name}" == obj.key
            for pod in _pods(cluster)
            for name in pod.claim_names
        )
    if finalizer == "kubernetes.io/pv-protection":
        return isinstance(obj, PersistentVolume) and obj.phase == "Bound"
    if finalizer.startswith("external-attacher/") and isinstance(obj, PersistentVolume):
        return any(
            each.spec["source"].get("persistentVolumeName") == obj.name
            for each in cluster.store.objects("VolumeAttachment")
        )
    return False


def _is_mounted(cluster: Cluster, volume: str, node: str) -> bool:
    manager = cluster.volumes.kubelets.volumes.nodes.get(node)
    found: list[AttachedVolume] = []
    if manager is not None:
        found = [one for one in manager.actual.get_attached_volumes() if one.spec.name == volume]
    return any(one.device_may_be_mounted or one.pods for one in found)


def _should_run(cluster: Cluster, pod: Pod) -> bool:
    """Whether a kubelet should have its volumes mounted: its claims are bound, it has not ended."""
    if not pod.node_name or pod.is_terminated or pod.deletion_timestamp:
        return False
    return cluster.store.find("Node", pod.node_name) is not None


def _is_warning(event: Event) -> bool:
    return event.data is not None and event.data.get("type") == "Warning"


def _claims(cluster: Cluster) -> list[PersistentVolumeClaim]:
    found = cluster.store.objects("PersistentVolumeClaim")
    return [each for each in found if isinstance(each, PersistentVolumeClaim)]


def _pods(cluster: Cluster) -> list[Pod]:
    return [each for each in cluster.store.objects("Pod") if isinstance(each, Pod)]
