"""All or none of a gang: its pods wait for each other, before the queue and before they are bound.

Upstream: plugins/gangscheduling/gangscheduling.go (v1.36).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from engine.framework import names
from engine.framework.framework import SUCCESS, Code, CycleState, Plugin, Status, pods_to_activate
from engine.framework.handle import Arguments, Handle
from engine.framework.pod_groups.groups import PodGroups, group_of, groups_of
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration
from engine.kernel.units import MINUTE
from engine.plugins.gang_scheduling.events import EVENTS

# How long a pod of a gang waits at Permit for the others. Upstream: schedulingTimeout.
TIMEOUT: Final = 5 * MINUTE
WAITS_TO_APPEAR: Final = "waiting for minCount pods from a gang to appear in scheduling queue"
WAITS_TO_BE_SCHEDULED: Final = "waiting for minCount pods from a gang to be scheduled"


class GangScheduling(Plugin):
    """Keeps the pods of a gang waiting until as many as it needs are there, and have nodes."""

    name: ClassVar[str] = names.GANG_SCHEDULING

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._handle = handle

    @property
    def _groups(self) -> PodGroups | None:
        return groups_of(self._handle)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Refuses a pod whose group is not there, or has too few pods yet."""
        group = group_of(pod.pod)
        if not group or self._groups is None:
            return SUCCESS
        if not self._groups.exists(group):
            name = group.partition("/")[2]
            reason = f'waiting for pods\'s pod group "{name}" to appear in scheduling queue'
            return Status(Code.UNRESOLVABLE, (reason,), self.name)
        if len(self._groups.pods(group)) < self._groups.minimum(group):
            return Status(Code.UNRESOLVABLE, (WAITS_TO_APPEAR,), self.name)
        return SUCCESS

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        """Wait for the rest of the gang; the pod that completes it lets all others pass."""
        pod = state.pod.pod
        group = group_of(pod)
        if not group or self._groups is None:
            return SUCCESS, 0
        if len(self._groups.placed(group)) < self._groups.minimum(group):
            for other in self._groups.unplaced(group):
                pods_to_activate(state)[other.key] = other
            return Status(Code.WAIT, (WAITS_TO_BE_SCHEDULED,), self.name), TIMEOUT
        for other in self._groups.placed(group):
            waiting = self._handle.waiting_pods.get(other.uid)
            if waiting is not None:
                waiting.allow(self.name)
        return SUCCESS, 0

    def events_to_register(self) -> Sequence[Registration]:
        """Another pod of the group, or the group itself, may complete the gang."""
        return EVENTS
