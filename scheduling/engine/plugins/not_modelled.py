"""Pods that kscope cannot schedule as a real cluster would. Not one of upstream's plugins.

It belongs to every profile of every version, goes first, and is none that a configuration names.
"""

from __future__ import annotations

from typing import ClassVar

from kscope.sim.objects.unmodelled import unmodelled_need
from scheduling.engine import names
from scheduling.engine.framework.framework import SUCCESS, Code, Plugin, Status
from scheduling.engine.pods.pod_info import PodInfo


class NotModelled(Plugin):
    """Keeps a pod out of the queue that needs what kscope does not model."""

    name: ClassVar[str] = names.NOT_MODELLED

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Says in kscope's own words what is not modelled."""
        need = unmodelled_need(pod.pod)
        return Status(Code.UNRESOLVABLE, (need,), self.name) if need else SUCCESS
