"""The states that a timeline draws as bars, read from the attributes of the view state.

pod:       gated ─▶ active ─▶ attempt ─▶ backoff | unschedulable ─▶ … ─▶ binding
           ─▶ attaching ─▶ kubelet ─▶ mounting | failing ─▶ starting ─▶ running ─▶ terminating
           while its containers are at fault: crashing, unready
claim:     pending ─▶ half_bound ─▶ bound ─▶ lost
node:      ready, cordoned, not_ready
operation: attach, mount, detach, unmount, failing
"""

from collections.abc import Iterable, Mapping
from typing import Any

from engine.kernel.view import Attributes

# From the best to the worst: where several share a pixel, the last of them is drawn.
STATES = (
    "",
    "ended",
    "running",
    "bound",
    "ready",
    "mounted",
    "attached",
    "starting",
    "detach",
    "unmount",
    "mount",
    "mounting",
    "attach",
    "attaching",
    "kubelet",
    "half_bound",
    "binding",
    "active",
    "attempt",
    "nominated",
    "pending",
    "gated",
    "backoff",
    "cordoned",
    "unready",
    "terminating",
    "unschedulable",
    "crashing",
    "failing",
    "not_ready",
    "lost",
)
CODES = {name: code for code, name in enumerate(STATES)}
# The containers run, or are to be started again.
RUNS = frozenset(("running", "unready", "crashing"))
WAITS = frozenset(
    ("gated", "active", "backoff", "unschedulable", "kubelet", "failing", "pending", "lost")
)

_QUEUES = {"gated": "gated", "active": "active", "in_flight": "attempt", "backoff": "backoff"}
_OVER = ("Succeeded", "Failed")
_OPERATIONS = {
    "volume_attach": "attach",
    "volume_detach": "detach",
    "volume_mount": "mount",
    "map_volume": "mount",
    "volume_unmount": "unmount",
    "unmount_device": "unmount",
}


def pod_state(pod: Attributes, awaited: str) -> str:
    """The state of *pod*; *awaited* is what it waits for at its node, see `awaited_state`."""
    if not pod:
        return ""
    if pod.get("phase") in _OVER:
        return "ended"
    if pod.get("deleting") is not None:
        return "terminating"
    if pod.get("phase") == "Running":
        return _told_state(pod) or "running"
    if pod.get("node"):
        return awaited or _told_state(pod) or "starting"
    if pod.get("assumed"):
        return "binding"
    queue = pod.get("queue")
    # No scheduler has it in its queue.
    return _QUEUES.get(queue, "unschedulable") if queue else "pending"


def _told_state(pod: Attributes) -> str:
    """What its status tells of containers at fault: one has ended and waits, or is not ready."""
    told = part_of(pod, "told")
    if told.get("container"):
        # One that only waits to be started is no fault.
        return "crashing" if told.get("is_fault") else ""
    return "unready" if told else ""


def awaited_state(key: str, node: Attributes) -> str:
    """What pod *key* ("NS/NAME") waits for among the volumes of its *node*; "" for nothing."""
    volumes: Mapping[str, Any] = node.get("volumes") or {}
    attachments: Mapping[str, Any] = node.get("attachments") or {}
    found = [
        _awaited(key, volumes.get(unique) or {}, attachments.get(unique) or {})
        for unique in {**attachments, **volumes}
    ]
    return worst(found)


def _awaited(key: str, kubelet: Attributes, controller: Attributes) -> str:
    if key not in part_of(kubelet or controller, "desired"):
        return ""
    if part_of(kubelet, "mounts").get(key) == "VolumeMounted":
        return ""
    operations: Mapping[str, Attributes] = kubelet.get("operations") or {}
    tried = [operations.get("*"), operations.get(key), controller.get("operation")]
    if any(each and each.get("failures") and each.get("started") is None for each in tried):
        return "failing"
    needs_attach = bool(kubelet.get("attachable", controller))
    if needs_attach and controller and not controller.get("attached"):
        return "attaching"
    if needs_attach and not kubelet.get("attached"):
        return "kubelet"
    return "mounting"


def claim_state(claim: Attributes, *, is_named: bool) -> str:
    """The state of a claim; *is_named* is whether a volume names it."""
    if not claim:
        return ""
    phase = claim.get("phase")
    if phase == "Lost":
        return "lost"
    if phase == "Bound":
        return "bound"
    if is_named or claim.get("volume"):
        return "half_bound"
    return "failing" if claim.get("trouble") else "pending"


def node_state(node: Attributes) -> str:
    """The state of a node."""
    if not node:
        return ""
    if node.get("ready") is False:
        return "not_ready"
    return "cordoned" if node.get("unschedulable") else "ready"


def operation_states(unique: str, node: Attributes) -> tuple[str, str]:
    """What the attach/detach controller and the kubelet do with the volume *unique* of *node*."""
    controller = part_of(node, "attachments", unique)
    kubelet = part_of(node, "volumes", unique)
    operations: Mapping[str, Attributes] = part_of(kubelet, "operations")
    attach = _operation(controller.get("operation")) or (
        "attached" if controller.get("attached") else ""
    )
    running = worst(_operation(each) for each in operations.values())
    return attach, running or ("mounted" if kubelet.get("mounts") else "")


def _operation(operation: Attributes | None) -> str:
    if not operation:
        return ""
    if operation.get("failures") and operation.get("started") is None:
        return "failing"
    return _OPERATIONS.get(operation.get("name", ""), "") if "started" in operation else ""


def part_of(attributes: Attributes, *path: str) -> Attributes:
    """The attributes at a path of *attributes*; none where there is nothing."""
    found: Any = attributes
    for key in path:
        found = found.get(key) or {}
    return found


def worst(states: Iterable[str]) -> str:
    """The worst of several states, "" for none."""
    return max(states, key=CODES.__getitem__, default="")
