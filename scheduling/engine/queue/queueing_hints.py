"""The queueing hints of one profile: asked whether an event may help a pod."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from scheduling.engine.framework.cluster_events import NODE, Action, ClusterEvent
from scheduling.engine.framework.registrations import Hint, HintWorld, Registration, on
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.queue.hints.in_tree import IN_TREE_HINTS


class QueueingHints:
    """The registrations of the plugins of one profile, by plugin name."""

    __slots__ = ("_by_event", "_registrations", "_world")

    def __init__(
        self,
        registrations: Mapping[str, Iterable[Registration]] | None = None,
        world: HintWorld | None = None,
    ) -> None:
        source = IN_TREE_HINTS if registrations is None else registrations
        self._registrations = {
            plugin: _with_node_taints(entries) for plugin, entries in source.items()
        }
        self._world = world or HintWorld()
        self._by_event: dict[ClusterEvent, dict[str, tuple[Hint | None, ...]]] = {}

    def registered_for(self, event: ClusterEvent) -> Mapping[str, tuple[Hint | None, ...]]:
        """The plugins that listen to the event, with their hints."""
        found = self._by_event.get(event)
        if found is None:
            found = {}
            for plugin, entries in self._registrations.items():
                hints = tuple(entry.hint for entry in entries if entry.event.covers(event))
                if hints:
                    found[plugin] = hints
            self._by_event[event] = found
        return found

    def queues(self, plugin: str, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        """Does the plugin find the pod worth a new attempt after this event?"""
        return any(
            hint is None or hint(self._world, pod, old, new)
            for hint in self.registered_for(event).get(plugin, ())
        )


def _with_node_taints(entries: Iterable[Registration]) -> tuple[Registration, ...]:
    """Add changes of node taints for a plugin that registers for new nodes, but not for taints.

    Upstream added them because a check before the hints hid some new nodes from plugins, and kept
    them after that check had gone (kubernetes#109437). Upstream: scheduler.go buildQueueingHintMap().
    """
    registered = tuple(entries)
    actions = Action.NONE
    for entry in registered:
        if entry.event.resource == NODE:
            actions |= entry.event.action
    if actions & Action.ADD and not actions & Action.UPDATE_NODE_TAINT:
        return (*registered, on(NODE, Action.UPDATE_NODE_TAINT))
    return registered
