"""The demo checkout-surge with disks that a CSI driver attaches, where the demo has local ones."""

from dataclasses import replace
from functools import cache
from typing import Any

from engine.cluster.cluster import Cluster
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND
from tests.scenarios.played import FOLDER, Played

_LATENCIES = {"attach": (3000, 4500), "mount_device": (700, 700), "mount": (150, 150)}


@cache
def csi_surge() -> Played:
    """The demo played: see `_scenario`."""
    return Played(_scenario())


def csi_surge_after(seq: int) -> Cluster:
    """Its cluster just after the callback that recorded event *seq*, not played further."""
    scenario = _scenario()
    cluster = Cluster.create(
        scenario, profile=scenario.profile, seed=scenario.seed, tie_break="random"
    )
    while cluster.recorder.seq < seq and cluster.next_at is not None:
        cluster.advance(cluster.next_at, max_steps=1)
    return cluster


def _scenario() -> Scenario:
    """Attaching takes 3 to 4.5 s, mounting a device 0.7 s, mounting it for a pod 0.15 s."""
    name = "checkout-surge"
    before = Scenario.from_load(load_paths([FOLDER / f"{name}.yaml"]), name=name)
    drawn = {
        name: Latency("uniform" if low < high else "fixed", low * MILLISECOND, high * MILLISECOND)
        for name, (low, high) in _LATENCIES.items()
    }
    return replace(
        before,
        objects=tuple(_with_csi(each) for each in before.objects),
        steps=tuple(
            replace(step, manifest=_with_csi(step.manifest)) if step.manifest else step
            for step in before.steps
        ),
        latencies={**before.latencies, **drawn},
    )


def _with_csi(manifest: dict[str, Any]) -> dict[str, Any]:
    spec = manifest.get("spec", {})
    if "local" in spec:
        source = {"driver": "disk.csi.example.com", "volumeHandle": manifest["metadata"]["name"]}
        rest = {name: value for name, value in spec.items() if name != "local"}
        return {**manifest, "spec": {**rest, "csi": source}}
    if manifest["kind"] == "Pod" and spec.get("volumes"):
        mounts = [{"name": "data", "mountPath": "/data"}]
        containers = [{**each, "volumeMounts": mounts} for each in spec["containers"]]
        return {**manifest, "spec": {**spec, "containers": containers}}
    return manifest
