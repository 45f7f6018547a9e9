"""The first node status after a boot. Upstream: pkg/kubelet/nodestatus/setters.go."""

from collections.abc import Container, Mapping
from typing import Final

from engine.kernel.errors import ApiError
from engine.kernel.units import timestamp
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.pod_status import SYNC_PERIOD
from engine.kubelet.volume_manager.all_nodes import VolumeManagers
from engine.objects.objects import Manifest

# The conditions of a healthy node.
HEALTHY: Final[Mapping[str, Manifest]] = {
    "MemoryPressure": {
        "status": "False",
        "reason": "KubeletHasSufficientMemory",
        "message": "kubelet has sufficient memory available",
    },
    "DiskPressure": {
        "status": "False",
        "reason": "KubeletHasNoDiskPressure",
        "message": "kubelet has no disk pressure",
    },
    "PIDPressure": {
        "status": "False",
        "reason": "KubeletHasSufficientPID",
        "message": "kubelet has sufficient PID available",
    },
    "Ready": {
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    },
}

# The same for a condition that nodes had until v1.12; written where a node has it.
_OUT_OF_DISK: Final[Mapping[str, Manifest]] = {
    "OutOfDisk": {
        "status": "False",
        "reason": "KubeletHasSufficientDisk",
        "message": "kubelet has sufficient disk space available",
    },
}

# What becomes of the condition Ready without a container runtime.
# Upstream: pkg/kubelet/kubelet.go, updateRuntimeUp().
RUNTIME_DOWN: Final[Manifest] = {
    "status": "False",
    "reason": "KubeletNotReady",
    "message": "container runtime is down",
}


class NodeStatusReporter:
    """Writes that a node is healthy; not for a node whose kubelet is *down*."""

    __slots__ = ("_context", "_down", "_volumes")

    def __init__(
        self, context: KubeletContext, volumes: VolumeManagers, down: Container[str]
    ) -> None:
        self._context = context
        self._volumes = volumes
        self._down = down

    def report(self, node: str) -> None:
        """Write the status of *node*, and again after 10 s if that is refused."""
        store, loop = self._context.store, self._context.loop
        found = store.find("Node", node)
        if found is None or node in self._down:
            return
        conditions: list[Manifest] = found.status.get("conditions") or []
        in_use = self._volumes.in_use(node) or None
        healthy = _healthy(conditions, timestamp(loop.clock))
        try:
            store.patch(
                "Node",
                node,
                {"status": {"conditions": healthy, "volumesInUse": in_use}},
                by=COMPONENT,
                event="NodeStatusReported",
                message="kubelet is posting ready status",
            )
        except ApiError:
            loop.call_after(SYNC_PERIOD, self.report, node)


def _healthy(conditions: list[Manifest], now: str) -> list[Manifest]:
    """*conditions* with those that a kubelet writes made healthy."""
    has_old = any(each.get("type") in _OUT_OF_DISK for each in conditions)
    healthy = {**_OUT_OF_DISK, **HEALTHY} if has_old else HEALTHY
    others = [each for each in conditions if each.get("type") not in healthy]
    written = [
        {"type": kind, "lastTransitionTime": now, **condition}
        for kind, condition in healthy.items()
    ]
    return [*others, *written]
