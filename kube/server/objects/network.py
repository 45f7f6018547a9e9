"""Addresses of Services, pods and nodes, which no run stores.

An object's address is made of the number of the event that created it, which no other object has: so
it is the same in each answer, and needs no list of those that are taken (ADR 0050). What an object
says itself of its addresses counts.
"""

from ipaddress import IPv4Address, IPv4Network
from typing import Any, Final, Protocol

from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from kscope.runs.served.nodes import NodeRow
from kscope.runs.served.versions import Version

# As kubeadm has them, but that pods of all nodes share one range.
_SERVICES: Final = IPv4Network("10.96.0.0/12")
_PODS: Final = IPv4Network("10.128.0.0/9")
_NODES: Final = IPv4Network("172.16.0.0/12")
# The first addresses of a range are those of the cluster itself.
_FIRST: Final = 16
# Upstream: --service-node-port-range.
_NODE_PORTS: Final = range(30_000, 32_768)
_PORTS_OF_SERVICE: Final = 16
INTERNAL: Final = "InternalIP"


class Hosts(Protocol):
    """Knows the addresses of nodes."""

    def address(self, node: str, seq: int) -> str:
        """That of the node of this name as of event *seq*, or ""."""
        ...


def address_of(node: NodeRow) -> str:
    """The address of a node."""
    return _internal(node.addresses) or _address(_NODES, node.created)


def with_addresses(kind: str, manifest: Manifest, version: Version, hosts: Hosts) -> Manifest:
    """The object as the API shows it; only the top level of *manifest* may be changed."""
    created = version.created
    if not created:
        return manifest
    match kind:
        case "Service":
            return {**manifest, "spec": _of_service(section(manifest, "spec"), created)}
        case "Pod":
            return {**manifest, "status": _of_pod(manifest, version, hosts)}
        case "Node":
            return {**manifest, "status": _of_node(manifest, created)}
        case _:
            return manifest


def _of_service(spec: Manifest, created: int) -> Manifest:
    """Upstream: pkg/registry/core/service/storage/alloc.go."""
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return spec
    given = spec.get("clusterIP") or _address(_SERVICES, created)
    alone: Manifest = {
        "clusterIPs": [given],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    found = {**alone, **spec, "clusterIP": given}
    takes_ports = spec.get("allocateLoadBalancerNodePorts") is not False
    if kind == "NodePort" or (kind == "LoadBalancer" and takes_ports):
        found["ports"] = [
            {"nodePort": _node_port(created, place), **port}
            for place, port in enumerate(spec.get("ports") or ())
        ]
    return found


def _of_pod(pod: Manifest, version: Version, hosts: Hosts) -> Manifest:
    """Upstream: kubelet_pods.go, generateAPIPodStatus(): a host once it is accepted, an address once
    its sandbox is there."""
    spec, status = section(pod, "spec"), section(pod, "status")
    host: str = status.get("hostIP") or hosts.address(spec.get("nodeName") or "", version.seq)
    if not host or not status.get("startTime"):
        return status
    found: Manifest = {"hostIP": host, "hostIPs": [{"ip": host}], **status}
    if status.get("phase") != "Pending" and status.get("containerStatuses"):
        own = host if spec.get("hostNetwork") else _address(_PODS, version.created)
        address = status.get("podIP") or own
        found |= {"podIP": address, "podIPs": status.get("podIPs") or [{"ip": address}]}
    return found


def _of_node(node: Manifest, created: int) -> Manifest:
    status, metadata = section(node, "status"), node["metadata"]
    addresses: list[Any] = status.get("addresses") or []
    if not _internal(addresses):
        made = [{"type": INTERNAL, "address": _address(_NODES, created)}]
        if not any(one.get("type") == "Hostname" for one in addresses):
            made.append({"type": "Hostname", "address": metadata["name"]})
        addresses = [*addresses, *made]
    return {**status, "addresses": addresses}


def _internal(addresses: list[Any]) -> str:
    found = (one.get("address") for one in addresses if one.get("type") == INTERNAL)
    return next((str(one) for one in found if one), "")


def _address(network: IPv4Network, created: int) -> str:
    room = network.num_addresses - _FIRST - 1
    return str(IPv4Address(int(network.network_address) + _FIRST + created % room))


def _node_port(created: int, place: int) -> int:
    return _NODE_PORTS[(created * _PORTS_OF_SERVICE + place) % len(_NODE_PORTS)]
