"""One object of a cluster as it stands: what was observed, what holds it, what the model predicts."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage import alone, asking
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class, volume
from tests.engine.diagnosis.triage.clusters import (
    NOON,
    answer_about,
    cluster_of,
    deployment,
    event,
    leaving,
    placed,
)

Manifest = dict[str, Any]


def test_asking_binds_and_writes_nothing() -> None:
    cluster = cluster_of(node("n1"), waiting := pod("web"))
    before = cluster.seq, cluster.steps
    answer = explain_as_it_stands(cluster, Evidence([node("n1"), waiting]), "Pod", "default/web")
    assert answer is not None
    assert answer.predicted == "it runs on n1"
    assert (cluster.seq, cluster.steps) == before
    assert cluster.store.get("Pod", "default/web").spec.get("nodeName") is None


def test_files_win_over_a_model_that_disagrees() -> None:
    web = placed(pod("web"))
    said = event(web, "FailedMount", 'MountVolume.SetUp failed : secret "tls" not found')
    answer = answer_about("Pod", "default/web", node("n1"), web, said)
    assert answer.contradicts
    assert "Secret default/tls does not exist" in answer.sentence
    assert answer.observed[1].startswith("Event ×7, last 1 min before: FailedMount")
    assert answer.contradiction.startswith("In your cluster: phase Pending; Event ×7")
    assert answer.contradiction.endswith("the model, most likely secret default/tls.")
    assert "cause lies outside the model" in answer.text()


def test_long_wait_that_the_model_would_end_contradicts() -> None:
    fast = storage_class("fast", "disk.acme.io", mode="Immediate")
    data = {**claim("data", "fast"), "status": {"phase": "Pending"}}
    web = {**pod("web", claims=["data"]), "status": {"phase": "Pending"}}
    for since, contradicts in (("2026-11-20T11:00:00Z", True), ("2026-11-20T11:59:00Z", False)):
        web["metadata"]["creationTimestamp"] = since
        answer = answer_about("Pod", "default/web", node("n1"), fast, data, web)
        over = "" if contradicts else "; what holds it now is over by then"
        assert (answer.predicted, answer.contradicts) == (f"it runs on n1{over}", contradicts)


def _tied_elsewhere(since: str) -> list[Manifest]:
    """A pod on n1 since then whose volume is attached to n2, where no pod uses it."""
    disk = volume("pv", "fast", csi={"driver": "disk.acme.io", "volumeHandle": "pv"})
    disk["spec"]["claimRef"] = {"namespace": "default", "name": "data", "uid": "data"}
    data = claim("data", "fast", volumeName="pv")
    data["metadata"]["uid"] = "data"
    for each in (disk, data):
        each["status"] = {"phase": "Bound"}
    tie = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "tie"},
        "spec": {
            "attacher": "disk.acme.io",
            "nodeName": "n2",
            "source": {"persistentVolumeName": "pv"},
        },
        "status": {"attached": True},
    }
    web = placed(pod("web", claims=["data"]), startTime=since)
    return [node("n1"), node("n2"), disk, data, web, tie]


def test_idle_attachment_elsewhere_is_taken_away() -> None:
    answer = answer_about("Pod", "default/web", *_tied_elsewhere("2026-11-20T11:59:30Z"))
    assert "VolumeAttachment tie still ties volume pv to n2" in answer.sentence
    (group,) = answer.groups
    assert group.contradicts
    assert group.predicted.startswith("No pod on n2 uses volume pv: a healthy attach/detach")
    assert answer.fixes[0].text.startswith("Delete VolumeAttachment tie")


def test_bound_claim_of_a_stuck_pod_contradicts_nothing() -> None:
    tied = _tied_elsewhere("2026-11-20T09:00:00Z")
    answer = answer_about("PersistentVolumeClaim", "default/data", *tied)
    assert (answer.predicted, answer.contradiction) == ("it is bound to pv", "")


def test_pod_of_a_deleted_namespace_goes_with_it() -> None:
    space = leaving({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    answer = answer_about("Pod", "default/web", node("n1"), space, placed(pod("web")))
    assert answer.predicted == (
        "it is gone: namespace default is being deleted, and everything in it"
    )


def test_pod_without_any_evidence_is_not_called_settled() -> None:
    web = placed(pod("web"), startTime="2026-11-20T11:59:30Z")
    answer = answer_about("Pod", "default/web", node("n1"), web)
    assert "its phase is Pending, and no Events are in the files" in answer.sentence


def test_missing_kinds_are_neither_assumed_nor_denied() -> None:
    web = placed(pod("web", volumes=[{"name": "tls", "secret": {"secretName": "tls"}}]))
    told = "no Secrets are in these files: whether those of the pod exist is not known"
    assert told in answer_about("Pod", "default/web", node("n1"), web).observed
    metadata = {"name": "other", "namespace": "default"}
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    answer = answer_about("Pod", "default/web", node("n1"), web, other)
    assert told not in answer.observed
    assert "tls does not exist" in answer.sentence


def test_plain_manifest_says_that_nothing_was_observed() -> None:
    answer = answer_about("Pod", "default/web", node("n1", cpu="1"), pod("web", cpu="2"))
    assert "nothing: the files have no status and no Event of it" in answer.text()
    assert "cpu 1 short" in answer.sentence


def test_workload_gets_the_answer_of_its_pod() -> None:
    web = deployment("web", 1, 0)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    waiting = pod("web-1", cpu="8")
    waiting["metadata"]["ownerReferences"] = [{**owner, "uid": "deployment-web"}]
    of_pod = answer_about("Pod", "default/web-1", node("n1"), web, waiting)
    of_workload = answer_about("Deployment", "default/web", node("n1"), web, waiting)
    assert {each.sentence for each in of_pod.causes} <= {
        each.sentence for each in of_workload.causes
    }
    assert [each.text for each in of_pod.fixes] == [each.text for each in of_workload.fixes]


def test_kind_that_is_never_played_can_be_asked() -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    answer = answer_about("Widget", "w", node("n1"), leaving(widget, "example.com/hold"))
    assert "example.com/hold" in answer.sentence
    assert "with the finalizers example.com/hold" in answer.observed[0]


_HEADER = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("spec", "is_played"),
    [
        ({"profile": "v1.34", "seed": 7, "duration": "5m"}, False),
        ({"steps": [{"at": "1s", "cordon": "n1"}]}, True),
        ({"faults": [{"no_resizer": "acme.io"}]}, True),
    ],
)
def test_only_steps_and_faults_are_played(
    spec: Manifest, is_played: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.yaml"
    documents = [node("n1"), pod("web", cpu="900"), {**_HEADER, "spec": spec}]
    path.write_bytes(b"\n---\n".join(map(orjson.dumps, documents)))
    call_command("why", str(path), "pod", "web", "--json")
    found = json.loads(capsys.readouterr().out)
    assert (found["at"] > 0, "observed" not in found) == (is_played, is_played)


def test_scheduler_that_is_not_played_is_not_denied() -> None:
    other = deployment("batch-scheduler", 1, 1)
    waiting = pod("a", schedulerName="batch-scheduler")
    answer = answer_about("Pod", "default/a", node("n1"), other, waiting)
    assert "most likely is that scheduler; it has 1 of 1 pods ready" in answer.sentence
    assert "No scheduler has the name" not in answer.text()


def test_pod_that_a_minute_places_contradicts_nothing() -> None:
    old = placed(pod("old", cpu="4"), phase="Running")
    old["metadata"] |= {
        "deletionTimestamp": "2026-11-20T12:00:20Z",
        "deletionGracePeriodSeconds": 30,
    }
    status = {"phase": "Pending", "nominatedNodeName": "n1"}
    waiting = {**pod("a", cpu="4", priority=9), "status": status}
    answer = answer_about("Pod", "default/a", node("n1"), old, waiting)
    assert not answer.contradicts
    assert "waits for default/old (terminating) to end on n1" in answer.groups[0].cause
    assert "20 s of its grace period are left" in answer.groups[0].cause


def test_standing_cluster_is_asked_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = pod("web", cpu="9")
    told = event(waiting, "FailedScheduling", "0/1 nodes", lastTimestamp=NOON)
    loaded = load_files(
        [(f"{n}.json", orjson.dumps(each)) for n, each in enumerate((waiting, told))]
    )
    cluster = Cluster.create(Scenario.from_load(loaded, name="web"))
    monkeypatch.setattr(alone, "Original", None)
    found = alone.AtOnce(cluster).explained("Pod", "default/web", tries_changes=False)
    assert found.sentence == "No nodes available to schedule pods."


def test_large_cluster_is_not_played_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "_MOST_PODS_PLAYED", 0)
    answer = answer_about("Pod", "default/web", node("n1", cpu="1"), pod("web", cpu="2"))
    assert "so large a cluster is not played ahead" in answer.text()
    assert answer.to_dict()["is_played"] is False
    assert answer.predicted == "Insufficient cpu."
    assert answer.diagnosis.outlook is None
    assert answer.fixes


def test_full_quota_beside_pods_of_a_set() -> None:
    """The pods that are missing have other names than those that are there."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
        "status": {"hard": {"pods": "1"}, "used": {"pods": "1"}},
    }
    owner = {**deployment("logs", 3, 1), "kind": "StatefulSet"}
    there = placed(pod("logs-0"), phase="Running")
    there["metadata"]["ownerReferences"] = [
        {"kind": "StatefulSet", "name": "logs", "uid": owner["metadata"]["uid"], "controller": True}
    ]
    said = 'pods "logs-1" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1'
    refused = event(
        owner, "FailedCreate", f"create Pod logs-1 in StatefulSet logs failed error: {said}"
    )
    answer = answer_about("StatefulSet", "default/logs", node("n1"), quota, owner, there, refused)
    assert "2 pods of statefulset default/logs are refused" in answer.sentence
    assert answer.fixes[0].text.startswith("Raise ResourceQuota small to pods 3")
    assert "places 2 of 2" in answer.fixes[0].text


def test_mount_that_fails_is_laid_to_its_volume() -> None:
    disk = volume("shares", "", csi={"driver": "nfs.csi.k8s.io", "volumeHandle": "shares"})
    web = placed(pod("web"))
    denied = 'MountVolume.SetUp failed for volume "shares" : access denied by server'
    answer = answer_about(
        "Pod", "default/web", node("n1"), disk, web, event(web, "FailedMount", denied)
    )
    assert answer.groups[0].by == "volume shares (driver nfs.csi.k8s.io)"


def test_node_with_an_old_lease_holds_pods() -> None:
    leases = [
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"renewTime": renewed},
        }
        for name, renewed in (("n1", "2026-11-20T11:31:00Z"), ("n2", NOON))
    ]
    web = placed(pod("web"), startTime="2026-11-20T11:32:00Z")
    answer = answer_about("Pod", "default/web", node("n1"), node("n2"), *leases, web)
    assert answer.sentence.startswith(
        "Node n1 says Ready=True, but its Lease was last renewed 29 min"
    )
    assert answer.groups[0].by == "node n1"


def test_workload_leads_with_its_pods_not_drains() -> None:
    owner = deployment("cart", 1, 0)
    crashing = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting"}
    status = {"name": "c", "ready": False, "restartCount": 9, "state": {"waiting": crashing}}
    web = placed(pod("cart"), phase="Running", containerStatuses=[status])
    web["metadata"] |= {
        "labels": {"app": "cart"},
        "ownerReferences": [
            {
                "kind": "Deployment",
                "name": "cart",
                "uid": owner["metadata"]["uid"],
                "controller": True,
            }
        ],
    }
    cordoned = node("n1", unschedulable=True)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "cart", "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "cart"}}},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": 0,
            "desiredHealthy": 1,
            "expectedPods": 1,
        },
    }
    answer = answer_about("Deployment", "default/cart", cordoned, owner, web, budget)
    assert "CrashLoopBackOff" in answer.sentence
    assert [each.kind for each in answer.groups] == ["placed-but-stuck", "node"]
