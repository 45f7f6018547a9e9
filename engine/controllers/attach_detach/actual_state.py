"""Which volumes are attached to which nodes, as far as the controller knows.

Upstream: pkg/controller/volume/attachdetach/cache/actual_state_of_world.go.
"""

from dataclasses import dataclass

from engine.controllers.attach_detach.table import discard
from engine.kernel.loop import Timer
from engine.objects.objects import Manifest
from engine.storage.plugins.spec import VolumeSpec


@dataclass(slots=True)
class NodeAttachment:
    """A volume that is, or may be, attached to a node."""

    name: str
    node: str
    spec: VolumeSpec
    device_path: str = ""
    is_attached: bool = True
    # A node is assumed to have it mounted until its status says otherwise.
    mounted_by_node: bool = True
    detach_requested_at: int | None = None
    deadline: Timer | None = None

    def forget_detach_request(self) -> None:
        """The volume is needed again, or gone: stop waiting for its unmount."""
        self.detach_requested_at = None
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


class ActualStateOfWorld:
    """The attachments, and what the status of the nodes should report of them.

    `needs_update` holds the nodes whose report changed. `changed` collects the (volume, node) pairs
    that were marked, until the view takes and clears them.
    """

    __slots__ = ("_nodes", "_reports", "_volumes", "changed", "needs_update")

    def __init__(self) -> None:
        self._volumes: dict[str, dict[str, NodeAttachment]] = {}
        self._nodes: dict[str, dict[str, NodeAttachment]] = {}
        self._reports: dict[str, dict[str, str]] = {}
        self.needs_update: dict[str, None] = {}
        self.changed: dict[tuple[str, str], None] = {}

    def mark_volume_as_attached(
        self, name: str, node: str, spec: VolumeSpec, device_path: str = ""
    ) -> None:
        """The volume is attached to the node; an earlier request to detach it is void."""
        found = self._find_or_add(name, node, spec)
        found.is_attached, found.device_path = True, device_path
        found.mounted_by_node = True
        found.forget_detach_request()
        self.add_volume_to_report_as_attached(name, node)

    def mark_volume_as_uncertain(self, name: str, node: str, spec: VolumeSpec) -> NodeAttachment:
        """An attach was begun whose outcome is not known."""
        found = self._find_or_add(name, node, spec)
        found.is_attached = False
        return found

    def mark_volume_as_detached(self, name: str, node: str) -> None:
        """The volume is not attached to the node any more."""
        found = self.find(name, node)
        if found is not None:
            found.forget_detach_request()
            self.changed[name, node] = None
        discard(self._volumes, name, node)
        discard(self._nodes, node, name)
        self.remove_volume_from_report_as_attached(name, node)

    def find(self, name: str, node: str) -> NodeAttachment | None:
        """The attachment, certain or not, or None."""
        return self._volumes.get(name, {}).get(node)

    def attached_volumes(self) -> list[NodeAttachment]:
        """Every attachment, certain or not."""
        return [found for nodes in self._volumes.values() for found in nodes.values()]

    def attachments_of(self, name: str) -> list[NodeAttachment]:
        """Every attachment of the volume, certain or not."""
        return [*self._volumes.get(name, {}).values()]

    def attached_to_node(self, node: str) -> list[NodeAttachment]:
        """Every attachment of the node, certain or not."""
        return [*self._nodes.get(node, {}).values()]

    def nodes_for_attached_volume(self, name: str) -> list[str]:
        """The nodes that have, or may have, the volume."""
        return [*self._volumes.get(name, ())]

    def add_volume_to_report_as_attached(self, name: str, node: str) -> None:
        """Report the volume in the node's status: the kubelet may mount it."""
        found = self.find(name, node)
        if found is not None and found.is_attached:
            self._reports.setdefault(node, {})[name] = found.device_path
            self.needs_update[node] = None

    def remove_volume_from_report_as_attached(self, name: str, node: str) -> None:
        """Remove the volume from the node's status: the kubelet must not mount it any more."""
        if self._reports.get(node, {}).pop(name, None) is not None:
            self.needs_update[node] = None

    def report(self, node: str) -> list[Manifest]:
        """What status.volumesAttached should be, sorted by name."""
        return [
            {"devicePath": path, "name": name}
            for name, path in sorted(self._reports.get(node, {}).items())
        ]

    def _find_or_add(self, name: str, node: str, spec: VolumeSpec) -> NodeAttachment:
        found = self.find(name, node)
        if found is None:
            found = NodeAttachment(name, node, spec)
            self._volumes.setdefault(name, {})[node] = found
            self._nodes.setdefault(node, {})[name] = found
        self.changed[name, node] = None
        return found
