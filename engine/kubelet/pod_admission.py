"""Kubelet admission: the node's own last check of a pod that was bound to it.

Upstream: pkg/kubelet/lifecycle/predicate.go, predicateAdmitHandler.Admit.
"""

from typing import Any, Final, NamedTuple

from engine.kubelet.container_rules import ContainerRules
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.pod_resources import (
    HostPort,
    PodResources,
    ResourceRules,
    host_ports,
    is_extended_resource_name,
    pod_resources,
)
from engine.objects.pods.tolerations import NO_EXECUTE, untolerated
from engine.objects.selectors import NodeSelector

# Upstream adds requests in this order and reports the first resource that does not fit.
_FIRST: Final = ("pods", "cpu", "memory", "ephemeral-storage")
_ANY_ADDRESS: Final = "0.0.0.0"
# Of the object that stands for a pod which the kubelet has from a file.
_MIRROR: Final = "kubernetes.io/config.mirror"


class Rejection(NamedTuple):
    """Why a kubelet refuses a pod: status.reason and the text for status.message and the Event.

    `begin` is what goes before the text in status.message.
    """

    reason: str
    message: str
    begin: str = "Pod "


class NodeResources:
    """What the pods that a kubelet has admitted request of its node: cpu in milli, else in units.

    *rules* are those of the kubelet's version, which are the scheduler's, too; *words* is what that
    version says of pods which it refuses.
    """

    __slots__ = ("_ports", "_rules", "_taken", "_words", "used")

    def __init__(self, rules: ResourceRules, words: ContainerRules) -> None:
        self._rules = rules
        self._words = words
        self._taken: dict[str, dict[str, int]] = {}
        self._ports: dict[str, tuple[HostPort, ...]] = {}
        self.used: dict[str, int] = {}

    def admit(self, pod: Pod, node: Node) -> Rejection | None:
        """Count *pod* and return None; or return why it does not fit, and do not count it."""
        resources = pod_resources(pod.raw, self._rules)
        refusal = _lack(resources, node, self.used) or self._unfit(pod, node)
        if refusal is None:
            self._count(pod, resources)
        return refusal

    def _unfit(self, pod: Pod, node: Node) -> Rejection | None:
        """The first check that the pod does not pass beside that of resources.

        Upstream: scheduler/eventhandlers.go, AdmissionCheck(); lifecycle/predicate.go, generalFilter().
        """
        labels, ports = self._unlike_labels(pod, node), self._port_conflict(pod)
        first, second = (labels, ports) if self._words.labels_before_ports else (ports, labels)
        return first or second or self._untolerated(pod, node)

    def _unlike_labels(self, pod: Pod, node: Node) -> Rejection | None:
        selector: dict[str, Any] = pod.spec.get("nodeSelector") or {}
        affinity = section(pod.spec, "affinity", "nodeAffinity")
        required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
        is_selected = all(node.labels.get(key) == value for key, value in selector.items())
        if is_selected and (
            required is None or NodeSelector.parse(required).matches(node.labels, node.name)
        ):
            return None
        return _failed(self._words.labels_differ)

    def _untolerated(self, pod: Pod, node: Node) -> Rejection | None:
        """A static pod, which the kubelet has from a file, stays."""
        if not self._words.tainted or not node.taints or _MIRROR in pod.annotations:
            return None
        tolerations: list[Manifest] = pod.spec.get("tolerations") or []
        numbers = self._rules.compares_tolerations
        if untolerated(node.taints, tolerations, (NO_EXECUTE,), numbers=numbers) is None:
            return None
        return _failed(self._words.tainted)

    def _port_conflict(self, pod: Pod) -> Rejection | None:
        """Upstream: nodeports.Fits()."""
        wanted = host_ports(pod.raw, self._rules)
        taken = [each for ports in self._ports.values() for each in ports]
        if any(_clash(port, other) for port in wanted for other in taken):
            return _failed(self._words.ports_taken)
        return None

    def refusal(self, pod: Pod, node: Node) -> Rejection | None:
        """Why *pod*, which may be counted already, does not fit beside the others; or None."""
        own = self._taken.get(pod.uid, {})
        used = {name: amount - own.get(name, 0) for name, amount in self.used.items()}
        return _lack(pod_resources(pod.raw, self._rules), node, used)

    def take(self, pod: Pod) -> None:
        """Count what *pod* requests now, instead of what was counted for it before."""
        self._count(pod, pod_resources(pod.raw, self._rules))

    def _count(self, pod: Pod, resources: PodResources) -> None:
        self.release(pod.uid)
        taken = self._taken[pod.uid] = {"pods": 1, **resources.requested.amounts()}
        if ports := host_ports(pod.raw, self._rules):
            self._ports[pod.uid] = ports
        for name, amount in taken.items():
            self.used[name] = self.used.get(name, 0) + amount

    def release(self, uid: str) -> None:
        """Stop counting the pod with this uid, if it is counted."""
        self._ports.pop(uid, None)
        for name, amount in self._taken.pop(uid, {}).items():
            self.used[name] -= amount


def _failed(message: str) -> Rejection:
    """Upstream: PredicateFailureError; the reason is the name of the predicate."""
    return Rejection(message.split()[1], message)


def _clash(port: HostPort, other: HostPort) -> bool:
    """Whether two pods of a node cannot have these ports. Upstream: HostPortInfo.CheckConflict()."""
    if (port.protocol, port.port) != (other.protocol, other.port):
        return False
    return port.ip == other.ip or _ANY_ADDRESS in (port.ip, other.ip)


def _lack(resources: PodResources, node: Node, used: dict[str, int]) -> Rejection | None:
    """The first resource of which *node* has too little left."""
    requests, allocatable = resources.fit.amounts(), node.allocatable_units
    if used.get("pods", 0) + 1 > allocatable.get("pods", 0) and "pods" in allocatable:
        return _insufficient("pods", 1, used.get("pods", 0), allocatable["pods"])
    for name in _ordered(requests):
        if name not in allocatable and is_extended_resource_name(name):
            # The cluster provides it, not the node. Upstream: removeMissingExtendedResources().
            continue
        amount = requests[name]
        if used.get(name, 0) + amount > allocatable.get(name, 0):
            return _insufficient(name, amount, used.get(name, 0), allocatable.get(name, 0))
    return None


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
