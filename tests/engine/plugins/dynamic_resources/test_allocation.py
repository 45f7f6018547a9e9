"""Which devices claims get, as decisions mode tells it."""

from typing import Any

import pytest

from engine.objects.objects import from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide
from tests.builders import (
    claims_in_pod,
    device,
    device_class,
    device_request,
    left_over,
    node,
    pod,
    resource_claim,
    resource_slice,
    selectors,
)

CLASS = device_class("gpu", 'device.driver == "gpu.example.com"')
MODEL_A = selectors('device.attributes["gpu.example.com"].model == "a"')


def last_attempt(*manifests: dict[str, Any]) -> dict[str, Any]:
    """The last decision on the cluster of *manifests* under v1.36."""
    decided = decide(map(from_manifest, manifests), PROFILES["v1.36"])
    attempt: dict[str, Any] = decided["attempts"][-1]
    return attempt


def given(*manifests: dict[str, Any]) -> dict[str, list[str]]:
    devices: dict[str, list[str]] = last_attempt(*manifests)["devices"]
    return devices


def names(*manifests: dict[str, Any]) -> list[str]:
    """The devices of the last pod, without driver and pool."""
    return [each.rpartition("/")[2] for devices in given(*manifests).values() for each in devices]


def user(name: str, *claims: str) -> dict[str, Any]:
    return pod(name, **claims_in_pod(*claims))


def gpus(*models: str) -> list[dict[str, Any]]:
    return [
        device(f"gpu-{place}", memory="16Gi", attributes={"model": model, "place": place})
        for place, model in enumerate(models)
    ]


def test_the_first_device_that_fits_is_taken() -> None:
    wanted = resource_claim("c", device_request("r", "gpu", selectors=MODEL_A))
    on_node = resource_slice("n1", gpus("b", "a", "a"))
    assert given(node("n1"), CLASS, on_node, wanted, user("p", "c")) == {
        "default/c": ["r=gpu.example.com/n1/gpu-1"]
    }


def test_slices_go_by_name_not_by_age() -> None:
    wanted = resource_claim("c", device_request("r", "gpu"))
    late = resource_slice("n1", [device("late")], name="b", slices=2)
    early = resource_slice("n1", [device("early")], name="a", slices=2)
    assert names(node("n1"), CLASS, late, early, wanted, user("p", "c")) == ["early"]


def test_only_the_newest_generation_of_a_pool_counts() -> None:
    wanted = resource_claim("c", device_request("r", "gpu"))
    old = resource_slice("n1", [device("old")], name="a", generation=1)
    new = resource_slice("n1", [device("new")], name="b", generation=2)
    assert names(node("n1"), CLASS, old, new, wanted, user("p", "c")) == ["new"]


def test_a_pool_in_the_making_gives_no_device() -> None:
    wanted = resource_claim("c", device_request("r", "gpu"))
    half = resource_slice("n1", [device("gpu-0")], slices=2)
    attempt = last_attempt(node("n1"), CLASS, half, wanted, user("p", "c"))
    assert attempt["filters"]["n1"]["reasons"] == ["cannot allocate all claims"]


def test_all_devices_of_an_incomplete_pool_is_impossible() -> None:
    wanted = resource_claim("c", device_request("r", "gpu", allocationMode="All"))
    half = resource_slice("n1", [device("gpu-0")], slices=2)
    attempt = last_attempt(node("n1"), CLASS, half, wanted, user("p", "c"))
    assert attempt["result"] == "error"
    assert attempt["message"] == (
        'running "DynamicResources" filter plugin: claim default/c, request r: asks for all '
        "devices, but resource pool gpu.example.com/n1 is currently being updated"
    )


def test_equal_devices_are_found_by_going_back() -> None:
    """The first device has no partner of its model, so another first one is tried."""
    wanted = resource_claim(
        "c",
        device_request("r", "gpu", count=2),
        constraints=[{"requests": ["r"], "matchAttribute": "gpu.example.com/model"}],
    )
    on_node = resource_slice("n1", gpus("a", "b", "b"))
    assert names(node("n1"), CLASS, on_node, wanted, user("p", "c")) == ["gpu-1", "gpu-2"]


def test_requests_of_distinct_values_share_none() -> None:
    wanted = resource_claim(
        "c",
        device_request("r", "gpu"),
        device_request("s", "gpu"),
        constraints=[{"distinctAttribute": "gpu.example.com/model"}],
    )
    on_node = resource_slice("n1", gpus("a", "a", "b"))
    assert names(node("n1"), CLASS, on_node, wanted, user("p", "c")) == ["gpu-0", "gpu-2"]


def test_the_node_with_the_better_alternative_wins() -> None:
    best = {"name": "best", "deviceClassName": "gpu", "selectors": MODEL_A}
    other = {"name": "other", "deviceClassName": "gpu"}
    wanted = resource_claim("c", {"name": "r", "firstAvailable": [best, other]})
    slices = resource_slice("n1", gpus("b")), resource_slice("n2", gpus("a"))
    attempt = last_attempt(node("n1"), node("n2"), CLASS, *slices, wanted, user("p", "c"))
    assert attempt["devices"]["default/c"] == ["r/best=gpu.example.com/n2/gpu-0"]
    scores = {name: each["plugins"]["DynamicResources"] for name, each in attempt["scores"].items()}
    assert scores == {"n1": 174, "n2": 200}


@pytest.mark.parametrize(
    ("profile", "mode", "devices"),
    [
        ("v1.36", "All", ["r/b=gpu.example.com/n1/gpu-0", "r/b=gpu.example.com/n1/gpu-1"]),
        ("v1.36", "ExactCount", ["r/b=gpu.example.com/n1/gpu-0", "r/b=gpu.example.com/n1/gpu-1"]),
        # The first alternative has no device at all, or wants no more than one.
        ("v1.35", "All", []),
        ("v1.35", "ExactCount", ["r/b=gpu.example.com/n1/gpu-0"]),
    ],
)
def test_later_alternative_gets_all_devices_since_v1_36(
    profile: str, mode: str, devices: list[str]
) -> None:
    first = {"name": "a", "deviceClassName": "none", "allocationMode": mode}
    second = {"name": "b", "deviceClassName": "gpu", "allocationMode": "All"}
    wanted = resource_claim("c", {"name": "r", "firstAvailable": [first, second]})
    nothing = device_class("none", 'device.driver == "none.example.com"')
    world = (node("n1"), CLASS, nothing, resource_slice("n1", gpus("a", "a")))
    decided = decide(map(from_manifest, (*world, wanted, user("p", "c"))), PROFILES[profile])
    assert decided["final"]["devices"] == {"default/c": devices}


@pytest.mark.parametrize("profile", ["v1.36", "v1.35"])
def test_alternatives_of_allocated_claims_count_for_each_node(profile: str) -> None:
    best = {"name": "best", "deviceClassName": "gpu", "selectors": MODEL_A}
    other = {"name": "other", "deviceClassName": "gpu"}
    request = {"name": "r", "firstAvailable": [best, other]}
    shared, wanted = resource_claim("shared", request), resource_claim("c", request)
    result = {"request": "r/best", "driver": "net", "pool": "net", "device": "d"}
    shared["status"] = {"allocation": {"devices": {"results": [result]}}}
    slices = resource_slice("n1", gpus("b")), resource_slice("n2", gpus("a"))
    objects = (node("n1"), node("n2"), CLASS, *slices, shared, wanted, user("p", "shared", "c"))
    (attempt,) = decide(map(from_manifest, objects), PROFILES[profile])["attempts"]
    scores = {name: each["plugins"]["DynamicResources"] for name, each in attempt["scores"].items()}
    # 8 + 7 of 8 + 8.
    assert scores == {"n1": 186, "n2": 200}


@pytest.mark.parametrize(
    ("operator", "result"), [("Exists", "scheduled"), ("Equal", "unschedulable")]
)
def test_a_tainted_device_needs_a_toleration(operator: str, result: str) -> None:
    tainted = device("gpu-0", taints=[{"key": "bad", "value": "x", "effect": "NoSchedule"}])
    toleration = {"key": "bad", "operator": operator}
    wanted = resource_claim("c", device_request("r", "gpu", tolerations=[toleration]))
    on_node = resource_slice("n1", [tainted])
    attempt = last_attempt(node("n1"), CLASS, on_node, wanted, user("p", "c"))
    assert attempt["result"] == result


def test_shared_devices_give_capacity_until_it_runs_out() -> None:
    shared = device("gpu-0", memory="16Gi", allowMultipleAllocations=True)
    claims = [
        resource_claim(name, device_request("r", "gpu", capacity={"requests": {"memory": "6Gi"}}))
        for name in ("a", "b", "c")
    ]
    users = [user(f"p-{claim['metadata']['name']}", claim["metadata"]["name"]) for claim in claims]
    decided = decide(
        map(
            from_manifest,
            (node("n1"), CLASS, resource_slice("n1", [shared]), *claims, *users),
        ),
        PROFILES["v1.36"],
    )
    assert decided["final"]["devices"] == {
        "default/a": ["r=gpu.example.com/n1/gpu-0 memory:6Gi"],
        "default/b": ["r=gpu.example.com/n1/gpu-0 memory:6Gi"],
        "default/c": [],
    }


@pytest.mark.parametrize(("asked", "given_to_it"), [("1Gi", "2Gi"), ("5Gi", "6Gi"), ("6Gi", "6Gi")])
def test_a_policy_rounds_a_request_up(asked: str, given_to_it: str) -> None:
    policy = {"validRange": {"min": "2Gi", "max": "16Gi", "step": "2Gi"}, "default": "2Gi"}
    shared = device("gpu-0", allowMultipleAllocations=True)
    shared["capacity"] = {"memory": {"value": "16Gi", "requestPolicy": policy}}
    wanted = resource_claim(
        "c", device_request("r", "gpu", capacity={"requests": {"memory": asked}})
    )
    found = given(node("n1"), CLASS, resource_slice("n1", [shared]), wanted, user("p", "c"))
    assert found["default/c"] == [f"r=gpu.example.com/n1/gpu-0 memory:{given_to_it}"]


def test_partitions_compete_for_counters() -> None:
    """Two halves, or the whole."""

    def part(name: str, memory: str) -> dict[str, Any]:
        counters = {"memory": {"value": memory}}
        return device(name, consumesCounters=[{"counterSet": "gpu", "counters": counters}])

    counters = resource_slice(
        "n1",
        name="counters",
        slices=2,
        sharedCounters=[{"name": "gpu", "counters": {"memory": {"value": "40Gi"}}}],
    )
    parts = resource_slice(
        "n1", [part("half-1", "20Gi"), part("whole", "40Gi"), part("half-2", "20Gi")], slices=2
    )
    wanted = resource_claim("c", device_request("r", "gpu", count=2))
    assert names(node("n1"), CLASS, counters, parts, wanted, user("p", "c")) == ["half-1", "half-2"]


def test_admin_access_shares_a_device_in_use() -> None:
    first = resource_claim("a", device_request("r", "gpu"))
    admin = resource_claim("b", device_request("r", "gpu", adminAccess=True))
    on_node = resource_slice("n1", gpus("a"))
    found = given(node("n1"), CLASS, on_node, first, admin, user("p", "a"), user("q", "b"))
    assert found == {"default/b": ["r=gpu.example.com/n1/gpu-0 (admin)"]}


def test_an_extended_resource_can_come_from_devices() -> None:
    stands_for = device_class(
        "gpu", 'device.driver == "gpu.example.com"', extendedResourceName="example.com/gpu"
    )
    wants = pod("p", containers=[_container({"example.com/gpu": "2"})])
    found = given(node("n1"), stands_for, resource_slice("n1", gpus("a", "b", "a")), wants)
    assert found == {
        "default/p-extended-resources-0": [
            "container-0-request-0=gpu.example.com/n1/gpu-0",
            "container-0-request-0=gpu.example.com/n1/gpu-1",
        ]
    }


def test_resource_of_neither_node_nor_class_is_refused() -> None:
    configuration = {"ignoredResources": ["example.com/foo"]}
    profile = read_setup(_configured("NodeResourcesFit", configuration), "v1.36").profiles[0]
    stands_for = device_class("gpu", extendedResourceName="example.com/gpu")
    wants = pod("p", containers=[_container({"example.com/gpu": "1", "example.com/foo": "1"})])
    objects = (node("n1"), stands_for, resource_slice("n1", gpus("a")), wants)
    (attempt,) = decide(map(from_manifest, objects), profile)["attempts"]
    assert attempt["filters"]["n1"]["reasons"] == ["cannot fit resource"]
    assert attempt["filters"]["n1"]["code"] == "UnschedulableAndUnresolvable"


def test_claim_that_an_attempt_left_over_is_deleted() -> None:
    stands_for = device_class("gpu", extendedResourceName="example.com/gpu")
    wants = pod("p", containers=[_container({"example.com/gpu": "1"})])
    objects = (node("n1"), stands_for, resource_slice("n1", gpus("a")), wants, left_over(wants))
    decided = decide(map(from_manifest, objects), PROFILES["v1.36"])
    (attempt,) = decided["attempts"]
    assert attempt["filters"]["n1"]["reasons"] == ["cannot schedule extended resource claim"]
    assert "deletion of ResourceClaim completed" in attempt["message"]
    assert "devices" not in decided["final"]


def test_init_containers_use_devices_of_later_ones_again() -> None:
    stands_for = device_class("gpu", extendedResourceName="example.com/gpu")
    wants = pod(
        "p",
        initContainers=[_container({"example.com/gpu": "3"}, name="init")],
        containers=[_container({"example.com/gpu": "2"})],
    )
    found = given(node("n1"), stands_for, resource_slice("n1", gpus(*"aaaa")), wants)
    (devices,) = found.values()
    assert [each.partition("=")[0] for each in devices] == [
        "container-0-request-0",
        "container-1-request-0",
        "container-1-request-0",
    ]


def test_a_claim_that_is_elsewhere_is_deallocated() -> None:
    """Nobody uses it any more, and the pod may not go where it is."""
    idle = resource_claim("c", device_request("r", "gpu"))
    idle["status"] = {
        "allocation": {
            "devices": {
                "results": [
                    {"request": "r", "driver": "gpu.example.com", "pool": "n2", "device": "gpu-0"}
                ]
            },
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
                ]
            },
        }
    }
    decided = decide(
        map(from_manifest, (node("n1"), CLASS, idle, user("p", "c"))), PROFILES["v1.36"]
    )
    (attempt,) = decided["attempts"]
    assert attempt["filters"]["n1"]["reasons"] == ["resourceclaim not available on the node"]
    assert "deallocation of ResourceClaim completed" in attempt["message"]
    assert decided["final"]["devices"] == {"default/c": []}


def test_pod_waits_for_a_claim_that_is_missing() -> None:
    attempt = last_attempt(node("n1"), user("p", "c"))
    assert attempt["result"] == "gated"
    assert attempt["message"] == 'could not find ResourceClaim "default/c"'


def test_a_class_that_is_missing_refuses_the_pod() -> None:
    wanted = resource_claim("c", device_request("r", "gone"))
    attempt = last_attempt(node("n1"), wanted, user("p", "c"))
    assert attempt["prefilter"]["reasons"] == ["request r: device class gone does not exist"]


def _configured(plugin: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"pluginConfig": [{"name": plugin, "args": arguments}]}],
    }


def _container(requests: dict[str, str], name: str = "main") -> dict[str, Any]:
    return {"name": name, "image": "app:1", "resources": {"requests": requests}}


def test_capacity_of_zero_is_given_back_twice() -> None:
    """Nothing is consumed of the device, so that nothing is left to give back the second time."""
    empty = device("d", allowMultipleAllocations=True, capacity={"lanes": {"value": "0"}})
    of_class = device_class("any")
    wanted = resource_claim("c", *(device_request(name, "any") for name in "rs"))
    never = resource_claim("never", device_request("t", "any", selectors=selectors("false")))
    objects = (node("n1"), of_class, resource_slice("n1", [empty]), wanted, never)
    attempt = last_attempt(*objects, user("p", "c", "never"))
    assert attempt["filters"]["n1"]["reasons"] == ["cannot allocate all claims"]
