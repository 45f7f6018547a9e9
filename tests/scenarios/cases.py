"""Small clusters, built by hand and played: the parts of which the golden stories are made."""

from typing import Any

from kscope.sim.input.scenario import Scenario, Step
from kscope.sim.kernel.units import MINUTE, SECOND
from tests.scenarios.played import Played

ZONE = "topology.kubernetes.io/zone"


def node(name: str, zone: str, cpu: str = "4") -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "8Gi", "pods": "10"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {ZONE: zone, "kubernetes.io/hostname": name}},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, claim: str = "", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    mounted = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}
    container: dict[str, Any] = {
        "name": "c",
        "image": "web:1",
        "resources": {"requests": {"cpu": cpu}},
    }
    if claim:
        container["volumeMounts"] = [{"name": "v", "mountPath": "/data"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **(mounted if claim else {}), **spec},
    }


def claim(name: str, storage_class: str = "disk", size: str = "2Gi") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "storageClassName": storage_class,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }


def volume(name: str, size: str = "5Gi", zone: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {ZONE: zone} if zone else {}},
        "spec": {
            "storageClassName": "disk",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": size},
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
        },
    }


def storage_class(mode: str, provisioner: str = "kubernetes.io/no-provisioner") -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "disk"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def labelled(made: dict[str, Any], **labels: str) -> dict[str, Any]:
    made["metadata"]["labels"] = labels
    return made


def running(made: dict[str, Any], on: str) -> dict[str, Any]:
    """A pod that has run on its node since before the beginning."""
    made["spec"]["nodeName"] = on
    return {**made, "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}


def budget(name: str, **spec: Any) -> dict[str, Any]:
    """A PodDisruptionBudget for the pods labelled app: *name*."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, **spec},
    }


def deployment(name: str, pod_spec: dict[str, Any], replicas: int = 1) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod_spec},
        },
    }


def stateful_set(name: str, claim_name: str, replicas: int = 1) -> dict[str, Any]:
    """Its pods mount their own claim, *claim_name*-*name*-0 and so on, of the class disk."""
    template = claim(claim_name)
    container = {"name": "c", "image": "web:1"}
    mount = {"volumeMounts": [{"name": claim_name, "mountPath": "/data"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{**container, **mount}]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": claim_name}, "spec": template["spec"]}],
        },
    }


def keeps_away_from(**labels: str) -> dict[str, Any]:
    """A required anti-affinity, as the affinity of a pod."""
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def csi_node(name: str, driver: str = "csi.example.com") -> dict[str, Any]:
    """What makes the driver's volumes reachable from the node alone that they were made for."""
    of_driver = {"name": driver, "nodeID": name, "topologyKeys": ["kubernetes.io/hostname"]}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [of_driver]},
    }


def play(
    *objects: dict[str, Any],
    steps: tuple[Step, ...] = (),
    until: int = MINUTE,
    profile: str = "v1.34",
) -> Played:
    scenario = Scenario(name="golden", objects=objects, steps=steps, until=until, profile=profile)
    return Played(scenario, tie_break="name")


def at(seconds: float, verb: str, target: str = "", **parts: Any) -> Step:
    """A step at so many seconds."""
    return Step(at=round(seconds * SECOND), verb=verb, object=target, **parts)


def fault(at: int = 0, **parts: Any) -> Step:
    return Step(at=at, verb="fault", patch=parts)
