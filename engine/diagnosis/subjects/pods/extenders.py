"""What extenders said at a pod's last attempt: they are not asked about what is only tried."""

from __future__ import annotations

from engine.diagnosis.report import Cause
from engine.framework import names
from engine.framework.explaining.fact import fact
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items
from engine.objects.objects import Pod
from engine.scheduler.queue.queued_pod import QueuedPodInfo


def extender_cause(pod: Pod, queued: QueuedPodInfo | None, node: str) -> Cause | None:
    """That an extender refused *pod*, which passes all filters on *node*; None if none has.

    A node that an extender leaves out without a reason is no plugin's rejection.
    """
    if queued is None or queued.place not in ("unschedulable", "backoff"):
        return None
    rejected = queued.unschedulable_plugins
    if rejected and names.EXTENDER not in rejected:
        return None
    for place, each in enumerate(items(pod.status, "conditions")):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            message = str(each.get("message"))
            path = ("status", "conditions", place, "message")
            return Cause(
                severity="blocks",
                sentence=say(
                    "An extender refused it at its last attempt; the filters pass {node}.",
                    node=node,
                ),
                plugin=names.EXTENDER,
                reasons=(message,),
                because=(
                    fact(pod, path, say("Its last attempt ended with: {message}", message=message)),
                ),
            )
    return None
