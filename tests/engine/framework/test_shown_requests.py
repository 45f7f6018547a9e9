"""What a pod requests is one number: the scheduler's, the kubelet's and that on the pages."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.objects.pods.pod_resources import pod_resources
from engine.versions.registry import VERSIONS
from tests.builders import Manifest, node, pod


def _container(cpu: str, **fields: Any) -> Manifest:
    resources = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return {"name": f"c{cpu}", "image": "i", "resources": resources, **fields}


def _played(profile: str, *objects: Manifest) -> Cluster:
    cluster = Cluster.create(
        Scenario(name="requests", objects=objects, until=10 * SECOND), profile=profile
    )
    cluster.advance(10 * SECOND)
    cluster.take()
    return cluster


SIDECAR = pod(
    "sidecar",
    containers=[_container("100m")],
    initContainers=[_container("200m", restartPolicy="Always"), _container("50m")],
)
OVERHEAD = pod("overhead", containers=[_container("100m")], overhead={"cpu": "30m"})
WHOLE_POD = pod("whole", containers=[_container("100m")], resources={"requests": {"cpu": "700m"}})
FRACTIONS = pod("fractions", containers=[_container("100u"), {**_container("100u"), "name": "d"}])


@pytest.mark.parametrize(
    ("pod", "profile", "milli_cpu"),
    [
        (SIDECAR, "v1.34", 300),
        (SIDECAR, "v1.20", 200),
        (SIDECAR, "v1.16", 200),
        (OVERHEAD, "v1.34", 130),
        (OVERHEAD, "v1.11", 100),
        (WHOLE_POD, "v1.34", 700),
        (WHOLE_POD, "v1.20", 100),
        (FRACTIONS, "v1.34", 2),
        (FRACTIONS, "v1.16", 2),
    ],
    ids=lambda each: each["metadata"]["name"] if isinstance(each, dict) else str(each),
)
def test_pages_show_the_requests_of_the_scheduler(
    pod: Manifest, profile: str, milli_cpu: int
) -> None:
    cluster = _played(profile, node("n1", cpu="4"), pod)
    shown = cluster.view()[f"pod/default/{pod['metadata']['name']}"]["requests"]
    stored = cluster.store.get("Pod", f"default/{pod['metadata']['name']}")
    assert shown["cpu"] == milli_cpu
    assert shown == pod_resources(stored.raw, VERSIONS[profile].resources).fit.amounts()


def test_kubelet_admits_by_the_requests_of_the_scheduler() -> None:
    fits_without_sidecar = pod("late", nodeName="n1", containers=[_container("600m")])
    bound = {**SIDECAR, "spec": {**SIDECAR["spec"], "nodeName": "n1"}}
    cluster = _played("v1.34", node("n1", cpu="800m"), bound, fits_without_sidecar)
    status = cluster.store.get("Pod", "default/late").status
    assert status["reason"] == "OutOfcpu"
    assert "requested: 600, used: 300, capacity: 800" in status["message"]


def test_kubelet_counts_a_pod_as_the_cache_does() -> None:
    first = pod(
        "first", nodeName="n1", containers=[_container("100m")], initContainers=[_container("900m")]
    )
    second = pod("second", nodeName="n1", containers=[_container("500m")])
    old, new = (
        _played(profile, node("n1", cpu="1"), first, second)
        .store.get("Pod", "default/second")
        .phase
        for profile in ("v1.16", "v1.20")
    )
    assert (old, new) == ("Running", "Failed")
