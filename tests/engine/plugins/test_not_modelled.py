"""What kscope does not model is said in its own name, and never passed off as a decision."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.kernel.recorder import Event
from tests.builders import Manifest, node, node_of, played, pod, scene

_VERSIONS = ("v1.11", "v1.16", "v1.20", "v1.34")
_NEED = (
    "kscope does not model dynamic resource allocation: the pod stays pending, because it asks for "
    "the resource claim gpu"
)


def _with_claim(name: str, **spec: Any) -> Manifest:
    claims = [{"name": "gpu", "resourceClaimName": "one-gpu"}]
    return pod(name, resourceClaims=claims, **spec)


def _cluster(*objects: Manifest, profile: str = "v1.34") -> Cluster:
    return played(Cluster.create(scene(node("n1"), *objects), profile=profile), 400)


def _told(cluster: Cluster, name: str) -> list[Event]:
    events = cluster.take().events
    return [one for one in events if one.kind == "NotModelled" and one.object.endswith(name)]


def test_a_pod_with_resource_claims_stays_pending() -> None:
    cluster = _cluster(_with_claim("train"), pod("web"))
    assert node_of(cluster, "train") == ""
    assert node_of(cluster, "web") == "n1"
    (event,) = _told(cluster, "train")
    assert (event.component, event.message) == ("kscope", _NEED)


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20"])
def test_a_version_without_the_field_leaves_it_out(profile: str) -> None:
    cluster = _cluster(_with_claim("train"), profile=profile)
    assert node_of(cluster, "train") == "n1"
    (event,) = [one for one in cluster.take().events if one.kind == "FieldsLeftOut"]
    assert "spec.resourceClaims" in event.message


def test_no_new_node_lets_such_a_pod_in() -> None:
    steps = ((1, "create", {"manifest": _with_claim("train")}),)
    steps += ((1, "create", {"manifest": node("n2")}),)
    cluster = played(Cluster.create(scene(node("n1"), steps=steps), profile="v1.34"), 400)
    assert node_of(cluster, "train") == ""


def test_the_pages_show_what_is_not_modelled() -> None:
    cluster = _cluster(_with_claim("train"))
    cluster.take()
    shown = cluster.view()["pod/default/train"]
    assert shown["queue"] == "gated"
    assert shown["blocker"]["sentence"] == f"{_NEED}."


def test_why_pending_says_what_is_not_modelled() -> None:
    found = diagnose(_cluster(_with_claim("train")), "default/train")
    assert found.sentence == f"{_NEED}."
    assert (found.state, found.fixes) == ("gated", ())


def test_a_bound_pod_with_claims_does_not_start() -> None:
    cluster = _cluster(_with_claim("train", nodeName="n1"))
    assert cluster.store.get("Pod", "default/train").status["phase"] == "Pending"
    assert len(_told(cluster, "train")) == 1


def test_a_bound_pod_with_claims_can_be_deleted() -> None:
    steps = ((10, "delete", {"object": "pod/default/train"}),)
    started = scene(node("n1"), _with_claim("train", nodeName="n1"), steps=steps)
    cluster = played(Cluster.create(started))
    assert cluster.store.find("Pod", "default/train") is None


def test_a_running_pod_with_claims_runs_on() -> None:
    running = _with_claim("train", nodeName="n1") | {"status": {"phase": "Running"}}
    cluster = _cluster(running)
    assert cluster.store.get("Pod", "default/train").status["phase"] == "Running"
    assert _told(cluster, "train") == []


def _of_group(name: str) -> Manifest:
    made = pod(name)
    made["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "ring"}
    return made


def test_a_pod_of_a_pod_group_stays_pending() -> None:
    cluster = _cluster(_of_group("worker"))
    assert node_of(cluster, "worker") == ""
    assert _told(cluster, "worker")[0].message.endswith("because it belongs to PodGroup ring")


def test_a_pod_of_a_workload_stays_pending() -> None:
    made = pod("worker", workloadRef={"name": "ring", "podGroup": "all"})
    cluster = _cluster(made, profile="v1.35")
    assert _told(cluster, "worker")[0].message.endswith("because it belongs to Workload ring")


@pytest.mark.parametrize("profile", _VERSIONS)
def test_a_pod_that_leaves_its_group_is_scheduled(profile: str) -> None:
    patch = {"metadata": {"labels": {"scheduling.x-k8s.io/pod-group": None}}}
    steps = ((30, "patch", {"object": "pod/default/worker", "patch": patch}),)
    started = scene(node("n1"), _of_group("worker"), steps=steps)
    cluster = played(Cluster.create(started, profile=profile), 120)
    assert node_of(cluster, "worker") == "n1"
