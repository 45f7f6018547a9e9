"""Random small clusters for the properties: nodes, volumes, claims, pods, and things that happen."""

from random import Random
from typing import Any

from engine.input.scenario import Scenario, Step
from engine.kernel.units import MILLISECOND, SECOND

Manifest = dict[str, Any]


def random_scenario(seed: int) -> Scenario:
    """A few nodes in two zones, local and zonal volumes, pods that fit or do not, and steps."""
    chance = Random(seed)
    nodes = [node(f"n{i}", chance) for i in range(chance.randint(1, 6))]
    names = [each["metadata"]["name"] for each in nodes]
    volumes = [volume(f"pv-{i}", chance, names) for i in range(chance.randint(0, 5))]
    claims = [claim(f"data-{i}", chance) for i in range(chance.randint(0, 4))]
    pods = [pod(f"p{i}", chance, claims) for i in range(chance.randint(1, 14))]
    early = chance.randint(0, len(pods))
    steps = [
        Step(at=chance.randint(0, 20_000) * MILLISECOND, verb="create", manifest=each)
        for each in pods[early:]
    ]
    steps += [step(chance, names, pods) for _ in range(chance.randint(0, 5))]
    return Scenario(
        name=f"random-{seed}",
        objects=(*CLASSES, *nodes, *volumes, *claims, *pods[:early]),
        steps=tuple(sorted(steps, key=lambda each: each.at)),
        until=60 * SECOND,
    )


CLASSES: tuple[Manifest, ...] = tuple(
    {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": mode,
    }
    for name, mode in (("local", "WaitForFirstConsumer"), ("shared", "Immediate"))
)


def node(name: str, chance: Random) -> Manifest:
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "topology.kubernetes.io/zone": chance.choice(["za", "zb"]),
            },
        },
        "spec": {},
        "status": {
            "allocatable": {"cpu": chance.choice(["1", "2", "4"]), "memory": "4Gi", "pods": "5"}
        },
    }
    if chance.random() < 0.2:
        manifest["spec"]["taints"] = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    return manifest


def volume(name: str, chance: Random, nodes: list[str]) -> Manifest:
    spec: Manifest = {
        "capacity": {"storage": f"{chance.randint(1, 9)}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": chance.choice(["local", "shared"]),
    }
    if spec["storageClassName"] == "local":
        expression = {
            "key": "kubernetes.io/hostname",
            "operator": "In",
            "values": [chance.choice(nodes)],
        }
        terms = [{"matchExpressions": [expression]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def claim(name: str, chance: Random) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{chance.randint(1, 9)}Gi"}},
            "storageClassName": chance.choice(["local", "shared"]),
        },
    }


def pod(name: str, chance: Random, claims: list[Manifest]) -> Manifest:
    requests = {"cpu": chance.choice(["100m", "500m", "1500m", "3"]), "memory": "256Mi"}
    spec: Manifest = {
        "containers": [{"name": "c", "image": "app:1", "resources": {"requests": requests}}],
        "priority": chance.choice([0, 0, 0, 100]),
    }
    if claims and chance.random() < 0.4:
        source = {"claimName": chance.choice(claims)["metadata"]["name"]}
        spec["volumes"] = [{"name": "data", "persistentVolumeClaim": source}]
    if chance.random() < 0.2:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if chance.random() < 0.1:
        spec["schedulingGates"] = [{"name": "quota"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": spec,
    }


def step(chance: Random, nodes: list[str], pods: list[Manifest]) -> Step:
    at = chance.randint(0, 30_000) * MILLISECOND
    target = f"node/{chance.choice(nodes)}"
    verb = chance.choice(["cordon", "uncordon", "taint", "delete-pod", "delete-node"])
    if verb == "taint":
        taints = [{"key": "late", "value": "y", "effect": "NoSchedule"}]
        return Step(at=at, verb="patch", object=target, patch={"spec": {"taints": taints}})
    if verb == "delete-pod":
        name = chance.choice(pods)["metadata"]["name"]
        return Step(at=at, verb="delete", object=f"pod/default/{name}")
    if verb == "delete-node":
        return Step(at=at, verb="delete", object=target)
    return Step(at=at, verb=verb, object=target)
