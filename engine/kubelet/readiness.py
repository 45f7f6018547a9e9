"""What the condition Ready of a node says of its kubelet.

Upstream: pkg/kubelet/runtime.go, runtimeState (runtimeErrors() keep the sync loop from running,
networkErrors() refuse pods that need a network); the node controller writes Unknown.
"""

from enum import Enum
from typing import Final, NamedTuple

from engine.objects.objects import Manifest, Node

# Parts of the messages of Upstream: pkg/kubelet/kubelet.go, updateRuntimeUp(), and of its PLEG.
_NETWORK: Final = "network not ready"
_RUNTIME: Final = (
    "container runtime is down",
    "runtime not ready",
    "container runtime status check",
    "PLEG is not healthy",
)


class Ability(Enum):
    """What a kubelet can do."""

    ALL = "all"
    # It starts no pod that needs the network of the cluster.
    NO_NETWORK = "no network"
    # It reports, and synchronises no pod.
    NO_RUNTIME = "no runtime"
    # Nothing is heard of it.
    SILENT = "silent"


class Readiness(NamedTuple):
    """What the kubelet can do, and the message of its node's condition."""

    ability: Ability
    message: str = ""


def readiness(node: Node) -> Readiness:
    """Read the condition Ready; a node without one is as well as it can be.

    A message that names neither network nor runtime counts as the runtime's.
    """
    conditions: list[Manifest] = node.status.get("conditions") or []
    found = [each for each in conditions if each.get("type") == "Ready"]
    ready: Manifest = found[0] if found else {}
    status, message = ready.get("status") or "True", ready.get("message") or ""
    if status == "Unknown":
        return Readiness(Ability.SILENT, message)
    if status == "True":
        return Readiness(Ability.ALL)
    lacks_runtime = any(part in message for part in _RUNTIME) or _NETWORK not in message
    return Readiness(Ability.NO_RUNTIME if lacks_runtime else Ability.NO_NETWORK, message)
