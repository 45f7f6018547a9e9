"""Workloads without all their pods, where neither an Event nor a condition says why."""

from typing import Any

import pytest

from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import (
    ELEVEN,
    answer_about,
    deployment,
    only_group,
    placed,
    triage_of,
)

Manifest = dict[str, Any]


def _named(kind: str, name: str, namespace: str = "default", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def _silent_set(**spec: Any) -> tuple[Manifest, Manifest]:
    """A Deployment, and its ReplicaSet that lacks its pod and says nothing about it."""
    owner = deployment("web", 1, 0)
    template: Manifest = owner["spec"]["template"]
    template = {**template, "spec": {**template["spec"], **spec}}
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    metadata = {"name": "web-1", "namespace": "default", "ownerReferences": [reference]}
    found = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata,
        "spec": {"replicas": 1, "selector": owner["spec"]["selector"], "template": template},
        "status": {"replicas": 0},
    }
    return owner, found


def _bounds(**item: Any) -> Manifest:
    return _named("LimitRange", "lr", spec={"limits": [item]})


def _container(**fields: Any) -> list[Manifest]:
    return [{"name": "main", "image": "app", **fields}]


_HALF = {"requests": {"cpu": "100m"}, "limits": {"cpu": "2"}}
_QUOTA = {"limits.cpu": "4"}


@pytest.mark.parametrize(
    ("spec", "other", "by", "said"),
    [
        ({}, _bounds(type="Container", min={"cpu": "2"}), "limitrange default/lr", "minimum cpu"),
        ({}, _bounds(type="Pod", max={"memory": "1Mi"}), "limitrange default/lr", "per Pod"),
        (
            {"containers": _container(resources=_HALF)},
            _bounds(type="Container", maxLimitRequestRatio={"cpu": "4"}),
            "limitrange default/lr",
            "ratio per Container is 4, but provided ratio is 20",
        ),
        ({"priorityClassName": "gold"}, _named("Secret", "x"), "priorityclass gold", "not exist"),
        (
            {"serviceAccountName": "web"},
            _named("ServiceAccount", "default"),
            "serviceaccount default/web",
            "The namespace has default",
        ),
        (
            {},
            _named("ResourceQuota", "rq", spec={"hard": _QUOTA}),
            "resourcequota default/rq",
            "wants every pod to state limits.cpu of containers main",
        ),
    ],
    ids=["minimum", "pod", "ratio", "class", "account", "unstated"],
)
def test_rule_of_the_api_server_is_named(
    spec: Manifest, other: Manifest, by: str, said: str
) -> None:
    group = only_group(node("n1"), other, *_silent_set(**spec))
    assert (group.kind, group.by, group.pods_missing) == ("workload-refused", by, 1)
    assert said in group.cause
    assert group.changes
    assert not group.contradicts
    assert group.observed == "ReplicaSet default/web-1 has 0 of 1 pod; no Event says why."


def test_level_of_pod_security_is_named() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    space = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "default", "labels": labels},
    }
    group = only_group(node("n1"), space, *_silent_set())
    assert group.by == "namespace default"
    assert 'container "main" must set securityContext.allowPrivilegeEscalation=false' in group.cause
    allowed = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    fine = _silent_set(containers=_container(securityContext=allowed))
    assert not triage_of(node("n1"), space, *fine).groups


def _hook(**fields: Any) -> Manifest:
    client = {"service": {"namespace": "acme", "name": "acme"}}
    rule = {"apiGroups": [""], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {"name": "check.acme.io", "clientConfig": client, "rules": [rule], **fields}
    return {**_named("ValidatingWebhookConfiguration", "acme"), "webhooks": [hook]}


_SERVED = (
    _named("Service", "acme", "acme", spec={"selector": {"app": "acme-hook"}}),
    deployment("acme-hook", 0, 0, "acme"),
)


def test_webhook_that_nobody_serves_is_named() -> None:
    group = only_group(node("n1"), _hook(), *_SERVED, *_silent_set())
    assert 'no endpoints available for service "acme"' in group.cause
    assert group.changes[0].text == "Scale deployment acme/acme-hook to 1"


@pytest.mark.parametrize(
    "fields",
    [
        {"failurePolicy": "Ignore"},
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}},
        {"rules": [{"apiGroups": ["apps"], "operations": ["*"], "resources": ["deployments"]}]},
    ],
    ids=["ignored", "elsewhere", "others"],
)
def test_webhook_for_other_pods_is_not_named(fields: Manifest) -> None:
    assert not triage_of(node("n1"), _hook(**fields), *_SERVED, *_silent_set()).groups


def test_paused_deployment_is_resumed_in_a_fork() -> None:
    owner = deployment("web", 2, 0)
    owner["spec"]["paused"] = True
    assert only_group(node("n1"), owner).short == "rollout does not go on"
    answer = answer_about("Deployment", "default/web", node("n1"), owner)
    assert "is paused (spec.paused) and has no ReplicaSet yet" in answer.sentence
    assert answer.fixes[0].text.startswith("Resume Deployment default/web: it has its 2 pods")


def test_overdue_rollout_is_told_without_its_pods() -> None:
    owner = deployment("web", 2, 0)
    late = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    owner["status"] = {"replicas": 2, "updatedReplicas": 1, "conditions": [late]}
    group = only_group(node("n1"), owner)
    assert (group.by, group.pods_missing) == ("deployment default/web", 0)
    assert "of 2 pods 1 are of the new template and 0 ready" in group.cause
    assert group.conclusion


def _stateful(**spec: Any) -> Manifest:
    made = deployment("db", 3, 0)
    return {**made, "kind": "StatefulSet", "spec": {**made["spec"], **spec}}


def _unready(name: str) -> Manifest:
    made = placed(pod(name), phase="Running")
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": ELEVEN}
    ready["message"] = "containers with unready status: [main]"
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    return {**made, "status": {**made["status"], "conditions": [ready]}}


def test_ordered_pods_wait_for_the_one_before() -> None:
    group = only_group(node("n1"), _stateful(), _unready("db-0"))
    assert (group.pods, group.pods_missing) == (("default/db-0",), 2)
    assert "makes 2 more pods only when pod default/db-0 is ready" in group.cause


def test_parallel_pods_wait_for_none() -> None:
    parallel = _stateful(podManagementPolicy="Parallel")
    assert only_group(node("n1"), parallel, _unready("db-0")).pods_missing == 0


def _job(**fields: Any) -> Manifest:
    template = {"spec": {"restartPolicy": "Never", "containers": _container()}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "load", "namespace": "default", "uid": "load", "labels": {}},
        "spec": {"template": template},
        **fields,
    }


def _failed(at: str) -> Manifest:
    failed = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    failed |= {"message": "Job has reached the specified backoff limit", "lastTransitionTime": at}
    return {"failed": 7, "conditions": [failed]}


def test_job_that_spent_its_backoff_limit_has_failed() -> None:
    group = only_group(node("n1"), _job(status=_failed(ELEVEN)))
    assert "7 pods failed; backoffLimit is 6" in group.cause
    assert not triage_of(node("n1"), _job(status=_failed("2026-11-01T00:00:00Z"))).groups


def test_only_a_queue_suspends_a_job_unmeant() -> None:
    job = _job(status={})
    job["spec"] |= {"suspend": True, "parallelism": 3}
    assert not triage_of(node("n1"), job).groups
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    assert only_group(node("n1"), job).pods_missing == 3


def test_daemon_set_names_nodes_it_leaves_out() -> None:
    made = deployment("logs", 1, 0)
    logs = {**made, "kind": "DaemonSet"}
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    answer = answer_about("DaemonSet", "default/logs", node("n1", taints=[taint]), logs)
    assert "wants no pod on n1: its pods do not tolerate dedicated=gpu:NoSchedule" in str(
        [each.sentence for each in answer.causes]
    )


def _rejected(reason: str = "OutOfcpu") -> list[Manifest]:
    """A Deployment whose template names n1, its ReplicaSet, and a pod that the kubelet refused."""
    owner, made = _silent_set(nodeName="n1")
    owner["spec"]["template"]["spec"]["nodeName"] = "n1"
    refused = placed(pod("web-1-x"), phase="Failed", reason=reason, message="no room")
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True}
    refused["metadata"]["ownerReferences"] = [reference]
    return [owner, {**made, "status": {"replicas": 1}}, refused]


def test_pods_that_a_kubelet_refuses_are_missed() -> None:
    group = only_group(node("n1"), *_rejected())
    assert (group.pods_missing, group.workloads) == (1, ("deployment/default/web",))
    assert "Pod default/web-1-x: OutOfcpu: no room." in group.cause
    assert group.changes[0].text.startswith("Take nodeName out of the template of Deployment")
    assert group.short == "kubelet refuses the pods"


def test_evicted_pod_that_was_replaced_is_history() -> None:
    owner, made, evicted = _rejected("Evicted")
    owner["status"] = made["status"] = {"replicas": 1, "readyReplicas": 1}
    assert triage_of(node("n1"), owner, made, evicted).groups == ()
