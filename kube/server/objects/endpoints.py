"""The Endpoints and EndpointSlices of Services: the pods that they lead to, as they are now.

No run stores them (ADR 0050): they are made of its Services and pods as they are asked for. Those that
clients write for Services without a selector are objects of the run.
Upstream: pkg/controller/endpoint, pkg/controller/endpointslice.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from kscope.runs.served.nodes import NodeRow
from kscope.runs.served.versions import Version
from kube.defaults import defaulted
from kube.resources import PODS, SERVICES, Resource
from kube.server.objects import furniture
from kube.server.objects.hosts import NO_HOSTS, Hosts
from kube.server.objects.network import with_addresses

KINDS: Final = frozenset(("Endpoints", "EndpointSlice"))
# What they are made of, by the ids in the history.
MADE_OF: Final = ("pod/", "service/", "node/", "endpoints/", "endpointslice/")
# Upstream: --max-endpoints-per-slice.
_MOST_IN_SLICE: Final = 100
_API_SERVER: Final = "172.16.0.1"
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
# Name, number and protocol.
Port = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class _Endpoint:
    """A pod that a Service leads to."""

    ip: str
    node: str
    target: Manifest
    is_ready: bool
    is_ending: bool


def made(
    kind: str,
    seq: int,
    services: Iterable[Version],
    pods: Sequence[Version],
    nodes: Iterable[Version],
) -> list[Version]:
    """The Endpoints or EndpointSlices of *services* after event *seq*."""
    hosts = Hosts(
        NodeRow(one.manifest["metadata"]["name"], one.created, one.created, _addresses(one))
        for one in nodes
    )
    found: list[Version] = []
    for version in services:
        service = _shown(SERVICES, version)
        by_ports = dict(_by_ports(service, pods, hosts))
        objects = [_endpoints(service, by_ports)]
        if kind == "EndpointSlice":
            objects = [*_slices(service, by_ports)]
        if by_ports or section(service, "spec").get("selector"):
            found += [Version(seq, one, version.created, is_implied=True) for one in objects]
    return found


def _shown(resource: Resource, version: Version, hosts: Hosts = NO_HOSTS) -> Manifest:
    manifest = defaulted(resource, version.manifest)
    return with_addresses(resource.kind, manifest, version, hosts)


def _addresses(node: Version) -> list[Any]:
    return section(node.manifest, "status").get("addresses") or []


def _by_ports(
    service: Manifest, pods: Iterable[Version], hosts: Hosts
) -> Iterator[tuple[tuple[Port, ...], list[_Endpoint]]]:
    """The pods of a Service, by the ports that it reaches them at."""
    spec, metadata = section(service, "spec"), service["metadata"]
    if (metadata["namespace"], metadata["name"]) == furniture.KUBERNETES and "selector" not in spec:
        yield (("https", 6443, "TCP"),), [_Endpoint(_API_SERVER, "", {}, True, False)]
        return
    selector: Mapping[str, str] = spec.get("selector") or {}
    if not selector or spec.get("type") == "ExternalName":
        return
    found: dict[tuple[Port, ...], list[_Endpoint]] = {}
    for version in pods:
        own = version.manifest["metadata"]
        labels: Mapping[str, str] = own.get("labels") or {}
        namespace = own.get("namespace") or "default"
        if namespace != metadata["namespace"] or not selector.items() <= labels.items():
            continue
        pod = _shown(PODS, version, hosts)
        endpoint = _endpoint(pod, publishes_all=bool(spec.get("publishNotReadyAddresses")))
        if endpoint is not None:
            found.setdefault(_ports(spec, pod), []).append(endpoint)
    yield from sorted(found.items())


def _endpoint(pod: Manifest, *, publishes_all: bool) -> _Endpoint | None:
    metadata, status = pod["metadata"], section(pod, "status")
    ip = status.get("podIP")
    if not ip or status.get("phase") in ("Succeeded", "Failed"):
        return None
    conditions: list[Manifest] = status.get("conditions") or []
    is_ready = any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)
    is_ending = bool(metadata.get("deletionTimestamp"))
    target = {"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"]}
    target["uid"] = metadata.get("uid") or ""
    node = section(pod, "spec").get("nodeName") or ""
    return _Endpoint(ip, node, target, publishes_all or (is_ready and not is_ending), is_ending)


def _ports(spec: Manifest, pod: Manifest) -> tuple[Port, ...]:
    """Upstream: podutil.FindPort(); a port by a name that the pod does not have is left out."""
    named = {
        (port.get("name"), port.get("protocol") or "TCP"): port.get("containerPort")
        for container in section(pod, "spec").get("containers") or ()
        for port in container.get("ports") or ()
    }
    found: list[Port] = []
    for port in spec.get("ports") or ():
        protocol, wanted = port.get("protocol") or "TCP", port.get("targetPort")
        number = wanted if isinstance(wanted, int) else named.get((wanted, protocol))
        if isinstance(number, int):
            found.append((port.get("name") or "", number, protocol))
    return tuple(found)


def _written(ports: Iterable[Port], *, with_empty_names: bool) -> list[Manifest]:
    return [
        {
            **({"name": name} if name or with_empty_names else {}),
            "port": number,
            "protocol": protocol,
        }
        for name, number, protocol in ports
    ]


def _endpoints(service: Manifest, by_ports: Mapping[tuple[Port, ...], list[_Endpoint]]) -> Manifest:
    subsets: list[Manifest] = []
    for ports, endpoints in by_ports.items():
        subset: Manifest = {}
        for name, is_ready in ("addresses", True), ("notReadyAddresses", False):
            chosen = [one for one in endpoints if one.is_ready is is_ready]
            if chosen:
                subset[name] = [_address(one) for one in chosen if is_ready or not one.is_ending]
        subset["ports"] = _written(ports, with_empty_names=False)
        subsets.append(subset)
    labels = {**_labels(service), "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    return {
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": _metadata(service, service["metadata"]["name"], labels, "Endpoints"),
        **({"subsets": subsets} if subsets else {}),
    }


def _address(one: _Endpoint) -> Manifest:
    node: Manifest = {"nodeName": one.node} if one.node else {}
    target: Manifest = {"targetRef": one.target} if one.target else {}
    return {"ip": one.ip, **node, **target}


def _slices(
    service: Manifest, by_ports: Mapping[tuple[Port, ...], list[_Endpoint]]
) -> Iterator[Manifest]:
    name = service["metadata"]["name"]
    labels = {
        **_labels(service),
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": name,
    }
    owner = {"apiVersion": "v1", "kind": "Service", "name": name}
    owner |= {"uid": service["metadata"].get("uid") or "", "controller": True}
    owner["blockOwnerDeletion"] = True
    pieces = [
        (ports, endpoints[start : start + _MOST_IN_SLICE])
        for ports, endpoints in by_ports.items()
        for start in range(0, len(endpoints), _MOST_IN_SLICE)
    ]
    for number, (ports, endpoints) in enumerate(pieces or [((), [])]):
        suffix = _suffix(f"{service['metadata'].get('uid')}/{number}")
        metadata = _metadata(service, f"{name}-{suffix}", labels, f"EndpointSlice/{number}")
        yield {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**metadata, "generateName": f"{name}-", "ownerReferences": [owner]},
            "addressType": "IPv4",
            "endpoints": [_in_slice(one) for one in endpoints],
            "ports": _written(ports, with_empty_names=True),
        }


def _in_slice(one: _Endpoint) -> Manifest:
    conditions = {
        "ready": one.is_ready,
        "serving": one.is_ready,
        "terminating": one.is_ending,
    }
    node: Manifest = {"nodeName": one.node} if one.node else {}
    target: Manifest = {"targetRef": one.target} if one.target else {}
    return {"addresses": [one.ip], "conditions": conditions, **node, **target}


def _labels(service: Manifest) -> Manifest:
    headless = section(service, "spec").get("clusterIP") == "None"
    alone: Manifest = {"service.kubernetes.io/headless": ""} if headless else {}
    return {**(service["metadata"].get("labels") or {}), **alone}


def _metadata(service: Manifest, name: str, labels: Manifest, kind: str) -> Manifest:
    own = service["metadata"]
    metadata = {"name": name, "namespace": own["namespace"], "labels": labels}
    metadata["uid"] = furniture.uid_of(f"{kind}/{own.get('uid')}")
    if own.get("creationTimestamp"):
        metadata["creationTimestamp"] = own["creationTimestamp"]
    return metadata


def _suffix(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "".join(_LETTERS[one % len(_LETTERS)] for one in digest[:5])
