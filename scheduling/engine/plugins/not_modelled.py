"""Pods that kscope cannot schedule as a real cluster would. Not one of upstream's plugins.

Every profile of every version has it as its first plugin. A configuration cannot name it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from kscope.sim.objects.objects import Pod
from scheduling.engine import names
from scheduling.engine.framework.framework import SUCCESS, Code, Plugin, Status
from scheduling.engine.pods.pod_info import PodInfo


class NotModelled(Plugin):
    """Keeps pods out of the queue that need something that kscope does not model.

    *unmodelled_need* says why a pod is not scheduled, or "". It must be a method or a function of
    a module, because checkpoints keep it.
    """

    name: ClassVar[str] = names.NOT_MODELLED

    def __init__(self, unmodelled_need: Callable[[Pod], str]) -> None:
        self._unmodelled_need = unmodelled_need

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Refuses such a pod, and says what is not modelled."""
        need = self._unmodelled_need(pod.pod)
        return Status(Code.UNRESOLVABLE, (need,), self.name) if need else SUCCESS
