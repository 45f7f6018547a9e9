"""The events that may help a pod which names another node."""

from __future__ import annotations

from engine.framework.cluster_events import NODE, Action
from engine.framework.registrations import Registration, on

EVENTS: tuple[Registration, ...] = (on(NODE, Action.ADD),)
