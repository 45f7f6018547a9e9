"""What may not change of stored objects. Upstream: the tests of each Validate…Update()."""

from typing import Any

import pytest

from engine.api_server.validation import pod_updates
from engine.api_server.validation.updates import update_errors

Manifest = dict[str, Any]

CONTAINER = {"name": "c", "image": "app:1"}
POD: Manifest = {"containers": [CONTAINER], "terminationGracePeriodSeconds": 30}
NEEDS_ONE = [{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}]
TEMPLATE = {"spec": {"containers": [CONTAINER]}}
ONCE = 'except from "" to valid'


def _of(kind: str, **parts: Any) -> Manifest:
    return {"kind": kind, "apiVersion": "apps/v1", **parts}


def _spec_error(kind: str, old: Manifest, new: Manifest, **parts: Any) -> str:
    return "\n".join(update_errors(_of(kind, spec=old, **parts), _of(kind, spec=new, **parts)))


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment", "Job", "ReplicaSet"])
def test_a_selector_is_immutable(kind: str) -> None:
    old, new = ({"selector": {"matchLabels": {"a": value}}} for value in "bc")
    assert _spec_error(kind, old, old) == ""
    assert _spec_error(kind, old, new) == (
        'spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable'
    )


def test_a_selector_of_an_old_version_may_change() -> None:
    old, new = ({"selector": {"matchLabels": {"a": value}}} for value in "bc")
    assert _spec_error("Deployment", old, new, apiVersion="apps/v1") != ""
    old_version = {"kind": "Deployment", "apiVersion": "extensions/v1beta1"}
    assert update_errors({**old_version, "spec": old}, {**old_version, "spec": new}) == []


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        ("StatefulSet", {"serviceName": "a"}, {"serviceName": "b"}, "spec: Forbidden: updates to"),
        ("StatefulSet", {}, {"podManagementPolicy": "Parallel"}, "'template', 'updateStrategy',"),
        ("StatefulSet", {}, {"volumeClaimTemplates": [{}]}, "'minReadySeconds' are forbidden"),
        ("Job", {"template": {}}, {"template": TEMPLATE}, "spec.template: Invalid value: {"),
        (
            "Job",
            {"completions": 1},
            {"completions": 2},
            "spec.completions: Invalid value: 2: field",
        ),
        ("Job", {}, {"completionMode": "Indexed", "completions": 2}, "in tandem with spec.paral"),
        ("Job", {}, {"managedBy": "a/b"}, 'spec.managedBy: Invalid value: "a/b": field is immutab'),
        ("ResourceQuota", {"scopes": ["BestEffort"]}, {}, "spec.scopes: Invalid value: []: field"),
        ("Node", {"podCIDR": "a"}, {"podCIDR": "b"}, "spec.podCIDRs: Forbidden: node updates may"),
        ("Node", {"podCIDR": "a", "podCIDRs": ["a"]}, {"podCIDRs": ["b"]}, f"podCIDR {ONCE}"),
        ("Node", {"providerID": "a"}, {}, "spec.providerID: Forbidden: node updates may not chan"),
    ],
)
def test_field_of_a_spec_that_may_not_change(
    kind: str, old: Manifest, new: Manifest, said: str
) -> None:
    assert said in _spec_error(kind, old, new)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("StatefulSet", {"replicas": 1}, {"replicas": 2, "podManagementPolicy": "OrderedReady"}),
        ("StatefulSet", {}, {"template": TEMPLATE, "updateStrategy": {}, "ordinals": {"start": 1}}),
        ("Job", {"parallelism": 1}, {"parallelism": 2, "suspend": True, "backoffLimit": 3}),
        ("Job", {}, {"completions": 1, "parallelism": 1, "completionMode": "NonIndexed"}),
        (
            "Job",
            {"completionMode": "Indexed", "completions": 1, "parallelism": 1},
            {"completionMode": "Indexed", "completions": 2, "parallelism": 2},
        ),
        ("ResourceQuota", {"scopes": ["A", "B"]}, {"scopes": ["B", "A"], "hard": {"pods": "1"}}),
        ("Node", {}, {"podCIDR": "a", "providerID": "b", "unschedulable": True}),
        ("Deployment", {"replicas": 1}, {"replicas": 2, "template": TEMPLATE}),
    ],
)
def test_a_field_of_a_spec_that_may_change(kind: str, old: Manifest, new: Manifest) -> None:
    assert _spec_error(kind, old, new) == ""


@pytest.mark.parametrize(
    ("status", "allowed"), [({}, True), ({"startTime": "2026-01-01T00:00:00Z"}, False)]
)
def test_suspended_job_that_never_started_may_go_elsewhere(status: Manifest, allowed: bool) -> None:
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}
    moved = {**TEMPLATE["spec"], "nodeSelector": {"zone": "b"}, "affinity": affinity}
    old = {"suspend": True, "template": TEMPLATE}
    new = {"suspend": True, "template": {"metadata": {"labels": {"a": "b"}}, "spec": moved}}
    assert (_spec_error("Job", old, new, status=status) == "") is allowed
    image = {"containers": [{"name": "c", "image": "app:2"}]}
    assert _spec_error("Job", old, {**old, "template": {"spec": image}}, status=status) != ""


SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}], "startTime": "x"}


@pytest.mark.parametrize(
    ("status", "rule", "allowed"),
    [
        ({}, True, True),
        (SUSPENDED, True, True),
        ({**SUSPENDED, "active": 1}, True, False),
        ({"startTime": "x"}, True, False),
        (SUSPENDED, False, False),
    ],
    ids=["new", "suspended", "active", "unmarked", "older"],
)
def test_job_without_pods_may_ask_for_more(status: Manifest, rule: bool, allowed: bool) -> None:
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "2"}}}
    old = _of("Job", spec={"suspend": True, "template": TEMPLATE}, status=status)
    template = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "containers": [container]}}
    new = _of("Job", spec={"suspend": True, "template": template}, status=status)
    assert (update_errors(old, new, job_resources=rule) == []) is allowed


@pytest.mark.parametrize(
    ("kind", "old", "new", "said"),
    [
        (
            "StorageClass",
            {"parameters": {"type": "ssd"}},
            {"parameters": {"type": "hdd"}},
            "parameters: Forbidden: updates to parameters are forbidden.",
        ),
        (
            "StorageClass",
            {"provisioner": "a"},
            {"provisioner": "b"},
            "provisioner: Forbidden: updates to provisioner are forbidden.",
        ),
        (
            "StorageClass",
            {},
            {"reclaimPolicy": "Retain"},
            "reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.",
        ),
        (
            "StorageClass",
            {},
            {"volumeBindingMode": "WaitForFirstConsumer"},
            'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
        ),
        ("StorageClass", {}, {"allowVolumeExpansion": True, "reclaimPolicy": "Delete"}, ""),
        (
            "PriorityClass",
            {"value": 1},
            {"value": 2},
            "value: Forbidden: may not be changed in an update.",
        ),
        (
            "PriorityClass",
            {},
            {"preemptionPolicy": "Never"},
            'preemptionPolicy: Invalid value: "Never": field is immutable',
        ),
        ("PriorityClass", {}, {"globalDefault": True, "description": "x"}, ""),
        ("Secret", {}, {"type": "a/b"}, 'type: Invalid value: "a/b": field is immutable'),
        ("ConfigMap", {"data": {"a": "b"}}, {"data": {}, "immutable": True}, ""),
        (
            "ConfigMap",
            {"immutable": True},
            {"immutable": False},
            "immutable: Forbidden: field is immutable when `immutable` is set",
        ),
        (
            "ConfigMap",
            {"immutable": True},
            {"immutable": True, "data": {"a": "b"}},
            "data: Forbidden: field is immutable when `immutable` is set",
        ),
    ],
)
def test_a_field_beside_a_spec(kind: str, old: Manifest, new: Manifest, said: str) -> None:
    assert "\n".join(update_errors(_of(kind, **old), _of(kind, **new))[:1]) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"containers": NEEDS_ONE},
            "spec: Forbidden: pod updates may not change fields other than",
        ),
        ({"containers": [{**CONTAINER, "name": "d"}]}, '-   "name": "c"\n+   "name": "d"'),
        ({"containers": [{**CONTAINER, "env": [{"name": "A"}]}]}, "`spec.containers[*].image`,"),
        ({"containers": [CONTAINER] * 2}, "spec.containers: Forbidden: pod updates may not add or"),
        (
            {"initContainers": [CONTAINER]},
            "spec.initContainers: Forbidden: pod updates may not add",
        ),
        ({"activeDeadlineSeconds": 20}, "20: must be less than or equal to previous value"),
        ({"activeDeadlineSeconds": None}, "must not update from a positive integer to nil value"),
        ({"tolerations": []}, "spec.tolerations: Forbidden: existing toleration can not be modif"),
        ({"terminationGracePeriodSeconds": 1}, '"terminationGracePeriodSeconds": 1'),
        ({"nodeName": "n"}, '+ "nodeName": "n"'),
        ({"schedulingGates": [{"name": "g"}]}, "but found new scheduling gate 'g'"),
    ],
)
def test_a_client_may_not_change_a_pod(change: Manifest, said: str) -> None:
    old = {**POD, "activeDeadlineSeconds": 10, "tolerations": [{"key": "k"}]}
    assert said in "\n".join(pod_updates.update_errors(old, {**old, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"containers": [{**CONTAINER, "image": "app:2"}]},
        {"activeDeadlineSeconds": 5},
        {"tolerations": [{"key": "k", "operator": "Equal", "tolerationSeconds": 5}, {"key": "l"}]},
        {"schedulingGates": []},
        {"volumes": []},
    ],
)
def test_a_client_may_change_a_pod(change: Manifest) -> None:
    gates = [{"name": "g"}]
    old = {**POD, "tolerations": [{"key": "k"}], "schedulingGates": gates}
    assert pod_updates.update_errors(old, {**old, **change}) == []


def test_a_negative_grace_period_may_become_a_second() -> None:
    old = {**POD, "terminationGracePeriodSeconds": -1}
    assert pod_updates.update_errors(old, {**old, "terminationGracePeriodSeconds": 1}) == []


def test_admission_completes_an_incomplete_pod_update() -> None:
    bears = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    old = {**POD, "priority": 7, "tolerations": [{**bears, "tolerationSeconds": 300}]}
    assert pod_updates.with_admitted(old, POD) == old
