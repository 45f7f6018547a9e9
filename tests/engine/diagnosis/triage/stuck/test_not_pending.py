"""What is stuck without being pending: refused, placed, claimed, leaving, or on a dead node."""

from typing import Any

from engine.diagnosis.triage.stuck.drains import BUDGET
from tests.builders.nodes import csi_node, node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class, volume
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    deployment,
    event,
    leaving,
    only_group,
    placed,
    replica_set,
    silent,
    triage_of,
)

Manifest = dict[str, Any]


def _named(kind: str, name: str, **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def test_quota_names_the_number_that_all_pods_need() -> None:
    quota = _named("ResourceQuota", "team", spec={"hard": {"requests.memory": "3Gi"}})
    refused = (
        'pods "web-1-x" is forbidden: exceeded quota: team, requested: requests.memory=1Gi, '
        "used: requests.memory=3Gi, limited: requests.memory=3Gi"
    )
    web = deployment("web", 2, 0)
    group = only_group(node("n1"), quota, web, replica_set(web, 2, refused))
    assert (group.pods_missing, group.by) == (2, "resourcequota default/team")
    first = group.changes[0]
    assert "to requests.memory 5Gi" in first.text
    assert (first.places, first.of) == (2, 2)


def test_one_webhook_makes_one_group_of_two_workloads() -> None:
    refused = (
        'Internal error occurred: failed calling webhook "check.acme.io": failed to call webhook: '
        'Post "https://acme.default.svc:443/": no endpoints available for service "acme"'
    )
    hook: Manifest = {
        "name": "check.acme.io",
        "clientConfig": {"service": {"namespace": "default", "name": "acme"}},
    }
    service = _named("Service", "acme", spec={"selector": {"app": "acme-hook"}})
    web, shop = deployment("web", 1, 0), deployment("shop", 2, 0)
    group = only_group(
        node("n1"),
        deployment("acme-hook", 0, 0),
        service,
        _named("ValidatingWebhookConfiguration", "acme", webhooks=[hook]),
        *(web, replica_set(web, 1, refused), shop, replica_set(shop, 2, refused)),
    )
    assert group.workloads == ("deployment/default/web", "deployment/default/shop")
    assert (group.pods_missing, group.contradicts) == (3, True)
    assert group.changes[0].text == "Scale deployment default/acme-hook to 1"


def test_missing_secret_is_named_without_an_event() -> None:
    part = {"name": "v", "secret": {"secretName": "cert"}}
    group = only_group(node("n1"), _named("Secret", "other"), placed(pod("a", volumes=[part])))
    assert (group.kind, group.by) == ("placed-but-stuck", "secret default/cert")
    assert "Namespace default has other." in group.cause


def test_pods_that_cannot_pull_one_image_are_grouped() -> None:
    waits = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "shop:2"'}
    statuses = [{"name": "main", "state": {"waiting": waits}}]
    pods = [placed(pod(name), containerStatuses=statuses) for name in ("a", "b")]
    group = only_group(node("n1"), *pods)
    assert (group.pods, group.by) == (("default/a", "default/b"), "image shop:2")
    assert group.conclusion


def test_pod_placed_a_moment_ago_is_not_stuck() -> None:
    just = {"startTime": "2026-11-20T11:59:50Z"}
    assert triage_of(node("n1"), placed(pod("a"), **just)).groups == ()


def test_driver_that_is_not_registered_is_named() -> None:
    disk = volume("pv", csi={"driver": "disk.acme.io", "volumeHandle": "1"})
    bound = {**claim("data", volumeName="pv"), "status": {"phase": "Bound"}}
    stuck = placed(pod("a", claims=["data"]))
    group = only_group(node("n1"), csi_node("n1", "other.io"), disk, bound, stuck)
    assert "CSINode n1 does not contain driver disk.acme.io" in group.predicted


def test_attachment_to_a_lost_node_is_the_cause() -> None:
    disk = volume("pv", csi={"driver": "disk.acme.io", "volumeHandle": "1"})
    bound = {**claim("data", volumeName="pv"), "status": {"phase": "Bound"}}
    spec = {
        "attacher": "disk.acme.io",
        "nodeName": "gone",
        "source": {"persistentVolumeName": "pv"},
    }
    tie: Manifest = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    tie |= {"metadata": {"name": "tie"}, "spec": spec}
    held = leaving(tie, "external-attacher/disk-acme-io")
    group = only_group(node("n1"), disk, bound, held, placed(pod("a", claims=["data"])))
    assert (group.by, group.pods) == ("volumeattachment tie", ("default/a",))
    assert group.changes[0].loses


def test_refused_claim_comes_with_its_waiting_pods() -> None:
    fast = storage_class("fast", "disk.acme.io", mode="Immediate")
    waiting = {**claim("data", "fast"), "status": {"phase": "Pending"}}
    refused = event(waiting, "ProvisioningFailed", "iops 64000 exceeds 500 per GiB")
    group = only_group(node("n1"), fast, waiting, refused, pod("a", claims=["data"]))
    assert (group.kind, group.claims, group.pods) == ("claim", ("default/data",), ("default/a",))
    assert (group.contradicts, group.by) == (True, "storageclass fast (driver disk.acme.io)")


def test_restore_needs_the_size_of_its_snapshot() -> None:
    snapshot = _named("VolumeSnapshot", "snap", status={"readyToUse": True, "restoreSize": "1Gi"})
    source = {"kind": "VolumeSnapshot", "name": "snap"}
    small = {**claim("data", "fast", "50Mi", dataSource=source), "status": {"phase": "Pending"}}
    fast = storage_class("fast", "disk.acme.io", mode="Immediate")
    group = only_group(node("n1"), fast, snapshot, small)
    assert group.changes[0].text == "Make claim default/data again and ask for at least 1Gi"


def test_finalizer_names_the_operator_that_does_not_run() -> None:
    widget = leaving(_named("Widget", "w"), "acme.io/widgets")
    group = only_group(node("n1"), deployment("acme-operator", 0, 0), widget)
    assert group.objects == ("widget/default/w",)
    assert [(each.kind, bool(each.loses)) for each in group.changes] == [
        ("start", False),
        ("finalizer", True),
    ]


def test_pod_on_a_dead_node_cannot_end() -> None:
    dead = silent(node("n1"))
    group = only_group(dead, leaving(placed(pod("a"), phase="Running")))
    assert (group.kind, group.by, group.pods) == ("node", "node n1", ("default/a",))
    assert [bool(each.loses) for each in group.changes] == [True, True, False]


def test_claim_of_a_pod_nobody_scheduled_is_stuck() -> None:
    group = only_group(
        node("n1"),
        storage_class("late", "csi.acme.io"),
        {**claim("data", "late", "1Gi"), "status": {"phase": "Pending"}},
        placed(pod("a", claims=["data"])),
    )
    assert (group.pods, group.claims) == (("default/a",), ("default/data",))
    assert "without nodeName" in group.changes[0].text


def test_bypassed_claim_names_pod_that_binds_it() -> None:
    group = only_group(
        node("n1"),
        storage_class("late", "csi.acme.io"),
        {**claim("data", "late", "1Gi"), "status": {"phase": "Pending"}},
        placed(pod("a", claims=["data"])),
        pod("b", claims=["data"]),
    )
    assert "once a scheduler has chosen a node for pod default/b." in group.cause


def test_claim_of_waiting_and_placed_pod_counts_once() -> None:
    found = triage_of(
        node("n1"),
        storage_class("late", "csi.acme.io"),
        storage_class("now", "csi.acme.io", mode="Immediate"),
        {**claim("data", "late", "1Gi"), "status": {"phase": "Pending"}},
        {**claim("logs", "now", "1Gi"), "status": {"phase": "Pending"}},
        placed(pod("a", claims=["data"])),
        pod("b", claims=["data", "logs"]),
        pod("c", claims=["logs"]),
    )
    counted = [key for group in found.groups for key in group.claims]
    assert sorted(counted) == ["default/data", "default/logs"]


def test_refused_claim_of_a_placed_pod_counts_once() -> None:
    waiting = {**claim("data", "late", "1Gi"), "status": {"phase": "Pending"}}
    found = triage_of(
        node("n1"),
        storage_class("late", "csi.acme.io"),
        waiting,
        event(waiting, "ProvisioningFailed", "no space"),
        placed(pod("a", claims=["data"])),
    )
    counted = [key for group in found.groups for key in group.claims]
    assert (len(found.groups), counted) == (2, ["default/data"])


def test_pods_that_a_full_quota_refuses_are_missed() -> None:
    quota = _named("ResourceQuota", "team", spec={"hard": {"requests.cpu": "1"}})
    quota["status"] = {"hard": {"requests.cpu": "1"}, "used": {"requests.cpu": "1"}}
    web = replica_set(deployment("web", 1, 0), 1, "")
    group = only_group(node("n1"), quota, {**web, "status": {}})
    assert (group.pods_missing, group.observed) == (1, "")
    assert "requests.cpu: 1 of 1 are used and one more pod asks for 1" in group.cause


def _budgeted() -> list[Manifest]:
    """A Deployment of one pod, which runs on n1, and a budget that keeps it there."""
    web = deployment("web", 1, 1)
    made = _named("ReplicaSet", "web-1", spec={"replicas": 1})
    made["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "web", "controller": True}
    ]
    running = placed(pod("web-1-x", labels={"app": "web"}), "n1", phase="Running")
    running["metadata"]["ownerReferences"] = [
        {"kind": "ReplicaSet", "name": "web-1", "controller": True}
    ]
    budget = _named(
        BUDGET, "web", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    )
    budget["apiVersion"] = "policy/v1"
    return [web, made, running, budget]


def test_a_drain_that_a_budget_refuses_is_named() -> None:
    cordoned = {**node("n1"), "spec": {"unschedulable": True}}
    group = only_group(cordoned, node("n2"), *_budgeted())
    assert (group.by, group.nodes, group.pods) == ("poddisruptionbudget default/web", ("n1",), ())
    assert "A drain of n1, which is cordoned, waits for pod default/web-1-x." in group.cause
    assert group.changes
    assert group.short == "a budget refuses the drain"
    assert not triage_of(node("n1"), node("n2"), *_budgeted()).groups


def test_node_that_cannot_be_drained_keeps_its_finalizer() -> None:
    going = leaving(node("n1"), "karpenter.sh/termination")
    said = event(going, "FailedDraining", "Failed to drain node")
    group = only_group(going, node("n2"), said, *_budgeted())
    assert (group.by, group.nodes) == ("poddisruptionbudget default/web", ("n1",))
    assert "A drain of n1, which is being deleted, waits for pod default/web-1-x." in group.cause
    assert group.observed.startswith("FailedDraining ×7")
    assert not any("finalizer" in each.text for each in group.changes)


def test_ended_pod_keeps_no_volume_attached() -> None:
    spec = {"attacher": "disk.acme.io", "nodeName": "n1", "source": {"persistentVolumeName": "v"}}
    tie = _named("VolumeAttachment", "csi-1", spec=spec)
    tie["apiVersion"] = "storage.k8s.io/v1"
    held = claim("data", volumeName="v")
    disk = volume("v", claimRef={"namespace": "default", "name": "data"})
    ended = placed(pod("old", claims=["data"]), phase="Failed")
    waits = placed(pod("new", claims=["data"]), "n2")
    said = event(waits, "FailedAttachVolume", 'Multi-Attach error for volume "v"')
    group = only_group(node("n1"), node("n2"), tie, held, disk, ended, waits, said)
    assert group.changes[0].text.startswith("Delete VolumeAttachment csi-1")
    assert "default/old" not in group.cause


def test_ended_pod_counts_among_its_workload() -> None:
    job = {"kind": "Job", "name": "etl", "controller": True}
    etl = leaving(placed(pod("etl-x"), phase="Succeeded"), "batch.kubernetes.io/job-tracking")
    etl["metadata"]["ownerReferences"] = [job]
    (count,) = only_group(node("n1"), etl).workload_counts
    assert (count.waiting, count.of) == (1, 1)


def test_namespace_that_is_deleted_takes_no_pods() -> None:
    going = _named("Namespace", "shop")
    del going["metadata"]["namespace"]
    going = {**leaving(going), "status": {"phase": "Terminating"}}
    said = (
        'pods "web-1-x" is forbidden: unable to create new content in namespace shop because it '
        "is being terminated"
    )
    web = deployment("web", 1, 0, "shop")
    groups = triage_of(node("n1"), going, web, replica_set(web, 1, said)).groups
    (group,) = (each for each in groups if each.kind == "workload-refused")
    assert (group.by, group.short) == ("namespace shop", "namespace is being deleted")
    assert "Namespace shop is being deleted: nothing new is made in it." in group.cause
    assert not group.contradicts


def test_budget_of_crashing_pods_helps_the_drain() -> None:
    web, made, running, budget = _budgeted()
    waits = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    crashing = {"name": "main", "state": waits, "ready": False, "restartCount": 9}
    unready = {"type": "Ready", "status": "False", "lastTransitionTime": ELEVEN}
    running["status"] |= {"containerStatuses": [crashing], "conditions": [unready]}
    cordoned = {**node("n1"), "spec": {"unschedulable": True}}
    groups = triage_of(cordoned, node("n2"), web, made, running, budget).groups
    crash, drain = sorted(groups, key=lambda each: each.kind, reverse=True)
    assert not any("Budget" in each.text for each in crash.changes)
    assert any("allow to evict pods that are not ready" in each.text for each in drain.changes)


def test_claim_that_the_controller_refuses_agrees() -> None:
    held, taken = claim("data", volumeName="v"), volume("v", claimRef={"name": "other"})
    taken["spec"]["claimRef"]["namespace"] = "default"
    said = event(held, "FailedBinding", 'volume "v" already bound to a different claim.')
    held["status"] = {"phase": "Pending"}
    (group,) = triage_of(node("n1"), claim("other", volumeName="v"), held, taken, said).groups
    assert not group.contradicts


def test_init_container_that_runs_on_is_named() -> None:
    waits = {"name": "main", "state": {"waiting": {"reason": "PodInitializing"}}}
    web = placed(pod("web"), containerStatuses=[waits])
    group = only_group(node("n1"), web)
    assert group.short == "init containers have not ended"
