"""Why a CronJob starts no Job, and why an autoscaler does not scale."""

from typing import Any

import pytest

from engine.diagnosis.report import Diagnosis
from engine.diagnosis.why import explain_object
from tests.engine.controllers.test_autoscalers import autoscaler
from tests.engine.controllers.workloads.builders import Json, World, make, make_node
from tests.engine.controllers.workloads.test_cron_jobs import cron_job

QUOTA: Json = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "few", "namespace": "default"},
    "spec": {"hard": {"count/jobs.batch": "0"}},
}


def _asked(kind: str, seconds: float, *objects: Json, **more: Any) -> Diagnosis:
    world = World(make_node("n1"), *objects, profile="v1.36")
    world.run(seconds)
    return explain_object(world.cluster, kind, "default/web", **more)


def _cron(at: float, *more: Json, schedule: str = "* * * * *", **spec: Any) -> Diagnosis:
    return _asked("CronJob", at, cron_job(schedule, **spec), *more)


def test_a_healthy_cron_job_is_due_later() -> None:
    found = _cron(70)
    assert found.state == "well"
    assert found.sentence == ("The next Job of CronJob default/web is due at 2026-01-01T00:02:00Z.")


def test_a_suspended_cron_job_may_go_on() -> None:
    found = _cron(70, suspend=True)
    assert found.sentence == "CronJob default/web is suspended: it starts no Job."
    (fix,) = found.fixes
    assert fix.command == {
        "verb": "patch",
        "object": "cronjob/default/web",
        "patch": {"spec": {"suspend": False}},
    }
    assert fix.text.startswith("Let CronJob default/web go on (spec.suspend false): Job web-")


def test_a_running_job_forbids_the_next() -> None:
    found = _cron(130, seconds=900, concurrencyPolicy="Forbid")
    first = found.causes[0]
    assert first.severity == "delays"
    assert first.sentence == (
        "CronJob default/web starts no Job while web-29453761 runs: its concurrencyPolicy is Forbid."
    )
    assert [each.field for each in first.because] == ["spec.concurrencyPolicy", "spec.schedule"]
    assert first.reasons[0].startswith("JobAlreadyActive: ")


def test_a_refused_job_is_named() -> None:
    found = _cron(70, QUOTA)
    assert found.sentence == (
        "CronJob default/web has no Job: the API server refuses to create it (FailedCreate)."
    )
    assert "exceeded quota" in found.causes[0].why


def test_a_day_that_no_month_has() -> None:
    found = _cron(10, schedule="0 0 31 2 *")
    assert found.sentence == 'CronJob default/web is never due: its schedule is "0 0 31 2 *".'
    assert found.causes[0].reasons[0].startswith("InvalidSchedule: ")


def test_what_was_missed_is_told() -> None:
    found = _cron(50, schedule="0 0 * * *", startingDeadlineSeconds=30)
    assert [each.severity for each in found.causes] == ["notes"]
    spec: Json = {"startingDeadlineSeconds": 10, "concurrencyPolicy": "Forbid"}
    found = _cron(150, seconds=900, **spec)
    assert found.causes[0].sentence == (
        "CronJob default/web has missed 2026-01-01T00:02:00Z: it starts a Job at most 10 s late."
    )


def _scaler(seconds: float, script: str = "", replicas: int = 2, **spec: Any) -> Diagnosis:
    made = autoscaler(script, **spec)
    return _asked("HorizontalPodAutoscaler", seconds, make("Deployment", replicas=replicas), made)


def test_an_autoscaler_at_its_maximum_may_have_more() -> None:
    found = _scaler(40, "6", high=4)
    assert found.sentence == (
        "HorizontalPodAutoscaler default/web is at its maximum: Deployment web has 4 replicas, and "
        "more are asked for."
    )
    (fix,) = found.fixes
    assert fix.command["patch"] == {"spec": {"maxReplicas": 6}}
    assert "Deployment web has the replicas that are asked for" in fix.text


def test_without_metrics_only_the_bounds_hold() -> None:
    found = _scaler(40)
    assert found.sentence == (
        "HorizontalPodAutoscaler default/web has no metrics to go by: it only keeps Deployment web "
        "between 1 and 20 replicas."
    )
    assert "kscope.dev/desired-replicas" in found.causes[0].why
    assert found.causes[0].reasons[0].startswith("FailedGetResourceMetric: ")


@pytest.mark.parametrize(
    ("more", "begin"),
    [
        (
            {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "db"}},
            "HorizontalPodAutoscaler default/web cannot scale Deployment db: ",
        ),
        ({"replicas": 0}, "HorizontalPodAutoscaler default/web does nothing while Deployment web"),
    ],
)
def test_a_target_that_is_not_scaled(more: Json, begin: str) -> None:
    assert _scaler(40, "3", **more).sentence.startswith(begin)


def test_a_stabilized_autoscaler_only_takes_time() -> None:
    found = _scaler(100, "0s=4, 1m=2")
    assert found.causes[0].severity == "delays"
    assert "recent recommendations were higher than current one" in found.sentence


def test_a_satisfied_autoscaler_is_well() -> None:
    found = _scaler(100, "4")
    assert found.state == "well"
    assert found.sentence == "Nothing is wrong with HorizontalPodAutoscaler default/web."
