"""The attach/detach controller, the external attacher and the kubelets, together on one store."""

import pickle
from typing import Any, cast

import pytest

from engine.api_server.store.store import ObjectStore
from engine.controllers.attach_detach.context import Context
from engine.controllers.attach_detach.controller import AttachDetachController
from engine.controllers.attach_detach.csi_attacher import CsiAttacher
from engine.controllers.attach_detach.names import attachment_name
from engine.controllers.attach_detach.operations import is_multi_attach_forbidden
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import MILLISECOND, SECOND
from engine.kubelet.context import KubeletContext
from engine.kubelet.kubelets import Kubelets
from engine.kubelet.volume_manager.state import VolumeManagerOptions
from engine.objects.objects import ApiObject, Manifest, Node, Pod, from_manifest
from engine.storage.plugins.latencies import FixedLatencies
from engine.storage.plugins.simulated import Fault, SimulatedPlugins
from engine.storage.plugins.spec import VolumeSpec

UNIQUE_NAME = "kubernetes.io/csi/csi.example.com^vol-1"


class Events:
    """Keeps the Events of a component."""

    def __init__(self) -> None:
        self.all: list[tuple[str, str, str, str]] = []

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        self.all.append((obj.name, type, reason, message))

    def messages(self, reason: str) -> list[str]:
        return [message for _, _, found, message in self.all if found == reason]


class Machine:
    """Two nodes, one CSI volume that is bound to a claim, and everyone who moves it."""

    def __init__(
        self,
        *,
        modes: tuple[str, ...] = ("ReadWriteOnce",),
        managed: bool = True,
        heeds_out_of_service: bool = True,
        keeps_terminated: bool = False,
        options: VolumeManagerOptions | None = None,
    ) -> None:
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder)
        self.events = Events()
        latencies = FixedLatencies()
        for name in ("node-1", "node-2"):
            self.add_node(name, managed=managed)
        self.add_volume("pv-1", "data", "vol-1", list(modes))
        self.kubelets = Kubelets(
            KubeletContext(self.loop, self.store, self.recorder, latencies, self.events),
            options=options,
        )
        plugins = self.kubelets.volumes.plugins
        assert isinstance(plugins, SimulatedPlugins)
        self.plugins = plugins
        self.controller = AttachDetachController(
            Context(self.loop, self.store, self.recorder, plugins, self.events),
            heeds_out_of_service=heeds_out_of_service,
            keeps_terminated=keeps_terminated,
        )
        self.attacher = CsiAttacher(self.loop, self.store, plugins)

    def create(self, manifest: Manifest) -> ApiObject:
        return self.store.create(from_manifest(manifest), by="api")

    def add_node(self, name: str, *, managed: bool = True) -> None:
        key = "volumes.kubernetes.io/controller-managed-attach-detach"
        metadata: Manifest = {"name": name, "annotations": {key: "true" if managed else "false"}}
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.create({"kind": "Node", "metadata": metadata, "status": {"allocatable": allocatable}})

    def add_volume(self, name: str, claim: str, handle: str, modes: list[str]) -> None:
        ref = {"namespace": "default", "name": claim, "uid": f"uid-{claim}"}
        csi = {"driver": "csi.example.com", "volumeHandle": handle}
        capacity = {"storage": "1Gi"}
        self.create(
            {
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {"capacity": capacity, "accessModes": modes, "csi": csi, "claimRef": ref},
                "status": {"phase": "Bound"},
            }
        )
        self.create(
            {
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": claim, "namespace": "default", "uid": f"uid-{claim}"},
                "spec": {"volumeName": name, "accessModes": modes},
                "status": {"phase": "Bound", "capacity": capacity},
            }
        )

    def add_pod(self, name: str, node: str, *, claim: str = "data", **spec: Any) -> None:
        annotations = spec.pop("annotations", {})
        namespace = spec.pop("namespace", "default")
        status = {"phase": spec.pop("phase", "Pending")}
        mounts = [{"name": "v0", "mountPath": "/v0"}]
        volumes = [{"name": "v0", "persistentVolumeClaim": {"claimName": claim}}]
        self.create(
            {
                "kind": "Pod",
                "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
                "spec": {
                    "nodeName": node,
                    "containers": [{"name": "c", "image": "i", "volumeMounts": mounts}],
                    "volumes": volumes,
                    **spec,
                },
                "status": status,
            }
        )

    def delete_pod(self, name: str, *, grace: int = 30) -> None:
        self.store.delete("Pod", f"default/{name}", by="api", grace_seconds=grace)

    def pod(self, name: str) -> Pod | None:
        return cast("Pod | None", self.store.find("Pod", f"default/{name}"))

    def phase(self, name: str) -> str:
        pod = self.pod(name)
        return "gone" if pod is None else pod.phase

    def node(self, name: str) -> Node:
        return cast("Node", self.store.get("Node", name))

    def attachments(self) -> list[str]:
        return [found.spec["nodeName"] for found in self.store.objects("VolumeAttachment")]

    def run(self, seconds: float) -> None:
        self.loop.run(self.loop.now + int(seconds * SECOND))

    def facts(self, *kinds: str) -> list[str]:
        return [event.kind for event in self.recorder.pending if event.kind in kinds]


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_a_second_attachment_to_the_node_is_harmless(machine: Machine) -> None:
    machine.create(
        {
            "kind": "VolumeAttachment",
            "metadata": {"name": "made-by-hand"},
            "spec": {
                "attacher": "csi.example.com",
                "nodeName": "node-1",
                "source": {"persistentVolumeName": "pv-1"},
            },
            "status": {"attached": True},
        }
    )
    machine.add_pod("a", "node-1")
    machine.run(10)
    assert machine.phase("a") == "Running"


def test_an_attachments_name_hashes_handle_driver_and_node() -> None:
    assert attachment_name("vol-1", "csi.example.com", "node-1") == (
        "csi-b74c7fc125891ffa0d0f2e0d645733e3fae7fba3066e76500a771ea08be9da28"
    )


def test_a_bound_pods_volume_is_attached_and_mounted(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    assert machine.phase("a") == "Running"
    attachment = machine.store.objects("VolumeAttachment")[0]
    assert attachment.spec == {
        "attacher": "csi.example.com",
        "nodeName": "node-1",
        "source": {"persistentVolumeName": "pv-1"},
    }
    assert attachment.status["attached"] is True
    assert attachment.finalizers == ("external-attacher/csi-example-com",)
    assert (
        "external-attacher/csi-example-com"
        in machine.store.get("PersistentVolume", "pv-1").finalizers
    )
    status = machine.node("node-1").status
    assert status["volumesInUse"] == [UNIQUE_NAME]
    assert status["volumesAttached"] == [{"devicePath": "", "name": UNIQUE_NAME}]
    assert machine.events.messages("SuccessfulAttachVolume") == [
        'AttachVolume.Attach succeeded for volume "pv-1" '
    ]


def test_volumes_in_use_are_reported_before_mounting(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    assert machine.facts(
        "NodeVolumesInUseReported",
        "NodeVolumesAttachedReported",
        "VolumeAttachmentVerified",
        "VolumeMounted",
        "VolumesMounted",
        "PodRunning",
    ) == [
        "NodeVolumesInUseReported",
        "NodeVolumesAttachedReported",
        "VolumeAttachmentVerified",
        "VolumeMounted",
        "VolumesMounted",
        "PodRunning",
    ]


def test_a_deleted_pod_unmounts_then_detaches(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.delete_pod("a")
    machine.run(10)
    assert machine.phase("a") == "gone"
    assert machine.attachments() == []
    assert machine.node("node-1").status.get("volumesInUse") is None
    assert machine.node("node-1").status.get("volumesAttached") is None
    order = machine.facts(
        "VolumeUnmounted", "PodDeleted", "DeviceUnmounted", "VolumeAttachmentTerminating"
    )
    assert order == [
        "VolumeUnmounted",
        "PodDeleted",
        "DeviceUnmounted",
        "VolumeAttachmentTerminating",
    ]
    assert machine.loop.next_at is None


def test_the_node_status_drops_volumes_before_detaching(
    machine: Machine,
) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.delete_pod("a")
    machine.run(10)
    facts = machine.facts("NodeVolumesAttachedReported", "VolumeAttachmentTerminating")
    assert facts == [
        "NodeVolumesAttachedReported",
        "NodeVolumesAttachedReported",
        "VolumeAttachmentTerminating",
    ]


def test_a_used_volume_is_refused_then_attached_later(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.add_pod("b", "node-2")
    machine.run(10)
    assert machine.phase("b") == "Pending"
    assert machine.events.messages("FailedAttachVolume") == [
        'Multi-Attach error for volume "pv-1" Volume is already used by pod(s) a'
    ]
    machine.delete_pod("a")
    machine.run(10)
    assert machine.phase("b") == "Running"
    assert machine.attachments() == ["node-2"]
    assert len(machine.events.messages("FailedAttachVolume")) == 1


def test_a_volume_still_attached_elsewhere_is_refused(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.delete_pod("a", grace=0)
    machine.run(1)
    machine.add_pod("b", "node-2")
    machine.run(1)
    assert machine.events.messages("FailedAttachVolume") == [
        'Multi-Attach error for volume "pv-1" Volume is already exclusively attached to one node '
        "and can't be attached to another"
    ]


def test_pods_of_other_namespaces_are_not_named(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.create(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "other", "namespace": "team", "uid": "uid-data"},
            "spec": {"volumeName": "pv-1"},
            "status": {"phase": "Bound"},
        }
    )
    machine.add_pod("b", "node-2", claim="other", namespace="team")
    machine.run(1)
    assert machine.events.messages("FailedAttachVolume") == [
        'Multi-Attach error for volume "pv-1" Volume is already used by 1 pod(s) in different '
        "namespaces"
    ]


def test_a_shared_volume_is_attached_to_both_nodes() -> None:
    machine = Machine(modes=("ReadWriteMany",))
    machine.add_pod("a", "node-1")
    machine.add_pod("b", "node-2")
    machine.run(5)
    assert (machine.phase("a"), machine.phase("b")) == ("Running", "Running")
    assert machine.attachments() == ["node-1", "node-2"]


def test_a_dead_kubelets_volume_is_force_detached(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.delete_pod("a", grace=0)
    machine.add_pod("b", "node-2")
    machine.run(359.9)
    assert machine.attachments() == ["node-1"]
    machine.run(0.2)
    assert machine.facts("VolumeDetachForced") == ["VolumeDetachForced"]
    # By then the kubelet of node-2 looks only every two minutes whether the volume has come.
    machine.run(124)
    assert machine.phase("b") == "Running"
    assert machine.attachments() == ["node-2"]


OUT_OF_SERVICE: Manifest = {
    "spec": {"taints": [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]}
}


@pytest.mark.parametrize(("heeds", "left"), [(True, []), (False, ["node-1"])])
def test_volume_of_an_out_of_service_node_detaches(heeds: bool, left: list[str]) -> None:
    machine = Machine(heeds_out_of_service=heeds)
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.delete_pod("a", grace=0)
    machine.run(10)
    assert machine.attachments() == ["node-1"]
    machine.store.patch("Node", "node-1", OUT_OF_SERVICE, by="api")
    machine.run(3)
    assert machine.attachments() == left
    assert len(machine.facts("VolumeDetachForced")) == (1 if heeds else 0)


def test_out_of_service_node_keeps_volumes_in_use(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.kubelets.stop_kubelet("node-1")
    machine.store.patch("Node", "node-1", OUT_OF_SERVICE, by="api")
    machine.run(10)
    assert machine.attachments() == ["node-1"]


def test_a_deleted_nodes_volume_is_force_detached(
    machine: Machine,
) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.store.delete("Node", "node-1", by="api")
    machine.delete_pod("a", grace=0)
    machine.run(355)
    assert machine.attachments() == ["node-1"]
    machine.run(10)
    assert machine.attachments() == []


def test_a_finished_pods_volume_is_detached(machine: Machine) -> None:
    machine.add_pod("a", "node-1", restartPolicy="Never", annotations={"kscope.dev/run-for": "2s"})
    machine.run(15)
    assert machine.phase("a") == "Succeeded"
    assert machine.attachments() == []


@pytest.mark.parametrize(("keeps", "left"), [(True, ["node-1"]), (False, [])])
def test_old_versions_may_keep_a_finished_pods_volume(keeps: bool, left: list[str]) -> None:
    machine = Machine(keeps_terminated=keeps)
    keep = {"volumes.kubernetes.io/keep-terminated-pod-volumes": "true"}
    machine.store.patch("Node", "node-1", {"metadata": {"annotations": keep}}, by="api")
    machine.add_pod("a", "node-1", restartPolicy="Never", annotations={"kscope.dev/run-for": "2s"})
    machine.run(15)
    assert machine.phase("a") == "Succeeded"
    assert machine.attachments() == left


def test_a_failed_attach_is_reported_and_repeated(machine: Machine) -> None:
    machine.plugins.faults.inject(Fault(call="Attach", text="no capacity", count=2))
    machine.add_pod("a", "node-1")
    machine.run(20)
    assert machine.phase("a") == "Running"
    told = machine.events.messages("FailedAttachVolume")
    assert told[0] == 'AttachVolume.Attach failed for volume "pv-1" : no capacity'


def test_an_attachment_waits_for_its_volume(machine: Machine) -> None:
    source = {"persistentVolumeName": "pv-2"}
    spec = {"attacher": "csi.example.com", "nodeName": "node-1", "source": source}
    machine.create({"kind": "VolumeAttachment", "metadata": {"name": "early"}, "spec": spec})
    machine.run(1)
    early = machine.store.get("VolumeAttachment", "early")
    assert early.status["attachError"]["message"] == 'persistentvolume "pv-2" not found'
    assert (early.status.get("attached"), early.finalizers) == (None, ())
    machine.add_volume("pv-2", "more", "vol-2", ["ReadWriteOnce"])
    machine.run(10)
    assert machine.store.get("VolumeAttachment", "early").status == {"attached": True}


def test_a_deleted_volume_is_not_attached(machine: Machine) -> None:
    kept = {"metadata": {"finalizers": ["example.com/kept"]}}
    machine.store.patch("PersistentVolume", "pv-1", kept, by="api")
    machine.store.delete("PersistentVolume", "pv-1", by="api")
    machine.add_pod("a", "node-1")
    machine.run(5)
    told = machine.events.messages("FailedAttachVolume")
    assert 'PersistentVolume "pv-1" is marked for deletion' in told[0]


def test_a_failed_mount_is_repeated_after_500_ms(machine: Machine) -> None:
    machine.plugins.faults.inject(Fault(call="SetUp", text="busy", count=3))
    machine.add_pod("a", "node-1")
    machine.run(20)
    assert machine.phase("a") == "Running"
    assert (
        machine.events.messages("FailedMount")
        == ['MountVolume.SetUp failed for volume "pv-1" : busy'] * 3
    )
    failures = [e.at for e in machine.recorder.pending if e.kind == "VolumeOperationFailed"]
    gaps = [after - before for before, after in zip(failures, failures[1:], strict=False)]
    assert [round(gap / SECOND, 1) for gap in gaps] == [0.7, 1.2]


def test_a_detached_deleted_volume_loses_its_finalizer(
    machine: Machine,
) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.delete_pod("a")
    machine.run(10)
    machine.store.delete("PersistentVolume", "pv-1", by="api")
    machine.run(1)
    assert machine.store.find("PersistentVolume", "pv-1") is None


def test_a_self_attaching_kubelet_needs_no_attachment() -> None:
    machine = Machine(managed=False)
    machine.add_pod("a", "node-1")
    machine.run(5)
    assert machine.phase("a") == "Running"
    assert machine.attachments() == []
    machine.delete_pod("a")
    machine.run(5)
    assert machine.facts("VolumeAttached", "VolumeDetached") == ["VolumeAttached", "VolumeDetached"]


def test_unneeded_attachments_are_detached_at_start() -> None:
    first = Machine()
    first.add_pod("a", "node-1")
    first.run(5)
    status = {"volumesInUse": None}
    first.kubelets.stop_kubelet("node-1")
    first.store.delete("Pod", "default/a", by="api")
    first.store.patch("Node", "node-1", {"status": status}, by="api")
    fresh = AttachDetachController(Context(first.loop, first.store, first.recorder, first.plugins))
    fresh.actual.attached_volumes()[0].mounted_by_node = False
    first.run(5)
    assert first.attachments() == []


def test_an_unmounted_volume_is_attached_without_waiting(machine: Machine) -> None:
    # Upstream: getExpectedVolumes() asks what containers mount, processPodVolumes() does not.
    machine.add_pod("a", "node-1", containers=[{"name": "c", "image": "i"}])
    machine.run(5)
    assert machine.phase("a") == "Running"
    machine.recorder.take()
    node = machine.recorder.view["node/node-1"]
    assert node["attachments"][UNIQUE_NAME]["attached"]
    assert "volumes" not in node


def test_an_attachment_with_another_name_does_not_block(machine: Machine) -> None:
    spec = {
        "attacher": "csi.example.com",
        "nodeName": "node-1",
        "source": {"persistentVolumeName": "pv-1"},
    }
    status = {"attached": True}
    metadata = {"name": "made-by-hand"}
    machine.create(
        {"kind": "VolumeAttachment", "metadata": metadata, "spec": spec, "status": status}
    )
    machine.add_pod("a", "node-1")
    machine.run(5)
    assert (machine.phase("a"), machine.events.messages("FailedAttachVolume")) == ("Running", [])


def attachment(machine: Machine, node: str = "node-1") -> Any:
    machine.recorder.take()
    return machine.recorder.view[f"node/{node}"].get("attachments", {}).get(UNIQUE_NAME)


def test_the_view_shows_the_life_of_an_attachment(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(0.15)
    shown = attachment(machine)
    assert shown["desired"] == {"default/a": 0}
    assert shown["operation"]["name"] == "volume_attach"
    assert "attached" not in shown
    machine.run(5)
    assert attachment(machine) == {
        "name": "pv-1",
        "desired": {"default/a": 0},
        "attached": True,
        "mounted_by_node": True,
    }
    machine.delete_pod("a", grace=0)
    machine.run(0.01)
    assert "desired" not in attachment(machine)
    machine.run(0.1)
    asked = attachment(machine)["detach_requested"]
    assert attachment(machine)["deadline"] > asked
    machine.run(20)
    assert attachment(machine) is None


def test_the_view_shows_the_retry_of_an_attach(
    machine: Machine,
) -> None:
    machine.plugins.faults.inject(Fault(call="Attach", count=99, text="no slot"))
    machine.add_pod("a", "node-1")
    machine.run(3)
    shown = attachment(machine)
    assert shown["uncertain"]
    assert shown["operation"]["failures"] >= 1
    assert shown["operation"]["error"] == "no slot"
    assert shown["operation"]["retry_at"] > shown["operation"]["failed"]


def test_a_returning_node_shows_its_attached_volumes(
    machine: Machine,
) -> None:
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.store.delete("Node", "node-1", by="api")
    machine.recorder.take()
    assert "node/node-1" not in machine.recorder.view
    machine.run(1)
    machine.recorder.take()
    assert "node/node-1" not in machine.recorder.view
    machine.add_node("node-1")
    machine.run(1)
    assert attachment(machine) == machine.controller.held_view("node-1")[UNIQUE_NAME]


def test_storage_survives_a_checkpoint_at_any_moment() -> None:
    whole = Machine()
    whole.add_pod("a", "node-1")
    whole.run(5)
    expected = [(e.at, e.kind, e.object) for e in whole.recorder.pending]
    cut = Machine()
    cut.add_pod("a", "node-1")
    while (at := cut.loop.next_at) is not None and at <= 5 * SECOND:
        cut = cast("Machine", pickle.loads(pickle.dumps(cut)))
        cut.loop.run(at)
    assert [(e.at, e.kind, e.object) for e in cut.recorder.pending] == expected


def test_nothing_happens_any_more_once_everything_is_mounted(machine: Machine) -> None:
    machine.add_pod("a", "node-1")
    machine.run(60)
    assert machine.loop.next_at is None


@pytest.mark.parametrize(
    ("modes", "forbidden"),
    [
        (["ReadWriteOnce"], True),
        (["ReadWriteOncePod"], True),
        (["ReadWriteOnce", "ReadOnlyMany"], False),
        (["ReadWriteMany"], False),
        ([], False),
    ],
)
def test_a_single_node_volume_attaches_once(modes: list[str], forbidden: bool) -> None:
    volume = {"metadata": {"name": "v"}, "spec": {"accessModes": modes}}
    assert is_multi_attach_forbidden(VolumeSpec(persistent_volume=volume)) is forbidden


def test_controller_ticks_are_multiples_of_the_period(machine: Machine) -> None:
    machine.loop.run(37 * MILLISECOND)
    machine.add_pod("a", "node-1")
    machine.run(5)
    made = next(e for e in machine.recorder.pending if e.kind == "VolumeAttachmentCreated")
    assert made.at % (100 * MILLISECOND) == 0


def test_without_backoff_a_kubelet_sees_attachments_at_once(
    machine: Machine,
) -> None:
    machine.kubelets.volumes.options.verify_backs_off = False
    machine.add_pod("a", "node-1")
    machine.run(5)
    machine.add_pod("b", "node-2")
    machine.run(100)
    machine.delete_pod("a")
    machine.run(6)
    assert machine.phase("b") == "Running"


def test_an_attachment_of_a_node_nobody_knows_stays(machine: Machine) -> None:
    """Neither a CSINode nor the attachment says how the driver calls the node that is gone."""
    metadata = {"name": "csi-1", "finalizers": ["external-attacher/csi-example-com"]}
    attachment: Manifest = {
        "kind": "VolumeAttachment",
        "metadata": metadata,
        "spec": {
            "attacher": "csi.example.com",
            "nodeName": "gone",
            "source": {"persistentVolumeName": "pv-1"},
        },
        "status": {"attached": True},
    }
    machine.create(attachment)
    machine.store.delete("VolumeAttachment", "csi-1", by="user")
    machine.run(60)
    stuck = machine.store.get("VolumeAttachment", "csi-1")
    assert stuck.status["detachError"] == {"message": 'csinode.storage.k8s.io "gone" not found'}
