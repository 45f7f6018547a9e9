"""The demos of a data plane that says no, and of a sick cluster as it stands."""

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.triage import triage
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from tests.scenarios.played import FOLDER, Played, demo


def _failures(played: Played, kind: str) -> list[str]:
    return [*dict.fromkeys(event.message for event in played.events if event.kind == kind)]


# Taints evict both pods. Only the node could say that they have ended, or somebody who knows.


def test_dead_node_keeps_its_pods_terminating() -> None:
    played = demo("dead-node")
    pods = {name: shown for name, shown in played.at(89).items() if name.startswith("pod/")}
    ending = [name.split("-")[0] for name, shown in pods.items() if "deleting" in shown]
    assert ending == ["pod/default/web", "pod/default/db"]
    living = [shown["node"] for shown in pods.values() if "deleting" not in shown]
    assert (len(pods), living) == (3, ["node-2"])


def test_dead_node_gives_its_disk_away_once_tainted() -> None:
    played = demo("dead-node")
    assert {where for _, where in played.pods().values()} == {"node-2"}
    told = ("PodDeleted", "VolumeDetachForced", "PodRunning")
    later = [(e.kind, e.object) for e in played.events if e.at > 90e9 and e.kind in told]
    assert later[-2:] == [("VolumeDetachForced", "node/node-1"), ("PodRunning", "pod/default/db-0")]


def test_unregistered_driver_attaches_once_it_registers() -> None:
    played = demo("unregistered-driver")
    assert _failures(played, "FailedAttachVolume") == [
        'AttachVolume.Attach failed for volume "disk-report" : '
        "CSINode node-2 does not contain driver disk.csi.example.com"
    ]
    assert played.pods(played.at(8)) == {"default/report": ("Pending", "node-2")}
    assert played.story("PodRunning") == ["35 PodRunning pod/default/report"]


def test_refused_clone_becomes_as_large_as_its_source() -> None:
    played = demo("refused-clone")
    assert _failures(played, "ProvisioningFailed") == [
        'failed to provision volume with StorageClass "disk": error getting handle for DataSource '
        "Type PersistentVolumeClaim by Name orders: error, new PVC request must be greater than or "
        "equal in size to the specified PVC data source, requested 5368709120 but source is "
        "21474836480"
    ]
    assert played.pods(played.at(29)) == {"default/reader": ("Pending", "")}
    assert played.pods() == {"default/reader": ("Running", "node-1")}


def test_zone_label_counts_for_a_bound_claim_only() -> None:
    played = demo("zone-label")
    assert [*played.pods(played.at(20)).values()][1:] == [("Pending", "node-1")]
    assert _failures(played, "FailedAttachVolume") == [
        'AttachVolume.Attach failed for volume "disk-zone-2" : rpc error: code = InvalidArgument '
        "desc = volume disk-zone-2 is in zone zone-2, node node-1 is in zone zone-1"
    ]
    (refused,) = _failures(played, "FailedScheduling")
    assert "1 Insufficient cpu, 1 node(s) had no available volume zone" in refused
    assert [*played.pods().values()] == [("Running", "node-2")]


def test_zone_mismatch_unchecked_fails_to_attach() -> None:
    played = demo("zone-mismatch-unchecked")
    assert [*played.pods(played.at(29)).values()] == [("Pending", "node-1a")]
    assert _failures(played, "FailedScheduling") == []
    assert (
        "is in zone zone-2, node node-1a is in zone zone-1"
        in (_failures(played, "FailedAttachVolume")[0])
    )
    assert [*played.pods().values()] == [("Running", "node-2a")]


def test_expired_assumption_frees_a_place_unheard() -> None:
    played = demo("expired-assumption")
    assert played.story("PodDeleted", "AssumptionExpired", "PodBound")[1:] == [
        "3 PodDeleted pod/default/brief",
        "33 AssumptionExpired pod/default/brief",
        "90 PodBound pod/default/next",
    ]
    assert played.told("PodQueued")[-1][3] == "UnschedulableTimeout"


def test_sick_cluster_has_four_causes() -> None:
    result = load_paths([FOLDER / "sick-cluster.yaml"])
    scenario = Scenario.from_load(result, name="sick-cluster")
    cluster = Cluster.create(scenario, profile=scenario.profile)
    evidence = Evidence.of(result)
    found = triage(cluster, evidence, tries_changes=False)
    told = [(len(group.pods), [*group.workloads]) for group in found.groups]
    assert told == [
        (3, ["replicaset/shop/checkout"]),
        (3, ["replicaset/ml/embeddings"]),
        (1, ["statefulset/shop/kafka"]),
        (1, ["replicaset/shop/ledger"]),
    ]
    assert found.groups[3].by == "secret shop/ledger-keys"


def test_sick_cluster_lists_each_change_once() -> None:
    result = load_paths([FOLDER / "sick-cluster.yaml"])
    scenario = Scenario.from_load(result, name="sick-cluster")
    cluster = Cluster.create(scenario, profile=scenario.profile)
    together = triage(cluster, Evidence.of(result)).together
    assert together is not None
    # The node that comes back places the pods of two groups.
    assert [(group, places) for group, _, places in together.changes] == [(0, 4), (1, 3)]
