"""Defaults on the way out. Upstream: pkg/apis/core/v1/defaults_test.go and its like."""

import copy
from typing import Any

import pytest

from kube.defaults import defaulted
from kube.resources import SERVED
from tests.kube.served import of_kind

CONTAINER: dict[str, Any] = {"name": "c", "image": "nginx"}
METADATA = {"name": "a", "namespace": "default"}


def _defaulted(kind: str, /, **parts: Any) -> dict[str, Any]:
    return defaulted(of_kind(kind), {"metadata": METADATA, **parts})


def _container(**fields: Any) -> dict[str, Any]:
    return _defaulted("Pod", spec={"containers": [{**CONTAINER, **fields}]})["spec"]["containers"][
        0
    ]


def _volume(**source: Any) -> dict[str, Any]:
    return _defaulted("Pod", spec={"volumes": [{"name": "v", **source}]})["spec"]["volumes"][0]


def test_pod_belongs_to_the_default_scheduler() -> None:
    spec = _defaulted("Pod", spec={})["spec"]
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["restartPolicy"] == "Always"
    assert spec["serviceAccountName"] == "default"
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")


def test_given_values_stay_as_they_are() -> None:
    given = {"schedulerName": "mine", "serviceAccountName": "me", "priority": 7}
    spec = _defaulted("Pod", spec=given)["spec"]
    assert spec.items() >= given.items()
    assert spec["serviceAccount"] == "me"


def test_null_counts_as_absent() -> None:
    assert _defaulted("Pod", spec={"schedulerName": None})["spec"]["schedulerName"]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1.2", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
    ],
)
def test_newest_image_is_pulled_always(image: str, policy: str) -> None:
    assert _container(image=image)["imagePullPolicy"] == policy


def test_defaults_of_containers_are_filled_in() -> None:
    container = _container(
        ports=[{"containerPort": 80}],
        livenessProbe={"httpGet": {"port": 80}},
        env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
    )
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert container["livenessProbe"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert container["livenessProbe"]["failureThreshold"] == 3
    assert container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] == "v1"
    assert container["terminationMessagePath"] == "/dev/termination-log"


def test_limits_are_requested_by_pods_only() -> None:
    container = {**CONTAINER, "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}}
    pod = _defaulted("Pod", spec={"containers": [container]})
    amounts = {"cpu": "1", "memory": "1Gi"}
    [made] = pod["spec"]["containers"]
    assert made["resources"] == {"limits": amounts, "requests": amounts}
    assert pod["status"]["qosClass"] == "Guaranteed"
    template = {"spec": {"containers": [container]}}
    spec = _defaulted("ReplicaSet", spec={"template": template})["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"] == {"limits": amounts}
    assert "serviceAccountName" not in spec


def test_volumes_of_pods_are_completed() -> None:
    assert _volume()["emptyDir"] == {}
    assert _volume(configMap={"name": "x"})["configMap"] == {"name": "x", "defaultMode": 420}
    assert _volume(hostPath={"path": "/x"})["hostPath"]["type"] == ""
    token = _volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]})
    assert token["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] == 3600
    claim = _volume(ephemeral={"volumeClaimTemplate": {"spec": {}}})
    assert claim["ephemeral"]["volumeClaimTemplate"]["spec"]["volumeMode"] == "Filesystem"


def test_deployment_rolls_by_a_quarter() -> None:
    spec = _defaulted("Deployment", spec={"template": {"spec": {}}})["spec"]
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["replicas"], spec["revisionHistoryLimit"]) == (1, 10)
    assert spec["template"]["spec"]["schedulerName"] == "default-scheduler"
    recreated = _defaulted("Deployment", spec={"strategy": {"type": "Recreate"}})["spec"]
    assert "rollingUpdate" not in recreated["strategy"]


def test_stateful_set_keeps_its_claims() -> None:
    spec = _defaulted("StatefulSet", spec={"volumeClaimTemplates": [{"metadata": {"name": "d"}}]})
    [template] = spec["spec"]["volumeClaimTemplates"]
    assert template["kind"] == "PersistentVolumeClaim"
    assert template["spec"]["volumeMode"] == "Filesystem"
    assert template["status"] == {"phase": "Pending"}
    policy = spec["spec"]["persistentVolumeClaimRetentionPolicy"]
    assert policy == {"whenDeleted": "Retain", "whenScaled": "Retain"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"completions": 1, "parallelism": 1, "backoffLimit": 6}),
        ({"parallelism": 2}, {"parallelism": 2}),
        ({"backoffLimitPerIndex": 1}, {"backoffLimit": 2147483647}),
        ({"podFailurePolicy": {}}, {"podReplacementPolicy": "Failed"}),
    ],
)
def test_job_counts_as_upstream_does(given: Any, expected: Any) -> None:
    spec = _defaulted("Job", spec=given)["spec"]
    assert spec.items() >= expected.items()
    assert ("completions" in spec) == ("parallelism" not in given)


def test_replication_controller_selects_its_template() -> None:
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {}}
    spec = _defaulted("ReplicationController", spec={"template": template})["spec"]
    assert spec["selector"] == {"app": "a"}


def test_service_is_completed_by_its_type() -> None:
    plain = _defaulted("Service", spec={"ports": [{"port": 80}]})["spec"]
    assert plain["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert plain["internalTrafficPolicy"] == "Cluster"
    balanced = _defaulted("Service", spec={"type": "LoadBalancer"})["spec"]
    assert balanced["allocateLoadBalancerNodePorts"] is True
    assert balanced["externalTrafficPolicy"] == "Cluster"
    assert (
        "internalTrafficPolicy" not in _defaulted("Service", spec={"type": "ExternalName"})["spec"]
    )


def test_defaults_of_storage_are_filled_in() -> None:
    assert _defaulted("StorageClass")["volumeBindingMode"] == "Immediate"
    assert _defaulted("PersistentVolumeClaim")["status"]["phase"] == "Pending"
    volume = _defaulted("PersistentVolume", spec={"capacity": {"storage": "2048Mi"}})["spec"]
    assert volume["capacity"] == {"storage": "2Gi"}
    assert volume["persistentVolumeReclaimPolicy"] == "Retain"
    assert _defaulted("CSIDriver")["spec"]["attachRequired"] is True


def test_device_requests_ask_for_one() -> None:
    requests = [
        {"name": "a", "exactly": {"deviceClassName": "x"}},
        {"name": "b", "firstAvailable": [{"name": "c", "allocationMode": "All"}]},
    ]
    found = _defaulted("ResourceClaim", spec={"devices": {"requests": requests}})
    first, second = found["spec"]["devices"]["requests"]
    assert first["exactly"] == {"deviceClassName": "x", "allocationMode": "ExactCount", "count": 1}
    assert "count" not in second["firstAvailable"][0]


def test_node_can_allocate_its_capacity() -> None:
    status = _defaulted("Node", status={"capacity": {"cpu": "4000m"}})["status"]
    assert status["allocatable"] == status["capacity"] == {"cpu": "4"}


def test_node_without_conditions_is_ready() -> None:
    conditions = _defaulted("Node")["status"]["conditions"]
    assert [(one["type"], one["status"]) for one in conditions] == [
        ("MemoryPressure", "False"),
        ("DiskPressure", "False"),
        ("PIDPressure", "False"),
        ("Ready", "True"),
    ]
    given = [{"type": "Ready", "status": "False"}]
    assert _defaulted("Node", status={"conditions": given})["status"]["conditions"] == given


def test_limits_of_containers_follow_from_another() -> None:
    item = {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}
    [limit] = _defaulted("LimitRange", spec={"limits": [item]})["spec"]["limits"]
    assert limit["default"] == {"cpu": "2"}
    assert limit["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def test_namespace_has_its_name_as_label() -> None:
    namespace = _defaulted("Namespace")
    assert namespace["metadata"]["labels"] == {"kubernetes.io/metadata.name": "a"}
    assert namespace["spec"] == {"finalizers": ["kubernetes"]}
    assert namespace["status"] == {"phase": "Active"}


def test_version_is_the_one_that_is_served() -> None:
    found = _defaulted("Deployment", apiVersion="apps/v1beta1", kind="Deployment")
    assert found["apiVersion"] == "apps/v1"
    assert list(found)[:2] == ["kind", "apiVersion"]


def test_manifest_itself_stays_unchanged() -> None:
    container = {
        **CONTAINER,
        "resources": {"limits": {"cpu": 1}},
        "ports": [{"containerPort": 1}],
        "env": [{"name": "A", "valueFrom": {"fieldRef": {}}}],
        "readinessProbe": {"grpc": {"port": 1}},
    }
    volumes = [
        {"name": "a", "projected": {"sources": [{"downwardAPI": {"items": [{"fieldRef": {}}]}}]}},
        {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": {}}}}},
        {"name": "c", "downwardAPI": {"items": [{"path": "x", "fieldRef": {}}]}},
    ]
    pod_spec = {"containers": [container], "initContainers": [container], "volumes": volumes}
    spec = {
        **pod_spec,
        "template": {"spec": pod_spec},
        "capacity": {"storage": "1024Mi"},
        "ports": [{"port": 1}],
        "limits": [{"type": "Container", "max": {"cpu": 1}}],
        "devices": {"requests": [{"exactly": {}}, {"firstAvailable": [{}]}]},
        "spec": {"devices": {"requests": [{"exactly": {}}]}},
        "hard": {"cpu": "1000m"},
        "volumeClaimTemplates": [{"metadata": {}, "spec": {"resources": {"requests": {"a": 1}}}}],
    }
    status = {"capacity": {"cpu": "1000m"}, "hard": {"cpu": "1000m"}}
    given = {"metadata": METADATA, "spec": spec, "status": status, "capacity": "1024Mi"}
    before = copy.deepcopy(given)
    for resource in SERVED:
        defaulted(resource, given)
        assert given == before, resource.kind


def test_unreadable_fields_stay_as_they_are() -> None:
    assert _container(ports="x", livenessProbe=3)["ports"] == "x"
    capacity = {"cpu": [], "memory": "much", "pods": True}
    assert _defaulted("Node", status={"capacity": capacity})["status"]["capacity"] == {
        **capacity,
        "pods": "True",
    }


def test_defaults_of_defaults_change_nothing() -> None:
    spec = {
        "containers": [{**CONTAINER, "resources": {"limits": {"cpu": "0.5"}}}],
        "template": {"spec": {"containers": [CONTAINER], "volumes": [{"name": "v"}]}},
        "parallelism": 2,
        "ports": [{"port": 1}],
        "limits": [{"type": "Container", "max": {"cpu": 1}}],
        "volumeClaimTemplates": [{"metadata": {}, "spec": {}}],
    }
    for resource in SERVED:
        once = defaulted(resource, {"metadata": METADATA, "spec": spec})
        assert defaulted(resource, once) == once, resource.kind


def test_empty_fields_of_a_container_status_are_written() -> None:
    statuses = [{"name": "c", "image": "nginx", "ready": True, "restartCount": 0}]
    [status] = _defaulted("Pod", status={"containerStatuses": statuses})["status"][
        "containerStatuses"
    ]
    assert (status["imageID"], status["lastState"], status["state"]) == ("", {}, {})


def test_a_pod_that_nobody_changed_has_generation_1() -> None:
    made = {"metadata": {"name": "web"}, "spec": {"containers": []}}
    assert defaulted(of_kind("Pod"), made)["metadata"]["generation"] == 1
    status = {"startTime": "2026-01-01T00:00:00Z"}
    again = {**made, "metadata": {"name": "web", "generation": 3}, "status": status}
    assert defaulted(of_kind("Pod"), again)["status"]["observedGeneration"] == 3


def test_a_revision_holds_the_template_as_shown() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "a:1"}]}}
    made = {"metadata": {"name": "web"}, "spec": {"template": template}}
    shown = defaulted(of_kind("DaemonSet"), made)["spec"]["template"]
    data = {"spec": {"template": {"$patch": "replace", **template}}}
    revision = defaulted(of_kind("ControllerRevision"), {"metadata": {"name": "r"}, "data": data})
    held = revision["data"]["spec"]["template"]
    assert held == {"$patch": "replace", **shown}
    assert [*held["spec"]] == sorted(held["spec"])
