"""Storage classes, claims and persistent volumes."""

from typing import Any

from tests.builders.nodes import HOSTNAME

Manifest = dict[str, Any]

READ_WRITE_ONCE = ("ReadWriteOnce",)


def storage_class(
    name: str,
    provisioner: str = "kubernetes.io/no-provisioner",
    *,
    mode: str = "WaitForFirstConsumer",
    **fields: Any,
) -> Manifest:
    """A class whose claims wait for a pod, unless *mode* is Immediate. *fields* are its own."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **fields,
    }


def claim(
    name: str,
    class_name: str = "",
    size: str = "1Gi",
    *,
    modes: tuple[str, ...] = READ_WRITE_ONCE,
    **spec: Any,
) -> Manifest:
    """A claim; its class is "", which is none, unless given."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": class_name,
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def volume(
    name: str,
    class_name: str = "",
    size: str = "1Gi",
    *,
    modes: tuple[str, ...] = READ_WRITE_ONCE,
    labels: dict[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """A volume; its source, such as `hostPath` or `csi`, is one of the fields of *spec*."""
    made: Manifest = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": size}, "accessModes": list(modes), **spec},
    }
    if class_name:
        made["spec"]["storageClassName"] = class_name
    if labels:
        made["metadata"]["labels"] = labels
    return made


def reachable_from(key: str, *values: str) -> Manifest:
    """The node affinity of a volume: nodes whose label *key* has one of the *values*."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def local_volume(name: str, node: str) -> Manifest:
    """A volume of class local on the node's disk."""
    source = {"local": {"path": "/mnt"}, "nodeAffinity": reachable_from(HOSTNAME, node)}
    return volume(name, "local", **source)


def local_disk(name: str, node: str) -> tuple[Manifest, ...]:
    """The class local, a volume NAME-disk on the node, and the claim NAME."""
    return storage_class("local"), local_volume(f"{name}-disk", node), claim(name, "local")
