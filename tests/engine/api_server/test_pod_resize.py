"""Pods that get more or less cpu and memory while they run, from the API server to the scheduler."""

import json
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.why import explain_object
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from engine.objects.pods.qos import qos_class
from tests.builders import node, pod
from tests.builders.clusters import Manifest, apply_command, played, scene


def _resources(cpu: str = "", memory: str = "", /, **limits: str) -> Manifest:
    requests = {name: amount for name, amount in (("cpu", cpu), ("memory", memory)) if amount}
    return {"requests": requests, **({"limits": limits} if limits else {})}


def _container(name: str = "c", **fields: Any) -> Manifest:
    return {"name": name, "image": "i", **fields}


def _sized(name: str, cpu: str = "1", **spec: Any) -> Manifest:
    containers = spec.pop("containers", None) or [_container(resources=_resources(cpu, "1Gi"))]
    return pod(name, containers=containers, **spec)


def _cluster(*objects: Manifest, profile: str = "v1.36", **fields: Any) -> Cluster:
    return played(Cluster.create(scene(*objects, **fields), profile=profile), 20)


def _pod(cluster: Cluster, name: str = "web") -> Pod:
    found = cluster.store.get("Pod", f"default/{name}")
    assert isinstance(found, Pod)
    return found


def _resize(cluster: Cluster, name: str = "web", **change: Any) -> str:
    """Resize container c; returns the refusal."""
    resources = change.pop("resources", None) or {"requests": change}
    patch = {"spec": {"containers": [{"name": "c", "resources": resources}]}}
    command = Command(verb="resize", object=f"pod/default/{name}", patch=patch)
    return cluster.apply(command).reason


def _condition(found: Pod, kind: str) -> Manifest:
    return next((each for each in found.status["conditions"] if each["type"] == kind), {})


def _events(cluster: Cluster) -> list[tuple[str, str]]:
    """The Events about resizes: type and reason."""
    return [
        (each.data["type"], each.kind)
        for each in cluster.untaken
        if each.kind.startswith("Resize") and each.data
    ]


def _given(found: Pod) -> list[str]:
    """What of cpu the first container wants, was allocated, and has."""
    (status,) = found.status["containerStatuses"]
    return [
        found.containers[0]["resources"]["requests"]["cpu"],
        status["allocatedResources"]["cpu"],
        status["resources"]["requests"]["cpu"],
    ]


def test_a_resize_that_fits_is_carried_out() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    assert _resize(cluster, cpu="3") == ""
    assert _given(_pod(cluster)) == ["3", "1", "1"]
    cluster.advance(cluster.now + SECOND // 2)
    assert _given(_pod(cluster)) == ["3", "3", "1"]
    assert _condition(_pod(cluster), "PodResizeInProgress")["observedGeneration"] == 2
    cluster.advance(cluster.now + SECOND)
    assert _given(_pod(cluster)) == ["3", "3", "3"]
    assert not _condition(_pod(cluster), "PodResizeInProgress")
    assert _pod(cluster).status["containerStatuses"][0]["restartCount"] == 0
    assert _events(cluster) == [("Normal", "ResizeStarted"), ("Normal", "ResizeCompleted")]


def test_before_v1_35_only_completion_is_an_event() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), profile="v1.34")
    _resize(cluster, cpu="3")
    assert _events(played(cluster)) == [("Normal", "ResizeCompleted")]


def test_a_resize_waits_for_room_on_its_node() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    assert _resize(cluster, cpu="3") == ""
    cluster.advance(cluster.now + SECOND)
    pending = _condition(_pod(cluster), "PodResizePending")
    assert pending["reason"] == "Deferred"
    assert pending["message"] == (
        "Node didn't have enough resource: cpu, requested: 3000, used: 2000, capacity: 4000"
    )
    assert _given(_pod(cluster)) == ["3", "1", "1"]
    apply_command(cluster, verb="delete", object="pod/default/other")
    played(cluster, 40)
    assert _given(_pod(cluster)) == ["3", "3", "3"]
    assert not _condition(_pod(cluster), "PodResizePending")
    reasons = [reason for _, reason in _events(cluster)]
    assert reasons == ["ResizeDeferred", "ResizeStarted", "ResizeCompleted"]


def test_the_scheduler_counts_a_deferred_resize() -> None:
    """A pod that waits for more on its node takes it already from those that come later."""
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    _resize(cluster, cpu="3")
    apply_command(cluster, verb="create", manifest=_sized("late", "500m"))
    played(cluster, 30)
    assert not _pod(cluster, "late").node_name


def test_a_smaller_pod_lets_another_in() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web", "3"), _sized("late", "2"))
    assert not _pod(cluster, "late").node_name
    assert _resize(cluster, cpu="1") == ""
    played(cluster, 40)
    assert _pod(cluster, "late").node_name == "n"


def test_a_resize_beyond_the_node_is_refused() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    assert _resize(cluster, cpu="5") == (
        'Forbidden: pods "web" is forbidden: Node didn\'t have enough allocatable resources: cpu, '
        "requested: 5000, allocatable: 4000"
    )
    assert _given_spec(cluster) == "1"


def _given_spec(cluster: Cluster) -> str:
    return _pod(cluster).containers[0]["resources"]["requests"]["cpu"]


def test_before_v1_36_it_is_stored_and_infeasible() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), profile="v1.35")
    assert _resize(cluster, cpu="5") == ""
    cluster.advance(cluster.now + SECOND)
    pending = _condition(_pod(cluster), "PodResizePending")
    assert (pending["reason"], pending["message"]) == (
        "Infeasible",
        "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
    )
    # What cannot be is not counted: there is still room beside the pod.
    apply_command(cluster, verb="create", manifest=_sized("late", "2"))
    played(cluster, 30)
    assert _pod(cluster, "late").node_name == "n"


def test_an_infeasible_resize_can_be_taken_back() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), profile="v1.35")
    _resize(cluster, cpu="5")
    cluster.advance(cluster.now + SECOND)
    assert _resize(cluster, cpu="1") == ""
    cluster.advance(cluster.now + SECOND)
    assert not _condition(_pod(cluster), "PodResizePending")


def test_the_more_important_pod_grows_first() -> None:
    pods = [_sized("low", priority=1), _sized("high", priority=9), _sized("other", "2")]
    cluster = _cluster(node("n", cpu="4"), *pods)
    for name in ("low", "high"):
        _resize(cluster, name, cpu="3")
    cluster.advance(cluster.now + SECOND)
    apply_command(cluster, verb="delete", object="pod/default/other")
    played(cluster, 60)
    assert _given(_pod(cluster, "high")) == ["3", "3", "3"]
    assert _given(_pod(cluster, "low")) == ["3", "1", "1"]


def test_a_deferred_resize_is_tried_every_three_minutes() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    _resize(cluster, cpu="3")
    cluster.advance(cluster.now + SECOND)
    bigger = {"status": {"allocatable": {"cpu": "8"}}}
    apply_command(cluster, verb="patch", object="node/n", patch=bigger)
    cluster.advance(cluster.now + 2 * MINUTE)
    assert _condition(_pod(cluster), "PodResizePending")
    cluster.advance(cluster.now + MINUTE + 2 * SECOND)
    assert _given(_pod(cluster)) == ["3", "3", "3"]


def test_a_container_restarts_if_its_policy_says_so() -> None:
    policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
    containers = [_container(resources=_resources("1", "1Gi"), resizePolicy=policy)]
    cluster = _cluster(node("n", cpu="4", memory="8Gi"), _sized("web", containers=containers))
    _resize(cluster, cpu="2")
    played(cluster, 30)
    assert _pod(cluster).status["containerStatuses"][0]["restartCount"] == 0
    _resize(cluster, memory="2Gi")
    played(cluster, 40)
    assert _pod(cluster).status["containerStatuses"][0]["restartCount"] == 1


def test_a_restarted_kubelet_finds_what_it_had_deferred() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    _resize(cluster, cpu="3")
    cluster.advance(cluster.now + SECOND)
    apply_command(cluster, verb="stop_kubelet", object="node/n")
    cluster.advance(cluster.now + SECOND)
    apply_command(cluster, verb="start_kubelet", object="node/n")
    apply_command(cluster, verb="delete", object="pod/default/other")
    played(cluster, 60)
    assert _given(_pod(cluster)) == ["3", "3", "3"]


def test_a_restored_run_carries_the_resize_out() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    _resize(cluster, cpu="3")
    cluster.advance(cluster.now + SECOND // 2)
    cluster.take()
    restored = played(Cluster.restore(cluster.checkpoint()), 30)
    assert _given(_pod(restored)) == ["3", "3", "3"]


def test_events_list_the_resources_as_upstream() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    _resize(cluster, cpu="3")
    cluster.advance(cluster.now + SECOND // 2)
    (event,) = [each for each in cluster.untaken if each.kind == "ResizeStarted"]
    prefix, _, summary = event.message.partition(": ")
    assert prefix == "Pod resize started"
    assert json.loads(summary) == {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
        "generation": 2,
    }


REFUSALS = (
    ({"requests": {"memory": None}}, "resource requests cannot be removed"),
    ({"limits": {"ephemeral-storage": "1Gi"}}, "only cpu and memory resources are mutable"),
    (
        {"limits": {"cpu": "500m"}},
        'Invalid value: "1": must be less than or equal to cpu limit of 500m',
    ),
    (
        {"limits": {"cpu": "1", "memory": "1Gi"}},
        'Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
    ),
    ({"requests": {"cpu": "plenty"}}, "plenty"),
    ({"requests": "much"}, "spec.containers[0].resources.requests"),
)


@pytest.mark.parametrize(("resources", "why"), REFUSALS)
def test_a_resize_is_refused_in_upstream_words(resources: Manifest, why: str) -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    refusal = _resize(cluster, resources=resources)
    assert why in refusal
    assert refusal.startswith("Invalid: ")
    assert _given_spec(cluster) == "1"


def test_containers_cannot_be_renamed_on_resize() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    patch = {"spec": {"containers": [{"name": "other", "resources": _resources("2")}]}}
    outcome = cluster.apply(Command(verb="resize", object="pod/default/web", patch=patch))
    assert "containers may not be renamed or reordered on resize" in outcome.reason


def test_old_versions_have_no_such_subresource() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), profile="v1.20")
    refusal = _resize(cluster, cpu="2")
    assert refusal.startswith("NotFound: the server could not find the requested resource")


def test_a_quota_counts_the_larger_pod() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "small", "namespace": "default"},
        "spec": {"hard": {"requests.cpu": "2"}},
    }
    cluster = _cluster(node("n", cpu="4"), _sized("web"), quota)
    assert "exceeded quota: small, requested: requests.cpu=2" in _resize(cluster, cpu="3")
    assert _resize(cluster, cpu="2") == ""


def test_other_fields_of_a_resize_are_left_out() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"))
    container = {"name": "c", "image": "other", "resources": _resources("2")}
    patch = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    assert cluster.apply(Command(verb="resize", object="pod/default/web", patch=patch)).applied
    assert (_pod(cluster).containers[0]["image"], _pod(cluster).labels) == ("i", {})


CLASSES = (
    ([{}], "BestEffort"),
    ([_resources("1")], "Burstable"),
    ([_resources("1", "1Gi", cpu="1", memory="1Gi")], "Guaranteed"),
    ([_resources("1", "1Gi", cpu="2", memory="1Gi")], "Burstable"),
    ([_resources("1", "1Gi", cpu="1", memory="1Gi"), {}], "Burstable"),
    ([{"limits": {"cpu": "0"}}], "BestEffort"),
)


@pytest.mark.parametrize(("resources", "expected"), CLASSES)
def test_pods_have_upstream_classes_of_service(resources: list[Manifest], expected: str) -> None:
    containers = [_container(f"c{i}", resources=each) for i, each in enumerate(resources)]
    assert qos_class({"containers": containers}) == expected


def test_a_deferred_resize_is_explained() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    _resize(cluster, cpu="3")
    cluster.advance(cluster.now + SECOND)
    found = explain_object(cluster, "Pod", "default/web")
    assert found.causes[0].sentence == (
        "Pod default/web asks for 3 cpu; the other pods on its node n leave it 2, so the resize is "
        "deferred."
    )
    texts = [each.text for each in found.causes[0].because]
    assert "Its node has given container c 1 cpu." in texts
    assert "Pod default/other on n holds 2 cpu." in texts
    assert [each.kind for each in found.fixes] == ["pod", "resize"]


def test_an_infeasible_resize_is_explained() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), profile="v1.35")
    _resize(cluster, cpu="5")
    cluster.advance(cluster.now + SECOND)
    found = explain_object(cluster, "Pod", "default/web")
    assert "its node n has 4 in all, so the resize is infeasible" in found.causes[0].sentence
    assert [each.kind for each in found.fixes] == ["resize"]


def test_pending_pod_names_the_resize_in_its_way() -> None:
    cluster = _cluster(node("n", cpu="4"), _sized("web"), _sized("other", "2"))
    _resize(cluster, cpu="3")
    apply_command(cluster, verb="create", manifest=_sized("late", "500m"))
    played(cluster, 30)
    found = explain_object(cluster, "Pod", "default/late", tries_changes=False)
    texts = [fact.text for each in found.causes for fact in each.because]
    assert (
        "Pod default/web on n counts with 3 cpu, although its resize to that is deferred." in texts
    )
