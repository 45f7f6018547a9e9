"""What a plugin registers: an event that may help a pod it rejected, and a hint about that event.

A hint gets the pod that the plugin rejected and the object before and after the event, and says
whether it is worth trying the pod again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine.framework.asked_once import AskedOnce
from scheduling.engine.framework.cluster_events import Action, ClusterEvent
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.pods.pod_template import SpreadConstraint

if TYPE_CHECKING:
    from kscope.sim.objects.objects import ApiObject


class HintWorld:
    """What hints may ask about the cluster; a subclass answers from its informers."""

    def enforced_node_affinity(self) -> NodeSelector | None:
        """What the configuration adds to every pod's required node affinity."""
        return None

    def default_spread_constraints(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        """The DoNotSchedule constraints that a pod without any gets from the configuration."""
        return ()

    def resource_claims(self) -> Mapping[str, ApiObject]:
        """The resource claims by key."""
        return {}

    def resources_of_classes(self) -> Container[str] | None:
        """The extended resources that a DeviceClass stands for; None where none can."""
        return None


Hint = Callable[[HintWorld, PodInfo, Any, Any], bool]


@dataclass(frozen=True, slots=True)
class Registration:
    """An event that a plugin listens to; without a hint, it always helps."""

    event: ClusterEvent
    hint: Hint | None = None


@runtime_checkable
class EnqueueExtensions(Protocol, metaclass=AskedOnce):
    """A plugin that says which events may help a pod that it turned away.

    Upstream: framework.EnqueueExtensions.
    """

    def events_to_register(self) -> Sequence[Registration]:
        """What it listens to; a hint must be a function of a module."""
        ...


def on(resource: str, action: Action, hint: Hint | None = None) -> Registration:
    """The registration for these actions on objects of one kind."""
    return Registration(ClusterEvent(resource, action), hint)
