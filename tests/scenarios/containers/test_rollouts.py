"""Probes gate rollouts of Deployments, StatefulSets and DaemonSets."""

from typing import Any

import pytest

from tests.scenarios.containers.scripted import condition, play, status

READY_AFTER = {"image": "app:1", "readiness": "10s=pass"}
NEVER_READY = {"image": "app:2", "readiness": "100h=pass"}
SLOW = {"image": "app:2", "readiness": "40s=pass"}


def workload(kind: str, **spec: Any) -> dict[str, Any]:
    probe = {"httpGet": {"port": 80}, "periodSeconds": 1}
    main = {"name": "main", "image": "app:1", "readinessProbe": probe}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [main]}}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def update(kind: str, at: str = "60s") -> list[dict[str, Any]]:
    """The step in which the image becomes app:2."""
    probe = {"httpGet": {"port": 80}, "periodSeconds": 1}
    main = {"name": "main", "image": "app:2", "readinessProbe": probe}
    patch = {"spec": {"template": {"spec": {"containers": [main]}}}}
    return [{"at": at, "patch": {"object": f"{kind.lower()}/default/web", "patch": patch}}]


def test_a_deployment_waits_for_ready_pods() -> None:
    made = workload("Deployment", replicas=4, progressDeadlineSeconds=120)
    scripts = [READY_AFTER, NEVER_READY]
    played = play(made, containers=scripts, steps=update("Deployment"), duration="5m")
    shown = status(played, "Deployment", "web")
    # A quarter more and a quarter less: two new pods that never get ready, three old ones that are.
    assert (shown["readyReplicas"], shown["updatedReplicas"]) == (3, 2)
    assert condition(played, "Deployment", "web", "Progressing")[:2] == (
        "False",
        "ProgressDeadlineExceeded",
    )


def test_a_deployment_rolls_out_as_pods_get_ready() -> None:
    made = workload("Deployment", replicas=4)
    scripts = [READY_AFTER, SLOW]
    played = play(made, containers=scripts, steps=update("Deployment"), duration="10m")
    shown = status(played, "Deployment", "web")
    assert (shown["readyReplicas"], shown["updatedReplicas"], shown["replicas"]) == (4, 4, 4)
    # Two batches at least, each of which needs forty seconds to get ready.
    last = max(event.at for event in played.events if event.kind == "PodDeleted") // 10**9
    assert 140 <= last <= 160


def test_a_stateful_set_starts_pods_in_order() -> None:
    made = workload("StatefulSet", replicas=3, serviceName="web")
    played = play(made, containers=[READY_AFTER], duration="2m")
    seconds = [int(line.split()[0]) for line in played.story("PodRunning")]
    assert [b - a >= 10 for a, b in zip(seconds, seconds[1:], strict=False)] == [True, True]
    assert status(played, "StatefulSet", "web")["readyReplicas"] == 3


def test_a_stateful_set_stops_at_an_unready_pod() -> None:
    made = workload("StatefulSet", replicas=3, serviceName="web")
    scripts = [READY_AFTER, NEVER_READY]
    played = play(made, containers=scripts, steps=update("StatefulSet", "100s"), duration="5m")
    shown = status(played, "StatefulSet", "web")
    assert (shown["updatedReplicas"], shown["readyReplicas"]) == (1, 2)


def test_a_daemon_set_stops_at_an_unready_pod() -> None:
    nodes = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"m{number}"},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
        }
        for number in range(2)
    ]
    made = workload("DaemonSet")
    scripts = [READY_AFTER, NEVER_READY]
    played = play(*nodes, made, containers=scripts, steps=update("DaemonSet"), duration="5m")
    shown = status(played, "DaemonSet", "web")
    assert (shown["updatedNumberScheduled"], shown["numberReady"]) == (1, 2)


@pytest.mark.parametrize("profile", ["v1.20", "v1.34", "v1.36"])
def test_a_deployment_is_available_once_pods_are_ready(profile: str) -> None:
    made = workload("Deployment", replicas=2, minReadySeconds=5)
    played = play(made, containers=[READY_AFTER], duration="1m", profile=profile)
    assert condition(played, "Deployment", "web", "Available")[0] == "True"
    assert status(played, "Deployment", "web")["availableReplicas"] == 2
