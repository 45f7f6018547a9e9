"""The events that may help a pod which its gates hold back."""

from __future__ import annotations

from engine.framework.cluster_events import POD, Action
from engine.framework.hints import itself_updated
from engine.framework.registrations import Registration, on

EVENTS: tuple[Registration, ...] = (
    on(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, itself_updated),
)
