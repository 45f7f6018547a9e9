"""Containers that the files show failing stay so: the model plays neither images nor processes."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from tests import builders
from tests.builders.clusters import apply_command, played, scene


def _cluster(reason: str, message: str = "", *, field: str = "containerStatuses") -> Cluster:
    """A pod on n1 whose container waits."""
    pod = builders.pod("p", nodeName="n1", restartPolicy="Never")
    phase = "Running" if reason == "CrashLoopBackOff" else "Pending"
    waiting = {"waiting": {"reason": reason, "message": message}}
    pod["status"] = {"phase": phase, field: [{"name": "main", "state": waiting}]}
    return Cluster.create(scene(builders.host("n1"), pod))


def _status(cluster: Cluster) -> dict[str, Any]:
    return dict(cluster.store.get("Pod", "default/p").status)


@pytest.mark.parametrize("reason", ["ImagePullBackOff", "CrashLoopBackOff", "RunContainerError"])
def test_observed_failure_outlasts_every_play(reason: str) -> None:
    cluster = _cluster(reason)
    before = _status(cluster)
    assert _status(played(cluster, 600)) == before


def test_failing_init_container_holds_the_others() -> None:
    cluster = played(_cluster("CrashLoopBackOff", field="initContainerStatuses"))
    assert "containerStatuses" not in _status(cluster)


@pytest.mark.parametrize("reason", ["ContainerCreating", "PodInitializing"])
def test_pod_that_merely_starts_goes_on(reason: str) -> None:
    assert _status(played(_cluster(reason), 2))["phase"] == "Running"


def test_missing_secret_is_looked_up_again() -> None:
    cluster = _cluster("CreateContainerConfigError", 'secret "cert" not found')
    assert _status(played(cluster, 2))["phase"] == "Running"


@pytest.mark.parametrize("named", ["pod/default/p", "all"])
def test_healed_pod_plays_on_as_healthy(named: str) -> None:
    cluster = played(_cluster("ImagePullBackOff"))
    apply_command(cluster, verb="fault", patch={"heal": named})
    assert _status(played(cluster))["phase"] == "Running"


def test_healed_pod_survives_a_restarted_kubelet() -> None:
    cluster = _cluster("CrashLoopBackOff")
    apply_command(cluster, verb="fault", patch={"heal": "all"})
    apply_command(cluster, verb="fault", patch={"restart": "n1"})
    assert "running" in _status(played(cluster))["containerStatuses"][0]["state"]


def test_only_pods_can_be_healed() -> None:
    outcome = _cluster("ErrImagePull").apply(Command(verb="fault", patch={"heal": "node/n1"}))
    assert "expected pod/NAMESPACE/NAME, or all" in outcome.reason
