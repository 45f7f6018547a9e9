"""Which volumes should be attached to which nodes, because pods there need them.

Upstream: pkg/controller/volume/attachdetach/cache/desired_state_of_world.go.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.controllers.attach_detach.table import discard
from engine.objects.objects import Pod
from engine.storage.plugins.spec import VolumeSpec


@dataclass(slots=True)
class VolumeToAttach:
    """A volume that pods of a node need."""

    name: str
    node: str
    spec: VolumeSpec
    # Rises with every volume that is added, so that volumes can be listed in that order.
    place: int = 0
    pods: dict[str, Pod] = field(default_factory=dict[str, Pod])
    # By uid of the pod, since when it needs the volume.
    since: dict[str, int] = field(default_factory=dict[str, int])
    multi_attach_error_reported: bool = False


class DesiredStateOfWorld:
    """The volumes that pods need, by node.

    `changed` collects the (volume, node) pairs that changed, until the view takes and clears them.
    """

    __slots__ = ("_added", "_nodes", "_pods", "_volumes", "changed")

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, VolumeToAttach]] = {}
        self._volumes: dict[str, dict[str, VolumeToAttach]] = {}
        self._pods: dict[str, dict[str, VolumeToAttach]] = {}
        self._added = 0
        self.changed: dict[tuple[str, str], None] = {}

    def add_pod(self, pod: Pod, name: str, spec: VolumeSpec, now: int) -> None:
        """Add volume *name*, which *pod* needs on its node."""
        node = pod.node_name
        volumes = self._nodes.setdefault(node, {})
        volume = volumes.get(name)
        if volume is None:
            self._added += 1
            volume = volumes[name] = VolumeToAttach(name, node, spec, self._added)
            self._volumes.setdefault(name, {})[node] = volume
        if pod.uid not in volume.pods:
            volume.since[pod.uid] = now
            self.changed[name, node] = None
        volume.pods[pod.uid] = pod
        self._pods.setdefault(pod.uid, {})[name] = volume

    def delete_pod(self, uid: str, node: str) -> list[str]:
        """Remove everything that the pod needed; returns the names of those volumes."""
        found = sorted(self._pods.pop(uid, {}).values(), key=_place_of)
        for volume in found:
            del volume.pods[uid], volume.since[uid]
            self.changed[volume.name, node] = None
            if not volume.pods:
                discard(self._nodes, node, volume.name)
                discard(self._volumes, volume.name, node)
        return [volume.name for volume in found]

    def volume_exists(self, name: str, node: str) -> bool:
        """Whether a pod of *node* needs the volume."""
        return name in self._nodes.get(node, ())

    def find(self, name: str, node: str) -> VolumeToAttach | None:
        """The volume as pods of *node* need it, or None."""
        return self._nodes.get(node, {}).get(name)

    def volumes_of_node(self, node: str) -> list[VolumeToAttach]:
        """The volumes that pods of *node* need."""
        return [*self._nodes.get(node, {}).values()]

    def volumes_to_attach(self, name: str) -> list[VolumeToAttach]:
        """The nodes that should have the volume, each with its pods."""
        return [*self._volumes.get(name, {}).values()]

    def volume_pods_on_nodes(self, nodes: Iterable[str], name: str) -> list[Pod]:
        """The pods that need the volume on one of *nodes*."""
        found = [self._nodes.get(node, {}).get(name) for node in nodes]
        return [pod for volume in found if volume is not None for pod in volume.pods.values()]


def _place_of(volume: VolumeToAttach) -> int:
    return volume.place
