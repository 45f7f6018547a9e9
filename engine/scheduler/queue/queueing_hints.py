"""The queueing hints of one profile: asked whether an event may help a pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.framework.cluster_events import (
    CSI_DRIVER,
    CSI_NODE,
    CSI_STORAGE_CAPACITY,
    DEVICE_CLASS,
    NODE,
    PERSISTENT_VOLUME,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_GROUP,
    RESOURCE_CLAIM,
    STORAGE_CLASS,
    Action,
    ClusterEvent,
)
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import About, EnqueueExtensions, Hint, Registration, on

# Upstream: types.go UnrollWildCardResource().
_EVERYTHING: tuple[Registration, ...] = tuple(
    on(resource, Action.ALL)
    for resource in (
        POD,
        NODE,
        PERSISTENT_VOLUME,
        PERSISTENT_VOLUME_CLAIM,
        CSI_NODE,
        CSI_DRIVER,
        CSI_STORAGE_CAPACITY,
        STORAGE_CLASS,
        RESOURCE_CLAIM,
        DEVICE_CLASS,
    )
)
_ALL_OF_GROUPS = on(POD_GROUP, Action.ALL)


class QueueingHints:
    """The registrations of the plugins of one profile, by plugin name."""

    __slots__ = ("_by_event", "_registrations")

    def __init__(self, registrations: Mapping[str, Iterable[Registration]] | None = None) -> None:
        self._registrations = {
            plugin: _with_node_taints(entries) for plugin, entries in (registrations or {}).items()
        }
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

    def abouts(self, event: ClusterEvent) -> Iterator[tuple[str, About | None]]:
        """The plugins that listen to the event, each with what says which pods it is about."""
        for plugin, entries in self._registrations.items():
            for entry in entries:
                if entry.event.covers(event):
                    yield plugin, entry.about

    def queues(self, plugin: str, event: ClusterEvent, pod: PodInfo, old: Any, new: Any) -> bool:
        """Does the plugin find the pod worth a new attempt after this event?"""
        return any(
            hint is None or hint(pod, old, new)
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


def registrations_of(
    plugins: Mapping[str, object], *, groups: bool
) -> dict[str, Iterable[Registration]]:
    """What each of *plugins* registered; one that says nothing hears of everything.

    *groups* is whether there are PodGroups. Upstream: runtime/framework.go defaultEnqueueExtension.
    """
    unsaid = everything(groups=groups)
    return {
        name: plugin.events_to_register() if isinstance(plugin, EnqueueExtensions) else unsaid
        for name, plugin in plugins.items()
    }


def everything(*, groups: bool) -> tuple[Registration, ...]:
    """The registrations of a plugin that makes none; *groups* is whether there are PodGroups."""
    return (*_EVERYTHING, _ALL_OF_GROUPS) if groups else _EVERYTHING
