"""A scheduler that is not ours: it decides through the API, and the run is replayed without it."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.request import urlopen

from kubernetes import client

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.stepwise import finished
from kscope.runs.drive.replay import going_to
from kube.clusters import Cluster as Running
from tests.kube.clients.first_fit import FirstFit
from tests.kube.clients.test_clusters import connected
from tests.samples import sample
from tests.waiting import HANG_SECONDS

NODES = len(sample(range(25), 5))
PODS = 40 * NODES  # as many as have room
SCENARIO = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: first-fit}
spec:
  schedulers: [{name: kscope-is-off}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
"""


def node(number: int) -> dict[str, Any]:
    name = f"n{number:02}"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "4", "memory": "64Gi", "pods": "110"}},
    }


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


def scheduled(running: Running, scheduler: FirstFit, passes: int = 30) -> None:
    """Let it schedule until nothing waits, while time goes on."""
    for _ in range(passes):
        waiting = scheduler.schedule()
        running.advance(seconds=1)
        if not waiting:
            return
    raise AssertionError("pods wait still")


def test_all_pods_are_scheduled_from_outside(
    kscope_cluster: Callable[..., Running],
) -> None:
    nodes = "".join(f"---\n{json.dumps(node(number))}\n" for number in range(NODES))
    running = kscope_cluster(SCENARIO + nodes)
    with connected(running.kubeconfig) as api:
        core, scheduler = client.CoreV1Api(api), FirstFit(api)
        client.AppsV1Api(api).create_namespaced_deployment("default", _workload(PODS - 1))
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        core.create_namespaced_pod("default", pod("with-data", volumes=volumes))
        running.advance(seconds=30)
        scheduled(running, scheduler)
        bound = core.list_namespaced_pod("default").items
        assert len(bound) == PODS
        assert all(each.spec.node_name for each in bound)
        claim = core.read_namespaced_persistent_volume_claim("data", "default")
        assert claim.status.phase == "Bound"
        # All nodes are full now.
        core.create_namespaced_pod("default", pod("urgent", priorityClassName="urgent"))
        scheduled_urgent(running, scheduler, core)
    history, again = digests(running, SCENARIO + nodes)
    assert again == history


def test_every_decision_from_outside_has_its_shadow(
    kscope_cluster: Callable[..., Running],
) -> None:
    external = SCENARIO.replace(
        "{name: kscope-is-off}", "{name: default-scheduler, external: true}"
    )
    text = external + "".join(f"---\n{json.dumps(node(number))}\n" for number in range(3))
    running = kscope_cluster(text)
    with connected(running.kubeconfig) as api:
        client.AppsV1Api(api).create_namespaced_deployment("default", _workload(30))
        running.advance(seconds=30)
        scheduled(running, FirstFit(api))
    address = running.page.replace("/runs/", "/api/v1/runs/")
    counts = _asked(f"{address}shadow-decisions/")["counts"]
    assert sum(counts.values()) == 30
    assert counts["tied"]  # all nodes are empty at first
    assert counts["differs"]  # and it fills the first one
    history, again = digests(running, text)
    assert again == history


def scheduled_urgent(running: Running, scheduler: FirstFit, core: client.CoreV1Api) -> None:
    """Let it evict pods for one of a higher priority."""
    for _ in range(60):
        scheduler.schedule()
        running.advance(seconds=10)
        urgent = core.read_namespaced_pod("urgent", "default")
        if urgent.spec.node_name:
            return
    raise AssertionError("the urgent pod waits still")


def _workload(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod("")["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def digests(running: Running, scenario: str) -> tuple[str, str]:
    """The digest of the run, and of one that is computed anew from the scenario and the commands."""
    address = running.page.replace("/runs/", "/api/v1/runs/")
    run = _asked(address)
    loaded = load_files([("scenario.yaml", scenario.encode())])
    engine = Cluster.create(
        Scenario.from_load(loaded, name="cluster"),
        profile=run["profile"],
        seed=run["seed"],
        tie_break=run["tie_break"],
    )
    for command in _commands(address):
        finished(going_to(engine, steps=command["position"], at=command["at"]))
        engine.apply(Command.from_dict(command["body"]))
    while engine.seq < run["head"] and engine.next_at is not None:
        engine.advance(engine.next_at, max_steps=1)
    engine.take()
    assert engine.seq == run["head"]
    return run["digest"], engine.digest()


def _commands(address: str) -> Iterator[Any]:
    """All of a run, page by page."""
    after: str | None = ""
    while after is not None:
        page = _asked(f"{address}commands/{after}")
        yield from page["items"]
        after = f"?continue={page['continue']}" if page["continue"] else None


def _asked(address: str) -> Any:
    with urlopen(address, timeout=HANG_SECONDS) as answer:
        return json.load(answer)
