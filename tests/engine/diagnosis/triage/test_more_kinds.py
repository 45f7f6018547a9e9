"""Kinds of trouble that an engineer on call meets, each as small as it can be."""

from typing import Any

import pytest

from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class
from tests.engine.diagnosis.triage.clusters import (
    answer_about,
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


def _named(kind: str, name: str, namespace: str = "default", **fields: Any) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def _refused(message: str, *others: Manifest) -> Any:
    owner = deployment("web", 1, 0)
    return only_group(node("n1"), owner, replica_set(owner, 1, message), *others)


def _waits(reason: str, message: str = "", **fields: Any) -> Manifest:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"name": "main", "restartCount": 9, "state": state, **fields}


def test_limit_range_that_forbids_pods_is_named() -> None:
    limits = _named("LimitRange", "lr")
    limits["spec"] = {"limits": [{"type": "Container", "max": {"memory": "1Gi"}}]}
    said = 'pods "w" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'
    group = _refused(said, limits)
    assert (group.by, group.contradicts) == ("limitrange default/lr", False)
    assert group.changes[0].text == "Ask in the template for no more than 1Gi memory per Container"


def test_missing_runtime_class_is_created() -> None:
    group = _refused('pods "w" is forbidden: pod rejected: RuntimeClass "gvisor" not found')
    assert group.by == "runtimeclass gvisor"
    assert group.changes[0].commands[0]["manifest"]["handler"] == "gvisor"


def test_missing_pull_secret_is_named_with_the_image() -> None:
    wanted = [{"name": "regcred"}]
    status = [_waits("ImagePullBackOff", 'Back-off pulling image "r/app:2"')]
    web = placed(pod("web", imagePullSecrets=wanted), containerStatuses=status)
    said = event(web, "Failed", 'Failed to pull image "r/app:2": pull access denied')
    group = only_group(node("n1"), web, said, _named("Secret", "other"))
    assert "pull access denied" in group.cause
    assert group.by == "secret default/regcred"


def test_container_says_how_it_last_ended() -> None:
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": 137}}
    status = [_waits("CrashLoopBackOff", "back-off 5m0s", lastState=ended)]
    group = only_group(node("n1"), placed(pod("web"), phase="Running", containerStatuses=status))
    assert "Its container main was restarted 9 times and last ended with OOMKilled" in group.cause
    assert "higher memory limit" in group.changes[0].text


def test_claim_goes_when_its_pod_ends() -> None:
    data = leaving(claim("data"), "kubernetes.io/pvc-protection")
    user = placed(pod("job", claims=["data"]), phase="Running")
    group = only_group(node("n1"), data, user)
    assert "Pod default/job uses it." in group.cause
    assert group.changes[0].commands == ({"verb": "delete", "object": "pod/default/job"},)
    assert group.changes[0].loses


def test_namespace_names_the_api_that_does_not_answer() -> None:
    failed = {"type": "NamespaceDeletionDiscoveryFailure", "status": "True"}
    failed["message"] = "unable to retrieve: metrics.k8s.io/v1beta1: stale GroupVersion discovery"
    space = leaving({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}})
    service = {"name": "metrics", "namespace": "default"}
    api = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "service": service},
    }
    group = only_group(
        {**space, "status": {"conditions": [failed]}},
        api,
        _named("Service", "metrics", spec={"selector": {"app": "metrics"}}),
        deployment("metrics", 1, 0),
    )
    assert group.by == "apiservice v1beta1.metrics.k8s.io"
    assert "Deployment default/metrics serves it" in group.cause
    assert (
        group.changes[0].text
        == "Let deployment default/metrics run: see why its pods are not ready"
    )


def test_volume_on_a_dead_node_blames_the_node() -> None:
    web = placed(pod("web", claims=["data"]), "n2")
    said = event(web, "FailedAttachVolume", 'Multi-Attach error for volume "v1" Volume is used')
    tie = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": "csi-1"},
        "spec": {
            "attacher": "csi.acme.io",
            "nodeName": "n1",
            "source": {"persistentVolumeName": "v1"},
        },
    }
    found = triage_of(silent(node("n1")), node("n2"), web, said, tie)
    (group,) = [each for each in found.groups if each.kind == "placed-but-stuck"]
    assert group.by == "node n1"
    assert [each.kind for each in group.changes] == ["out-of-service", "ready"]
    assert [each.object for each in found.shared_causes] == ["node/n1"]


def test_claim_naming_a_lost_node_is_freed() -> None:
    chosen = {"volume.kubernetes.io/selected-node": "gone"}
    data = claim("data", "fast")
    data["metadata"]["annotations"] = chosen
    fast = storage_class("fast", "csi.acme.io")
    group = only_group(node("n1"), fast, {**data, "status": {"phase": "Pending"}})
    assert 'failed to get target node: node "gone" not found' in group.cause
    assert "selected-node=gone off default/data" in group.changes[0].text


@pytest.mark.parametrize(
    ("key", "first"),
    [
        ("node.kubernetes.io/disk-pressure", "Free disk on n1"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "Let the cloud-controller-manager"),
    ],
)
def test_taint_of_a_component_is_left_to_it(key: str, first: str) -> None:
    tainted = node("n1", taints=[{"key": key, "effect": "NoSchedule"}])
    group = only_group(tainted, pod("a"))
    assert group.changes[0].text.startswith(first)
    assert all(each.shared for each in group.changes if each.kind in ("toleration", "taint"))


def test_port_of_its_own_kind_is_not_swapped() -> None:
    ports = [{"name": "main", "image": "app", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    owner = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True}]
    pods = [pod("web-a", nodeName="n1", containers=ports), pod("web-b", containers=ports)]
    for each in pods:
        each["metadata"]["ownerReferences"] = [{**owner[0], "uid": "1"}]
    group = only_group(node("n1"), *pods)
    assert "port" not in {each.kind for each in group.changes}


def test_unready_workload_is_not_called_well() -> None:
    slow = deployment("slow", 1, 0)
    answer = answer_about("Deployment", "default/slow", node("n1"), slow)
    assert answer.observed == ("0 of 1 pods ready",)
    assert "Nothing is wrong" not in answer.sentence
