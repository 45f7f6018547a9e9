"""What of the scheduler's cache the pages draw for a node: requested, and how much is only assumed."""

from collections.abc import Container
from typing import Any

from kscope.sim.view import Changes
from scheduling.engine.pod_info import PodInfo, Resources


def others(resources: Resources) -> list[tuple[str, int]]:
    """The resources asked for beside cpu and memory, by name."""
    named = [*resources.scalars]
    if resources.ephemeral_storage:
        named.append(("ephemeral-storage", resources.ephemeral_storage))
    return named


class Gauge:
    """The sums of one node, and whether the pages show an assumed part of them."""

    __slots__ = ("assumed", "entity", "requested", "shows_assumed")

    def __init__(self, node: str) -> None:
        self.entity = f"node/{node}"
        self.requested: dict[str, int] = {"cpu": 0, "memory": 0, "pods": 0}
        self.assumed: dict[str, int] = {"cpu": 0, "memory": 0, "pods": 0}
        self.shows_assumed = False


class NodeGauges:
    """Running sums per node, kept in step by the cache that it observes.

    Amounts are cpu in milli, everything else in base units, and the number of pods.
    """

    __slots__ = ("_gauges", "stale")

    def __init__(self) -> None:
        self._gauges: dict[str, Gauge] = {}
        # The nodes of which something changed since it was told. Only to be looked at.
        self.stale: dict[str, Gauge] = {}

    def pod_added(self, node: str, pod: PodInfo) -> None:
        """A pod, assumed or confirmed, is counted on *node* from now on."""
        _count(self._touched(node).requested, pod.resources.requested, 1)

    def pod_removed(self, node: str, pod: PodInfo) -> None:
        """A pod is no longer counted on *node*."""
        _count(self._touched(node).requested, pod.resources.requested, -1)

    def assumed(self, node: str, pod: PodInfo) -> None:
        """The pod counted on *node* is only assumed to be there."""
        _count(self._touched(node).assumed, pod.resources.requested, 1)

    def settled(self, node: str, pod: PodInfo) -> None:
        """The assumed pod is confirmed, or forgotten."""
        _count(self._touched(node).assumed, pod.resources.requested, -1)

    def show(self, changes: Changes, existing: Container[str]) -> None:
        """Put what changed since the last call into *changes*, a patch on the view state.

        Nodes that are not among the *existing* are not shown.
        """
        for node, gauge in self.stale.items():
            patch: dict[str, Any] = {"requested": gauge.requested.copy()}
            if gauge.assumed["pods"]:
                patch["assumed"] = gauge.assumed.copy()
                gauge.shows_assumed = True
            elif gauge.shows_assumed:
                patch["assumed"] = None
                gauge.shows_assumed = False
            if node in existing:
                changes[gauge.entity] = patch
        self.stale.clear()

    def requested(self, node: str) -> dict[str, int]:
        """What is counted on *node*."""
        gauge = self._gauges.get(node)
        return {} if gauge is None else gauge.requested.copy()

    def shown(self) -> list[str]:
        """The nodes of which something is shown."""
        return [*self._gauges]

    def take_over(self, shown: list[str]) -> None:
        """Tell of these nodes anew, though nothing may be counted on them: others showed them."""
        for node in shown:
            self._touched(node).shows_assumed = True

    def forget_node(self, node: str) -> None:
        """The node has left the cluster; nothing is shown of it any more."""
        self._gauges.pop(node, None)
        self.stale.pop(node, None)

    def _touched(self, node: str) -> Gauge:
        gauge = self._gauges.get(node)
        if gauge is None:
            gauge = self._gauges[node] = Gauge(node)
        self.stale[node] = gauge
        return gauge


def _count(sums: dict[str, int], resources: Resources, sign: int) -> None:
    sums["cpu"] += sign * resources.milli_cpu
    sums["memory"] += sign * resources.memory
    sums["pods"] += sign
    if resources.scalars or resources.ephemeral_storage:
        for name, amount in others(resources):
            sums[name] = sums.get(name, 0) + sign * amount
