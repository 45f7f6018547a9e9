"""What is under way: writes of which some component has not heard yet."""

from collections.abc import Iterator
from typing import Any

from engine.api_server.store.watches import WatchEvent
from engine.cluster.cluster import Cluster
from engine.objects.objects import ApiObject


def under_way(cluster: Cluster) -> dict[str, None]:
    """The ids of objects that some part of the cluster may not know as they are.

    Their watch event, or the answer to their write, is still to come, or a watch of their kind has
    been cut: a pod that went unseen then stays in the scheduler's cache for ever, as it does
    upstream (kubernetes#106102).
    """
    ids: dict[str, None] = {}
    for arguments in cluster.loop.pending_arguments():
        for obj in _written(arguments):
            ids[obj.id] = None
    faults = cluster.store.faults
    return ids if faults is None else ids | faults.missed


def _written(value: Any) -> Iterator[ApiObject]:
    """The objects of all watch events and lists among the arguments of a callback."""
    if isinstance(value, WatchEvent):
        yield value.new
    elif isinstance(value, ApiObject):
        yield value
    elif type(value) in (tuple, list):
        for part in value:
            yield from _written(part)
