"""NodeVolumeLimits, after upstream's TestCSILimits (v1.34)."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.framework.framework import CycleState
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import from_manifest
from engine.plugins.node_volume_limits.plugin import NodeVolumeLimits, limit_key
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ERROR
from engine.scheduler.cycle.explain import evidence
from engine.storage.translation import csi_handle
from tests.builders import Manifest, node, node_of, played, pod, scene
from tests.engine.scheduler_builders import make_node, make_pod

EBS = "ebs.csi.aws.com"


def volume_of(claim: str) -> Manifest:
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def disk(name: str) -> Manifest:
    return {"name": name, "awsElasticBlockStore": {"volumeID": name}}


class Scene:
    """One node whose EBS driver attaches at most *limit* volumes."""

    def __init__(self, limit: int, version: str = "v1.34") -> None:
        self.profile = PROFILES[version]
        self.algorithm = SchedulingAlgorithm(self.profile, Handle())
        self.algorithm.table.add_node(make_node("n"))
        self.put("CSINode", "n", spec={"drivers": [_driver(limit)]})
        self.put("StorageClass", "ebs", provisioner=EBS, volumeBindingMode="WaitForFirstConsumer")
        self.put("StorageClass", "old", provisioner="kubernetes.io/aws-ebs")

    def put(self, kind: str, name: str, **fields: Any) -> None:
        metadata = {"name": name, "uid": name, **fields.pop("meta", {})}
        if kind == "PersistentVolumeClaim":
            metadata["namespace"] = "default"
        self.algorithm.handle.listers.put(
            from_manifest({"kind": kind, "metadata": metadata, **fields})
        )

    def bound(self, *names: str) -> None:
        """Claims with a CSI volume each."""
        for name in names:
            self.claim(name, volumeName=f"pv-{name}")
            self.volume(f"pv-{name}", csi={"driver": EBS, "volumeHandle": f"vol-{name}"})

    def claim(self, name: str, **spec: Any) -> None:
        done = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
        meta = done if "volumeName" in spec else {}
        self.put("PersistentVolumeClaim", name, meta=meta, spec={"storageClassName": "ebs", **spec})

    def volume(self, name: str, **spec: Any) -> None:
        self.put("PersistentVolume", name, spec={"storageClassName": "ebs", **spec})

    def attach(self, *claims: str, attacher: str = EBS, node: str = "n") -> None:
        for name in claims:
            source = {"persistentVolumeName": f"pv-{name}"}
            spec = {"attacher": attacher, "nodeName": node, "source": source}
            self.put("VolumeAttachment", f"va-{name}", spec=spec)

    def running(self, name: str, *volumes: Manifest) -> None:
        info = PodInfo(self._pod(name, volumes, node="n"), self.profile.resource_rules)
        self.algorithm.table.add_pod(0, info)

    def fits(self, *volumes: Manifest) -> bool:
        """Whether a pod with these volumes passes the plugin."""
        return not self._reasons(*volumes)

    def _reasons(self, *volumes: Manifest) -> tuple[str, ...]:
        framework = self.algorithm.framework
        plugin = framework.plugins.by_name["NodeVolumeLimits"]
        assert isinstance(plugin, NodeVolumeLimits)
        state = framework.new_state(self.info(*volumes))
        if not plugin.pre_filter(state).status.is_success:
            return ()
        code = int(plugin.filter(state, self.algorithm.table.active)[0])
        return plugin.explain(state, code).reasons if code else ()

    def reasons(self, *volumes: Manifest) -> tuple[str, ...]:
        return self._reasons(*volumes)

    def skips(self, *volumes: Manifest) -> bool:
        plugin = NodeVolumeLimits({}, self.algorithm.handle)
        state: CycleState = self.algorithm.framework.new_state(self.info(*volumes))
        return not plugin.pre_filter(state).status.is_success

    def info(self, *volumes: Manifest) -> PodInfo:
        return PodInfo(self._pod("new", volumes), self.profile.resource_rules)

    def _pod(self, name: str, volumes: tuple[Manifest, ...], node: str = "") -> Any:
        return make_pod(name, node=node, spec={"volumes": list(volumes)})


def _driver(limit: int) -> Manifest:
    return {"name": EBS, "allocatable": {"count": limit}}


def test_attachments_count_where_no_pod_uses_them() -> None:
    world = Scene(limit=2)
    world.bound("a", "b", "c")
    world.attach("a", "b")
    assert world.reasons(volume_of("c")) == ("node(s) exceed max volume count",)


def test_attachments_below_the_limit_leave_room() -> None:
    world = Scene(limit=2)
    world.bound("a", "c")
    world.attach("a")
    assert world.fits(volume_of("c"))


def test_volume_used_by_pod_and_attachment_counts_once() -> None:
    world = Scene(limit=2)
    world.bound("a", "c")
    world.attach("a")
    world.running("there", volume_of("a"))
    assert world.fits(volume_of("c"))


def test_attachments_elsewhere_or_without_csi_do_not_count() -> None:
    world = Scene(limit=1)
    world.bound("a", "c")
    world.volume("pv-b", awsElasticBlockStore={"volumeID": "vol-b"})
    world.attach("a", node="elsewhere")
    world.attach("b", "no-such-volume")
    world.put("VolumeAttachment", "inline", spec={"attacher": EBS, "nodeName": "n", "source": {}})
    assert world.fits(volume_of("c"))


def test_an_attachment_that_goes_makes_room() -> None:
    world = Scene(limit=1)
    world.bound("a", "c")
    world.attach("a")
    assert not world.fits(volume_of("c"))
    world.algorithm.handle.listers.remove("VolumeAttachment", "va-a")
    assert world.fits(volume_of("c"))


def test_volume_that_the_new_pod_shares_counts_once() -> None:
    world = Scene(limit=1)
    world.bound("a")
    world.running("there", volume_of("a"))
    assert world.fits(volume_of("a"))


@pytest.mark.parametrize(
    ("limit", "there", "new", "fits"),
    [
        (2, ("in-tree", "inline"), "csi", False),
        (3, ("in-tree", "inline"), "csi", True),
        (2, ("csi", "in-tree"), "inline", False),
        (2, ("inline", "pending"), "csi", False),
        (2, ("csi", "inline"), "pending", False),
        (2, ("csi",), "in-tree", True),
    ],
)
def test_in_tree_disks_count_under_their_driver(
    limit: int, there: tuple[str, ...], new: str, fits: bool
) -> None:
    world = Scene(limit)
    volumes: dict[str, Manifest] = {}
    for name in (*there, new):
        volumes[name] = volume_of(name)
    world.bound("csi")
    world.claim("in-tree", volumeName="pv-in-tree")
    world.volume("pv-in-tree", awsElasticBlockStore={"volumeID": "aws://zone/vol-1234"})
    world.claim("pending", storageClassName="old")
    volumes["inline"] = disk("vol-5678")
    for name in there:
        world.running(name, volumes[name])
    assert world.fits(volumes[new]) is fits


def test_inline_disk_that_is_csi_too_counts_once() -> None:
    world = Scene(limit=1)
    world.bound("a")
    world.running("there", volume_of("a"))
    assert world.fits(disk("vol-a"))


def test_portworx_volume_counts_where_nodes_report_its_migration() -> None:
    world = Scene(limit=9)
    drivers = [{"name": "pxd.portworx.com", "allocatable": {"count": 0}}]
    wanted = {"name": "v", "portworxVolume": {"volumeID": "x"}}
    world.put("CSINode", "n", spec={"drivers": drivers})
    assert world.fits(wanted)
    migrated = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/portworx-volume"}
    world.put("CSINode", "n", meta={"annotations": migrated}, spec={"drivers": drivers})
    assert not world.fits(wanted)


@pytest.mark.parametrize(("version", "fits"), [("v1.36", False), ("v1.35", True), ("v1.34", True)])
def test_a_portworx_volume_counts_everywhere_since_v1_36(version: str, fits: bool) -> None:
    world = Scene(limit=9, version=version)
    drivers = [{"name": "pxd.portworx.com", "allocatable": {"count": 1}}]
    world.put("CSINode", "n", spec={"drivers": drivers})
    world.running("there", {"name": "v", "portworxVolume": {"volumeID": "vol1"}})
    assert world.fits({"name": "v", "portworxVolume": {"volumeID": "vol2"}}) is fits


def test_long_driver_names_are_hashed_in_limit_keys() -> None:
    assert limit_key("csi.example.com") == "attachable-volumes-csi-csi.example.com"
    name = "a-driver-with-a-name-of-forty-characters"
    assert limit_key(name[:39]) == f"attachable-volumes-csi-{name[:39]}"
    assert limit_key(name) == ("attachable-volumes-csi-a-driver-with-a-name-of11c3400a6000612a")


def test_disk_that_no_driver_serves_does_not_count() -> None:
    world = Scene(limit=0)
    assert world.fits({"name": "v", "vsphereVolume": {"volumePath": "x"}})
    world.claim("path", volumeName="pv-path")
    world.volume("pv-path", hostPath={"path": "/x"})
    assert world.fits(volume_of("path"))


def test_before_migration_only_csi_volumes_of_claims_count() -> None:
    world = Scene(limit=1, version="v1.20")
    world.bound("a", "b")
    world.attach("b")
    world.claim("in-tree", volumeName="pv-in-tree")
    world.volume("pv-in-tree", awsElasticBlockStore={"volumeID": "vol-1234"})
    world.running("inline", disk("vol-5678"))
    world.running("in-tree", volume_of("in-tree"))
    assert world.fits(volume_of("a"))
    world.running("csi", volume_of("b"))
    assert not world.fits(volume_of("a"))


def test_pods_without_claims_or_disks_are_skipped() -> None:
    world = Scene(limit=1)
    assert world.skips({"name": "v", "configMap": {"name": "x"}})
    assert not world.skips(disk("vol-1"))
    assert not world.skips({"name": "v", "ephemeral": {}})


def test_missing_claim_and_foreign_claim_are_reported() -> None:
    world = Scene(limit=1)
    assert world.reasons(volume_of("a")) == (
        'looking up PVC default/a: persistentvolumeclaim "a" not found',
    )
    world.claim("new-v")
    assert world.reasons({"name": "v", "ephemeral": {}}) == (
        "PVC default/new-v was not created for pod default/new (pod is not owner)",
    )
    owner = {"uid": "new", "controller": True, "kind": "Pod", "name": "new"}
    world.put(
        "PersistentVolumeClaim",
        "new-v",
        meta={"ownerReferences": [owner]},
        spec={"storageClassName": "ebs"},
    )
    assert world.fits({"name": "v", "ephemeral": {}})


def test_own_disk_that_is_untranslatable_is_an_error() -> None:
    world = Scene(limit=1)
    fault = "kind(Dedicated) is not supported in csi migration"
    azure = {"name": "v", "azureDisk": {"diskURI": "/a", "kind": "Dedicated"}}
    assert world.reasons(azure) == (f"converting volume(v) from inline to csi: {fault}",)
    assert world.reasons(disk("aws://a/x")) == (
        "converting volume(aws://a/x) from inline to csi: failed to translate Kubernetes ID to "
        "EBS Volume ID Invalid format for AWS volume (aws://a/x)",
    )
    world.algorithm.handle.listers.remove("CSINode", "n")
    assert world.fits(azure)


def test_pod_beside_one_with_a_faulty_claim_fails() -> None:
    azure = {"name": "v", "azureDisk": {"diskURI": "/a", "kind": "Dedicated"}}
    world = Scene(limit=9)
    world.bound("a")
    world.running("there", azure)
    fault = (
        "converting volume(v) from inline to csi: kind(Dedicated) is not supported in csi migration"
    )
    assert world.reasons(volume_of("a")) == (fault,)
    result = world.algorithm.schedule(world.info(volume_of("a")))
    assert result.message == f'running "NodeVolumeLimits" filter plugin: {fault}'
    # Nobody looks where nothing is wanted, or where no driver has a limit.
    assert world.algorithm.schedule(world.info()).node == "n"
    world.put("CSINode", "n", spec={"drivers": [{"name": EBS}]})
    assert world.algorithm.schedule(world.info(volume_of("a"))).node == "n"

    world = Scene(limit=9)
    world.bound("a")
    world.claim("there-own")
    world.running("there", {"name": "own", "ephemeral": {}})
    fault = "PVC default/there-own was not created for pod default/there (pod is not owner)"
    assert world.reasons(volume_of("a")) == (fault,)
    world.algorithm.table.remove_pod(0, "default/there")
    assert world.fits(volume_of("a"))


def test_pod_fails_beside_one_that_is_only_nominated() -> None:
    world = Scene(limit=9)
    world.bound("a")
    world.claim("new-own")
    hopeful = make_pod("new", priority=9, spec={"volumes": [{"name": "own", "ephemeral": {}}]})
    world.algorithm.nominated.add("n", PodInfo(hopeful, world.profile.resource_rules))
    asking = make_pod("asking", spec={"volumes": [volume_of("a")]})
    result = world.algorithm.schedule(PodInfo(asking, world.profile.resource_rules))
    assert result.result == ERROR
    assert result.message == (
        'running "NodeVolumeLimits" filter plugin: '
        "PVC default/new-own was not created for pod default/new (pod is not owner)"
    )


def test_the_evidence_says_what_attachments_hold() -> None:
    world = Scene(limit=1)
    world.bound("a", "c")
    world.attach("a")
    decision = world.algorithm.schedule(world.info(volume_of("c")))
    verdict = evidence(decision, world.algorithm, 1, 1)["verdicts"]["n"]
    assert verdict["text"] == f"{EBS}: 1 of 1 volumes attached, 1 more wanted"
    assert verdict["detail"] == {
        "driver": EBS,
        "attached": 1,
        "held_by_attachments": 1,
        "added": 1,
        "limit": 1,
    }


@pytest.mark.parametrize(
    ("plugin", "spec", "labels", "handle"),
    [
        ("aws-ebs", {"awsElasticBlockStore": {"volumeID": "vol-1"}}, None, "vol-1"),
        ("aws-ebs", {"awsElasticBlockStore": {"volumeID": "aws://z/vol-1"}}, None, "vol-1"),
        ("aws-ebs", {"awsElasticBlockStore": {"volumeID": "aws://z/disk"}}, None, ""),
        (
            "gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            None,
            "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d",
        ),
        (
            "gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {"topology.kubernetes.io/zone": "us-east1-b"},
            "projects/UNSPECIFIED/zones/us-east1-b/disks/d",
        ),
        (
            "gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {"failure-domain.beta.kubernetes.io/zone": "us-east1-b__us-east1-c"},
            "projects/UNSPECIFIED/regions/us-east1/disks/d",
        ),
        (
            "gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {
                "topology.kubernetes.io/zone": "us-east1-b",
                "failure-domain.beta.kubernetes.io/zone": "us-east1-c",
            },
            "projects/UNSPECIFIED/zones/us-east1-c/disks/d",
        ),
        (
            "gce-pd",
            {"gcePersistentDisk": {"pdName": "d"}},
            {"topology.kubernetes.io/zone": "us-east1-b__us-west1-c"},
            "",
        ),
        ("cinder", {"cinder": {"volumeID": "x"}}, None, "x"),
        ("azure-disk", {"azureDisk": {"diskURI": "/a/b", "kind": "Managed"}}, None, "/a/b"),
        # By default it is Shared, and no driver serves such disks.
        ("azure-disk", {"azureDisk": {"diskURI": "/a/b"}}, None, ""),
        ("portworx-volume", {"portworxVolume": {"volumeID": "y"}}, None, "y"),
    ],
)
def test_in_tree_disks_carry_handles_of_their_drivers(
    plugin: str, spec: Manifest, labels: dict[str, str] | None, handle: str
) -> None:
    assert csi_handle(f"kubernetes.io/{plugin}", spec, labels) == handle


def test_pod_waits_until_the_other_attachment_goes() -> None:
    """Its pod is gone, its VolumeAttachment is not yet: the slot is still taken."""
    csi_node = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": EBS, "nodeID": "a", "allocatable": {"count": 1}}]},
    }

    def bound(name: str) -> tuple[Manifest, Manifest]:
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}"},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "csi": {"driver": EBS, "volumeHandle": f"vol-{name}"},
                "claimRef": {"name": name, "namespace": "default"},
            },
        }
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeName": f"pv-{name}",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        return volume, claim

    first = pod("first", volumes=[volume_of("one")], terminationGracePeriodSeconds=0)
    cluster = Cluster.create(scene(csi_node, node("a"), *bound("one"), *bound("two"), first))
    played(cluster, 30)
    assert node_of(cluster, "first") == "a"
    assert len(cluster.store.objects("VolumeAttachment")) == 1
    second = pod("second", volumes=[volume_of("two")])
    assert cluster.apply(Command(verb="delete", object="pod/default/first")).applied
    assert cluster.apply(Command(verb="create", manifest=second)).applied
    cluster.take()
    played(cluster, 60)
    assert node_of(cluster, "second") == "a"
    events = cluster.take().events
    detached = next(one.seq for one in events if one.kind == "VolumeAttachmentDeleted")
    bound_at = next(one.seq for one in events if one.kind == "PodBound")
    assert detached < bound_at
    movers = [one.message for one in events if one.object == "pod/default/second"]
    assert "storage.k8s.io/VolumeAttachmentDelete" in movers
