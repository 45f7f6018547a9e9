"""The events that may help a pod which needs a feature that no kubelet declares."""

from __future__ import annotations

from engine.framework.cluster_events import NODE, Action
from engine.framework.registrations import Registration, on

# Upstream it also listens to updates of the pod, but no update changes what a pod needs.
EVENTS: tuple[Registration, ...] = (on(NODE, Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE),)
