"""What of the scheduler's cache the pages draw for a node: requested, and how much is only assumed."""

from typing import Any

from kscope.sim.view import Changes
from scheduling.engine.pod_info import PodInfo, Resources


def others(resources: Resources) -> list[tuple[str, int]]:
    """The resources asked for beside cpu and memory, by name."""
    named = [*resources.scalars]
    if resources.ephemeral_storage:
        named.append(("ephemeral-storage", resources.ephemeral_storage))
    return named


class NodeGauges:
    """Running sums per node, kept in step by the cache that it observes.

    Amounts are cpu in milli, everything else in base units, and the number of pods.
    """

    __slots__ = ("_assumed", "_requested", "_shown_assumed", "_stale")

    def __init__(self) -> None:
        self._requested: dict[str, dict[str, int]] = {}
        self._assumed: dict[str, dict[str, int]] = {}
        self._shown_assumed: dict[str, bool] = {}
        self._stale: dict[str, None] = {}

    def pod_added(self, node: str, pod: PodInfo) -> None:
        """A pod, assumed or confirmed, is counted on *node* from now on."""
        self._count(self._requested, node, pod, 1)

    def pod_removed(self, node: str, pod: PodInfo) -> None:
        """A pod is no longer counted on *node*."""
        self._count(self._requested, node, pod, -1)

    def assumed(self, node: str, pod: PodInfo) -> None:
        """The pod counted on *node* is only assumed to be there."""
        self._count(self._assumed, node, pod, 1)

    def settled(self, node: str, pod: PodInfo) -> None:
        """The assumed pod is confirmed, or forgotten."""
        self._count(self._assumed, node, pod, -1)

    def changes(self) -> Changes:
        """What changed since the last call, as a patch on the view state."""
        told: Changes = {}
        if not self._stale:
            return told
        for node in self._stale:
            patch: dict[str, Any] = {"requested": dict(self._requested.get(node, {}))}
            assumed = self._assumed.get(node)
            if assumed and assumed["pods"]:
                patch["assumed"] = dict(assumed)
                self._shown_assumed[node] = True
            elif self._shown_assumed.pop(node, False):
                patch["assumed"] = None
            told[f"node/{node}"] = patch
        self._stale.clear()
        return told

    def requested(self, node: str) -> dict[str, int]:
        """What is counted on *node*."""
        return dict(self._requested.get(node, {}))

    def shown(self) -> list[str]:
        """The nodes of which something is shown."""
        return [*self._requested]

    def take_over(self, shown: list[str]) -> None:
        """Tell of these nodes anew, though nothing may be counted on them: others showed them."""
        for node in shown:
            self._count_nothing(node)

    def forget_node(self, node: str) -> None:
        """The node has left the cluster; nothing is shown of it any more."""
        for sums in (self._requested, self._assumed, self._shown_assumed, self._stale):
            sums.pop(node, None)

    def _count_nothing(self, node: str) -> None:
        self._requested.setdefault(node, {"cpu": 0, "memory": 0, "pods": 0})
        self._shown_assumed[node] = True
        self._stale[node] = None

    def _count(self, sums: dict[str, dict[str, int]], node: str, pod: PodInfo, sign: int) -> None:
        of_node = sums.get(node)
        if of_node is None:
            of_node = sums[node] = {"cpu": 0, "memory": 0, "pods": 0}
        resources = pod.resources.requested
        of_node["cpu"] += sign * resources.milli_cpu
        of_node["memory"] += sign * resources.memory
        of_node["pods"] += sign
        if resources.scalars or resources.ephemeral_storage:
            for name, amount in others(resources):
                of_node[name] = of_node.get(name, 0) + sign * amount
        self._stale[node] = None
