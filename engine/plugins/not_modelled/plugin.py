"""Pods that kscope cannot schedule as a real cluster would. Not one of upstream's plugins.

Every profile of every version has it as its first plugin. A configuration cannot name it.
"""

from __future__ import annotations

from typing import ClassVar

from engine.framework import names
from engine.framework.framework import SUCCESS, Code, Plugin, Status
from engine.framework.pods.pod_info import PodInfo
from engine.objects.unmodelled import unmodelled_need


class NotModelled(Plugin):
    """Keeps pods out of the queue that need something that kscope does not model."""

    name: ClassVar[str] = names.NOT_MODELLED

    def __init__(self, allocates_devices: bool) -> None:
        """With *allocates_devices* resource claims are modelled."""
        self._allocates_devices = allocates_devices
        self._key = f"{self.name}, devices: {allocates_devices}"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Refuses such a pod, and says what is not modelled."""
        # Pods made alike have one answer.
        template = pod.pod.template
        answer: Status | None = template.get(self._key)
        if answer is None:
            need = unmodelled_need(pod.pod, allocates_devices=self._allocates_devices)
            answer = Status(Code.UNRESOLVABLE, (need,), self.name) if need else SUCCESS
            template[self._key] = answer
        return answer
