"""What of the scheduler's cache the pages draw for a node: requested, and how much is only assumed."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.view import Changes
from engine.objects.pods.pod_resources import Resources

Sums = dict[str, int]


def others(resources: Resources) -> list[tuple[str, int]]:
    """The resources asked for beside cpu and memory, by name."""
    named = [*resources.scalars]
    if resources.ephemeral_storage:
        named.append(("ephemeral-storage", resources.ephemeral_storage))
    return named


class NodeGauges:
    """What of the sums of *table*, and of its own of assumed pods, the pages do not show yet.

    Amounts are cpu in milli, everything else in base units, and the number of pods.
    """

    __slots__ = ("_assumed", "_named", "_shows_assumed", "_table", "stale")

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        # By node and uid: the assumed pods, few at a time.
        self._assumed: dict[str, dict[str, PodInfo]] = {}
        # What pages were last shown of them, where anything was shown.
        self._shows_assumed: dict[str, Sums] = {}
        # The resources beside cpu and memory that were ever shown of a node.
        self._named: dict[str, dict[str, None]] = {}
        # The nodes of which something changed since it was shown, and whether their requests did:
        # code that counts a pod, or stops counting it, notes that here.
        self.stale: dict[str, bool] = {}

    def assumed(self, node: str, pod: PodInfo) -> None:
        """The pod counted on *node* is only assumed to be there."""
        pods = self._assumed.get(node)
        if pods is None:
            self._assumed[node] = {pod.uid: pod}
        else:
            pods[pod.uid] = pod
        self.stale.setdefault(node, False)

    def settled(self, node: str, pod: PodInfo) -> None:
        """The assumed pod is confirmed, or forgotten."""
        pods = self._assumed.get(node)
        if pods is not None and pods.pop(pod.uid, None) is not None:
            if not pods:
                del self._assumed[node]
            self.stale.setdefault(node, False)

    def show(self, changes: Changes, existing: Container[str]) -> None:
        """Put what changed since the last call into *changes*, a patch on the view state.

        Nodes that are not among the *existing* are not shown.
        """
        for node, is_counted in self.stale.items():
            patch: dict[str, Any] = {}
            if is_counted:
                patch["requested"] = self.requested(node)
            pods = self._assumed.get(node)
            if pods is not None:
                before = self._shows_assumed.get(node)
                patch["assumed"] = self._shows_assumed[node] = _sums(pods.values(), before)
            elif self._shows_assumed.pop(node, None) is not None:
                patch["assumed"] = None
            if patch and node in existing:
                changes[f"node/{node}"] = patch
        self.stale.clear()

    def requested(self, node: str) -> Sums:
        """What is counted on *node*; 0 of what was counted there once, and is asked for no more."""
        table = self._table
        row = table.rows.get(node)
        if row is None:
            return {"cpu": 0, "memory": 0, "pods": 0}
        sums = table.requested_at(row)
        if len(sums) > _ALWAYS_SHOWN or node in self._named:
            named = self._named.setdefault(node, {})
            for name in named:
                sums.setdefault(name, 0)
            named.update(dict.fromkeys(sums))
        return sums

    def _shown(self) -> list[str]:
        """The nodes of which something is shown."""
        table = self._table
        counted = [node for node, row in table.rows.items() if table.pods[row]]
        return [*dict.fromkeys((*counted, *self._shows_assumed))]

    def take_over(self, before: NodeGauges) -> None:
        """Show the nodes again that *before* showed, even if nothing is counted on them now."""
        for node, named in before._named.items():
            # What it showed of them stays on the pages until a 0 is shown.
            self._named[node] = {**named, **self._named.get(node, {})}
        for node in before._shown():
            self.stale[node] = True
            self._shows_assumed[node] = before._shows_assumed.get(node, {})

    def forget_node(self, node: str) -> None:
        """The node has left the cluster; nothing is shown of it any more."""
        for kept in (self._assumed, self._shows_assumed, self._named, self.stale):
            kept.pop(node, None)


# cpu, memory and pods.
_ALWAYS_SHOWN = 3


def _sums(pods: Iterable[PodInfo], before: Sums | None) -> Sums:
    """The sum of the requests of *pods*, with 0 for what was shown *before* and is no longer requested."""
    cpu = memory = count = 0
    named: Sums = {} if before is None else dict.fromkeys(before, 0)
    for pod in pods:
        requested = pod.resources.requested
        cpu += requested.milli_cpu
        memory += requested.memory
        count += 1
        if requested.scalars or requested.ephemeral_storage:
            for name, amount in others(requested):
                named[name] = named.get(name, 0) + amount
    return {**named, "cpu": cpu, "memory": memory, "pods": count}
