"""The taints that the control plane puts on nodes, and who tolerates what for how long.

Upstream: k8s.io/api/core/v1/well_known_taints.go, component-helpers/scheduling/corev1.
"""

from collections.abc import Iterable
from typing import Final

from kscope.sim.objects.objects import Manifest, Node
from kscope.sim.objects.tolerations import compares

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
MEMORY_PRESSURE: Final = "node.kubernetes.io/memory-pressure"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
PID_PRESSURE: Final = "node.kubernetes.io/pid-pressure"
NETWORK_UNAVAILABLE: Final = "node.kubernetes.io/network-unavailable"

# The author of changes that the node lifecycle controller and the taint manager make.
NODE_CONTROLLER: Final = "node-controller"

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"


def tolerates(toleration: Manifest, taint: Manifest, *, numbers: bool) -> bool:
    """Whether *toleration* makes up for *taint*; Lt and Gt do so only if they compare *numbers*."""
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    if operator in ("Lt", "Gt"):
        own, other = toleration.get("value") or "", taint.get("value") or ""
        return numbers and compares(operator, other, own)
    return (toleration.get("value") or "") == (taint.get("value") or "")


def untolerated(
    taints: list[Manifest], tolerations: list[Manifest], effects: Iterable[str], *, numbers: bool
) -> Manifest | None:
    """The first taint of these effects that none of *tolerations* makes up for, or None.

    Lt and Gt compare *numbers*, or match nothing.
    """
    wanted = tuple(effects)
    for taint in taints:
        if taint.get("effect") in wanted and not any(
            tolerates(each, taint, numbers=numbers) for each in tolerations
        ):
            return taint
    return None


def same_taint(first: Manifest, second: Manifest) -> bool:
    """Whether they have key and effect in common: a node has one of each. Upstream: MatchTaint()."""
    return (first.get("key"), first.get("effect")) == (second.get("key"), second.get("effect"))


def no_execute_taints(node: Node) -> list[Manifest]:
    return [taint for taint in node.taints if taint.get("effect") == NO_EXECUTE]
