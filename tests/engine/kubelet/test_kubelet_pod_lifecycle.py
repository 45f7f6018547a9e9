"""Pods on their nodes: admitted, started, ended, removed."""

import pickle
from typing import Any, cast

import pytest

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import MILLISECOND, SECOND
from engine.kubelet.context import KubeletContext
from engine.kubelet.kubelets import Kubelets
from engine.objects.objects import Pod, from_manifest
from engine.storage.plugins.latencies import FixedLatencies


class Machine:
    """A store with two nodes and their kubelets."""

    def __init__(self, latencies: FixedLatencies | None = None) -> None:
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder)
        self.kubelets = Kubelets(
            KubeletContext(self.loop, self.store, self.recorder, latencies or FixedLatencies())
        )
        for name in ("node-1", "node-2"):
            self.add_node(name)

    def add_node(self, name: str) -> None:
        allocatable = {"cpu": "2", "memory": "4Gi", "pods": "3"}
        node = {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": allocatable}}
        self.store.create(from_manifest(node), by="api")

    def add_pod(self, name: str, node: str = "node-1", **spec: Any) -> None:
        annotations = spec.pop("annotations", {})
        cpu = spec.pop("cpu", "100m")
        containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]
        manifest = {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"containers": containers, **({"nodeName": node} if node else {}), **spec},
        }
        self.store.create(from_manifest(manifest), by="api")

    def pod(self, name: str) -> Pod:
        return cast("Pod", self.store.get("Pod", f"default/{name}"))

    def run(self, seconds: float) -> None:
        self.loop.run(self.loop.now + int(seconds * SECOND))

    def kinds(self) -> list[str]:
        return [event.kind for event in self.recorder.pending]


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_bound_pod_runs_after_pull_and_start(machine: Machine) -> None:
    machine.add_pod("web")
    machine.loop.run(799 * MILLISECOND)
    assert machine.pod("web").phase == "Pending"
    machine.loop.run(800 * MILLISECOND)
    pod = machine.pod("web")
    assert pod.phase == "Running"
    assert pod.status["startTime"] == "2026-01-01T00:00:00Z"
    ready = {c["type"]: c["status"] for c in pod.status["conditions"]}
    assert ready == dict.fromkeys(
        ("Initialized", "Ready", "ContainersReady", "PodScheduled"), "True"
    )


def test_a_pod_without_a_node_is_left_alone(machine: Machine) -> None:
    machine.add_pod("web", node="")
    machine.run(5)
    assert machine.pod("web").phase == "Pending"


def test_a_pod_waits_for_its_unknown_node(machine: Machine) -> None:
    machine.add_pod("web", node="node-9")
    machine.run(5)
    assert machine.pod("web").phase == "Pending"
    machine.add_node("node-9")
    machine.run(1)
    assert machine.pod("web").phase == "Running"


def test_a_kubelet_rejects_an_over_committing_pod(machine: Machine) -> None:
    machine.add_pod("first", cpu="1500m")
    machine.add_pod("second", cpu="600m")
    machine.run(1)
    status = machine.pod("second").status
    assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
    assert status["message"] == (
        "Pod Node didn't have enough resource: cpu, requested: 600, used: 1500, capacity: 2000"
    )


@pytest.mark.parametrize(
    ("first", "second", "fits"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 80, "hostIP": "10.0.0.2"}, True),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, True),
        ({"hostPort": 80}, {"containerPort": 80}, True),
    ],
)
def test_a_kubelet_rejects_a_taken_host_port(
    machine: Machine, first: dict[str, Any], second: dict[str, Any], fits: bool
) -> None:
    # test/e2e/apps/statefulset.go, "Should recreate evicted statefulset"
    for name, port in (("first", first), ("second", second)):
        machine.add_pod(name, containers=[{"name": "c", "image": "i", "ports": [port]}])
    machine.run(1)
    status = machine.pod("second").status
    assert status["phase"] == ("Running" if fits else "Failed")
    if not fits:
        assert status["reason"] == "PodFitsHostPorts"
        assert status["message"] == "Pod Predicate PodFitsHostPorts failed"
        machine.store.delete("Pod", "default/first", by="test")
        machine.run(60)
        machine.add_pod("third", containers=[{"name": "c", "image": "i", "ports": [second]}])
        machine.run(1)
        assert machine.pod("third").phase == "Running"


def test_a_node_admits_a_limited_number_of_pods(machine: Machine) -> None:
    for number in range(4):
        machine.add_pod(f"web-{number}")
    machine.run(1)
    assert machine.pod("web-3").status["reason"] == "OutOfpods"


def test_a_never_restarting_pod_succeeds_after_its_run(machine: Machine) -> None:
    machine.add_pod("job", restartPolicy="Never", annotations={"kscope.dev/run-for": "10s"})
    machine.run(10.79)
    assert machine.pod("job").phase == "Running"
    machine.run(0.01)
    assert machine.pod("job").phase == "Succeeded"


def test_a_pod_that_runs_forever_does_not_end() -> None:
    machine = Machine(FixedLatencies({"run": 2 * SECOND}))
    for name, annotations in (("job", {}), ("lasting", {"kscope.dev/run-for": "forever"})):
        machine.add_pod(name, restartPolicy="Never", annotations=annotations)
    machine.run(60)
    assert machine.pod("job").phase == "Succeeded"
    assert machine.pod("lasting").phase == "Running"


def test_a_pod_over_its_active_deadline_fails(machine: Machine) -> None:
    machine.add_pod("job", activeDeadlineSeconds=5)
    machine.run(6)
    status = machine.pod("job").status
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")


def test_a_finished_pod_frees_its_place(machine: Machine) -> None:
    machine.add_pod("job", cpu="2", restartPolicy="Never", annotations={"kscope.dev/run-for": "1s"})
    machine.run(3)
    machine.add_pod("web", cpu="2")
    machine.run(1)
    assert machine.pod("web").phase == "Running"


def test_a_deleted_pod_waits_for_its_containers(machine: Machine) -> None:
    machine.add_pod("web")
    machine.run(1)
    machine.store.delete("Pod", "default/web", by="api", grace_seconds=30)
    machine.run(0.999)
    assert machine.pod("web").deletion_timestamp
    machine.run(0.001)
    assert machine.store.find("Pod", "default/web") is None
    assert machine.kinds()[-1] == "PodDeleted"


def test_the_grace_period_bounds_container_stops() -> None:
    machine = Machine(FixedLatencies({"stop": 60 * SECOND}))
    machine.add_pod("web")
    machine.run(1)
    machine.store.delete("Pod", "default/web", by="api", grace_seconds=5)
    machine.run(4.99)
    assert machine.store.find("Pod", "default/web") is not None
    machine.run(0.01)
    assert machine.store.find("Pod", "default/web") is None


def test_force_deletion_frees_the_node_at_once(machine: Machine) -> None:
    machine.add_pod("web", cpu="2")
    machine.run(1)
    machine.store.delete("Pod", "default/web", by="api")
    machine.add_pod("next", cpu="2")
    machine.run(1)
    assert machine.pod("next").phase == "Running"


def test_a_restarted_kubelet_drops_its_operations(machine: Machine) -> None:
    machine.add_pod("web")
    machine.run(0.5)
    machine.kubelets.start_kubelet("node-1")
    machine.run(5)
    assert machine.kinds().count("PodRunning") == 1


def test_a_stopped_kubelet_starts_nothing(machine: Machine) -> None:
    machine.kubelets.stop_kubelet("node-1")
    machine.add_pod("web")
    machine.run(5)
    assert machine.pod("web").phase == "Pending"
    machine.kubelets.start_kubelet("node-1")
    machine.run(1)
    assert machine.pod("web").phase == "Running"


def test_kubelets_survive_a_checkpoint_during_start(machine: Machine) -> None:
    machine.add_pod("web")
    machine.run(0.5)
    copy = cast("Machine", pickle.loads(pickle.dumps(machine)))
    copy.run(1)
    assert copy.pod("web").phase == "Running"
    assert machine.pod("web").phase == "Pending"


def test_idle_nodes_schedule_nothing() -> None:
    machine = Machine()
    machine.run(1)
    for number in range(200):
        machine.add_node(f"idle-{number}")
    machine.run(1)
    assert machine.loop.next_at is None


def test_a_kubelet_ignores_an_unbound_namesake() -> None:
    machine = Machine()
    slow = Kubelets(
        KubeletContext(
            machine.loop, machine.store, machine.recorder, FixedLatencies(), watch_latency=SECOND
        )
    )
    assert slow.workers == {}
    machine.add_pod("web")
    machine.loop.run(1_700 * MILLISECOND)
    machine.store.delete("Pod", "default/web", by="api")
    machine.add_pod("web", node="")
    machine.run(5)
    assert machine.pod("web").phase == "Pending"


def test_a_deadline_may_come_while_a_pod_runs() -> None:
    machine = Machine()
    machine.add_pod("a")
    machine.run(10)
    assert machine.pod("a").phase == "Running"
    patch = {"spec": {"activeDeadlineSeconds": 15}}
    machine.store.patch("Pod", "default/a", patch, by="api")
    machine.run(3)
    assert machine.pod("a").phase == "Running"
    machine.run(4)
    status = machine.pod("a").status
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
