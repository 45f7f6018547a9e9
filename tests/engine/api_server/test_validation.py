"""Each field that an engine reads is checked, so that no engine ever meets what it cannot read."""

import json
from typing import Any

import pytest

from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report
from engine.input.loader import load_files

Manifest = dict[str, Any]


def asking(requests: Manifest, limits: Manifest) -> Manifest:
    return {"name": "main", "resources": {"requests": requests, "limits": limits}}


CONTAINERS = [{"name": "main"}]
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
WORKLOAD: Manifest = {
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}},
}
VERSIONS = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "PodDisruptionBudget": "policy/v1",
    "StorageClass": "storage.k8s.io/v1",
    "VolumeAttachment": "storage.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}


def _problems(kind: str, **parts: Any) -> list[tuple[str, str]]:
    """The (field, message) of all that is wrong with a manifest of these parts."""
    manifest = {"apiVersion": VERSIONS.get(kind, "v1"), "kind": kind, "metadata": {"name": "x"}}
    found = load_files([("a.json", json.dumps(manifest | parts).encode())])
    assert not (found.objects and found.problems), "nothing is taken from a broken file"
    return [(problem.field, problem.message) for problem in found.problems]


def _of_pod(**spec: Any) -> list[tuple[str, str]]:
    return _problems("Pod", spec={"containers": CONTAINERS, **spec})


@pytest.mark.parametrize(
    ("kind", "parts", "field"),
    [
        ("Pod", {"status": {"conditions": [{"type": "Ready"}]}}, "status.conditions[0].status"),
        ("Pod", {"status": {"startTime": "now"}}, "status.startTime"),
        ("Node", {"status": {"volumesAttached": ["disk"]}}, "status.volumesAttached[0]"),
        ("Node", {"status": {"volumesInUse": "disk"}}, "status.volumesInUse"),
        ("Node", {"metadata": {"name": "x", "labels": {"a": None}}}, "metadata.labels.a"),
        ("PersistentVolume", {"spec": {**VOLUME, "csi": {"driver": "d"}}}, "spec.csi.volumeHandle"),
        ("PersistentVolume", {"spec": {**VOLUME, "local": "/mnt"}}, "spec.local"),
        (
            "PersistentVolume",
            {"spec": {**VOLUME, "nodeAffinity": {"required": {"nodeSelectorTerms": [None]}}}},
            "spec.nodeAffinity.required.nodeSelectorTerms[0]",
        ),
        (
            "PersistentVolumeClaim",
            {"spec": CLAIM, "status": {"accessModes": 3}},
            "status.accessModes",
        ),
        ("StorageClass", {}, "provisioner"),
        ("StorageClass", {"provisioner": "p", "parameters": {"a": 1}}, "parameters.a"),
        ("VolumeAttachment", {"spec": {"attacher": "d", "nodeName": "n"}}, "spec.source"),
        ("PodDisruptionBudget", {"spec": {"minAvailable": "half"}}, "spec.minAvailable"),
        ("PodDisruptionBudget", {"status": {"disruptedPods": ["p"]}}, "status.disruptedPods"),
        ("Namespace", {"spec": {"finalizers": "kubernetes"}}, "spec.finalizers"),
        ("RuntimeClass", {"scheduling": {"nodeSelector": "a=b"}}, "scheduling.nodeSelector"),
        ("Deployment", {}, "spec"),
        ("Deployment", {"spec": {}}, "spec.template"),
        ("Deployment", {"spec": {**WORKLOAD, "selector": None}}, "spec.selector"),
        ("Deployment", {"spec": {**WORKLOAD, "strategy": "Recreate"}}, "spec.strategy"),
        ("Job", {"spec": {"template": {}}}, "spec.template.spec"),
        (
            "StatefulSet",
            {"spec": {**WORKLOAD, "volumeClaimTemplates": [{"metadata": {}, "spec": CLAIM}]}},
            "spec.volumeClaimTemplates[0].metadata.name",
        ),
        ("Service", {"status": ["x"]}, "status"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(kind: str, parts: Manifest, field: str) -> None:
    if kind == "Pod":
        parts = {"spec": {"containers": CONTAINERS}, **parts}
    assert [where for where, _ in _problems(kind, **parts)] == [field]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"nodeSelector": "zone"}, "spec.nodeSelector"),
        ({"activeDeadlineSeconds": 0}, "spec.activeDeadlineSeconds"),
        ({"volumes": [{"name": "v", "hostPath": {}}]}, "spec.volumes[0].hostPath.path"),
        ({"volumes": [{"name": "v", "image": "app:1"}]}, "spec.volumes[0].image"),
        (
            {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": 7}}]},
            "spec.volumes[0].persistentVolumeClaim.claimName",
        ),
        (
            {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]},
            "spec.volumes[0].ephemeral.volumeClaimTemplate.spec",
        ),
        (
            {"containers": [{"name": "c", "volumeMounts": [{"mountPath": "/d"}]}]},
            "spec.containers[0].volumeMounts[0].name",
        ),
    ],
)
def test_a_pod_is_checked_down_to_its_volumes(spec: Manifest, field: str) -> None:
    assert [where for where, _ in _of_pod(**spec)] == [field]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"nodeName": "n" * 254}, "spec.nodeName"),
        ({"volumes": [{"name": "n" * 64}]}, "spec.volumes[0].name"),
        ({"volumes": [{"name": "a/b"}]}, "spec.volumes[0].name"),
    ],
)
def test_names_in_a_spec_have_a_maximum_length(spec: Manifest, field: str) -> None:
    assert [where for where, _ in _of_pod(**spec)] == [field]


def test_bounds_are_parsed_as_upstream_parses_them() -> None:
    term = {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["new"]}]}
    required = {"nodeSelectorTerms": [term]}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": required,
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}],
    }
    assert not _of_pod(affinity={"nodeAffinity": affinity})


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_a_workload_must_select_its_own_pods(kind: str) -> None:
    other = {**WORKLOAD, "selector": {"matchLabels": {"app": "api"}}}
    assert _problems(kind, spec=other) == [
        ("spec.template.metadata.labels", "`selector` does not match template `labels`")
    ]
    assert _problems(kind, spec=WORKLOAD) == []


@pytest.mark.parametrize(
    ("surge", "unavailable", "problems"),
    [
        (
            0,
            "0%",
            [("spec.strategy.rollingUpdate.maxUnavailable", "may not be 0 when `maxSurge` is 0")],
        ),
        (0, "1%", []),
        ("0%", None, []),
    ],
)
def test_a_rollout_has_to_be_able_to_begin(
    surge: Any, unavailable: Any, problems: list[tuple[str, str]]
) -> None:
    rolling = {
        "maxSurge": surge,
        **({} if unavailable is None else {"maxUnavailable": unavailable}),
    }
    spec = {**WORKLOAD, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}
    assert _problems("Deployment", spec=spec) == problems


@pytest.mark.parametrize("version", ["extensions/v1beta1", "apps/v1beta1"])
def test_an_old_workload_may_leave_its_selector_out(version: str) -> None:
    spec = {**WORKLOAD, "selector": None}
    assert _problems("Deployment", apiVersion=version, spec=spec) == []
    spec["template"] = {"spec": {"containers": CONTAINERS}}
    assert _problems("Deployment", apiVersion=version, spec=spec) == [
        ("spec.selector", "is missing")
    ]


def test_unread_kinds_need_only_a_name() -> None:
    assert _problems("Deployment", apiVersion="example.com/v1", spec="anything")[0][1].startswith(
        "nothing that kscope simulates"
    )


@pytest.mark.parametrize("amount", [10**30, -(10**30), "1e400"])
def test_numbers_beyond_64_bits_are_refused_or_counted(amount: Any) -> None:
    found = _of_pod(priority=amount)
    assert [where for where, _ in found] == ["spec.priority"]
    resources = {"requests": {"cpu": amount}}
    found = _of_pod(containers=[{"name": "c", "resources": resources}])
    wrong = amount != 10**30
    assert [where for where, _ in found] == ["spec.containers[0].resources.requests.cpu"] * wrong


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        ({"matchLabels": {"app": "{{app}}"}}, "matchLabels.app"),
        ({"matchLabels": {"-app": "web"}}, "matchLabels[-app]"),
        (
            {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "a b"]}]},
            "matchExpressions[0].values[1]",
        ),
    ],
)
def test_a_selector_of_invalid_labels_is_refused(selector: Manifest, field: str) -> None:
    term = {"topologyKey": "zone", "labelSelector": selector}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    problems = _of_pod(affinity=affinity)
    start = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
    assert [named for named, _ in problems] == [f"{start}.labelSelector.{field}"]
    assert _of_pod(affinity={"podAffinity": {}}) == []


_MISMATCH = ("spec.template.metadata.labels", "`selector` does not match template `labels`")


def _job(selector: Manifest | None, labels: Manifest, **parts: Any) -> list[tuple[str, str]]:
    template = {"metadata": {"labels": labels}, "spec": {"containers": CONTAINERS}}
    spec = {"template": template, "selector": selector, **parts.pop("spec", {})}
    return _problems("Job", spec=spec, **parts)


def test_a_job_needs_no_selector() -> None:
    assert _job(None, {"app": "web"}) == []


def test_a_jobs_own_selector_is_refused() -> None:
    wanted = [("spec.selector", "`selector` not auto-generated")]
    assert _job({"matchLabels": {"app": "web"}}, {"app": "web"}) == wanted
    assert _job({"matchLabels": {"app": "api"}}, {"app": "web"}) == wanted


def test_a_jobs_manual_selector_must_match_its_template() -> None:
    manual = {"manualSelector": True}
    assert _job({"matchLabels": {"app": "web"}}, {"app": "web"}, spec=manual) == []
    assert _job({"matchLabels": {"app": "api"}}, {"app": "web"}, spec=manual) == [_MISMATCH]
    assert _job(None, {"app": "web"}, spec=manual) == [("spec.selector", "is missing")]


@pytest.mark.parametrize("label", ["controller-uid", "batch.kubernetes.io/controller-uid"])
def test_a_dumped_jobs_generated_selector_is_accepted(label: str) -> None:
    labels = {label: "u-1", "job-name": "x"}
    metadata = {"name": "x", "uid": "u-1"}
    assert _job({"matchLabels": {label: "u-1"}}, labels, metadata=metadata) == []
    assert _job({"matchLabels": {label: "u-1"}}, labels) == []


_FAIL_INDEX = {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}}
_BOTH = {"onPodConditions": [{"type": "DisruptionTarget"}], **_FAIL_INDEX, "action": "Ignore"}


@pytest.mark.parametrize(
    ("parts", "problems"),
    [
        (
            {"completionMode": "Indexed"},
            [("spec.completions", "when completion mode is Indexed")],
        ),
        (
            {"completionMode": "Indexed", "completions": 10**9},
            [("spec.completions", "must be less than or equal to 100000")],
        ),
        (
            {"backoffLimitPerIndex": 1},
            [("spec.backoffLimitPerIndex", "requires indexed completion mode")],
        ),
        (
            {"podFailurePolicy": {"rules": [_FAIL_INDEX]}},
            [
                (
                    "spec.template.spec.restartPolicy",
                    'only "Never" is supported when podFailurePolicy is specified',
                ),
                (
                    "spec.podFailurePolicy.rules[0].action",
                    "requires the use of backoffLimitPerIndex",
                ),
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Ignore"}, _BOTH]}},
            [
                (
                    "spec.template.spec.restartPolicy",
                    'only "Never" is supported when podFailurePolicy is specified',
                ),
                (
                    "spec.podFailurePolicy.rules[0]",
                    "specifying one of OnExitCodes and OnPodConditions is required",
                ),
                (
                    "spec.podFailurePolicy.rules[1]",
                    "specifying both OnExitCodes and OnPodConditions is not supported",
                ),
            ],
        ),
        (
            {"podFailurePolicy": {"rules": [{"action": "Retry"}]}},
            [
                (
                    "spec.podFailurePolicy.rules[0].action",
                    '"Retry" is not one of FailJob, FailIndex, Ignore, Count',
                )
            ],
        ),
    ],
)
def test_fields_of_a_job_must_go_together(parts: Manifest, problems: list[tuple[str, str]]) -> None:
    assert _job(None, {"app": "web"}, spec=parts) == problems


def test_a_dumped_job_of_another_uid_is_refused() -> None:
    labels, metadata = {"controller-uid": "u-1"}, {"name": "x", "uid": "u-2"}
    found = _job({"matchLabels": {"controller-uid": "u-1"}}, labels, metadata=metadata)
    assert found == [("spec.selector", "`selector` not auto-generated")]


def test_a_replication_controller_must_select_its_pods() -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": CONTAINERS}}
    assert _problems("ReplicationController", spec={"template": template}) == []
    other = {"template": template, "selector": {"app": "api"}}
    assert _problems("ReplicationController", spec=other) == [_MISMATCH]
    bare = {"template": {"spec": {"containers": CONTAINERS}}}
    assert _problems("ReplicationController", spec=bare) == [("spec.selector", "is missing")]


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("Deployment", "deployment"),
        ("ReplicaSet", "deployment"),
        ("StatefulSet", "statefulset"),
        ("DaemonSet", "daemonset"),
    ],
)
def test_a_selector_of_everything_is_refused(kind: str, named: str) -> None:
    found = _problems(kind, spec={**WORKLOAD, "selector": {}})
    assert found == [("spec.selector", f"empty selector is invalid for {named}")]


@pytest.mark.parametrize("field", ["backoffLimit", "parallelism", "completions"])
def test_a_count_beyond_32_bits_is_refused(field: str) -> None:
    found = _problems("Job", spec={"template": WORKLOAD["template"], field: 2**31})
    assert found == [(f"spec.{field}", "2147483648 is more than 2147483647")]


def _of_limits(**item: Any) -> list[tuple[str, str]]:
    return _problems("LimitRange", spec={"limits": [{"type": "Container", **item}]})


@pytest.mark.parametrize(
    ("item", "field", "message"),
    [
        ({"min": {"cpu": "2"}, "max": {"cpu": "1"}}, "min.cpu", "min 2 is more than max 1"),
        (
            {"defaultRequest": {"cpu": "2"}, "default": {"cpu": "1"}},
            "defaultRequest.cpu",
            "defaultRequest 2 is more than default 1",
        ),
        (
            {"maxLimitRequestRatio": {"cpu": "500m"}},
            "maxLimitRequestRatio.cpu",
            "ratio 500m is less than 1",
        ),
    ],
)
def test_bounds_of_a_limit_range_rise(item: Manifest, field: str, message: str) -> None:
    assert _of_limits(**item) == [(f"spec.limits[0].{field}", message)]


def test_limit_range_item_needs_a_known_type() -> None:
    ((field, _),) = _problems("LimitRange", spec={"limits": [{"type": "Node"}]})
    assert field == "spec.limits[0].type"


def test_quota_needs_amounts_and_known_scopes() -> None:
    ((field, _),) = _problems("ResourceQuota", spec={"hard": {"cpu": "much"}})
    assert field == "spec.hard.cpu"
    ((field, _),) = _problems("ResourceQuota", spec={"scopes": ["Idle"]})
    assert field == "spec.scopes[0]"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.driver ==", "compilation failed: Failed to parse expression"),
        ("99999999999999999999 > 0", "compilation failed: Failed to parse expression"),
        ("nonsense", "compilation failed: undeclared reference to 'nonsense' (in container '')"),
        ("x" * 10_241, "may not be more than 10240 bytes"),
        ('["a"]' + ".map(x, x + x)" * 40 + ".size() == 1", "too complex, exceeds cost limit"),
    ],
)
def test_an_expression_of_a_device_is_compiled(expression: str, message: str) -> None:
    selectors = [{"cel": {"expression": expression}}]
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": selectors}}
    place = "selectors[0].cel.expression"
    claim = {
        "devices": {"requests": [request, {"name": "b", "firstAvailable": [request["exactly"]]}]}
    }
    found = [
        *_problems("DeviceClass", spec={"selectors": selectors}),
        *_problems("ResourceClaim", spec=claim),
        *_problems("ResourceClaimTemplate", spec={"spec": claim}),
    ]
    requests = ("devices.requests[0].exactly", "devices.requests[1].firstAvailable[0]")
    places = [
        "spec",
        *(f"spec.{one}" for one in requests),
        *(f"spec.spec.{one}" for one in requests),
    ]
    assert [field for field, _ in found] == [f"{one}.{place}" for one in places]
    assert all(why.startswith(message) for _, why in found)


def test_no_rule_sees_fields_unknown_to_versions() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}}
    spec = {"template": WORKLOAD["template"], "backoffLimitPerIndex": {"any": "thing"}}
    report = Report()
    check_manifest({**job, "spec": spec}, (), report, "v1.20")
    assert report.problems == []
    assert report.unknown == [("spec", "backoffLimitPerIndex")]


def test_null_in_maps_or_lists_is_refused() -> None:
    template = WORKLOAD["template"]
    spec = {"selector": {"app": None}, "template": template}
    ((field, _),) = _problems("ReplicationController", spec=spec)
    assert field == "spec.selector.app"
    ((field, _),) = _problems("Namespace", spec={"finalizers": [None]})
    assert field == "spec.finalizers[0]"


TAINT = {"key": "a", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("kind", "parts", "answer"),
    [
        (
            "Node",
            {"spec": {"taints": [TAINT, {**TAINT, "value": "b"}]}},
            'spec.taints[1]: Duplicate value: {"key":"a","effect":"NoSchedule","value":"b"}: taints '
            "must be unique by key and effect pair",
        ),
        (
            "Node",
            {"status": {"capacity": {"example.com/gpu": "1500m"}}},
            'status.capacity[example.com/gpu]: Invalid value: "1500m": must be an integer',
        ),
        (
            "Pod",
            {"spec": {"containers": [asking({"cpu": 2}, {"cpu": "1500m"})]}},
            'spec.containers[0].resources.requests.cpu: Invalid value: "2": must be less than or '
            "equal to cpu limit of 1500m",
        ),
        (
            "Pod",
            {"spec": {"containers": [asking({"a.b/gpu": 1}, {"a.b/gpu": 2})]}},
            'spec.containers[0].resources.requests[a.b/gpu]: Invalid value: "1": must be equal to '
            "a.b/gpu limit of 2",
        ),
        (
            "Pod",
            {"spec": {"containers": CONTAINERS, "tolerations": [{"operator": "Equal"}]}},
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` '
            'is empty, which means "match all values and all keys"',
        ),
        (
            "Pod",
            {
                "spec": {
                    "containers": CONTAINERS,
                    "tolerations": [{"operator": "Exists", "tolerationSeconds": 9}],
                }
            },
            "spec.tolerations[0].effect: Invalid value: \"\": effect must be 'NoExecute' when "
            "`tolerationSeconds` is set",
        ),
    ],
)
def test_what_belongs_together_is_compared(kind: str, parts: dict[str, Any], answer: str) -> None:
    report = Report()
    manifest = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}, **parts}
    check_manifest(manifest, (), report)
    assert report.answers() == [answer]


def test_a_request_may_stay_below_its_limit() -> None:
    assert not _of_pod(containers=[asking({"cpu": 1, "example.com/gpu": 1}, {"cpu": "1500m"})])
