"""A node of the cache with the pods that are, or are assumed to be, on it.

Upstream: pkg/scheduler/framework/types.go NodeInfo (v1.34), pkg/scheduler/nodeinfo (v1.16). What the
pods request together is counted by the `NodeTable`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from engine.objects.objects import Node


class NodeInfo:
    """One node of the cache. `generation` grows with every change.

    `node` is None for a ghost: a node that pods are on before it is known, or after it is gone. A
    pod is taken from the list `pods` by putting the last pod into its place, as upstream does.
    """

    __slots__ = ("generation", "name", "node", "pods", "shares_ports")

    def __init__(self, name: str, generation: int) -> None:
        self.name = name
        self.generation = generation
        self.node: Node | None = None
        self.pods: list[PodInfo] = []
        # Whether a port was ever claimed twice here at a time.
        self.shares_ports = False

    def add_pod(self, info: PodInfo) -> None:
        """Put the pod at the end of the list. The caller gives a new generation."""
        if info.ports and not self.shares_ports:
            claimed = [port for pod in (*self.pods, info) for port in pod.ports]
            self.shares_ports = len(set(claimed)) < len(claimed)
        self.pods.append(info)

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Take the pod with this uid from the list; None when it is not here."""
        position = _position(self.pods, uid)
        if position < 0:
            return None
        info = self.pods[position]
        last = self.pods.pop()
        if position < len(self.pods):
            self.pods[position] = last
        return info

    def replace_pod(self, info: PodInfo) -> PodInfo | None:
        """Put a newer version of a pod at the end of the list.

        The same as taking it out and adding it. Returns the older version; None when it is not here.
        """
        pods = self.pods
        position = len(pods) - 1
        if position < 0 or pods[position].uid != info.uid:
            position = _position(pods, info.uid)
            if position < 0:
                return None
        old = pods[position]
        pods[position] = pods[-1]
        pods[-1] = info
        return old

    def __repr__(self) -> str:
        return f"NodeInfo({self.name!r}, generation={self.generation}, pods={len(self.pods)})"


def _position(pods: list[PodInfo], uid: str) -> int:
    # From the end: the pod that came last leaves first more often than not.
    for position in range(len(pods) - 1, -1, -1):
        if pods[position].uid == uid:
            return position
    return -1
