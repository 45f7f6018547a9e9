"""Local disks, their claims, and the pods that use them."""

from typing import Any

from tests.scheduling_engine.scenes import Manifest, node, pod

HOSTNAME = "kubernetes.io/hostname"


def host(name: str, **fields: Any) -> Manifest:
    """A node that says its name in the usual label."""
    return node(name, labels={HOSTNAME: name}, **fields)


def storage_class(name: str, provisioner: str = "kubernetes.io/no-provisioner") -> Manifest:
    """A class whose volumes wait for the pod."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str, of_class: str = "local") -> Manifest:
    """A claim of 1Gi."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": of_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def local_volume(name: str, at: str) -> Manifest:
    """A volume of 1Gi on the node *at*."""
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [at]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": "local",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "local": {"path": "/mnt"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def local_disk(name: str, at: str) -> tuple[Manifest, ...]:
    """The class, a volume NAME-disk on the node *at*, and the claim NAME."""
    return storage_class("local"), local_volume(f"{name}-disk", at), claim(name)


def user_of(claim_name: str, name: str = "p", **spec: Any) -> Manifest:
    """A pod with the claim."""
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": claim_name}}
    return pod(name, volumes=[volume], **spec)
