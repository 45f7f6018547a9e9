"""In which state of its list a pod or a node is.

A pod's is the `place` of `podHealth`, a node's the `family` of `nodeAnswer` in static/js/model; a
test holds them together.
"""

from collections.abc import Mapping

from engine.kernel.units import SECOND
from engine.kernel.view import Attributes
from kscope.runs.rows.node_volumes import VolumeOnNode, volumes_of

# In the order of the lists.
POD_STATES = (
    "stuck",
    "failing",
    "unschedulable",
    "backoff",
    "active",
    "in_flight",
    "gated",
    "unqueued",
    "assumed",
    "starting",
    "terminating",
    "bound",
    "finished",
    "other",
)
NODE_STATES = ("stuck", "clock", "held", "settled")

# A container that the files tell of may start for so long.
_START_PATIENCE = 600 * SECOND
# A volume may wait for its unmount for so long.
_UNMOUNT_PATIENCE = 10 * SECOND
_FINISHED = ("Succeeded", "Failed")
_PRESSURE = frozenset(
    f"node.kubernetes.io/{name}"
    for name in ("memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
)


def place_of(pod: Attributes) -> str:
    """The node that the pod is drawn on: bound, assumed or nominated there; "" for none."""
    return pod.get("node") or pod.get("assumed") or pod.get("nominated") or ""


def pod_state(pod: Attributes, node: Attributes | None, awaited: str) -> str:
    """The state of a *pod*: *node* is the one that it is bound to, *awaited* see awaited_on; "" for none."""
    if "deleting" in pod:
        return "terminating"
    if pod.get("node"):
        return _placed(pod, node, awaited)
    if pod.get("assumed"):
        return "assumed"
    queue = pod.get("queue")
    if pod.get("nominated"):
        return queue or "other"
    if queue:
        return str(queue)
    return "finished" if pod.get("phase") in _FINISHED else "unqueued"


def _placed(pod: Attributes, node: Attributes | None, awaited: str) -> str:
    if pod.get("phase") in _FINISHED:
        return "finished"
    if node is None or not node.get("ready"):
        return "stuck"
    told = _told(pod)
    if pod.get("phase") == "Running":
        return told or "bound"
    if told == "failing" or pod.get("trouble"):
        return "failing"
    return awaited or told or "starting"


def _told(pod: Attributes) -> str:
    """What the files tell of its containers; "" for nothing."""
    told = pod.get("told")
    if not told:
        return ""
    if told.get("is_fault"):
        return "failing"
    return "stuck" if (told.get("since") or 0) < -_START_PATIENCE else "starting"


def node_state(node: Attributes, pods: Mapping[str, Attributes], at: int) -> str:
    """The state of a *node* at moment *at*; *pods* are those drawn on it, by their ids."""
    volumes = volumes_of(node)
    if "deleting" in node or not node.get("ready") or any(map(_is_bad, volumes)):
        return "stuck"
    since = lingers_since(volumes)
    if since is not None and at - since > _UNMOUNT_PATIENCE:
        return "stuck"
    if any(taint.get("key") in _PRESSURE for taint in node.get("taints") or ()):
        return "stuck"
    if any(volume.waiting(pods) or volume.is_being_attached for volume in volumes):
        return "clock"
    return "held" if node.get("unschedulable") else "settled"


def lingers_since(volumes: list[VolumeOnNode]) -> int | None:
    """The earliest moment since when one of the *volumes* waits for its unmount; None for none."""
    moments = [each.lingers_since for each in volumes]
    return min((moment for moment in moments if moment is not None), default=None)


def _is_bad(volume: VolumeOnNode) -> bool:
    return volume.is_failing or volume.is_refused
