"""HorizontalPodAutoscalers, whose metrics say what an annotation tells them."""

from typing import Any

import pytest

from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report
from engine.kernel.units import HOUR
from engine.objects.autoscalers import Told, parse_script
from tests.engine.controllers.workloads.builders import Json, World, make, make_node

OLD = ("v1.11", "v1.16")
BEHAVIOR = ("v1.20", "v1.34", "v1.36")
NO_METRICS = (
    "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: "
    "the server could not find the requested resource (get pods.metrics.k8s.io)"
)


def autoscaler(script: str = "", *, low: int = 1, high: int = 20, **spec: Any) -> Json:
    """It scales the Deployment web."""
    metadata: Json = {"name": "web", "namespace": "default"}
    if script:
        metadata["annotations"] = {"kscope.dev/desired-replicas": script}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    bounds = {"minReplicas": low, "maxReplicas": high}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": {"scaleTargetRef": target, **bounds, **spec},
    }


def _world(
    scaler: Json, *more: Json, replicas: int = 2, profile: str = "v1.36", kind: str = "Deployment"
) -> World:
    nodes = [make_node("n1"), make_node("n2")]
    workload = make(kind, replicas=replicas)
    return World(*nodes, workload, scaler, *more, profile=profile, until=24 * HOUR)


def _said(world: World) -> list[str]:
    return world.said("horizontal-pod-autoscaler")


def _sizes(world: World) -> list[int]:
    """The sizes that it was scaled to."""
    begin = "SuccessfulRescale: New size: "
    lines = [line.removeprefix(begin) for line in _said(world) if line.startswith(begin)]
    return [int(line.partition(";")[0]) for line in lines]


def _condition(world: World, kind: str) -> tuple[str, str]:
    conditions = world.get("HorizontalPodAutoscaler").status["conditions"]
    found = next(one for one in conditions if one["type"] == kind)
    return found["status"], found["reason"]


def _problems(scaler: Json) -> list[str]:
    report = Report()
    check_manifest(scaler, (), report)
    return [f"{'.'.join(map(str, path))}: {why}" for path, _, why in report.problems]


@pytest.mark.parametrize("profile", [*OLD, *BEHAVIOR])
def test_the_bounds_hold_without_metrics(profile: str) -> None:
    world = _world(autoscaler(low=3, high=5), profile=profile)
    world.run(35)
    assert world.get("Deployment").spec["replicas"] == 3
    reason = "Current number of replicas below Spec.MinReplicas"
    assert f"SuccessfulRescale: New size: 3; reason: {reason}" in _said(world)
    world.patch("deployment/default/web", spec={"replicas": 9})
    world.run(60)
    assert world.get("Deployment").spec["replicas"] == 5
    reason = "Current number of replicas above Spec.MaxReplicas"
    assert f"SuccessfulRescale: New size: 5; reason: {reason}" in _said(world)


def test_within_the_bounds_metrics_are_missed() -> None:
    world = _world(autoscaler())
    world.run(16)
    full = f"failed to get cpu utilization: {NO_METRICS}"
    first = (
        "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric"
    )
    assert _said(world) == [
        f"FailedGetResourceMetric: {full}",
        f"FailedComputeMetricsReplicas: {first} value: {full}",
    ]
    assert _condition(world, "ScalingActive") == ("False", "FailedGetResourceMetric")
    assert _condition(world, "AbleToScale") == ("True", "SucceededGetScale")
    status = world.get("HorizontalPodAutoscaler").status
    assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 0)


def test_old_messages_about_metrics_are_shorter() -> None:
    world = _world(autoscaler(), profile="v1.11")
    world.run(35)
    assert _said(world) == [
        f"FailedGetResourceMetric: {NO_METRICS}",
        f"FailedComputeMetricsReplicas: failed to get cpu utilization: {NO_METRICS}",
    ]


@pytest.mark.parametrize(
    ("metric", "reason", "message"),
    [
        (
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "5"}}},
            "FailedGetPodsMetric",
            "unable to get metric rps: unable to fetch metrics from custom metrics API: no custom "
            "metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            {
                "type": "Object",
                "object": {
                    "describedObject": {"kind": "Service", "name": "front"},
                    "metric": {"name": "rps"},
                    "target": {"value": "5"},
                },
            },
            "FailedGetObjectMetric",
            "unable to get metric rps: Service on default front/unable to fetch metrics from custom "
            "metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
        ),
        (
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"of": "mail"}}},
                    "target": {"averageValue": "5"},
                },
            },
            "FailedGetExternalMetric",
            "unable to get external metric default/queue/&LabelSelector{MatchLabels:map[string]"
            "string{of: mail,},MatchExpressions:[]LabelSelectorRequirement{},}: unable to fetch "
            "metrics from external metrics API: no external metrics API "
            "(external.metrics.k8s.io) registered",
        ),
    ],
)
def test_each_metric_is_missed_in_its_words(metric: Json, reason: str, message: str) -> None:
    world = _world(autoscaler(metrics=[metric]))
    world.run(16)
    assert _said(world)[0] == f"{reason}: {message}"
    assert _condition(world, "ScalingActive") == ("False", reason)


@pytest.mark.parametrize("profile", ["v1.16", *BEHAVIOR])
def test_at_once_a_target_is_at_most_doubled(profile: str) -> None:
    world = _world(autoscaler("30"), profile=profile)
    world.run(16)
    assert _sizes(world) == [4]
    assert _condition(world, "ScalingLimited") == ("True", "ScaleUpLimit")
    world.run(60)
    assert _sizes(world) == [4, 8, 16, 20]
    assert _condition(world, "ScalingLimited") == ("True", "TooManyReplicas")
    above = "cpu resource utilization (percentage of request) above target"
    assert f"SuccessfulRescale: New size: 20; reason: {above}" in _said(world)
    assert len(world.pods()) == 20
    assert _condition(world, "ScalingActive") == ("True", "ValidMetricFound")


@pytest.mark.parametrize("profile", ["v1.16", *BEHAVIOR])
def test_scaling_down_waits_for_five_minutes(profile: str) -> None:
    world = _world(autoscaler("0s=4, 1m=1", low=2), profile=profile)
    world.run(340)
    assert _sizes(world) == [4]
    assert _condition(world, "AbleToScale") == ("True", "ScaleDownStabilized")
    world.run(21)
    assert _sizes(world) == [4, 2]
    assert "SuccessfulRescale: New size: 2; reason: All metrics below target" in _said(world)
    assert _condition(world, "ScalingLimited") == ("True", "TooFewReplicas")


def test_the_oldest_waits_after_each_change() -> None:
    world = _world(autoscaler("0s=8, 5m=3"), profile="v1.11")
    world.run(100)
    assert _sizes(world) == [4]
    assert _condition(world, "AbleToScale") == ("False", "BackoffBoth")
    # Up again after three minutes, down only five minutes after that.
    world.run(160)
    assert _sizes(world) == [4, 8]
    world.run(240)
    assert _sizes(world) == [4, 8]
    world.run(60)
    assert _sizes(world) == [4, 8, 3]


@pytest.mark.parametrize("profile", BEHAVIOR)
def test_policies_limit_the_rate(profile: str) -> None:
    up = {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 60}]}
    down = {
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}],
    }
    behavior = {"scaleUp": up, "scaleDown": down}
    world = _world(autoscaler("0s=8, 5m=1", behavior=behavior), profile=profile)
    world.run(290)
    assert _sizes(world) == [4, 6, 8]
    assert list(map(round, world.facts("SuccessfulRescale"))) == [15, 75, 135]
    world.run(200)
    assert _sizes(world) == [4, 6, 8, 4, 2, 1]


@pytest.mark.parametrize("profile", BEHAVIOR)
def test_a_window_holds_scaling_up_back(profile: str) -> None:
    behavior = {"scaleUp": {"stabilizationWindowSeconds": 120}}
    world = _world(autoscaler("0s=2, 1m=6", behavior=behavior), profile=profile)
    world.run(150)
    assert _sizes(world) == []
    assert _condition(world, "AbleToScale") == ("True", "ScaleUpStabilized")
    world.run(40)
    assert _sizes(world) == [6]


@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
def test_a_disabled_direction_is_never_taken(direction: str) -> None:
    behavior = {direction: {"selectPolicy": "Disabled"}}
    script = "9" if direction == "scaleUp" else "1"
    world = _world(autoscaler(script, behavior=behavior), replicas=3)
    world.run(600)
    assert _sizes(world) == []


def test_the_smallest_policy_may_be_selected() -> None:
    policies = [
        {"type": "Pods", "value": 1, "periodSeconds": 15},
        {"type": "Percent", "value": 900, "periodSeconds": 15},
    ]
    behavior = {"scaleUp": {"selectPolicy": "Min", "policies": policies}}
    world = _world(autoscaler("9", behavior=behavior))
    world.run(32)
    assert _sizes(world) == [3, 4]


def test_a_target_without_replicas_stays_so() -> None:
    world = _world(autoscaler("5"), replicas=0)
    world.run(60)
    assert _sizes(world) == []
    assert _condition(world, "ScalingActive") == ("False", "ScalingDisabled")


@pytest.mark.parametrize(
    ("target", "why"),
    [
        (
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "db"},
            'deployments/scale.apps "db" not found',
        ),
        (
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "web"},
            "the server could not find the requested resource",
        ),
        (
            {"apiVersion": "example.com/v1", "kind": "App", "name": "web"},
            'no matches for kind "App" in group "example.com"',
        ),
    ],
)
def test_a_target_that_cannot_be_scaled(target: Json, why: str) -> None:
    world = _world(autoscaler("5", scaleTargetRef=target))
    world.run(16)
    assert _said(world) == [f"FailedGetScale: {why}"]
    assert _condition(world, "AbleToScale") == ("False", "FailedGetScale")


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_other_workloads_are_scaled_too(kind: str) -> None:
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
    world = _world(autoscaler("4", scaleTargetRef=target), kind=kind)
    world.run(60)
    assert world.get(kind).spec["replicas"] == 4
    assert len(world.pods()) == 4


@pytest.mark.parametrize(("profile", "sizes"), [("v1.20", [4, 2]), ("v1.36", [])])
def test_two_that_select_the_same_pods(profile: str, sizes: list[int]) -> None:
    second = autoscaler("2")
    second["metadata"]["name"] = "again"
    world = _world(autoscaler("2"), second, profile=profile)
    world.run(32)
    world.patch(
        "horizontalpodautoscaler/default/web",
        metadata={"annotations": {"kscope.dev/desired-replicas": "4"}},
    )
    world.run(16)
    assert _sizes(world) == sizes
    said = (
        "AmbiguousSelector: pods by selector app=web are controlled by multiple HPAs: "
        "[default/again default/web]"
    )
    assert (said in _said(world)) is (profile == "v1.36")


def test_the_first_version_is_kept_as_newest() -> None:
    scaler = autoscaler(targetCPUUtilizationPercentage=50) | {"apiVersion": "autoscaling/v1"}
    world = _world(scaler)
    world.run(1)
    raw = world.get("HorizontalPodAutoscaler").raw
    target = {"type": "Utilization", "averageUtilization": 50}
    assert raw["apiVersion"] == "autoscaling/v2"
    assert raw["spec"]["metrics"] == [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}}
    ]
    assert "targetCPUUtilizationPercentage" not in raw["spec"]


def test_a_restarted_controller_looks_again() -> None:
    world = _world(autoscaler("0s=2, 20s=4"))
    world.run(20)
    world.cluster.workloads.restart(["horizontal-pod-autoscaler"])
    world.run(14)
    assert _sizes(world) == []
    world.run(2)
    assert _sizes(world) == [4]


def test_two_runs_scale_alike() -> None:
    first, second = (_world(autoscaler("0s=9, 4m=none, 5m=2")) for _ in range(2))
    for world in (first, second):
        world.run(900)
    lines = [
        [(e.at, e.kind, e.message) for e in w.cluster.recorder.pending] for w in (first, second)
    ]
    assert lines[0] == lines[1]
    assert _sizes(first) == [4, 8, 9, 2]


def test_a_deleted_autoscaler_does_nothing() -> None:
    world = _world(autoscaler("9"))
    world.run(10)
    world.do("delete", "horizontalpodautoscaler/default/web")
    world.run(60)
    assert _said(world) == []


def test_scripts_are_read_in_order() -> None:
    assert parse_script("5") == (Told(0, 5),)
    assert parse_script("0s=3, 1m=none,2m=0") == (
        Told(0, 3),
        Told(60 * 10**9, None),
        Told(120 * 10**9, 0),
    )


@pytest.mark.parametrize("text", ["", "many", "5,6", "1m=3, 30s=4", "-1", "soon=3", "1m="])
def test_other_scripts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_script(text)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"minReplicas": 0}, "spec.minReplicas"),
        ({"minReplicas": 30}, "spec.maxReplicas"),
        ({"maxReplicas": 0}, "spec.maxReplicas"),
        ({"scaleTargetRef": {"kind": "Deployment"}}, "spec.scaleTargetRef.name"),
        ({"metrics": [{"type": "Pods"}]}, "spec.metrics.0.pods"),
        ({"metrics": [{"type": "Other"}]}, "spec.metrics.0.type"),
        (
            {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 3601}}},
            "spec.behavior.scaleUp.stabilizationWindowSeconds",
        ),
        ({"behavior": {"scaleDown": {"policies": []}}}, "spec.behavior.scaleDown.policies"),
    ],
)
def test_wrong_autoscalers_are_refused(spec: Json, path: str) -> None:
    made = autoscaler()
    made["spec"] |= spec
    assert [one.partition(":")[0] for one in _problems(made)] == [path]


def test_a_wrong_script_is_named() -> None:
    problem = 'metadata.annotations.kscope.dev/desired-replicas: "soon" is neither a number'
    assert _problems(autoscaler("soon"))[0].startswith(problem)


def test_an_outer_metric_allows_no_replicas() -> None:
    target = {"type": "AverageValue", "averageValue": "5"}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": target}}
    assert not _problems(autoscaler(low=0, metrics=[metric]))
