"""Decisions on 150 nodes, where the API server has still to fill in statuses and uids."""

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from engine.input.loader import load_paths
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide

Manifest = dict[str, Any]

NODES, APPS, PREEMPTORS = 150, 6, 25
LEAST = 20
DRIVER = "csi.example.com"


def _named(kind: str, name: str, version: str = "v1", **fields: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def _nodes() -> list[Manifest]:
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    found: list[Manifest] = []
    for number in range(NODES):
        name = f"n{number:03}"
        node = _named("Node", name, status={"capacity": amounts, "allocatable": amounts})
        node["metadata"]["labels"] = {"kubernetes.io/hostname": name}
        drivers = [{"name": DRIVER, "nodeID": name, "allocatable": {"count": 1}}]
        found += [node, _named("CSINode", name, "storage.k8s.io/v1", spec={"drivers": drivers})]
    return found


def _pod(name: str, cpu: str, **spec: Any) -> Manifest:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    pod = _named("Pod", name, spec={"containers": [container], **spec})
    pod["metadata"]["namespace"] = "default"
    return pod


def _running(chance: Random) -> list[Manifest]:
    """Two pods on each node; every app has a budget, and every other pod a higher priority."""
    found: list[Manifest] = []
    for number in range(NODES * 2):
        priority = chance.choice((0, 5))
        pod = _pod(f"p{number:03}", "1900m", nodeName=f"n{number % NODES:03}", priority=priority)
        pod["metadata"]["labels"] = {"app": f"a{chance.randrange(APPS)}"}
        ready = [{"type": "Ready", "status": "True"}]
        pod["status"] = {"phase": "Running", "conditions": ready}
        found.append(pod)
    return found


def _waiting() -> list[Manifest]:
    """Pods that have to evict others, each with a claim that is provisioned where it goes."""
    mode = {"provisioner": DRIVER, "volumeBindingMode": "WaitForFirstConsumer"}
    found = [_named("StorageClass", "csi", "storage.k8s.io/v1", **mode)]
    for number in range(PREEMPTORS):
        name = f"high-{number:02}"
        claim = _named("PersistentVolumeClaim", name)
        claim["metadata"]["namespace"] = "default"
        resources = {"requests": {"storage": "1Gi"}}
        modes = ["ReadWriteOnce"]
        claim["spec"] = {"storageClassName": "csi", "accessModes": modes, "resources": resources}
        claim["status"] = {"phase": "Pending"}
        source = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        found += [claim, _pod(name, "2", priority=10, volumes=[source])]
    return found


def _budgets() -> list[Manifest]:
    found: list[Manifest] = []
    for number in range(APPS):
        selector = {"matchLabels": {"app": f"a{number}"}}
        least = LEAST if number % 2 else 10_000
        spec = {"minAvailable": least, "selector": selector}
        budget = _named("PodDisruptionBudget", f"b{number}", "policy/v1", spec=spec)
        budget["metadata"]["namespace"] = "default"
        found.append(budget)
    return found


def _filled_in(objects: list[Manifest]) -> list[Manifest]:
    """The same with the statuses of budgets and the uids of claims."""
    running = [each for each in objects if each.get("status", {}).get("phase") == "Running"]
    found: list[Manifest] = []
    for each in objects:
        if each["kind"] == "PodDisruptionBudget":
            wanted = each["spec"]["selector"]["matchLabels"]["app"]
            healthy = sum(pod["metadata"]["labels"]["app"] == wanted for pod in running)
            least = each["spec"]["minAvailable"]
            allowed = max(healthy - least, 0)
            counts = {"currentHealthy": healthy, "desiredHealthy": least, "expectedPods": healthy}
            each = {**each, "status": {"disruptionsAllowed": allowed, **counts}}
        if each["kind"] == "PersistentVolumeClaim":
            name = each["metadata"]["name"]
            each = {**each, "metadata": {**each["metadata"], "uid": f"uid-of-{name}"}}
        found.append(each)
    return found


def _decided(objects: list[Manifest], folder: Path, profile: str) -> dict[str, Any]:
    file = folder / "cluster.json"
    file.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    loaded = load_paths([file])
    assert loaded.ok, loaded.problems
    return decide([from_manifest(each) for each in loaded.manifests], PROFILES[profile])


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
def test_what_is_left_out_changes_no_decision(profile: str, tmp_path: Path) -> None:
    chance = Random(7)
    bare = [*_nodes(), *_running(chance), *_budgets(), *_waiting()]
    given = _decided(_filled_in(bare), tmp_path, profile)
    left_out = _decided(bare, tmp_path, profile)
    assert left_out["final"]["pods"] == given["final"]["pods"]
    assert left_out["final"]["evicted"] == given["final"]["evicted"]


def test_victims_come_from_apps_with_spare_budget(tmp_path: Path) -> None:
    bare = [*_nodes(), *_running(Random(7)), *_budgets(), *_waiting()]
    apps = {
        f"default/{each['metadata']['name']}": each["metadata"]["labels"]["app"]
        for each in bare
        if each.get("status", {}).get("phase") == "Running"
    }
    decided = _decided(bare, tmp_path, "v1.34")["final"]
    assert len(decided["evicted"]) == PREEMPTORS
    assert {apps[key] for key in decided["evicted"]} <= {"a1", "a3", "a5"}
    nodes = [decided["pods"][f"default/high-{number:02}"] for number in range(PREEMPTORS)]
    assert len(set(nodes)) == PREEMPTORS
