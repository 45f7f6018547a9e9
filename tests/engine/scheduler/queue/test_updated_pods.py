"""What any update of a placed pod does to its node: it is taken out and put back."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.units import SECOND
from tests.builders import Manifest, node, node_of, pod, scene

READY = {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Slow"}]}}


def _do(cluster: Cluster, **command: Any) -> None:
    outcome = cluster.apply(Command(**command))
    assert outcome.applied, outcome.reason
    cluster.advance(cluster.now + 5 * SECOND)


def _with_port(name: str, **spec: Any) -> Manifest:
    ports = [{"containerPort": 80, "hostPort": 80}]
    return pod(name, containers=[{"name": "main", "image": "app", "ports": ports}], **spec)


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
def test_updated_pod_retakes_a_port_another_gave_up(profile: str) -> None:
    """Upstream: cache.go updatePod(), HostPortInfo."""
    # They run already, so that the kubelet refuses neither.
    running = {"status": {"phase": "Running"}}
    both = [_with_port(name, nodeName="n") | running for name in ("goes", "stays")]
    cluster = Cluster.create(scene(node("n"), *both), profile=profile)
    cluster.advance(5 * SECOND)
    _do(cluster, verb="delete", object="pod/default/goes", grace_seconds=0)
    _do(cluster, verb="patch", object="pod/default/stays", patch=READY)
    _do(cluster, verb="create", manifest=_with_port("new"))
    assert node_of(cluster, "new") == ""


def test_node_counts_image_holders_by_its_pods_update() -> None:
    """Upstream: cache.go updatePod(), UpdateSnapshot()."""

    def with_image(name: str) -> Manifest:
        manifest = node(name)
        manifest["status"]["images"] = [{"names": ["app:latest"], "sizeBytes": 1}]
        return manifest

    cluster = Cluster.create(scene(with_image("a"), pod("placed", nodeName="a")))
    table = cluster.scheduler.handle.table
    cluster.advance(5 * SECOND)
    seen: list[int] = []
    for look, step in enumerate(
        (
            Command(verb="create", manifest=pod("first", cpu="100")),
            Command(verb="create", manifest=with_image("b")),
            Command(verb="patch", object="pod/default/placed", patch=READY),
        )
    ):
        assert cluster.apply(step).applied
        # Too large for any node, and so no more than a look at them.
        cluster.apply(Command(verb="create", manifest=pod(f"large-{look}", cpu="100")))
        cluster.advance(cluster.now + 5 * SECOND)
        seen.append(table.images.states["app:latest"].rows[table.rows["a"]])
    assert seen == [1, 1, 2]
