"""Pods on a node and CronJobs whose trouble only Events, conditions or their objects tell."""

from typing import Any

import pytest

from tests.builders.nodes import csi_node, node
from tests.builders.pods import pod
from tests.builders.storage import claim, volume
from tests.engine.controllers.workloads.test_cron_jobs import cron_job
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    answer_about,
    event,
    only_group,
    placed,
    triage_of,
)

Manifest = dict[str, Any]


def _creating() -> Manifest:
    state = {"waiting": {"reason": "ContainerCreating"}}
    return placed(pod("web"), containerStatuses=[{"name": "main", "state": state}])


def _running(**ready: Any) -> Manifest:
    condition = {"type": "Ready", "status": "False", "lastTransitionTime": ELEVEN, **ready}
    return placed(pod("web"), phase="Running", conditions=[condition])


def test_most_telling_event_names_the_image() -> None:
    web = _creating()
    pulled = event(web, "Failed", 'Failed to pull image "r/app:2": not found')
    last = event(web, "Failed", "Error: ErrImagePull", lastTimestamp="2026-11-20T11:59:30Z")
    last["metadata"]["name"] = "web.2"
    group = only_group(node("n1"), web, pulled, last)
    assert group.by == "image r/app:2"
    assert "not found" in group.cause


def test_summary_of_mounts_gives_way_to_the_error() -> None:
    web = _creating()
    error = event(web, "FailedAttachVolume", 'AttachVolume.Attach failed for volume "v" : no disk')
    summary = "Unable to attach or mount volumes: timed out waiting for the condition"
    last = event(web, "FailedMount", summary, lastTimestamp="2026-11-20T11:59:30Z")
    last["metadata"]["name"] = "web.2"
    assert "no disk" in only_group(node("n1"), web, error, last).cause


def test_handler_of_a_runtime_class_is_named() -> None:
    web = _creating()
    said = event(web, "FailedCreatePodSandBox", 'no runtime for "runsc" is configured')
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runsc"}
    group = only_group(node("n1"), web, said, {**runtime, "metadata": {"name": "gvisor"}})
    assert group.by == "runtimeclass gvisor"
    assert group.changes[0].text.startswith("Configure the handler runsc")


def test_sandbox_names_the_network_plugin() -> None:
    web = _creating()
    text = 'failed to setup network for sandbox "9f": plugin type="calico" failed (add)'
    calico = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "calico-node", "namespace": "kube-system"},
        "spec": {"template": {"metadata": {"labels": {"k": "v"}}, "spec": {"containers": []}}},
        "status": {"desiredNumberScheduled": 2, "numberReady": 1},
    }
    group = only_group(node("n1"), web, event(web, "FailedCreatePodSandBox", text), calico)
    assert group.by == "daemonset kube-system/calico-node (node n1)"


def test_probe_that_fails_keeps_a_pod_unready() -> None:
    web = _running()
    said = event(web, "Unhealthy", "Readiness probe failed: statuscode: 503")
    group = only_group(node("n1"), web, said)
    assert "runs and is not ready (n1): Unhealthy: Readiness probe failed" in group.cause
    assert group.contradicts


@pytest.mark.parametrize(
    "ready", [{"lastTransitionTime": "2026-11-20T11:58:00Z"}, {"status": "True"}]
)
def test_pod_unready_for_a_moment_is_not_stuck(ready: Manifest) -> None:
    web = _running(**ready)
    assert not triage_of(node("n1"), web, event(web, "Unhealthy", "Readiness probe failed")).groups


def test_readiness_gate_names_who_sets_it() -> None:
    gate = "target-health.elbv2.k8s.aws/web"
    web = _running(reason="ReadinessGatesNotReady", message="gate")
    web["spec"]["readinessGates"] = [{"conditionType": gate}]
    group = only_group(node("n1"), web)
    assert f"its readiness gate {gate} is not True" in group.cause


def test_driver_of_an_inline_volume_is_looked_for() -> None:
    volume = {"name": "tls", "csi": {"driver": "csi.cert-manager.io"}}
    web = _creating()
    web["spec"]["volumes"] = [volume]
    group = only_group(node("n1"), web, csi_node("n1", "ebs.csi.aws.com"))
    assert "driver csi.cert-manager.io is not registered on n1" in group.cause
    assert not group.contradicts


def test_pod_of_an_absent_node_waits() -> None:
    group = only_group(node("n1"), placed(pod("web"), node="n7"))
    assert group.by == "node n7"


def test_failed_pod_says_how_it_ended() -> None:
    status = {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}
    web = placed(pod("web"), **status)
    answer = answer_about("Pod", "default/web", node("n1"), web)
    assert answer.sentence == "It has ended: Failed: OutOfcpu: Pod was rejected."


def test_a_cron_job_with_refused_job_is_stuck() -> None:
    said = 'Error creating job: jobs.batch "web-1" is forbidden: exceeded quota: few'
    owner = cron_job()
    group = only_group(node("n1"), owner, event(owner, "FailedCreate", said))
    assert group.cause == (
        "CronJob default/web starts no Job: the API server refuses to create it (FailedCreate)."
    )
    assert group.observed == f"Event FailedCreate: {said}."
    assert group.objects == ("cronjob/default/web",)


def test_a_cron_job_started_since_is_well() -> None:
    owner = cron_job()
    before = {"lastTimestamp": "2026-11-20T11:30:00Z"}
    refused = event(owner, "FailedCreate", "Error creating job", **before)
    made = event(owner, "SuccessfulCreate", "Created job web-2")
    made["metadata"]["name"] = "web.2"
    assert not triage_of(node("n1"), owner, refused, made).groups


def test_driver_that_refuses_an_attach_is_registered() -> None:
    held = claim("data", volumeName="v")
    disk = volume("v", csi={"driver": "disk.acme.io", "volumeHandle": "v"})
    web = placed(pod("web", claims=["data"]))
    said = event(
        web, "FailedAttachVolume", 'AttachVolume.Attach failed for volume "v" : no rights.'
    )
    group = only_group(node("n1"), held, disk, web, said)
    assert group.by == "volume v (driver disk.acme.io)"
    assert group.short == "volume cannot be attached"
    assert ".." not in group.cause
