"""autoscaling/v1: clients that know no newer version find the same autoscalers there.

Upstream: pkg/apis/autoscaling/v1/conversion.go; kubectl before 1.23, `autoscale`.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from engine.objects.autoscalers import newest_manifest, v1_manifest
from kscope.runs.models import Run
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

V1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
V2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
SELECTOR = {"matchLabels": {"a": "b"}}
METRICS: dict[str, dict[str, Any]] = {
    "Resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
    "ContainerResource": {
        "name": "cpu",
        "container": "c",
        "target": {"type": "Utilization", "averageUtilization": 70},
    },
    "Pods": {
        "metric": {"name": "m", "selector": SELECTOR},
        "target": {"type": "AverageValue", "averageValue": "5"},
    },
    "Object": {
        "metric": {"name": "m"},
        "describedObject": TARGET,
        "target": {"type": "Value", "value": "9"},
    },
    "External": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "2"}},
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


@pytest.mark.parametrize("kind", METRICS)
def test_metrics_come_back_from_annotations(kind: str) -> None:
    metrics = [{"type": kind, f"{kind[:1].lower()}{kind[1:]}": METRICS[kind]}]
    stored = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {"maxReplicas": 5, "metrics": metrics, "behavior": {"scaleUp": {}}},
    }
    shown = v1_manifest(stored)
    assert set(shown["spec"]) == {"maxReplicas"}
    assert set(shown["metadata"]["annotations"]) == {
        "autoscaling.alpha.kubernetes.io/behavior",
        "autoscaling.alpha.kubernetes.io/metrics",
    }
    assert newest_manifest(shown) == stored


async def test_an_old_client_makes_and_changes_one(kube: Kube) -> None:
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 5, "targetCPUUtilizationPercentage": 60}
    made = await kube.ask("POST", V1, {"metadata": {"name": "web"}, "spec": spec})
    assert (made.status, made.json["apiVersion"]) == (201, "autoscaling/v1")
    assert made.json["spec"] == {**spec, "minReplicas": 1}
    patch = {"spec": {"targetCPUUtilizationPercentage": 70, "minReplicas": 2}}
    changed = await kube.ask("PATCH", f"{V1}/web", patch, content_type=MERGE)
    assert changed.json["spec"] == {**spec, **patch["spec"]}
    newer = (await kube.get(f"{V2}/web")).json
    [metric] = newer["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 70}
    assert "targetCPUUtilizationPercentage" not in newer["spec"]
    assert "annotations" not in newer["metadata"]
    whole = (await kube.get(f"{V1}/web")).json
    same = await kube.ask("PUT", f"{V1}/web", whole)
    assert same.json["metadata"]["resourceVersion"] == newer["metadata"]["resourceVersion"]
    listed = (await kube.get(V1)).json
    assert (listed["apiVersion"], listed["items"][0]["spec"]) == ("autoscaling/v1", whole["spec"])


async def test_group_prefers_its_newer_version(kube: Kube) -> None:
    group = (await kube.get("/apis/autoscaling")).json
    assert [one["version"] for one in group["versions"]] == ["v2", "v1"]
    assert group["preferredVersion"]["version"] == "v2"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("authentication.k8s.io/v1/tokenreviews", {"user": {}, "error": "a run issues no tokens"}),
        (
            "authorization.k8s.io/v1/subjectaccessreviews",
            {"allowed": True, "reason": "nobody is held to roles in a run"},
        ),
        (
            "authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
            {"allowed": True, "reason": "nobody is held to roles in a run"},
        ),
    ],
)
async def test_questions_about_others_are_answered(
    kube: Kube, path: str, told: dict[str, Any]
) -> None:
    answer = await kube.ask("POST", f"/apis/{path}", {"spec": {"user": "a", "token": "t"}})
    assert (answer.status, answer.json["status"]) == (201, told)
