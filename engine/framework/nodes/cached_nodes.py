"""The nodes of the scheduler's cache with the pods on each, and the observer that follows them.

Upstream: pkg/scheduler/backend/cache/cache.go, cacheImpl.nodes, nodeTree and headNode.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from engine.framework.nodes.cache_rules import CacheError, CacheRules
from engine.framework.nodes.node_info import NodeInfo
from engine.framework.nodes.node_tree import NodeTree, NodeTreeError, zone_key
from engine.framework.pods.pod_info import PodInfo
from engine.framework.trace_steps.nodes import CachedNode, NodeChange, NodeChanged, SnapshotTaken
from engine.kernel.trace import Trace

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod


class Clock(Protocol):
    """What knows the virtual time, such as the event loop."""

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        ...

    @property
    def trace(self) -> Trace | None:
        """The trace of what happens; None in a run."""
        ...


class NodeObserver(Protocol):
    """Keeps a table of nodes in step with the cache.

    It is called for known nodes only: for pods that came before their node, pod_added follows
    node_set. node_removed removes all pods of the node.
    """

    def node_set(self, node: Node) -> None:
        """The node is new or changed."""
        ...

    def node_removed(self, node_name: str) -> None:
        """The node is gone, and its pods with it."""
        ...

    def pod_added(self, node_name: str, pod: PodInfo) -> None:
        """The pod counts on the node from now on."""
        ...

    def pod_removed(self, node_name: str, pod: PodInfo) -> None:
        """The pod no longer counts on the node."""
        ...


@runtime_checkable
class ReplacingObserver(NodeObserver, Protocol):
    """An observer that replaces a pod by a version that counts the same, in one call."""

    def pod_replaced(self, node_name: str, old: Pod, new: PodInfo) -> None:
        """A newer version of the pod counts, matches and claims exactly as the old one."""
        ...

    def pod_relabelled(self, node_name: str, old: Pod, new: PodInfo) -> None:
        """As `pod_replaced`, but the newer version has more labels."""
        ...


class CachedNodes:
    """The entries of the nodes, the most recently changed last, and the tree of zones.

    Every change gives its entry a new generation and is reported to *observer*. The columns of the
    node table are always up to date, so that a snapshot is only the generation that it stands at.
    """

    def __init__(
        self, rules: CacheRules, observer: NodeObserver | None, clock: Clock, scheduler: str
    ) -> None:
        """A trace that *clock* has gets the changes in the cache of *scheduler*."""
        self.tree = NodeTree()
        self._clock = clock
        self._scheduler = scheduler
        self._rules = rules
        self._observer = observer
        self._replacing = observer if isinstance(observer, ReplacingObserver) else None
        # Upstream's doubly linked list; the most recently changed node stands at the end.
        self._entries: OrderedDict[str, NodeInfo] = OrderedDict()
        self._generation = 0
        # That of the entry at the end, which changed last, and that of the newest snapshot.
        self._newest_generation = 0
        self._snapshot_generation = 0

    def get(self, name: str) -> NodeInfo | None:
        """The entry of the node; a ghost, if its `node` is None."""
        return self._entries.get(name)

    def newest_first(self) -> list[NodeInfo]:
        """Every entry, ghosts too, the one that changed last first."""
        return list(reversed(self._entries.values()))

    def pods_on(self, name: str) -> list[PodInfo]:
        """The pods counted on this node, in upstream's order. Do not change the list."""
        entry = self._entries.get(name)
        return entry.pods if entry is not None else []

    def take_snapshot(self) -> None:
        """From now on only newer entries are to be copied. Upstream: UpdateSnapshot()."""
        self._snapshot_generation = self._newest_generation

    def snapshot_step(self) -> SnapshotTaken:
        """What `take_snapshot` would copy now: the walk ends at the first entry that is not newer."""
        before, stopped_at = self._snapshot_generation, None
        copied: list[CachedNode] = []
        for entry in reversed(self._entries.values()):
            step = cached_node_of(entry)
            if entry.generation <= before:
                stopped_at = step
                break
            copied.append(step)
        return SnapshotTaken(
            self._scheduler,
            before,
            self._newest_generation,
            tuple(copied),
            stopped_at,
            len(self._entries) - len(copied),
        )

    # -- nodes -----------------------------------------------------------------------------------

    def add(self, node: Node) -> NodeInfo:
        """Put in a new node. Pods may have been there before it."""
        name = node.name
        info = self._entries.get(name)
        if info is None:
            info = self._new_node_info(name)
        self._entries.move_to_end(name)
        self.tree.add(name, self._zone(node))
        return self._set_node(info, node)

    def update(self, node: Node, old: Node | None = None) -> NodeInfo:
        """Put in a changed node; *old*, by default the known version, has the zone that it leaves.

        Before v1.20 a node that was never added enters the tree only when its zone has changed.
        """
        known = self._entries.get(node.name)
        if known is None:
            known = self._new_node_info(node.name)
            if self._rules.update_adds_to_tree:
                self.tree.add(node.name, self._zone(node))
        self._entries.move_to_end(node.name)
        old = old or known.node
        self.tree.update(
            node.name, "" if old is None else self._zone(old), node.name, self._zone(node)
        )
        return self._set_node(known, node)

    def remove(self, node: Node) -> None:
        """Take the node out. Its entry stays as a ghost while pods are on it.

        Raises:
            CacheError: the node is not in the cache, or not in the tree.
        """
        info = self._entries.get(node.name)
        if info is None:
            raise CacheError(f"node {node.name} is not found", move="remove_node")
        known = info.node is not None
        info.node = None
        info.generation = self._next_generation()
        self._write_step(info, "node removed")
        if info.pods:
            self._entries.move_to_end(node.name)
        else:
            self._drop(node.name)
        if known and self._observer is not None:
            self._observer.node_removed(node.name)
        try:
            self.tree.remove(node.name, self._zone(node))
        except NodeTreeError as error:
            raise CacheError(str(error)) from error

    # -- pods ------------------------------------------------------------------------------------

    def count(self, info: PodInfo) -> None:
        """Put the pod on the node `info.node_name`."""
        name = info.node_name
        entry = self._entries.get(name)
        if entry is None:
            entry = self._new_node_info(name)
        entry.add_pod(info)
        entry.generation = self._generation = self._newest_generation = self._generation + 1
        if self._clock.trace is not None:
            self._write_step(entry, "pod added", info)
        self._entries.move_to_end(name)
        if self._observer is not None and entry.node is not None:
            self._observer.pod_added(name, info)

    def discount(self, info: PodInfo) -> None:
        """Take the pod of this uid from `info.node_name`."""
        name = info.node_name
        entry = self._entries.get(name)
        if entry is None:
            raise CacheError(f"node {name} is not found")
        counted = entry.remove_pod(info.uid)
        if counted is None:
            raise CacheError(f"no corresponding pod {info.pod.name} in pods of node {name}")
        entry.generation = self._next_generation()
        if self._clock.trace is not None:
            self._write_step(entry, "pod removed", info)
        if not entry.pods and entry.node is None:
            self._drop(name)
        else:
            self._entries.move_to_end(name)
        if self._observer is not None and entry.node is not None:
            self._observer.pod_removed(name, counted)

    def replace(self, old: PodInfo, new: PodInfo) -> None:
        """Replace the old version of a pod with the new one.

        The entry is changed in place if both count the same. Not where pods share a port: there a
        removed pod frees the port for both, and the new version claims it again.
        """
        entry = self._entries.get(new.node_name)
        if entry is None or (entry.shares_ports and new.ports) or not _alike(old, new):
            self.discount(old)
            self.count(new)
            return
        counted = entry.replace_pod(new)
        if counted is None:
            raise CacheError(f"no corresponding pod {old.pod.name} in pods of node {entry.name}")
        self._note_replaced(entry, new)
        observer = self._observer
        if observer is not None and entry.node is not None:
            if self._replacing is not None:
                self._replacing.pod_replaced(entry.name, counted.pod, new)
            else:
                observer.pod_removed(entry.name, counted)
                observer.pod_added(entry.name, new)

    def renew(self, info: PodInfo, pod: Pod) -> bool:
        """Replace the pod of *info* with its newer version *pod* in place, and keep *info*.

        Returns False, with nothing changed, where that is not possible: *pod* counts differently,
        its node shares ports, or the observer cannot replace pods.
        """
        old, entry = info.pod, self._entries.get(info.node_name)
        if (
            entry is None
            or (entry.shares_ports and info.ports)
            or (self._replacing is None and self._observer is not None)
            or pod.node_name != info.node_name
            or pod.deletion_timestamp != old.deletion_timestamp
            or not info.is_made_like(pod)
            or entry.replace_pod(info) is None
        ):
            return False
        info.pod = pod
        self._note_replaced(entry, info)
        if self._replacing is not None and entry.node is not None:
            if pod.template is old.template:
                self._replacing.pod_replaced(entry.name, old, info)
            else:
                self._replacing.pod_relabelled(entry.name, old, info)
        return True

    # -- helpers ---------------------------------------------------------------------------------

    def _note_replaced(self, entry: NodeInfo, pod: PodInfo) -> None:
        # As one change for each, the version that goes and the one that comes.
        entry.generation = self._generation = self._newest_generation = self._generation + 2
        if self._clock.trace is not None:
            self._write_step(entry, "pod replaced", pod)
        self._entries.move_to_end(entry.name)

    def _new_node_info(self, name: str) -> NodeInfo:
        info = self._entries[name] = NodeInfo(name, self._next_generation())
        return info

    def _set_node(self, info: NodeInfo, node: Node) -> NodeInfo:
        was_ghost = info.node is None
        info.node = node
        info.generation = self._next_generation()
        self._write_step(info, "node")
        observer = self._observer
        if observer is not None:
            observer.node_set(node)
            if was_ghost:
                for pod in info.pods:
                    observer.pod_added(info.name, pod)
        return info

    def _zone(self, node: Node) -> str:
        return zone_key(node.labels, beta_only=self._rules.beta_zones_only)

    def _next_generation(self) -> int:
        """For an entry that changes now, and therefore goes to the end."""
        self._generation = self._newest_generation = self._generation + 1
        return self._generation

    def _drop(self, name: str) -> None:
        del self._entries[name]
        newest = next(reversed(self._entries.values()), None)
        self._newest_generation = 0 if newest is None else newest.generation

    def _write_step(self, entry: NodeInfo, why: NodeChange, pod: PodInfo | None = None) -> None:
        trace = self._clock.trace
        if trace is not None:
            name, key = entry.name, "" if pod is None else pod.key
            step = NodeChanged(self._scheduler, name, entry.generation, why, key)
            trace.add(f"node/{name}", step)


def cached_node_of(entry: NodeInfo) -> CachedNode:
    """*entry*, as a step has it."""
    return CachedNode(entry.name, entry.generation, len(entry.pods), entry.node is None)


def _alike(old: PodInfo, new: PodInfo) -> bool:
    """Whether the newer version counts and matches exactly as the old one."""
    if old.pod.template is new.pod.template and old.resources is new.resources:
        # The same spec but for the node, and the same labels.
        return (
            old.node_name == new.node_name
            and old.uid == new.uid
            and old.pod.deletion_timestamp == new.pod.deletion_timestamp
        )
    return (
        old.node_name == new.node_name
        and old.uid == new.uid
        and (old.resources is new.resources or old.resources == new.resources)
        and old.ports == new.ports
        and (old.affinity is new.affinity or old.affinity == new.affinity)
        and old.priority == new.priority
        and old.pod.labels == new.pod.labels
        and old.pod.claim_names == new.pod.claim_names
        and old.pod.deletion_timestamp == new.pod.deletion_timestamp
    )
