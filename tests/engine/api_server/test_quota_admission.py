"""New objects are refused by quotas, or added to them.

Cases after upstream: plugin/pkg/admission/resourcequota/admission_test.go, and the apiserver's
pkg/admission/plugin/resourcequota/admission_test.go.
"""

from typing import Any

import pytest

from engine.api_server.admission.quota.quota_admission import QuotaAdmission
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import Forbidden
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, from_manifest
from engine.versions.registry import VERSIONS

Json = dict[str, Any]

_HARD = {"cpu": "3", "memory": "100Gi", "pods": "5"}
_USED = {"cpu": "1", "memory": "50Gi", "pods": "3"}


def _quota(name: str = "quota", namespace: str = "test", **parts: Any) -> ApiObject:
    status = {"hard": parts.pop("hard", _HARD), "used": parts.pop("used", _USED)}
    metadata = {"name": name, "namespace": namespace}
    made = {"kind": "ResourceQuota", "metadata": metadata, "spec": parts, "status": status}
    return from_manifest(made)


def _pod(requests: Json, limits: Json | None = None, **spec: Any) -> ApiObject:
    resources = {"requests": requests, "limits": limits or {}}
    body = {"containers": [{"name": "c", "resources": resources}], **spec}
    metadata = {"name": "p", "namespace": "test"}
    return from_manifest({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body})


class _Namespace:
    """An API server with these quotas."""

    def __init__(self, *quotas: ApiObject, profile: str = "v1.34") -> None:
        loop = EventLoop()
        self.store = ObjectStore(loop, Recorder(loop))
        for quota in quotas:
            self.store.create(quota, by="test")
        self.admission = QuotaAdmission(self.store, VERSIONS[profile].admission)

    def used(self, name: str = "quota") -> Json:
        return dict(self.store.get("ResourceQuota", f"test/{name}").status["used"])

    def refusal(self, obj: ApiObject) -> str:
        with pytest.raises(Forbidden) as refused:
            self.admission.charge(obj)
        return str(refused.value)


def test_admitted_pod_is_added_to_the_quota() -> None:
    there = _Namespace(_quota())
    there.admission.charge(_pod({"cpu": "100m", "memory": "2Gi"}))
    assert there.used() == {"cpu": "1100m", "memory": "52Gi", "pods": "4"}


def test_pod_beyond_the_quota_is_refused() -> None:
    there = _Namespace(_quota())
    assert there.refusal(_pod({"cpu": "3", "memory": "2Gi"})) == (
        'pods "p" is forbidden: exceeded quota: quota, requested: cpu=3, used: cpu=1, limited: cpu=3'
    )
    assert there.used() == _USED


def test_every_exceeded_resource_is_listed() -> None:
    quota = _quota(
        hard={"limits.cpu": "6", "limits.memory": "12Gi"},
        used={"limits.cpu": "6", "limits.memory": "12Gi"},
    )
    pod = _pod({}, {"cpu": "1", "memory": "2Gi"})
    assert (
        _Namespace(quota)
        .refusal(pod)
        .endswith(
            "exceeded quota: quota, requested: limits.cpu=1,limits.memory=2Gi, "
            "used: limits.cpu=6,limits.memory=12Gi, limited: limits.cpu=6,limits.memory=12Gi"
        )
    )


def test_pod_without_a_counted_limit_is_refused() -> None:
    quota = _quota(
        hard={**_HARD, "limits.memory": "200Gi"}, used={**_USED, "limits.memory": "100Gi"}
    )
    pod = _pod({"cpu": "100m", "memory": "2Gi"}, {"cpu": "200m"})
    text = 'pods "p" is forbidden: failed quota: quota: must specify limits.memory'
    assert _Namespace(quota).refusal(pod) == f"{text} for: c"
    assert _Namespace(quota, profile="v1.20").refusal(pod) == text


def test_quota_of_another_namespace_does_not_count() -> None:
    there = _Namespace(_quota(namespace="other"))
    there.admission.charge(_pod({"cpu": "100"}))
    assert there.store.get("ResourceQuota", "other/quota").status["used"] == _USED


def test_terminating_pods_take_from_their_own_quota() -> None:
    there = _Namespace(
        _quota("not-terminating", scopes=["NotTerminating"]),
        _quota("terminating", scopes=["Terminating"]),
    )
    there.admission.charge(_pod({"cpu": "100m", "memory": "2Gi"}, activeDeadlineSeconds=30))
    assert there.used("not-terminating") == _USED
    assert there.used("terminating") == {"cpu": "1100m", "memory": "52Gi", "pods": "4"}


def test_best_effort_quota_ignores_other_pods() -> None:
    quota = _quota(scopes=["BestEffort"], hard={"pods": "1"}, used={"pods": "1"})
    there = _Namespace(quota)
    there.admission.charge(_pod({"cpu": "100m"}))
    assert "requested: pods=1, used: pods=1, limited: pods=1" in there.refusal(_pod({}))


def test_scope_selector_picks_a_priority_class() -> None:
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}
    selector = {"matchExpressions": [expression]}
    quota = _quota(scopeSelector=selector, hard={"pods": "0"}, used={"pods": "0"})
    _Namespace(quota).admission.charge(_pod({}, priorityClassName="low"))
    high = _pod({}, priorityClassName="high")
    assert "exceeded quota" in _Namespace(quota).refusal(high)
    # v1.11 does not store the selector: the quota is for all pods.
    assert "exceeded quota" in _Namespace(quota, profile="v1.11").refusal(_pod({}))


def test_all_quotas_allow_it_or_none_is_charged() -> None:
    there = _Namespace(_quota("roomy"), _quota("tight", hard={"pods": "3"}, used={"pods": "3"}))
    assert "exceeded quota: tight" in there.refusal(_pod({"cpu": "1", "memory": "1Gi"}))
    assert there.used("roomy") == _USED


def test_quota_without_a_status_allows_everything() -> None:
    quota = _quota(hard={}, used={})
    _Namespace(quota).admission.charge(_pod({"cpu": "1000"}))


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        ("v1.34", "status unknown for quota: quota, resources: memory,pods"),
        ("v1.11", "status unknown for quota: quota"),
    ],
)
def test_uncounted_quota_refuses_what_it_counts(profile: str, text: str) -> None:
    quota = _quota(hard={"memory": "1Gi", "pods": "1", "services": "1"}, used={"pods": "0"})
    refusal = _Namespace(quota, profile=profile).refusal(_pod({"memory": "1Mi"}))
    assert refusal == f'pods "p" is forbidden: {text}'


def test_other_uncounted_resources_do_not_matter() -> None:
    quota = _quota(hard={"pods": "2", "services": "1"}, used={"pods": "0"})
    there = _Namespace(quota)
    there.admission.charge(_pod({}))
    assert there.used() == {"pods": "1"}
    assert "status unknown" in _Namespace(quota, profile="v1.11").refusal(_pod({}))


def test_update_is_charged_by_its_growth() -> None:
    def claim(size: str) -> ApiObject:
        spec = {"resources": {"requests": {"storage": size}}}
        metadata = {"name": "c", "namespace": "test"}
        kind = "PersistentVolumeClaim"
        return from_manifest({"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec})

    there = _Namespace(_quota(hard={"requests.storage": "10Gi"}, used={"requests.storage": "5Gi"}))
    there.admission.charge_update(claim("2Gi"), claim("4Gi"))
    assert there.used() == {"requests.storage": "7Gi"}
    there.admission.charge_update(claim("4Gi"), claim("4Gi"))
    assert there.used() == {"requests.storage": "7Gi"}
    with pytest.raises(
        Forbidden, match="requested: requests.storage=4Gi, used: requests.storage=7"
    ):
        there.admission.charge_update(claim("4Gi"), claim("8Gi"))


def test_new_deadline_moves_a_pod_to_another_quota() -> None:
    quota = _quota(scopes=["Terminating"], hard={"count/pods": "1"}, used={"count/pods": "1"})
    old, new = _pod({}), _pod({}, activeDeadlineSeconds=5)
    with pytest.raises(Forbidden, match="exceeded quota"):
        _Namespace(quota).admission.charge_update(old, new)
    _Namespace(quota, profile="v1.20").admission.charge_update(old, new)


def test_object_counts_are_enforced() -> None:
    quota = _quota(hard={"count/jobs.batch": "1"}, used={"count/jobs.batch": "1"})
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "test"}}
    assert _Namespace(quota).refusal(from_manifest(job)) == (
        'jobs.batch "j" is forbidden: exceeded quota: quota, requested: count/jobs.batch=1, '
        "used: count/jobs.batch=1, limited: count/jobs.batch=1"
    )
