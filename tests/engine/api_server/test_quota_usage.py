"""What pods, claims and Services take of a quota.

The cases of pods are those of upstream's tables (pkg/quota/v1/evaluator/core/pods_test.go:
TestPodConstraintsFunc, TestPodEvaluatorUsage, TestPodEvaluatorMatchingScopes); the others follow the
branches of persistent_volume_claims.go and services.go.
"""

from typing import Any

import pytest

from engine.api_server.admission.quota.amounts import printed, read_amounts, written
from engine.api_server.admission.quota.other_usage import ClaimUsage, CountUsage, ServiceUsage
from engine.api_server.admission.quota.pod_usage import PodUsage
from engine.api_server.admission.quota.scopes import pod_in_scope
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import ApiObject, from_manifest
from engine.versions.registry import DEFAULT, VERSIONS

Json = dict[str, Any]


def _pod(*containers: Json, init: list[Json] | None = None, **spec: Any) -> ApiObject:
    named = [{"name": f"c{place}", **each} for place, each in enumerate(containers)]
    body = {"containers": named, "initContainers": init or [], **spec}
    return from_manifest({"kind": "Pod", "metadata": {"name": "p"}, "spec": body})


def _asks(
    requests: Json | None = None, limits: Json | None = None, name: str = "", **more: Any
) -> Json:
    made: Json = {"resources": {"requests": requests or {}, "limits": limits or {}}, **more}
    return {**made, "name": name} if name else made


def _usage(pod: ApiObject, profile: str = "v1.34", now: int = 0) -> Json:
    taken = written(PodUsage(VERSIONS[profile].admission).usage(pod, now))
    return {name: amount for name, amount in taken.items() if name not in ("pods", "count/pods")}


_CPU = _asks({"cpu": "1m"}, {"cpu": "2m"})
_CPU_TAKEN = {"cpu": "1m", "requests.cpu": "1m", "limits.cpu": "2m"}
_STORAGE = _asks({"ephemeral-storage": "32Mi"}, {"ephemeral-storage": "64Mi"})
_STORAGE_TAKEN = {
    "ephemeral-storage": "32Mi",
    "requests.ephemeral-storage": "32Mi",
    "limits.ephemeral-storage": "64Mi",
}
_PAGES = _asks({"hugepages-2Mi": "100Mi"})
_PAGES_TAKEN = {"hugepages-2Mi": "100Mi", "requests.hugepages-2Mi": "100Mi"}
_DONGLE = _asks({"example.com/dongle": "3"}, {"example.com/dongle": "3"})
_DONGLE_TAKEN = {"requests.example.com/dongle": "3"}


@pytest.mark.parametrize("is_init", [False, True])
@pytest.mark.parametrize(
    ("container", "taken"),
    [
        (_CPU, _CPU_TAKEN),
        (_STORAGE, _STORAGE_TAKEN),
        (_PAGES, _PAGES_TAKEN),
        (_DONGLE, _DONGLE_TAKEN),
    ],
)
def test_containers_count_by_each_name(is_init: bool, container: Json, taken: Json) -> None:
    pod = _pod(init=[container]) if is_init else _pod(container)
    assert _usage(pod) == taken


def test_largest_init_container_overrides_the_sum() -> None:
    init = [
        _asks({"cpu": "4", "memory": "100M", "example.com/dongle": "4"}, {"cpu": "8"}),
        _asks({"cpu": "1", "memory": "50M", "example.com/dongle": "2"}, {"cpu": "2"}),
    ]
    pod = _pod(
        _asks({"cpu": "1", "memory": "50M", "example.com/dongle": "1"}, {"cpu": "2"}),
        _asks({"cpu": "2", "memory": "25M", "example.com/dongle": "2"}, {"cpu": "5"}),
        init=init,
    )
    taken = _usage(pod)
    assert taken["requests.cpu"] == "4"
    assert taken["limits.cpu"] == "8"
    assert taken["memory"] == "100M"
    assert taken["requests.example.com/dongle"] == "4"


def test_sidecars_count_beside_the_containers() -> None:
    sidecar = _asks({"cpu": "1"}, restartPolicy="Always")
    pod = _pod(_asks({"cpu": "2"}), init=[sidecar, _asks({"cpu": "4"})])
    assert _usage(pod)["cpu"] == "5"
    assert _usage(_pod(_asks({"cpu": "2"}), init=[sidecar]), "v1.20")["cpu"] == "2"


def test_pod_level_resources_replace_the_sum() -> None:
    level = {"requests": {"cpu": "5"}, "limits": {"memory": "1Gi"}}
    taken = _usage(_pod(_asks({"cpu": "2"}), resources=level))
    assert taken == {"cpu": "5", "requests.cpu": "5", "limits.memory": "1Gi"}


@pytest.mark.parametrize(
    ("profile", "taken"),
    [
        ("v1.16", {"requests.cpu": "1", "limits.cpu": "2"}),
        ("v1.20", {"requests.cpu": "2", "limits.cpu": "3", "limits.memory": "1Mi"}),
        ("v1.34", {"requests.cpu": "2", "limits.cpu": "3"}),
    ],
)
def test_overhead_counts_as_the_version_has_it(profile: str, taken: Json) -> None:
    pod = _pod(_asks({"cpu": "1"}, {"cpu": "2"}), overhead={"cpu": "1", "memory": "1Mi"})
    found = _usage(pod, profile)
    assert {name: amount for name, amount in found.items() if "limits" in name} == {
        name: amount for name, amount in taken.items() if "limits" in name
    }
    assert found["requests.cpu"] == taken["requests.cpu"]


def test_finished_pods_count_as_objects_only() -> None:
    pod = _pod(_DONGLE).patched({"status": {"phase": "Succeeded"}})
    assert written(PodUsage(DEFAULT.admission).usage(pod, 0)) == {"count/pods": "1"}


def test_pod_past_twice_its_grace_is_free() -> None:
    metadata = {"deletionTimestamp": timestamp(100 * SECOND), "deletionGracePeriodSeconds": 30}
    pod = _pod(_CPU).patched({"metadata": metadata})
    assert _usage(pod, now=130 * SECOND) == _CPU_TAKEN
    assert _usage(pod, now=131 * SECOND) == {}


_LACKING = _asks({"cpu": "1m"}, {"cpu": "2m"})


@pytest.mark.parametrize(
    ("pod", "required", "newest", "older"),
    [
        (
            _pod(init=[{**_LACKING, "name": "dummy"}]),
            ["memory"],
            "must specify memory for: dummy",
            "must specify memory",
        ),
        (
            _pod({**_LACKING, "name": "foo"}, {**_LACKING, "name": "bar"}),
            ["memory"],
            "must specify memory for: bar,foo",
            "must specify memory",
        ),
        (
            _pod({"name": "foo"}, {"name": "bar"}),
            ["memory", "cpu"],
            "must specify cpu for: bar,foo; memory for: bar,foo",
            "must specify cpu,memory",
        ),
        (_pod({"name": "foo"}), ["ephemeral-storage", "pods"], "", ""),
        (_pod(_CPU), ["limits.cpu", "requests.cpu"], "", ""),
    ],
)
def test_missing_requests_are_named(
    pod: ApiObject, required: list[str], newest: str, older: str
) -> None:
    assert PodUsage(DEFAULT.admission).missing(required, pod) == newest
    assert PodUsage(VERSIONS["v1.20"].admission).missing(required, pod) == older


def test_pod_level_resources_spare_the_containers() -> None:
    pod = _pod({"name": "foo"}, resources={"requests": {"cpu": "1"}})
    assert PodUsage(DEFAULT.admission).missing(["cpu", "memory"], pod) == ""


def test_pods_take_only_what_pods_have() -> None:
    names = ["pods", "requests.storage", "services", "requests.nvidia.com/gpu", "hugepages-1Gi"]
    matching = PodUsage(DEFAULT.admission).matching([*names, "nvidia.com/gpu"])
    assert matching == ["hugepages-1Gi", "pods", "requests.nvidia.com/gpu"]


_ACROSS = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": {"namespaceSelector": {}}}
        ]
    }
}
_WITHIN = {
    "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
}
_CLASS_1 = {"scopeName": "PriorityClass", "operator": "In", "values": ["class1"]}
_SELECTORS: list[Json] = [
    *({"scopeName": name, "operator": "Exists"} for name in ("Terminating", "NotTerminating")),
    *({"scopeName": name, "operator": "Exists"} for name in ("BestEffort", "NotBestEffort")),
    _CLASS_1,
    {"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"},
]


@pytest.mark.parametrize(
    ("pod", "scopes"),
    [
        (_pod(), ["NotTerminating", "BestEffort"]),
        (_pod(priorityClassName="class1"), ["NotTerminating", "BestEffort", "PriorityClass"]),
        (_pod(priorityClassName="class2"), ["NotTerminating", "BestEffort"]),
        (_pod(_CPU), ["NotTerminating", "NotBestEffort"]),
        (_pod(_DONGLE), ["NotTerminating", "BestEffort"]),
        (_pod(activeDeadlineSeconds=30), ["Terminating", "BestEffort"]),
        (_pod(affinity=_ACROSS), ["NotTerminating", "BestEffort", "CrossNamespacePodAffinity"]),
        (_pod(affinity=_WITHIN), ["NotTerminating", "BestEffort"]),
    ],
)
def test_pods_are_in_their_scopes(pod: ApiObject, scopes: list[str]) -> None:
    found = [each["scopeName"] for each in _SELECTORS if pod_in_scope(pod, each, DEFAULT.admission)]
    assert found == scopes


@pytest.mark.parametrize(
    ("operator", "values", "with_class", "without"),
    [
        ("In", ["high"], True, False),
        ("NotIn", ["high"], False, True),
        ("NotIn", ["low"], True, True),
        ("Exists", [], True, False),
        ("DoesNotExist", [], False, True),
    ],
)
def test_scope_selector_reads_the_priority_class(
    operator: str, values: list[str], with_class: bool, without: bool
) -> None:
    scope = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    assert pod_in_scope(_pod(priorityClassName="high"), scope, DEFAULT.admission) is with_class
    assert pod_in_scope(_pod(), scope, DEFAULT.admission) is without


def _claim(storage: str = "10Gi", allocated: str = "", **spec: Any) -> ApiObject:
    body = {"resources": {"requests": {"storage": storage}}, **spec}
    status = {"allocatedResources": {"storage": allocated}} if allocated else {}
    return from_manifest(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c"},
            "spec": body,
            "status": status,
        }
    )


_TAKEN = {
    "persistentvolumeclaims": "1",
    "count/persistentvolumeclaims": "1",
    "requests.storage": "10Gi",
}


def _claim_usage(claim: ApiObject, profile: str = "v1.34") -> Json:
    return written(ClaimUsage(VERSIONS[profile].admission).usage(claim, 0))


def test_claims_count_by_their_class_too() -> None:
    prefix = "gold.storageclass.storage.k8s.io"
    assert _claim_usage(_claim()) == _TAKEN
    assert _claim_usage(_claim(storageClassName="gold")) == {
        **_TAKEN,
        f"{prefix}/persistentvolumeclaims": "1",
        f"{prefix}/requests.storage": "10Gi",
    }


def test_storage_counts_in_whole_bytes() -> None:
    assert _claim_usage(_claim("1500m"))["requests.storage"] == "2"


def test_allocated_storage_counts_when_it_is_more() -> None:
    claim = _claim("10Gi", allocated="20Gi")
    assert _claim_usage(claim)["requests.storage"] == "20Gi"
    assert _claim_usage(claim, "v1.20")["requests.storage"] == "10Gi"
    assert _claim_usage(_claim("10Gi", allocated="5Gi"))["requests.storage"] == "10Gi"


_PORTS = [{"port": 1}, {"port": 2, "nodePort": 30001}]


@pytest.mark.parametrize(
    ("spec", "node_ports", "load_balancers"),
    [
        ({"type": "ClusterIP", "ports": _PORTS}, "0", "0"),
        ({"type": "NodePort", "ports": _PORTS}, "2", "0"),
        ({"type": "LoadBalancer", "ports": _PORTS}, "2", "1"),
        (
            {"type": "LoadBalancer", "ports": _PORTS, "allocateLoadBalancerNodePorts": False},
            "1",
            "1",
        ),
        ({}, "0", "0"),
    ],
)
def test_services_take_ports_by_type(spec: Json, node_ports: str, load_balancers: str) -> None:
    service = from_manifest({"kind": "Service", "metadata": {"name": "s"}, "spec": spec})
    assert written(ServiceUsage(DEFAULT.admission).usage(service, 0)) == {
        "services": "1",
        "count/services": "1",
        "services.nodeports": node_ports,
        "services.loadbalancers": load_balancers,
    }


def test_other_objects_count_by_number() -> None:
    usage = CountUsage(("count/jobs.batch",))
    assert usage.matching(["count/jobs.batch", "pods"]) == ["count/jobs.batch"]
    job = from_manifest({"kind": "Job", "metadata": {"name": "j"}})
    assert written(usage.usage(job, 0)) == {"count/jobs.batch": "1"}


def test_amounts_are_printed_in_order() -> None:
    amounts = read_amounts({"services": "10", "limits.memory": "100Mi", "limits.cpu": "100m"})
    assert printed(amounts) == "limits.cpu=100m,limits.memory=100Mi,services=10"
