"""In-tree disks that a CSI driver serves, under v1.34 and before."""

import pytest

from engine.cluster.cluster import Cluster
from tests.builders import Manifest, claim, node, node_of, played, scene, storage_class, user_of

ZONE = "topology.kubernetes.io/zone"
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


def bound_disk(**labels: str) -> tuple[Manifest, Manifest]:
    """An EBS disk of zone a, by its labels or else by its affinity, and its claim."""
    term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "awsElasticBlockStore": {"volumeID": "vol-1"},
        "claimRef": {"name": "data", "namespace": "default"},
    }
    if not labels:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk", "labels": labels},
        "spec": spec,
    }
    wanted = claim("data", "")
    wanted["spec"]["volumeName"] = "disk"
    return volume, wanted


def csi_node(name: str) -> Manifest:
    annotation = {"storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "annotations": annotation},
        "spec": {"drivers": [{"name": "ebs.csi.aws.com", "nodeID": name}]},
    }


def played_with(*objects: Manifest, profile: str = "v1.34") -> Cluster:
    return played(Cluster.create(scene(*objects), profile=profile, tie_break="name"), 30)


def message(cluster: Cluster) -> str:
    return cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]


@pytest.mark.parametrize("profile", ["v1.34", "v1.20"])
def test_zone_of_the_driver_counts_where_it_runs(profile: str) -> None:
    told_by_driver = node("by-driver", labels={EBS_ZONE: "a"})
    told_by_zone = node("by-zone", labels={ZONE: "a"})
    objects = (*bound_disk(), csi_node("by-driver"), told_by_driver, told_by_zone, user_of("data"))
    # by-zone has no driver yet: there the affinity counts as it is written.
    expected = {"v1.34": "by-driver", "v1.20": "by-zone"}[profile]
    assert node_of(played_with(*objects, profile=profile), "p") == expected


def test_node_with_the_driver_in_another_zone_fails() -> None:
    there = node("there", labels={ZONE: "a", EBS_ZONE: "b"})
    cluster = played_with(*bound_disk(), csi_node("there"), there, user_of("data"))
    assert message(cluster).startswith(
        "0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity."
    )


def test_volume_labels_become_affinity_of_the_driver() -> None:
    beta = "failure-domain.beta.kubernetes.io/zone"
    labels = {ZONE: "a", beta: "a"}
    far = node("far", labels={ZONE: "a", EBS_ZONE: "b"})
    near = node("near", labels={ZONE: "a", EBS_ZONE: "a"})
    drivers = csi_node("far"), csi_node("near")
    cluster = played_with(*bound_disk(**labels), *drivers, far, near, user_of("data"))
    assert node_of(cluster, "p") == "near"


def test_untranslatable_disk_is_an_error_where_needed() -> None:
    volume, wanted = bound_disk()
    volume["spec"]["awsElasticBlockStore"]["volumeID"] = "aws://a/x"
    migrated, plain = node("migrated", labels={ZONE: "a"}), node("plain", labels={ZONE: "a"})
    there = played_with(volume, wanted, csi_node("migrated"), migrated, user_of("data"))
    assert message(there) == (
        'running "VolumeBinding" filter plugin: could not translate pv: failed to translate '
        "Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://a/x)"
    )
    assert node_of(played_with(volume, wanted, plain, user_of("data")), "p") == "plain"


@pytest.mark.parametrize(
    ("label", "fault"),
    [
        (
            "us-east1-b__us-west1-c",
            "multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
        ),
        ("a__b", "zone in unexpected format, expected: {locale}-{region}-{zone}, got: a"),
    ],
)
def test_disk_in_zones_of_several_regions_is_untranslatable(label: str, fault: str) -> None:
    volume, wanted = bound_disk(**{ZONE: label})
    del volume["spec"]["awsElasticBlockStore"]
    volume["spec"]["gcePersistentDisk"] = {"pdName": "d"}
    driver = csi_node("n")
    driver["metadata"]["annotations"] = {
        "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/gce-pd"
    }
    cluster = played_with(volume, wanted, driver, node("n"), user_of("data"))
    assert message(cluster) == (
        'running "VolumeBinding" filter plugin: could not translate pv: failed to get region from '
        f"zones: {fault}"
    )


def test_untranslatable_disk_never_ends_its_binding() -> None:
    """Whoever looks for a free disk does not translate it; who waits for its binding does."""
    volume, _ = bound_disk()
    volume["spec"] |= {
        "awsElasticBlockStore": {"volumeID": "aws://a/x"},
        "storageClassName": "local",
    }
    del volume["spec"]["claimRef"]
    there = node("n", labels={ZONE: "a", EBS_ZONE: "a"})
    objects = (storage_class("local"), volume, claim("data", "local"), csi_node("n"), there)
    cluster = played_with(*objects, user_of("data"))
    failures = [
        event.message for event in cluster.take().events if "failed to translate" in event.message
    ]
    assert failures[0] == (
        'running PreBind plugin "VolumeBinding": binding volumes: failed to translate pv to csi: '
        "could not translate pv: failed to translate Kubernetes ID to EBS Volume ID "
        "Invalid format for AWS volume (aws://a/x)"
    )
