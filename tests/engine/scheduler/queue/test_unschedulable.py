"""Waiting pods that an event may concern are found without a look at the others."""

from typing import Any, cast

from engine.framework.cluster_events import PERSISTENT_VOLUME_CLAIM, RESOURCE_CLAIM
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.unschedulable import UnschedulablePods
from engine.versions.registry import VERSIONS
from tests.builders import claims_in_pod, pod

RULES = VERSIONS["v1.36"].resources


def waiting(pods: UnschedulablePods, name: str, *plugins: str, **fields: Any) -> QueuedPodInfo:
    made = cast("Pod", from_manifest(pod(name, **fields)))
    info = QueuedPodInfo(PodInfo(made, RULES), 0)
    info.rejected_by(*plugins)
    pods.put(info)
    return info


def names(found: list[QueuedPodInfo]) -> list[str]:
    return [info.pod.name for info in found]


def test_pods_are_found_by_their_claims() -> None:
    pods = UnschedulablePods()
    waiting(pods, "a", "VolumeBinding", claims=["data"])
    waiting(pods, "b", "VolumeBinding", claims=["other"])
    waiting(pods, "c", "DynamicResources", **claims_in_pod("gpu"))
    waiting(pods, "d", "NodeResourcesFit", claims=["data"])
    assert names(pods.concerned([(PERSISTENT_VOLUME_CLAIM, "default/data")], [])) == ["a", "d"]
    assert names(pods.concerned([(RESOURCE_CLAIM, "default/gpu")], [])) == ["c"]
    assert names(pods.concerned([], ["VolumeBinding"])) == ["a", "b"]


def test_pods_that_nobody_rejected_are_concerned() -> None:
    pods = UnschedulablePods()
    waiting(pods, "a", "NodeResourcesFit")
    waiting(pods, "b")
    assert names(pods.concerned([(RESOURCE_CLAIM, "default/gpu")], [])) == ["b"]


def test_concerned_pods_keep_their_order() -> None:
    pods = UnschedulablePods()
    first = waiting(pods, "a", "NodePorts")
    second = waiting(pods, "b", "NodeAffinity")
    waiting(pods, "c", "NodePorts")
    first.rejected_by("NodeAffinity")
    pods.put(first)
    assert names(pods.concerned([], ["NodeAffinity", "NodePorts"])) == ["a", "b", "c"]
    pods.remove(second.key)
    pods.put(second)
    assert names(pods.concerned([], ["NodeAffinity", "NodePorts"])) == ["a", "c", "b"]


def test_newer_versions_name_their_new_claims() -> None:
    pods = UnschedulablePods()
    own = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    info = waiting(pods, "a", "DynamicResources", resourceClaims=own)
    subject = RESOURCE_CLAIM, "default/a-gpu"
    assert not pods.concerned([subject], [])
    made = [{"name": "gpu", "resourceClaimName": "a-gpu"}]
    newer = {**info.pod.raw, "status": {"resourceClaimStatuses": made}}
    info.update(cast("Pod", from_manifest(newer)))
    pods.note(info)
    assert names(pods.concerned([subject], [])) == ["a"]
