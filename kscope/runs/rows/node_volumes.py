"""What of the volumes of a node decides the state of the node and of its pods.

As `volumesOf` of static/js/model/health/node_volumes.js and `awaitedOn` of operations.js read them;
a test holds the two together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from engine.kernel.view import Attributes

MOUNTED = "VolumeMounted"
_STARTED = ("Running", "Succeeded", "Failed")
# Operations on all pods of a volume have this in the place of a pod.
_EVERY_POD = "*"
# Which state of a volume a pod is told of, if it waits for several.
FAILING, STUCK, STARTING = "failing", "stuck", "starting"
_URGENCY = {FAILING: 0, STUCK: 1, STARTING: 2}


@dataclass(frozen=True, slots=True)
class VolumeOnNode:
    """A volume of a node, as the kubelet and the attach/detach controller have it."""

    kubelet: Attributes | None
    controller: Attributes | None

    @property
    def pods(self) -> Iterable[str]:
        """The keys of the pods that want it."""
        known = self.controller if self.kubelet is None else self.kubelet
        return ((known or {}).get("desired") or {}).keys()

    @property
    def operations(self) -> list[tuple[str, Attributes]]:
        """What is done or was tried with it, each with the pod that it is done for."""
        found = list(((self.kubelet or {}).get("operations") or {}).items())
        if operation := (self.controller or {}).get("operation"):
            found.append((_EVERY_POD, operation))
        return found

    @property
    def is_failing(self) -> bool:
        """Whether any operation on it fails."""
        return any((each.get("failures") or 0) > 0 for _, each in self.operations)

    @property
    def is_refused(self) -> bool:
        """Whether it is not attached here because another node has it."""
        at = self.controller or {}
        reported = at.get("multi_attach_error_reported")
        return bool(reported and not at.get("attached") and not at.get("operation"))

    def is_mounted_for(self, pod: str) -> bool:
        """Whether it is certainly mounted for the pod."""
        return ((self.kubelet or {}).get("mounts") or {}).get(pod) == MOUNTED

    @property
    def is_being_attached(self) -> bool:
        """Whether a pod wants it, and neither is it attached nor does the kubelet know it yet."""
        attached = (self.controller or {}).get("attached")
        return self.kubelet is None and not attached and any(True for _ in self.pods)

    def waiting(self, pods: Mapping[str, Attributes]) -> list[str]:
        """The pods whose containers cannot start before it is mounted; *pods* are those of the node."""
        if self.kubelet is None:
            return []
        return [
            pod for pod in self.pods if not self.is_mounted_for(pod) and not _has_started(pods, pod)
        ]

    @property
    def lingers_since(self) -> int | None:
        """Since when it is to be detached while the node still has it in use; None if it is not."""
        at = self.controller or {}
        if any(True for _ in self.pods) or not at.get("mounted_by_node"):
            return None
        return cast("int | None", at.get("detach_requested"))


def volumes_of(node: Attributes) -> list[VolumeOnNode]:
    """All volumes of a node."""
    known: dict[str, Any] = node.get("volumes") or {}
    attached: dict[str, Any] = node.get("attachments") or {}
    return [VolumeOnNode(known.get(name), attached.get(name)) for name in {**known, **attached}]


def awaited_on(node: Attributes) -> dict[str, str]:
    """By the key of each pod that waits for a volume: failing, stuck, or starting."""
    found: dict[str, str] = {}
    for volume in volumes_of(node):
        for pod in _waiting_for(volume):
            state = _told(volume, pod)
            if _URGENCY[state] < _URGENCY.get(found.get(pod, ""), len(_URGENCY)):
                found[pod] = state
    return found


def _waiting_for(volume: VolumeOnNode) -> Iterable[str]:
    if volume.kubelet is not None:
        return volume.waiting({})
    return () if (volume.controller or {}).get("attached") else volume.pods


def _told(volume: VolumeOnNode, pod: str) -> str:
    for whose, operation in volume.operations:
        if (operation.get("failures") or 0) > 0 and whose in (_EVERY_POD, pod):
            return FAILING
    return STUCK if volume.is_refused else STARTING


def _has_started(pods: Mapping[str, Attributes], pod: str) -> bool:
    return (pods.get(f"pod/{pod}") or {}).get("phase") in _STARTED
