"""Kubelet admission: the node's own last check of a pod that was bound to it.

Upstream: pkg/kubelet/lifecycle/predicate.go, predicateAdmitHandler.Admit.
"""

from typing import Any, Final, NamedTuple

from kscope.sim.objects import Node, Pod
from kscope.sim.projection import pod_attributes

# Upstream adds requests in this order and reports the first resource that does not fit.
_FIRST: Final = ("pods", "cpu", "memory", "ephemeral-storage")


class Rejection(NamedTuple):
    """Why a kubelet refuses a pod: status.reason and the text for status.message and the Event."""

    reason: str
    message: str


class NodeResources:
    """What the pods that a kubelet has admitted request of its node: cpu in milli, else in units."""

    __slots__ = ("used",)

    def __init__(self) -> None:
        self.used: dict[str, int] = {}

    def admit(self, pod: Pod, node: Node) -> Rejection | None:
        """Take *pod* in and return None, or say why it does not fit; nothing is taken in then."""
        requests = pod_requests(pod)
        used, allocatable = self.used, node.allocatable_units
        if used.get("pods", 0) + 1 > allocatable.get("pods", 0) and "pods" in allocatable:
            return _insufficient("pods", 1, used.get("pods", 0), allocatable["pods"])
        for name in _ordered(requests):
            amount = requests[name]
            if amount and used.get(name, 0) + amount > allocatable.get(name, 0):
                return _insufficient(name, amount, used.get(name, 0), allocatable.get(name, 0))
        self.take(requests)
        return None

    def take(self, requests: dict[str, int]) -> None:
        """Count one pod with *requests* in."""
        used = self.used
        used["pods"] = used.get("pods", 0) + 1
        for name, amount in requests.items():
            used[name] = used.get(name, 0) + amount

    def release(self, requests: dict[str, int]) -> None:
        """Count one pod with *requests* out."""
        self.used["pods"] -= 1
        for name, amount in requests.items():
            self.used[name] -= amount


def pod_requests(pod: Pod) -> dict[str, int]:
    """What *pod* requests of a node. Shared between versions of the pod; not to be changed."""
    shown: dict[str, Any] | None = pod.template.get("view")
    return shown["requests"] if shown is not None else pod_attributes(pod)["requests"]


def _ordered(requests: dict[str, int]) -> list[str]:
    if requests.keys() <= {"cpu", "memory"}:
        return ["cpu", "memory"] if len(requests) == 2 else [*requests]
    first = [name for name in _FIRST if name in requests]
    return first + sorted(name for name in requests if name not in _FIRST)


def _insufficient(resource: str, requested: int, used: int, capacity: int) -> Rejection:
    # Upstream: lifecycle.InsufficientResourceError.Error.
    return Rejection(
        f"OutOf{resource}",
        f"Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, "
        f"capacity: {capacity}",
    )
