"""Nodes, and what storage drivers register on them."""

from typing import Any

Manifest = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def node(
    name: str,
    zone: str = "",
    *,
    cpu: str = "4",
    memory: str = "8Gi",
    pods: str = "110",
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """A ready node. In a zone, it has the usual labels for zone and hostname."""
    in_zone = {ZONE: zone, HOSTNAME: name} if zone else {}
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**in_zone, **(labels or {})}},
        "status": {
            "allocatable": {"cpu": cpu, "memory": memory, "pods": pods},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    if spec:
        made["spec"] = spec
    return made


def host(name: str, **fields: Any) -> Manifest:
    """A node with the usual label for its hostname."""
    return node(name, labels={HOSTNAME: name, **fields.pop("labels", {})}, **fields)


def csi_node(name: str, driver: str = "csi.example.com", *keys: str) -> Manifest:
    """The driver on a node; its volumes are reachable by the labels *keys* of nodes."""
    registered = {"name": driver, "nodeID": name, "topologyKeys": list(keys or (HOSTNAME,))}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [registered]},
    }
