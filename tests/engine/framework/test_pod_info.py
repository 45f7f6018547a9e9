from typing import Any

import pytest

from engine.api_server.admission.defaulting import with_default_requests
from engine.framework.pods.pod_info import PodInfo
from engine.objects.pods.pod_resources import (
    HostPort,
    host_ports,
    is_scalar_resource_name,
    pod_resources,
)
from engine.objects.values.quantity import QuantityError
from engine.versions.registry import VERSIONS
from tests.engine.scheduler_builders import make_pod

MODERN, MIDDLE, CLASSIC = (VERSIONS[version].resources for version in ("v1.34", "v1.20", "v1.16"))
MIB = 2**20


def container(restart: str = "", **requests: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": "c", "resources": {"requests": requests}}
    return {**made, "restartPolicy": restart} if restart else made


def manifest(*containers: Any, init: Any = (), **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [*containers], "initContainers": [*init], **spec}}


def test_containers_add_up_beside_the_biggest_init_container() -> None:
    pod = manifest(
        container(cpu="100m", memory="1Gi"),
        container(cpu="200m"),
        init=[container(cpu="1", memory="10Mi")],
    )
    fit = pod_resources(pod, MODERN).fit
    assert (fit.milli_cpu, fit.memory) == (1000, 1024 * MIB)


def test_old_versions_forget_init_containers_of_placed_pods() -> None:
    pod = manifest(container(cpu="100m"), init=[container(cpu="1")])
    occupied = {
        version: pod_resources(pod, VERSIONS[version].resources).requested.milli_cpu
        for version in ("v1.16", "v1.20", "v1.34")
    }
    assert occupied == {"v1.16": 100, "v1.20": 1000, "v1.34": 1000}
    assert pod_resources(pod, CLASSIC).fit.milli_cpu == 1000


def test_sidecar_runs_beside_containers_and_later_init_ones() -> None:
    pod = manifest(
        container(cpu="100m"),
        init=[container(cpu="250m"), container("Always", cpu="50m"), container(cpu="300m")],
    )
    assert pod_resources(pod, MODERN).fit.milli_cpu == 350
    # Versions that know no sidecars take each for an ordinary init container.
    assert pod_resources(pod, CLASSIC).fit.milli_cpu == 300


def test_container_without_requests_counts_little_in_scores() -> None:
    pod = manifest(container(), container(cpu="0", memory="1Mi"))
    for rules in (CLASSIC, MIDDLE, MODERN):
        resources = pod_resources(pod, rules)
        assert (resources.non_zero_milli_cpu, resources.non_zero_memory) == (100, 201 * MIB)
        assert (resources.fit.milli_cpu, resources.fit.memory) == (0, MIB)


def test_overhead_counts_since_it_is_on_by_default() -> None:
    pod = manifest(container(cpu="1"), overhead={"cpu": "250m", "memory": "64Mi"})
    assert pod_resources(pod, CLASSIC).fit.milli_cpu == 1000
    assert pod_resources(pod, MIDDLE).fit.milli_cpu == 1250
    assert pod_resources(pod, MODERN).non_zero_milli_cpu == 1250
    # Upstream's scorer of v1.20 adds overhead cpu in whole cores, rounded up, as if it were milli.
    assert pod_resources(pod, MIDDLE).score_milli_cpu == 1001


def test_old_versions_round_containers_and_new_ones_sums() -> None:
    pod = manifest(container(memory="0.5"), container(memory="0.5"))
    assert pod_resources(pod, CLASSIC).fit.memory == 2
    assert pod_resources(pod, MODERN).fit.memory == 1


def test_api_rounds_up_what_is_below_a_thousandth() -> None:
    pod = manifest(container(cpu="0.5m"), container(cpu="0.5m"))
    assert pod_resources(pod, CLASSIC).fit.milli_cpu == 2
    assert pod_resources(pod, MODERN).fit.milli_cpu == 2


def test_pod_level_requests_replace_those_of_the_containers() -> None:
    pod = manifest(
        container(cpu="100m", **{"example.com/gpu": "1"}),
        container(cpu="100m"),
        resources={"requests": {"cpu": "2"}},
    )
    resources = pod_resources(pod, MODERN)
    assert resources.fit.milli_cpu == 2000
    assert resources.fit.scalars == (("example.com/gpu", 1),)
    assert (resources.non_zero_milli_cpu, resources.non_zero_memory) == (2000, 400 * MIB)
    assert (resources.score_milli_cpu, resources.score_memory) == (200, 400 * MIB)


def test_score_defaults_containers_that_leave_it_open() -> None:
    """And knows nothing of what the pod asks for as a whole. Upstream: fit.go NewFit()."""
    pod = manifest(
        container(cpu="1", memory="100Mi"), container(), resources={"requests": {"cpu": "2"}}
    )
    resources = pod_resources(pod, MODERN)
    assert (resources.non_zero_milli_cpu, resources.score_milli_cpu) == (2000, 1100)
    assert (resources.non_zero_memory, resources.score_memory) == (100 * MIB, 300 * MIB)


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        ({"limits": {"cpu": "2"}}, {"cpu": "1500m", "memory": "1Gi"}),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, {"hugepages-2Mi": "4Mi", "cpu": "1500m"}),
        ({"limits": {"cpu": "2"}, "requests": {"cpu": "1800m"}}, {"cpu": "1800m"}),
        ({"requests": {"cpu": "2"}}, {"cpu": "2"}),
    ],
)
def test_pod_with_limits_requests_what_its_containers_do(
    resources: dict[str, Any], requests: dict[str, str]
) -> None:
    limited = {"name": "d", "resources": {"limits": {"cpu": "1"}}}
    spec = {"containers": [container(cpu="500m", memory="1Gi"), limited], "resources": resources}
    found = with_default_requests(make_pod("p", spec=spec)).spec["resources"]["requests"]
    assert {name: found[name] for name in requests} == requests
    assert set(found) - set(requests) <= {"memory"}


def test_pod_limits_become_requests_where_no_container_requests() -> None:
    spec = {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    pod = with_default_requests(make_pod("p", spec=spec))
    assert pod.spec["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}


def test_resized_container_counts_the_larger_of_both() -> None:
    status = {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {}}
    pod = {**manifest(container(cpu="1")), "status": {"containerStatuses": [status]}}
    resources = pod_resources(pod, MODERN)
    assert (resources.requested.milli_cpu, resources.fit.milli_cpu) == (3000, 1000)
    infeasible = {"type": "PodResizePending", "reason": "Infeasible"}
    status["resources"] = {"requests": {"cpu": "500m"}}
    pod["status"]["conditions"] = [infeasible]
    assert pod_resources(pod, MODERN).requested.milli_cpu == 500


def resized_pod(conditions: Any = (), **requests: str) -> dict[str, Any]:
    return {
        **manifest(container(cpu="500m"), resources={"requests": {"cpu": "1", "memory": "1Gi"}}),
        "status": {
            "resources": {"requests": {"cpu": "2"}},
            "allocatedResources": requests,
            "conditions": [*conditions],
        },
    }


@pytest.mark.parametrize(("version", "milli"), [("v1.36", 3000), ("v1.35", 1000), ("v1.34", 1000)])
def test_resized_pod_counts_the_larger_of_both(version: str, milli: int) -> None:
    pod = resized_pod(cpu="3", **{"example.com/gpu": "1"})
    resources = pod_resources(pod, VERSIONS[version].resources)
    assert (resources.requested.milli_cpu, resources.fit.milli_cpu) == (milli, 1000)
    assert (resources.non_zero_milli_cpu, resources.requested.scalars) == (milli, ())


def test_whole_pod_with_infeasible_resize_counts_as_allocated() -> None:
    infeasible = {"type": "PodResizePending", "reason": "Infeasible"}
    pod = resized_pod([infeasible], cpu="500m")
    resources = pod_resources(pod, VERSIONS["v1.36"].resources)
    assert (resources.requested.milli_cpu, resources.requested.memory) == (2000, 0)


def test_allocation_alone_does_not_resize_a_whole_pod() -> None:
    pod = resized_pod(cpu="3")
    del pod["status"]["resources"]
    assert pod_resources(pod, VERSIONS["v1.36"].resources).requested.milli_cpu == 1000


def test_last_of_two_container_statuses_counts() -> None:
    resized = {"name": "c", "resources": {"requests": {"cpu": "3"}}}
    for statuses, milli in (([{"name": "c"}, resized], 3000), ([resized, {"name": "c"}], 1000)):
        pod = {**manifest(container(cpu="1")), "status": {"containerStatuses": statuses}}
        assert pod_resources(pod, MODERN).requested.milli_cpu == milli


def test_only_scalar_resources_count_beside_the_native_three() -> None:
    pod = manifest(
        container(**{"hugepages-2Mi": "4Mi", "a.b/c": "2", "storage": "1Gi", "foo": "3"})
    )
    for rules in (CLASSIC, MODERN):
        fit = pod_resources(pod, rules).fit
        assert fit.scalars == (("a.b/c", 2), ("hugepages-2Mi", 4 * MIB))
        assert fit.get("hugepages-2Mi") == 4 * MIB
    assert is_scalar_resource_name("attachable-volumes-aws-ebs")
    assert not is_scalar_resource_name("requests.a.b/c")


def test_ports_of_sidecars_count_where_sidecars_exist() -> None:
    port = {"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2}]}
    pod = {
        "spec": {
            "containers": [port],
            "initContainers": [{"restartPolicy": "Always", **port}, port],
        }
    }
    taken = HostPort(ip="0.0.0.0", protocol="TCP", port=9)
    assert host_ports(pod, MODERN) == (taken, taken)
    assert host_ports(pod, CLASSIC) == (taken,)


def test_pods_of_one_template_share_what_was_parsed() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec = {"affinity": {"podAffinity": required}}
    one, two = (PodInfo(make_pod(name, cpu="1", spec=spec), MODERN) for name in ("a", "b"))
    assert one.resources is two.resources
    assert one.affinity is two.affinity
    assert one.affinity.required[0].matches("default", {"app": "db"})
    assert not one.affinity.required[0].matches("other", {"app": "db"})


def test_match_label_keys_take_values_of_the_pod() -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash", "absent"],
        "mismatchLabelKeys": ["tenant"],
        "topologyKey": "zone",
    }
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    labels = {"hash": "1", "tenant": "x"}
    info = PodInfo(make_pod("a", labels=labels, spec={"affinity": anti}), MODERN)
    (parsed,) = info.affinity.required_anti
    assert parsed.matches("default", {"app": "web", "hash": "1", "tenant": "y"})
    assert not parsed.matches("default", {"app": "web", "hash": "2", "tenant": "y"})
    assert not parsed.matches("default", {"app": "web", "hash": "1", "tenant": "x"})


def test_newer_version_is_parsed_again_where_it_changed() -> None:
    pod = make_pod("a", cpu="1")
    info = PodInfo(pod, MODERN)
    bound = info.updated(pod.patched({"spec": {"nodeName": "n1"}}))
    assert bound.node_name == "n1"
    assert bound.resources is info.resources
    resized = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]}
    assert info.updated(pod.patched({"spec": resized})).resources.fit.milli_cpu == 2000


def test_request_without_a_quantity_is_an_error() -> None:
    with pytest.raises(QuantityError):
        pod_resources(manifest(container(cpu="lots")), MODERN)


def test_old_versions_ignore_namespace_selectors_and_label_keys() -> None:
    term = {
        "topologyKey": "zone",
        "labelSelector": {"matchLabels": {"app": "x"}},
        "namespaceSelector": {},
        "matchLabelKeys": ["version"],
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    labels = {"version": "2"}
    spec = {"affinity": {"podAntiAffinity": required}}
    for rules, own, other in ((CLASSIC, True, False), (MODERN, False, True)):
        info = PodInfo(make_pod("p", labels=labels, spec=spec), rules)
        (found,) = info.affinity.required_anti
        assert found.matches("default", {"app": "x"}) is own
        assert found.matches("other", {"app": "x", "version": "2"}) is other


def test_old_versions_ignore_zeros_of_init_containers() -> None:
    """Upstream: SetMaxResource()."""
    pod = manifest(container(), init=[container(**{"example.com/gpu": "0"})])
    assert pod_resources(pod, CLASSIC).fit.scalars == ()
    assert pod_resources(pod, MIDDLE).fit.scalars == ()
    assert pod_resources(pod, MODERN).fit.scalars == (("example.com/gpu", 0),)
