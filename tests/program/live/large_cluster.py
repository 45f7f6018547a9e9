"""A cluster of 1,000 nodes in three zones, with pods on them, and some that fit nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Manifest = dict[str, Any]

NODES, PODS_A_NODE, WAITING = 1_000, 3, 40


def large_cluster() -> list[Manifest]:
    """Its objects: full nodes, Deployments of which some pods wait, claims that are bound."""
    return [*_nodes(), *_running(), *_waiting(), *_claims()]


def _nodes() -> Iterator[Manifest]:
    for number in range(NODES):
        zone = "abc"[number % 3]
        amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"node-{number:04}",
                "labels": {
                    "topology.kubernetes.io/zone": f"eu-1{zone}",
                    "kubernetes.io/hostname": f"node-{number:04}",
                },
            },
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
                "nodeInfo": {"kubeletVersion": "v1.34.1"},
            },
        }


def _running() -> Iterator[Manifest]:
    for number in range(NODES * PODS_A_NODE):
        pod = _pod(f"web-{number:04}", "2", "8Gi")
        pod["spec"]["nodeName"] = f"node-{number % NODES:04}"
        pod["status"] = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        yield pod


def _waiting() -> Iterator[Manifest]:
    for number in range(WAITING):
        yield _pod(f"batch-{number:02}", "4", "16Gi")


def _pod(name: str, cpu: str, memory: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": name.partition("-")[0]}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "app:1",
                    "resources": {"requests": {"cpu": cpu, "memory": memory}},
                }
            ]
        },
        "status": {"phase": "Pending"},
    }


def _claims() -> Iterator[Manifest]:
    for number in range(20):
        name = f"data-{number:02}"
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{number:02}"},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/data"},
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": name},
            },
        }
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeName": f"pv-{number:02}",
                "resources": {"requests": {"storage": "10Gi"}},
            },
        }
