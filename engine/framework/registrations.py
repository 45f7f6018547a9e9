"""What a plugin registers: an event that may help a pod it rejected, and a hint about that event.

A hint gets the pod that the plugin rejected and the object before and after the event, and says
whether it is worth trying the pod again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.cluster_events import Action, ClusterEvent
from engine.framework.pods.pod_info import PodInfo

if TYPE_CHECKING:
    pass


Hint = Callable[[PodInfo, Any, Any], bool]
"""The waiting pod, and the object before and after the event; None where there is none."""
Subject = tuple[str, str]
"""The kind and the key of an object that pods name."""
About = Callable[[Any, Any], Subject | None]
"""What an event is about, by the object before and after it; None: any pod, whatever it names."""


@dataclass(frozen=True, slots=True)
class Registration:
    """An event that a plugin listens to; without a hint, it always helps.

    The hint is False for all pods that do not name what the event is *about*: it need not be asked
    of them.
    """

    event: ClusterEvent
    hint: Hint | None = None
    about: About | None = None


@runtime_checkable
class EnqueueExtensions(Protocol, metaclass=AskedOnce):
    """A plugin that says which events may help a pod that it turned away.

    Upstream: framework.EnqueueExtensions.
    """

    def events_to_register(self) -> Sequence[Registration]:
        """What it listens to; a hint can be pickled: a function, a method, or a partial of one."""
        ...


def on(
    resource: str, action: Action, hint: Hint | None = None, about: About | None = None
) -> Registration:
    """The registration for these actions on objects of one kind."""
    return Registration(ClusterEvent(resource, action), hint, about)
