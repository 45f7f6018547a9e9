"""The taints that the control plane puts on nodes.

Upstream: k8s.io/api/core/v1/well_known_taints.go, component-helpers/scheduling/corev1.
"""

from typing import Final

from engine.objects.objects import Manifest, Node
from engine.objects.pods.tolerations import NO_EXECUTE

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"

# The author of changes that the node lifecycle controller and the taint manager make.
NODE_CONTROLLER: Final = "node-controller"


def same_taint(first: Manifest, second: Manifest) -> bool:
    """Whether they have key and effect in common: a node has one of each. Upstream: MatchTaint()."""
    return (first.get("key"), first.get("effect")) == (second.get("key"), second.get("effect"))


def no_execute_taints(node: Node) -> list[Manifest]:
    return [taint for taint in node.taints if taint.get("effect") == NO_EXECUTE]
