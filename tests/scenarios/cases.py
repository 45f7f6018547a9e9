"""Small clusters, built by hand and played: the parts of which the golden stories are made."""

from typing import Any

from engine.input.scenario import Scenario, Step
from engine.kernel.units import MINUTE, SECOND
from tests import builders
from tests.builders import budget, csi_node
from tests.builders.nodes import ZONE
from tests.scenarios.played import Played

__all__ = ["budget", "csi_node"]


def node(name: str, zone: str, cpu: str = "4") -> dict[str, Any]:
    return builders.node(name, zone, cpu=cpu, pods="10")


def pod(name: str, claim: str = "", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    return builders.pod(name, cpu=cpu, claims=[claim] if claim else (), **spec)


def claim(name: str, storage_class: str = "disk", size: str = "2Gi") -> dict[str, Any]:
    return builders.claim(name, storage_class, size)


def volume(name: str, size: str = "5Gi", zone: str = "") -> dict[str, Any]:
    source = {"driver": "csi.example.com", "volumeHandle": name}
    return builders.volume(name, "disk", size, labels={ZONE: zone} if zone else {}, csi=source)


def storage_class(mode: str, provisioner: str = "kubernetes.io/no-provisioner") -> dict[str, Any]:
    return builders.storage_class("disk", provisioner, mode=mode)


def labelled(made: dict[str, Any], **labels: str) -> dict[str, Any]:
    made["metadata"]["labels"] = labels
    return made


def running(made: dict[str, Any], on: str) -> dict[str, Any]:
    """A pod that has run on its node since before the beginning."""
    made["spec"]["nodeName"] = on
    return {**made, "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}}


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
