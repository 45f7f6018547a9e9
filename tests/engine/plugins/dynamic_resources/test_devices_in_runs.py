"""Devices while a cluster runs: claims are made, allocated, reserved, and given back."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.framework.cluster_events import RESOURCE_CLAIM, ClusterEvent
from engine.kernel.units import MILLISECOND, SECOND
from engine.scheduler.queue.queueing_hints import QueueingHints
from engine.scheduler.queue.requeueing import Requeueing
from tests.builders import (
    apply_command,
    claims_in_pod,
    device,
    device_class,
    device_request,
    left_over,
    node,
    node_of,
    played,
    pod,
    resource_claim,
    resource_slice,
    scene,
)

Manifest = dict[str, Any]

CLASS = device_class("gpu", 'device.driver == "gpu.example.com"')
TEMPLATE: Manifest = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "one-gpu", "namespace": "default"},
    "spec": {"spec": {"devices": {"requests": [device_request("r", "gpu")]}}},
}


def user(name: str, **spec: Any) -> Manifest:
    """A pod with a claim of its own, made from the template."""
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    return pod(name, resourceClaims=claims, **spec)


def gpus(node_name: str, count: int) -> Manifest:
    return resource_slice(node_name, [device(f"gpu-{place}") for place in range(count)])


def cluster(*objects: Manifest, **fields: Any) -> Cluster:
    return Cluster.create(scene(node("n1"), CLASS, TEMPLATE, *objects, **fields), profile="v1.36")


def claims(run: Cluster) -> list[Manifest]:
    return [claim.raw for claim in run.store.objects("ResourceClaim")]


def phases(run: Cluster) -> dict[str, str]:
    return {each.name: each.status.get("phase", "") for each in run.store.objects("Pod")}


def test_a_claim_from_a_template_gets_a_device() -> None:
    run = played(cluster(gpus("n1", 1), user("p")))
    (claim,) = claims(run)
    assert claim["metadata"]["name"].startswith("p-gpu-")
    assert claim["metadata"]["ownerReferences"][0]["name"] == "p"
    (result,) = claim["status"]["allocation"]["devices"]["results"]
    assert (result["pool"], result["device"]) == ("n1", "gpu-0")
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p"]
    assert phases(run) == {"p": "Running"}


def test_an_allocation_repeats_tolerations_and_parameters() -> None:
    opaque = {"driver": "gpu.example.com", "parameters": {"mode": "fast"}}
    fast = device_class("fast", config=[{"opaque": opaque}])
    borne = {"key": "hot", "operator": "Exists", "tolerationSeconds": 5}
    wanted = device_request("r", "fast", tolerations=[borne])
    slow = {"requests": ["r"], "opaque": {**opaque, "parameters": {"mode": "slow"}}}
    objects = (gpus("n1", 1), fast, resource_claim("c", wanted, config=[slow]))
    run = played(cluster(*objects, pod("p", **claims_in_pod("c"))))
    devices = claims(run)[0]["status"]["allocation"]["devices"]
    assert devices["results"][0]["tolerations"] == [borne]
    assert devices["config"] == [
        {"source": "FromClass", "requests": ["r"], "opaque": opaque},
        {"source": "FromClaim", **slow},
    ]


def test_device_can_bind_its_claim_to_the_node() -> None:
    everywhere = resource_slice("", [device("d", bindsToNode=True)], pool="net", allNodes=True)
    wanted = resource_claim("c", device_request("r", "gpu"))
    run = played(cluster(everywhere, wanted, pod("p", **claims_in_pod("c"))))
    (term,) = claims(run)[0]["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert term["matchFields"][0]["values"] == ["n1"]


def test_no_device_is_given_twice() -> None:
    run = played(cluster(gpus("n1", 2), *(user(f"p{place}") for place in range(3))))
    devices = [
        result["device"]
        for claim in claims(run)
        for result in claim.get("status", {})
        .get("allocation", {})
        .get("devices", {})
        .get("results", ())
    ]
    assert sorted(devices) == ["gpu-0", "gpu-1"]
    assert sorted(phases(run).values()) == ["Pending", "Running", "Running"]


def test_deleted_pod_gives_its_device_to_the_next() -> None:
    steps = [(30, "delete", {"object": "pod/default/p0"})]
    run = played(cluster(gpus("n1", 1), user("p0"), user("p1"), steps=steps), 90)
    assert phases(run) == {"p1": "Running"}
    assert len(claims(run)) == 1


def test_a_shared_claim_lasts_until_its_last_user() -> None:
    shared = resource_claim("shared", device_request("r", "gpu"))
    pods = [pod(name, **claims_in_pod("shared")) for name in ("a", "b")]
    steps = [(30, "delete", {"object": "pod/default/a"})]
    run = played(cluster(gpus("n1", 1), shared, *pods, steps=steps), 40)
    (claim,) = claims(run)
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["b"]
    run = played(run, 20)
    run.store.delete("Pod", "default/b", by="test")
    (claim,) = claims(played(run, 20))
    assert "allocation" not in claim["status"]


def test_a_pod_waits_until_a_slice_is_published() -> None:
    steps = [(30, "create", {"manifest": gpus("n1", 1)})]
    run = played(cluster(user("p"), steps=steps), 20)
    assert node_of(run, "p") == ""
    assert node_of(played(run, 40), "p") == "n1"


def test_a_pod_waits_until_its_template_is_there() -> None:
    steps = [(30, "create", {"manifest": TEMPLATE})]
    start = scene(node("n1"), CLASS, gpus("n1", 1), user("p"), steps=steps)
    run = played(Cluster.create(start, profile="v1.36"), 20)
    assert (node_of(run, "p"), claims(run)) == ("", [])
    assert node_of(played(run, 40), "p") == "n1"


def test_extended_resource_gets_a_claim_of_its_own() -> None:
    stands_for = device_class("stands-for", extendedResourceName="example.com/gpu")
    resources = {"requests": {"example.com/gpu": "1"}}
    wants = pod("p", containers=[{"name": "main", "image": "app:1", "resources": resources}])
    run = played(cluster(stands_for, gpus("n1", 1), wants))
    (claim,) = claims(run)
    stored = run.store.get("Pod", "default/p")
    assert stored.status["phase"] == "Running"
    assert stored.status["extendedResourceClaimStatus"] == {
        "requestMappings": [
            {
                "containerName": "main",
                "resourceName": "example.com/gpu",
                "requestName": "container-0-request-0",
            }
        ],
        "resourceClaimName": claim["metadata"]["name"],
    }


def test_claim_left_over_is_deleted_and_made_again() -> None:
    """Nothing that the plugin listens to tells of its deletion, so the pod waits for the flush."""
    stands_for = device_class("stands-for", extendedResourceName="example.com/gpu")
    resources = {"requests": {"example.com/gpu": "1"}}
    wants = pod("p", containers=[{"name": "main", "image": "app:1", "resources": resources}])
    old = left_over(wants, "stands-for")
    old["metadata"]["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    run = played(cluster(stands_for, gpus("n1", 1), wants, old, until=400 * SECOND), 60)
    assert claims(run) == []
    assert node_of(run, "p") == ""
    run = played(run, 400)
    (claim,) = claims(run)
    assert claim["metadata"]["name"] != "left-over"
    assert phases(run) == {"p": "Running"}


def test_a_failed_binding_gives_the_device_back() -> None:
    """The write of the node fails once, after the claim was written."""
    run = cluster(gpus("n1", 1), user("p"))
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    while not any(claim.get("status") for claim in claims(run)):
        run.advance(run.now + MILLISECOND)
    apply_command(run, verb="fault", patch=fault)
    run = played(run)
    kinds = [one.kind for one in run.take().events if one.object.startswith("resourceclaim/")]
    assert kinds.count("ResourceClaimReleased") == 1
    assert phases(run) == {"p": "Running"}
    (claim,) = claims(run)
    assert [each["name"] for each in claim["status"]["reservedFor"]] == ["p"]


@pytest.mark.parametrize("milliseconds", [1, 4, 7, 40])
def test_run_with_devices_can_be_kept_and_resumed(milliseconds: int) -> None:
    objects = gpus("n1", 1), user("p0"), user("p1")
    whole = cluster(*objects)
    whole.advance(60 * SECOND)
    half = cluster(*objects)
    half.advance(milliseconds * MILLISECOND)
    half.take()
    rest = Cluster.restore(half.checkpoint())
    rest.advance(60 * SECOND)
    for run in (whole, rest):
        run.take()
    assert rest.recorder.digest == whole.recorder.digest


def test_only_pods_of_a_claim_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whom an event is not about would say no: what happens is the same without asking."""
    shared = resource_claim("shared", device_request("r", "gpu"))
    users = [pod(f"s{place}", **claims_in_pod("shared")) for place in range(2)]
    objects = (gpus("n1", 2), shared, *users, *(user(f"p{place}") for place in range(5)))

    def digest_and_hints() -> tuple[str, int]:
        queues, asked = QueueingHints.queues, list[str]()

        def count(hints: QueueingHints, plugin: str, event: ClusterEvent, *rest: Any) -> bool:
            asked.extend([event.label] * (event.resource == RESOURCE_CLAIM))
            return queues(hints, plugin, event, *rest)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(QueueingHints, "queues", count)
            run = played(cluster(*objects, until=400 * SECOND))
            apply_command(run, verb="delete", object="pod/default/p0")
            played(run)
            run.take()
            return run.recorder.digest, len(asked)

    digest, few = digest_and_hints()
    monkeypatch.setattr(Requeueing, "concern", lambda *_event: None)
    same, many = digest_and_hints()
    assert same == digest
    assert 0 < few < many
