"""Simulated clusters for people's own tests: `kube.clusters`."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from kubernetes import client, config, watch

from kube.clusters import Cluster, ClusterError, cluster
from tests.waiting import HANG_SECONDS, wait_for

ROOM = Path(__file__).resolve().parents[3]
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}},
}
POD = {"containers": [{"name": "c", "image": "app:1"}]}
DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": POD},
    },
}


@contextmanager
def connected(kubeconfig: str) -> Iterator[client.ApiClient]:
    """The Python client of Kubernetes."""
    api = config.new_client_from_config(kubeconfig)
    try:
        yield api
    finally:
        api.rest_client.pool_manager.clear()
        api.close()


def phases(api: client.ApiClient) -> list[str]:
    return [pod.status.phase for pod in client.CoreV1Api(api).list_namespaced_pod("default").items]


def with_pods(kubeconfig: str) -> list[str]:
    """Create a Deployment; the phases of its pods then."""
    with connected(kubeconfig) as api:
        client.AppsV1Api(api).create_namespaced_deployment("default", DEPLOYMENT)
        return phases(api)


def test_pods_run_once_time_has_moved_on() -> None:
    running = cluster([NODE])
    with running as kubeconfig, connected(kubeconfig) as api:
        client.AppsV1Api(api).create_namespaced_deployment("default", DEPLOYMENT)
        assert phases(api) == []
        running.advance(seconds=30)
        assert running.now == 30.0
        assert phases(api) == ["Running"] * 3


def test_client_decides_in_a_cluster_with_external_scheduler(
    kscope_cluster: Callable[..., Cluster],
) -> None:
    running = kscope_cluster([NODE], external_scheduler=True)
    with connected(running.kubeconfig) as api:
        core = client.CoreV1Api(api)
        for name in ("bound", "left"):
            core.create_namespaced_pod("default", {"metadata": {"name": name}, "spec": POD})
        binding = {"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": "n1"}}
        core.create_namespaced_binding("default", binding, _preload_content=False)
        running.advance(seconds=30)
        assert phases(api) == ["Running", "Pending"]


def test_time_moves_on_where_nothing_is_due(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    running.advance(seconds=3_600)
    with connected(running.kubeconfig) as api:
        pod = {"metadata": {"name": "late"}, "spec": POD}
        core = client.CoreV1Api(api)
        late = core.create_namespaced_pod("default", pod).metadata.creation_timestamp
        early = core.read_node("n1").metadata.creation_timestamp
    assert late - early == timedelta(hours=1)


def test_a_watch_shows_what_happens_meanwhile(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    with connected(running.kubeconfig) as api:
        core, watched = client.CoreV1Api(api), watch.Watch()
        events = watched.stream(core.list_namespaced_pod, "default", timeout_seconds=600)
        core.create_namespaced_pod("default", {"metadata": {"name": "one"}, "spec": POD})
        running.advance(seconds=30)
        for event in events:
            if event["object"].status.phase == "Running":
                watched.stop()
        assert event["object"].metadata.name == "one"


def test_events_stay_unchanged_when_a_node_returns(
    kscope_cluster: Callable[..., Cluster],
) -> None:
    running = kscope_cluster([NODE])
    with connected(running.kubeconfig) as api:
        core = client.CoreV1Api(api)
        running.advance(seconds=5)
        core.delete_node("n1")
        running.advance(seconds=60)
        before = core.list_namespaced_event("default").items
        core.create_node(NODE)
        assert core.list_namespaced_event("default").items[: len(before)] == before
    assert "RemovingNode" in [event.reason for event in before]


def test_time_is_moved_until_a_condition_holds(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    with connected(running.kubeconfig) as api:
        core = client.CoreV1Api(api)
        core.create_namespaced_pod("default", {"metadata": {"name": "one"}, "spec": POD})
        running.run_until(lambda: phases(api) == ["Running"], within_seconds=60)
        assert 0 < running.now < 60


def test_a_condition_that_never_holds_is_given_up(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    with pytest.raises(TimeoutError, match="not so within 20 virtual seconds"):
        running.run_until(lambda: False, within_seconds=20)
    assert running.now == 20.0


def test_time_goes_on_by_itself_when_played(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    running.play(speed="100")
    with_pods(running.kubeconfig)
    with connected(running.kubeconfig) as api:
        wait_for(lambda: phases(api) == ["Running"] * 3)
    running.pause()


def test_clusters_know_nothing_of_each_other(kscope_cluster: Callable[..., Cluster]) -> None:
    busy, idle = kscope_cluster([NODE]), kscope_cluster([NODE])
    with_pods(busy.kubeconfig)
    busy.advance(seconds=30)
    with connected(idle.kubeconfig) as api:
        assert phases(api) == []
    assert (busy.now, idle.now) == (30.0, 0.0)


def test_same_test_is_decided_in_the_same_way(kscope_cluster: Callable[..., Cluster]) -> None:
    def played() -> list[Any]:
        running = kscope_cluster(ROOM / "scenarios" / "all-or-none.yaml", seed=7)
        running.advance(seconds=5)
        with_pods(running.kubeconfig)
        running.advance(seconds=30)
        with connected(running.kubeconfig) as api:
            pods = client.CoreV1Api(api).list_pod_for_all_namespaces()
        return [
            (pod.metadata.name, pod.spec.node_name, pod.metadata.resource_version)
            for pod in pods.items
        ]

    assert played() == played()


def test_problems_of_a_scenario_are_named() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: A_b}\nspec: {}\n"
    with pytest.raises(ClusterError, match=r"scenario\.yaml.*name"):
        cluster(text).start()


def test_a_cluster_that_has_ended_says_so(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster([NODE])
    running.stop()
    assert not Path(running.kubeconfig).exists()
    with pytest.raises(ClusterError, match="not running"):
        running.advance(seconds=1)


SCRIPT = """
import sys
from kube.clusters import cluster
running = cluster([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "one"}}])
with running as kubeconfig:
    print(kubeconfig, flush=True)
    sys.stdin.readline()
"""


@contextmanager
def scripted(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """A program with a cluster, that ends at the next line; its temporary files are in *folder*."""
    # The account of the embedded servers has to reach its part.
    folder.chmod(0o755)
    environment = {**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(ROOM)}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, **pipes) as program:
        assert program.stdout is not None
        assert Path(program.stdout.readline().strip()).exists()
        yield program


def started_in(folder: Path) -> list[psutil.Process]:
    """The processes that name the folder."""
    return [
        one for one in psutil.process_iter(["cmdline"]) if str(folder) in str(one.info["cmdline"])
    ]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that everyone can reach, with a name that is not too long for a socket."""
    with tempfile.TemporaryDirectory(prefix="kscope-test-") as name:
        yield Path(name)


def test_a_program_that_ends_leaves_nothing(folder: Path) -> None:
    with scripted(folder) as program:
        assert started_in(folder)
        program.communicate("\n", timeout=HANG_SECONDS)
    assert program.returncode == 0
    assert started_in(folder) == []
    assert list(folder.iterdir()) == []


def test_a_program_that_is_killed_leaves_nothing(folder: Path) -> None:
    with scripted(folder) as program:
        program.send_signal(signal.SIGKILL)
    wait_for(lambda: started_in(folder) == [])
    assert list(folder.iterdir()) == []
