"""The pods of each node, found without a look at all pods."""

from collections.abc import Iterable, Mapping
from typing import Any

from engine.objects.objects import EMPTY, ApiObject


class PodsByNode:
    """The keys of pods by the node that their spec names, each in the order of their creation.

    "" stands for none.
    """

    def __init__(self, pods: Iterable[ApiObject]) -> None:
        """*pods* are all that there are, in the order of their creation."""
        self._count = 0
        # The place of each pod in that order, which it keeps when it gets a node.
        self._places: dict[str, dict[str, int]] = {}
        for pod in pods:
            self.put(None, pod)

    def put(self, old: ApiObject | None, new: ApiObject) -> None:
        """A pod was stored, in the place of *old* if there was one."""
        node = _node_of(new)
        if old is None:
            self._count += 1
            place = self._count
        else:
            before = _node_of(old)
            if before == node:
                return
            place = self.drop(old)
        self._places.setdefault(node, {})[new.key] = place

    def drop(self, old: ApiObject) -> int:
        """The pod is gone; returns the place that it had."""
        node = _node_of(old)
        of_node = self._places[node]
        place = of_node.pop(old.key)
        if not of_node:
            del self._places[node]
        return place

    def on(self, node: str) -> list[str]:
        """The keys of the pods of *node*."""
        found = self._places.get(node, {})
        return sorted(found, key=found.__getitem__)


def _node_of(pod: ApiObject) -> str:
    # Not `node_name`, which every pod would keep.
    spec: Mapping[str, Any] = pod.raw.get("spec") or EMPTY
    return spec.get("nodeName") or ""
