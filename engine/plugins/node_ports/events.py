"""The events that may help a pod whose host port was taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.framework.cluster_events import NODE, POD, Action
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on

if TYPE_CHECKING:
    from engine.objects.objects import Pod


def port_was_freed(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    if old is None or not (old.node_name or old.nominated_node_name):
        return False
    freed = PodInfo(old, pod.rules).ports
    return any(
        wanted.protocol == port.protocol
        and wanted.port == port.port
        and (wanted.ip == port.ip or "0.0.0.0" in (wanted.ip, port.ip))
        for wanted in pod.ports
        for port in freed
    )


EVENTS: tuple[Registration, ...] = (
    on(POD, Action.DELETE, port_was_freed),
    on(NODE, Action.ADD),
)
