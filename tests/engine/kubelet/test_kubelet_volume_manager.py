"""The volume manager of a node: when it looks, what it mounts, and what survives a restart."""

from typing import Any

import pytest

from engine.kernel.loop import EventLoop
from engine.kernel.units import MILLISECOND, SECOND
from engine.kubelet.volume_manager.state import VolumeManagerOptions
from engine.storage.operations.backoff import MAX_BACKOFF, Start
from engine.storage.operations.pending import (
    NestedPendingOperations,
    OperationKey,
    next_tick,
    retry_at,
)
from engine.storage.plugins.simulated import Fault, SimulatedPlugin
from engine.storage.plugins.spec import Answer, ErrorKind, VolumeError
from tests.conformance.kubelet.volumemanager import mounted_volumes
from tests.engine.controllers.test_attach_detach import UNIQUE_NAME, Machine


@pytest.fixture
def machine() -> Machine:
    return Machine()


# Claims that are not ready


def test_a_pod_waits_for_its_unbound_claim(machine: Machine) -> None:
    claim = {"status": {"phase": "Pending"}}
    machine.store.patch("PersistentVolumeClaim", "default/data", claim, by="api")
    machine.add_pod("a", "node-1")
    machine.run(60)
    assert machine.phase("a") == "Pending"
    assert machine.events.messages("FailedMount") == [
        "Unable to attach or mount volumes: unmounted volumes=[v0], unattached volumes=[], "
        "failed to process volumes=[v0]: error processing PVC default/data: PVC is not bound"
    ]
    bound = {"status": {"phase": "Bound"}}
    machine.store.patch("PersistentVolumeClaim", "default/data", bound, by="api")
    machine.run(5)
    assert machine.phase("a") == "Running"


def long_wait(options: VolumeManagerOptions) -> Machine:
    machine = Machine(options=options)
    machine.plugins.faults.inject(Fault(call="Attach", count=99))
    machine.add_pod("a", "node-1")
    machine.run(124)
    return machine


def test_long_volume_waits_emitted_events_in_old_versions() -> None:
    machine = long_wait(VolumeManagerOptions(names_unprocessed=False))
    assert machine.events.messages("FailedMount") == [
        "Unable to attach or mount volumes: unmounted volumes=[v0], unattached volumes=[v0]: "
        "timed out waiting for the condition"
    ]


def test_wait_for_volumes_times_out_without_an_event() -> None:
    assert long_wait(VolumeManagerOptions()).events.messages("FailedMount") == []


def test_failed_mount_names_the_volume_awaiting_its_attachment(
    machine: Machine,
) -> None:
    machine.plugins.faults.inject(Fault(call="Attach", count=99))
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": claim}}
        for name, claim in (("v0", "data"), ("v1", "missing"))
    ]
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in ("v0", "v1")]
    containers = [{"name": "c", "image": "i", "volumeMounts": mounts}]
    machine.add_pod("a", "node-1", volumes=volumes, containers=containers)
    machine.run(5)
    (message,) = machine.events.messages("FailedMount")
    assert message.startswith(
        "Unable to attach or mount volumes: unmounted volumes=[v0 v1], unattached volumes=[v0], "
        "failed to process volumes=[v1]: error processing PVC default/missing: failed to fetch PVC"
    )


def deleted_claim(machine: Machine, *finalizers: str) -> None:
    """The claim of the volume is deleted, and *finalizers* hold it."""
    metadata = {"metadata": {"finalizers": [*finalizers]}}
    machine.store.patch("PersistentVolumeClaim", "default/data", metadata, by="api")
    machine.store.delete("PersistentVolumeClaim", "default/data", by="api")


PROTECTION = "kubernetes.io/pvc-protection"


def test_deleted_claim_is_mounted_while_it_is_protected(machine: Machine) -> None:
    deleted_claim(machine, PROTECTION)
    machine.add_pod("a", "node-1")
    machine.run(5)
    assert machine.phase("a") == "Running"


@pytest.mark.parametrize(
    ("finalizer", "mounts_protected"), [("example.com/other", True), (PROTECTION, False)]
)
def test_a_deleted_claim_is_refused_otherwise(finalizer: str, mounts_protected: bool) -> None:
    machine = Machine(options=VolumeManagerOptions(mounts_protected=mounts_protected))
    deleted_claim(machine, finalizer)
    machine.add_pod("a", "node-1")
    machine.run(5)
    (message,) = machine.events.messages("FailedMount")
    assert message.endswith("error processing PVC default/data: PVC is being deleted")


def test_restarted_kubelet_keeps_volumes_of_deleted_claims(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    deleted_claim(machine, PROTECTION)
    machine.kubelets.stop_kubelet("node-1")
    machine.kubelets.start_kubelet("node-1")
    machine.run(30)
    assert machine.events.messages("FailedMount") == []
    assert machine.node("node-1").status["volumesInUse"]


def test_a_claim_naming_anothers_volume_is_refused(machine: Machine) -> None:
    other = {"spec": {"claimRef": {"uid": "someone-else"}}}
    machine.store.patch("PersistentVolume", "pv-1", other, by="api")
    machine.add_pod("a", "node-1")
    machine.run(1)
    (message,) = machine.events.messages("FailedMount")
    assert message.endswith(
        "error processing PVC default/data: found PV object pv-1 but its pv.Spec.ClaimRef.UID "
        "someone-else does not point to claim.UID uid-data"
    )


def test_volumes_that_no_container_mounts_are_ignored(machine: Machine) -> None:
    machine.add_pod("a", "node-1", containers=[{"name": "c", "image": "i"}])
    machine.run(1)
    assert machine.phase("a") == "Running"
    assert "node-1" not in machine.kubelets.volumes.nodes


def test_a_local_volume_needs_no_attachment(machine: Machine) -> None:
    machine.add_pod("a", "node-1", volumes=[{"name": "v0", "emptyDir": {}}])
    machine.run(2)
    assert machine.phase("a") == "Running"
    assert machine.attachments() == []
    machine.delete_pod("a")
    machine.run(5)
    assert machine.phase("a") == "gone"
    assert machine.kubelets.volumes.nodes == {}


# Uncertain mounts


def test_an_uncertain_device_mount_is_undone_on_deletion(machine: Machine) -> None:
    machine.plugins.faults.inject(
        Fault(call="MountDevice", count=99, kind=ErrorKind.UNCERTAIN, text="time out")
    )
    machine.add_pod("a", "node-1")
    machine.run(5)
    states = machine.kubelets.volumes.nodes["node-1"].actual
    assert states.get_attached_volumes()[0].device_mount_state.value == "DeviceMountUncertain"
    machine.delete_pod("a")
    machine.run(10)
    assert machine.facts("DeviceUnmounted") == ["DeviceUnmounted"]
    assert machine.attachments() == []


def test_an_uncertain_pod_mount_is_undone_on_deletion(machine: Machine) -> None:
    machine.plugins.faults.inject(Fault(call="SetUp", count=99, kind=ErrorKind.UNCERTAIN))
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.delete_pod("a", grace=0)
    machine.run(10)
    assert machine.facts("VolumeUnmounted", "DeviceUnmounted") == [
        "VolumeUnmounted",
        "DeviceUnmounted",
    ]


# Resizing


def test_a_grown_mounted_volume_resizes_its_file_system(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    larger: dict[str, Any] = {"spec": {"capacity": {"storage": "2Gi"}}}
    machine.store.patch("PersistentVolume", "pv-1", larger, by="api")
    machine.run(2)
    claim = machine.store.get("PersistentVolumeClaim", "default/data")
    assert claim.status["capacity"] == {"storage": "2Gi"}
    assert machine.events.messages("FileSystemResizeSuccessful") == [
        'MountVolume.NodeExpandVolume succeeded for volume "pv-1" '
    ]


# Restarts


def test_a_restarted_kubelet_remounts_without_stopping_pods(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.run(5)
    machine.kubelets.start_kubelet("node-1")
    machine.run(5)
    assert machine.phase("a") == "Running"
    assert machine.facts("VolumeMounted") == ["VolumeMounted"] * 2
    assert machine.facts("VolumeUnmounted") == []
    machine.delete_pod("a")
    machine.run(10)
    assert machine.attachments() == []


def test_a_restarted_kubelet_unmounts_unneeded_volumes(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.delete_pod("a", grace=0)
    machine.run(5)
    assert machine.attachments() == ["node-1"]
    machine.kubelets.start_kubelet("node-1")
    machine.run(5)
    assert machine.facts("VolumeUnmounted", "DeviceUnmounted") == [
        "VolumeUnmounted",
        "DeviceUnmounted",
    ]
    assert machine.attachments() == []


def test_a_dead_kubelet_finishes_no_operation(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.loop.run(1_600 * MILLISECOND)
    machine.kubelets.stop_kubelet("node-1")
    machine.run(10)
    assert machine.facts("VolumeMounted") == []
    machine.kubelets.start_kubelet("node-1")
    machine.run(10)
    assert machine.phase("a") == "Running"


def test_initially_running_pods_have_mounted_volumes() -> None:
    machine = Machine()
    machine.add_pod("a", "node-1", phase="Running")
    machine.run(5)
    mounted = mounted_volumes(machine.kubelets.volumes.nodes["node-1"].actual)
    assert [volume.volume_name for volume in mounted] == [UNIQUE_NAME]
    assert machine.facts("VolumeMounted") == []


# The view


def test_the_view_shows_desired_and_actual_state(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.recorder.take()
    assert machine.recorder.view["node/node-1"]["volumes"] == {
        UNIQUE_NAME: {
            "name": "pv-1",
            "desired": {"default/a": 0},
            "attachable": True,
            "device_mountable": True,
            "in_use": True,
            "attached": True,
            "device": "DeviceGloballyMounted",
            "mounts": {"default/a": "VolumeMounted"},
        }
    }
    machine.delete_pod("a")
    machine.run(10)
    machine.recorder.take()
    assert "volumes" not in machine.recorder.view["node/node-1"]


def test_the_view_shows_the_retry_of_a_mount(machine: Machine) -> None:
    fault = Fault(call="MountDevice", count=3, text="wrong fs type")
    machine.plugins.faults.inject(fault)
    machine.add_pod("a", "node-1")
    machine.run(3)
    shown = operations(machine)["*"]
    assert shown["name"] == "volume_mount"
    assert shown["failures"] == 2
    assert "wrong fs type" in shown["error"]
    assert "started" not in shown
    # 500 ms after the first failure, 1 s after the second, at the next tick of the loop.
    assert SECOND < shown["retry_at"] - shown["failed"] <= SECOND + 100 * MILLISECOND
    machine.loop.run(until=shown["retry_at"])
    assert operations(machine)["*"]["started"] == shown["retry_at"]
    machine.run(1)
    assert operations(machine)["*"]["failures"] == 3
    machine.run(5)
    assert operations(machine) == {}


def test_a_dead_kubelets_operations_are_not_shown(machine: Machine) -> None:
    fault = Fault(call="MountDevice", count=9)
    machine.plugins.faults.inject(fault)
    machine.add_pod("a", "node-1")
    machine.run(3)
    machine.kubelets.stop_kubelet("node-1")
    assert operations(machine) == {}
    assert machine.recorder.view["node/node-1"]["volumes"][UNIQUE_NAME]["attached"]


def operations(machine: Machine) -> Any:
    machine.recorder.take()
    return machine.recorder.view["node/node-1"]["volumes"][UNIQUE_NAME].get("operations", {})


# Pending operations


class Idle:
    """An operation that never ends by itself."""

    def __init__(self, volume: str, pod: str = "", name: str = "volume_mount") -> None:
        self.key = OperationKey(volume, pod)
        self.name = name

    def begin(self) -> None:
        pass


def test_two_pods_operations_on_one_volume_run_together() -> None:
    pending = NestedPendingOperations(EventLoop())
    assert pending.run(Idle("v", "a")) is Start.STARTED
    assert pending.run(Idle("v", "b")) is Start.STARTED
    assert pending.run(Idle("v", "a")) is Start.RUNNING


def test_a_volume_operation_excludes_pod_operations() -> None:
    pending = NestedPendingOperations(EventLoop())
    pending.run(Idle("v"))
    assert pending.run(Idle("v", "a")) is Start.RUNNING
    assert pending.run(Idle("w", "a")) is Start.STARTED


def test_backoff_doubles_up_to_two_minutes() -> None:
    loop = EventLoop()
    pending = NestedPendingOperations(loop)
    delays: list[int] = []
    for _ in range(10):
        operation = Idle("v")
        assert pending.run(operation) is Start.STARTED
        entry = pending.complete(operation, "failed")
        assert entry is not None
        assert pending.run(Idle("v")) is Start.BACKING_OFF
        delays.append(entry.backoff.delay)
        loop.run(retry_at(entry.backoff, 100 * MILLISECOND))
    assert [delay / SECOND for delay in delays] == [0.5, 1, 2, 4, 8, 16, 32, 64, 122, 122]
    assert delays[-1] == MAX_BACKOFF


def test_backoff_delays_only_the_same_operation() -> None:
    pending = NestedPendingOperations(EventLoop())
    mount = Idle("v")
    pending.run(mount)
    pending.complete(mount, "failed")
    assert pending.run(Idle("v", name="unmount_device")) is Start.STARTED


def test_ticks_are_multiples_of_the_period() -> None:
    assert [next_tick(at, 100) for at in (0, 1, 100, 101)] == [0, 100, 100, 200]


def test_operations_failing_at_once_take_turns_each_tick(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add_pod("a", "node-1")
    machine.run(20)
    call = SimulatedPlugin.call

    def refusing(self: SimulatedPlugin, name: str, *args: Any, **options: Any) -> Answer:
        if name in ("TearDown", "SetUp"):
            return Answer(error=VolumeError("no driver"))
        return call(self, name, *args, **options)

    monkeypatch.setattr(SimulatedPlugin, "call", refusing)
    machine.delete_pod("a", grace=0)
    machine.add_pod("b", "node-1")
    before, steps = machine.loop.now, machine.loop.steps
    machine.loop.run_due(before + 20 * SECOND, steps + 5_000)
    assert machine.loop.now > before + 10 * SECOND
    assert "VolumeOperationFailed" in machine.facts("VolumeOperationFailed")
