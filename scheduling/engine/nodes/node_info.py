"""A node with the sums over the pods that are, or are assumed to be, on it.

Upstream: pkg/scheduler/framework/types.go NodeInfo (v1.34), pkg/scheduler/nodeinfo (v1.16).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kscope.sim.objects.pod_resources import HostPort, is_scalar_resource_name
from scheduling.engine.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node

NO_RESOURCES: dict[str, int] = {}


class NodeInfo:
    """One node of the cache. cpu in milli, everything else in bytes or counts.

    `node` is None for a ghost: pods are there whose node is not known yet, or no longer. Pods stand
    in a list from which one is taken by putting the last into its place, as upstream does.
    `generation` grows with every change.
    """

    __slots__ = (
        "allocatable",
        "allocatable_milli_cpu",
        "allocatable_memory",
        "allowed_pods",
        "claim_users",
        "generation",
        "image_states",
        "name",
        "node",
        "non_zero_memory",
        "non_zero_milli_cpu",
        "pods",
        "pods_with_affinity",
        "pods_with_required_anti_affinity",
        "requested_ephemeral_storage",
        "requested_memory",
        "requested_milli_cpu",
        "requested_scalars",
        "shared_ports",
        "used_ports",
    )

    def __init__(self, name: str, generation: int) -> None:
        self.name = name
        self.generation = generation
        self.node: Node | None = None
        self.pods: list[PodInfo] = []
        self.pods_with_affinity: list[PodInfo] = []
        self.pods_with_required_anti_affinity: list[PodInfo] = []
        self.requested_milli_cpu = 0
        self.requested_memory = 0
        self.requested_ephemeral_storage = 0
        self.requested_scalars: dict[str, int] = {}
        self.non_zero_milli_cpu = 0
        self.non_zero_memory = 0
        # Ports by address and protocol/port. A port is taken once, whoever else claims it, and free
        # when the first of them goes. Upstream: HostPortInfo.
        self.used_ports: dict[str, dict[tuple[str, int], None]] = {}
        # Those that several pods here have claimed, by address, protocol and number.
        self.shared_ports: dict[tuple[str, str, int], None] = {}
        self.allocatable = NO_RESOURCES
        self.allocatable_milli_cpu = 0
        self.allocatable_memory = 0
        self.allowed_pods = 0
        # Image name → (size in bytes, number of nodes that have it).
        self.image_states: dict[str, tuple[int, int]] = {}
        # "namespace/claim" → how many of the pods here use it. Upstream: PVCRefCounts.
        self.claim_users: dict[str, int] = {}

    def add_pod(self, info: PodInfo) -> None:
        """Count the pod. The caller gives a new generation."""
        resources = info.resources
        requested = resources.requested
        self.requested_milli_cpu += requested.milli_cpu
        self.requested_memory += requested.memory
        self.non_zero_milli_cpu += resources.non_zero_milli_cpu
        self.non_zero_memory += resources.non_zero_memory
        self.pods.append(info)
        if requested.ephemeral_storage:
            self.requested_ephemeral_storage += requested.ephemeral_storage
        for name, amount in requested.scalars:
            self.requested_scalars[name] = self.requested_scalars.get(name, 0) + amount
        affinity = info.affinity
        if affinity.present:
            self.pods_with_affinity.append(info)
            if affinity.required_anti:
                self.pods_with_required_anti_affinity.append(info)
        for port in info.ports:
            taken, entry = self.used_ports.setdefault(port.ip, {}), (port.protocol, port.port)
            if entry in taken:
                self.shared_ports[port.ip, *entry] = None
            taken[entry] = None
        for claim in info.pod.named_claims:
            key = f"{info.pod.namespace}/{claim}"
            self.claim_users[key] = self.claim_users.get(key, 0) + 1

    def remove_pod(self, uid: str, told: PodInfo | None = None) -> PodInfo | None:
        """Stop counting the pod with this uid; what was counted, or None when it is not here.

        It gives back what it took, or what *told*, a version of the same pod, would have taken.
        """
        position = _position(self.pods, uid)
        if position < 0:
            return None
        info = self.pods[position]
        _take_out(self.pods, position)
        resources = (told or info).resources
        requested = resources.requested
        self.requested_milli_cpu -= requested.milli_cpu
        self.requested_memory -= requested.memory
        self.non_zero_milli_cpu -= resources.non_zero_milli_cpu
        self.non_zero_memory -= resources.non_zero_memory
        if requested.ephemeral_storage:
            self.requested_ephemeral_storage -= requested.ephemeral_storage
        for name, amount in requested.scalars:
            self.requested_scalars[name] = self.requested_scalars.get(name, 0) - amount
        if info.affinity.present:
            for pods in (self.pods_with_affinity, self.pods_with_required_anti_affinity):
                there = _position(pods, uid)
                if there >= 0:
                    _take_out(pods, there)
        for port in (told or info).ports:
            self._release(port)
        for claim in info.pod.named_claims:
            key = f"{info.pod.namespace}/{claim}"
            self.claim_users[key] -= 1
            if not self.claim_users[key]:
                del self.claim_users[key]
        return info

    def replace_pod(self, info: PodInfo) -> PodInfo | None:
        """Put a newer version of a pod, alike in all that is counted, at the end of the list.

        The same as taking it out and adding it. Returns the older version.
        """
        pods = self.pods
        position = len(pods) - 1
        if position < 0 or pods[position].uid != info.uid:
            position = _position(pods, info.uid)
            if position < 0:
                return None
        old = pods[position]
        pods[position] = pods[-1]
        pods[-1] = info
        if info.affinity.present:
            for pods in (self.pods_with_affinity, self.pods_with_required_anti_affinity):
                there = _position(pods, info.uid)
                if there >= 0:
                    _take_out(pods, there)
                    pods.append(info)
        return old

    def set_node(self, node: Node) -> None:
        """Take the node's allocatable. The caller gives a new generation."""
        self.node = node
        units = node.allocatable_units
        self.allocatable = {
            name: amount
            for name, amount in units.items()
            if name in ("cpu", "memory", "ephemeral-storage") or is_scalar_resource_name(name)
        }
        self.allocatable_milli_cpu = units.get("cpu", 0)
        self.allocatable_memory = units.get("memory", 0)
        self.allowed_pods = units.get("pods", 0)

    def remove_node(self, *, keeps_allocatable: bool) -> None:
        """The node is gone; its pods are not yet. The caller gives a new generation."""
        self.node = None
        if not keeps_allocatable:
            self.allocatable = NO_RESOURCES
            self.allocatable_milli_cpu = self.allocatable_memory = self.allowed_pods = 0
            self.image_states = {}

    def clone(self) -> NodeInfo:
        """A copy that later changes of this one do not reach. PodInfos are shared."""
        copy = NodeInfo(self.name, self.generation)
        copy.node = self.node
        copy.pods = self.pods.copy()
        copy.pods_with_affinity = self.pods_with_affinity.copy()
        copy.pods_with_required_anti_affinity = self.pods_with_required_anti_affinity.copy()
        copy.requested_milli_cpu = self.requested_milli_cpu
        copy.requested_memory = self.requested_memory
        copy.requested_ephemeral_storage = self.requested_ephemeral_storage
        copy.requested_scalars = self.requested_scalars.copy()
        copy.non_zero_milli_cpu = self.non_zero_milli_cpu
        copy.non_zero_memory = self.non_zero_memory
        copy.used_ports = {ip: ports.copy() for ip, ports in self.used_ports.items()}
        # Never changed in place:
        copy.allocatable = self.allocatable
        copy.allocatable_milli_cpu = self.allocatable_milli_cpu
        copy.allocatable_memory = self.allocatable_memory
        copy.allowed_pods = self.allowed_pods
        copy.image_states = self.image_states
        copy.claim_users = self.claim_users.copy()
        return copy

    def requested(self) -> dict[str, int]:
        """What the pods here request, by resource name, "pods" included."""
        sums = {
            "cpu": self.requested_milli_cpu,
            "memory": self.requested_memory,
            "pods": len(self.pods),
        }
        if self.requested_ephemeral_storage:
            sums["ephemeral-storage"] = self.requested_ephemeral_storage
        sums.update((name, n) for name, n in sorted(self.requested_scalars.items()) if n)
        return sums

    def port_conflicts(self, wanted: HostPort) -> bool:
        """Is the port taken? 0.0.0.0 conflicts with every address. Upstream: CheckConflict()."""
        entry = (wanted.protocol, wanted.port)
        if wanted.ip == "0.0.0.0":
            return any(entry in ports for ports in self.used_ports.values())
        return any(entry in self.used_ports.get(ip, ()) for ip in ("0.0.0.0", wanted.ip))

    def _release(self, port: HostPort) -> None:
        ports = self.used_ports.get(port.ip)
        if ports is not None:
            ports.pop((port.protocol, port.port), None)
            if not ports:
                del self.used_ports[port.ip]

    def __repr__(self) -> str:
        return f"NodeInfo({self.name!r}, generation={self.generation}, pods={len(self.pods)})"


def _position(pods: list[PodInfo], uid: str) -> int:
    # From the end: what came last leaves first more often than not.
    for position in range(len(pods) - 1, -1, -1):
        if pods[position].uid == uid:
            return position
    return -1


def _take_out(pods: list[PodInfo], position: int) -> None:
    last = pods.pop()
    if position < len(pods):
        pods[position] = last
