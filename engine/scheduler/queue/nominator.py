"""Nominations: pods that wait for the node on which a preemption makes room for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from engine.framework.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from engine.objects.objects import Pod


class NominationListener(Protocol):
    """Is called for every nomination that is made or removed."""

    def add(self, node: str, pod: PodInfo) -> None:
        """*pod* is nominated for *node* from now on."""
        ...

    def remove(self, key: str) -> None:
        """The pod with this namespace/name is no longer nominated."""
        ...


class Nominator:
    """Pods by the node they are nominated for. Upstream: nominator.go, nominatedPodMap (v1.16)."""

    __slots__ = ("_by_node", "_listener", "_node_of")

    def __init__(self, listener: NominationListener | None = None) -> None:
        self._listener = listener
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._node_of)

    def add(self, info: PodInfo, node_name: str = "") -> None:
        """Nominate the pod for *node_name*, else for the node that its status names, else for none.

        Whatever it was nominated for before is forgotten.
        """
        node_name = node_name or nominated_node_name(info.pod)
        before = self._node_of.get(info.uid)
        if before == node_name:
            # Only the version of the pod may be another. It is the one that was nominated last.
            pods = self._by_node[node_name]
            known = pods.pop(info.uid)
            pods[info.uid] = info
            if self._listener is not None and not _asks_the_same(known, info):
                self._listener.add(node_name, info)
            return
        if before is not None:
            self.delete(info.uid)
        if node_name:
            self._node_of[info.uid] = node_name
            self._by_node.setdefault(node_name, {})[info.uid] = info
            if self._listener is not None:
                self._listener.add(node_name, info)

    def update(self, old: Pod | None, info: PodInfo) -> None:
        """The pod changed.

        When neither version names a node, a nomination made in memory stays: the update may be
        older than the nomination.
        """
        keep = ""
        if old is not None and not nominated_node_name(old) and not nominated_node_name(info.pod):
            keep = self._node_of.get(old.uid, "")
        if old is not None and old.uid != info.uid:
            self.delete(old.uid)
        self.add(info, keep)

    def delete(self, uid: str) -> bool:
        """Forget the nomination of the pod with this uid; was there one?"""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return False
        pods = self._by_node[node_name]
        info = pods.pop(uid)
        if not pods:
            del self._by_node[node_name]
        if self._listener is not None:
            self._listener.remove(info.key)
        return True

    def node_of(self, uid: str) -> str:
        """The node that the pod is nominated for, or ""."""
        return self._node_of.get(uid, "")

    def pods_for_node(self, node_name: str) -> list[PodInfo]:
        """The pods nominated for the node, in the order they were nominated."""
        pods = self._by_node.get(node_name)
        return [] if pods is None else list(pods.values())

    def nodes(self) -> list[str]:
        """Every node that some pod is nominated for, sorted."""
        return sorted(self._by_node)


def _asks_the_same(old: PodInfo, new: PodInfo) -> bool:
    return old.resources is new.resources and old.pod.template is new.pod.template


def nominated_node_name(pod: Pod) -> str:
    """status.nominatedNodeName, or ""."""
    status: Mapping[str, Any] | None = pod.raw.get("status")
    return (status.get("nominatedNodeName") or "") if status else ""
