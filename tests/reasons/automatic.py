"""The Events of the controllers of CronJobs and of autoscalers."""

from __future__ import annotations

from typing import Any, Final

from tests.builders import Manifest, node
from tests.reasons.case import Case
from tests.reasons.case import Expected as Fact
from tests.reasons.objects import quota, workload

CRON_JOB: Final = "cronjob default/web"
AUTOSCALER: Final = "horizontalpodautoscaler default/web"


def cron_job(schedule: str = "* * * * *", **spec: Any) -> Manifest:
    """A CronJob whose Jobs run for an hour."""
    job: Manifest = {"template": {**workload("Job")["spec"]["template"]}}
    job["template"]["metadata"] = {"annotations": {"kscope.dev/run-for": "1h"}}
    job["template"]["spec"]["restartPolicy"] = "Never"
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job}, **spec},
    }


def autoscaler(name: str = "web", of: str = "web") -> Manifest:
    """An autoscaler of a Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": of}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 4},
    }


_CRON: Final = "cronjob-controller"
_SCALE: Final = "horizontal-pod-autoscaler"

CASES: Final = (
    Case(
        reason="JobAlreadyActive",
        by=_CRON,
        asked=CRON_JOB,
        objects=(node("n"), cron_job(concurrencyPolicy="Forbid")),
        seconds=130,
        facts=(Fact("cronjob/default/web", "spec.concurrencyPolicy", "Forbid"),),
    ),
    Case(
        reason="FailedCreate",
        by=_CRON,
        asked=CRON_JOB,
        objects=(node("n"), cron_job(), quota(**{"count/jobs.batch": "0"})),
        seconds=70,
        facts=(Fact("cronjob/default/web", "spec.schedule", "* * * * *"),),
    ),
    Case(
        reason="InvalidSchedule",
        by=_CRON,
        asked=CRON_JOB,
        objects=(node("n"), cron_job("0 0 31 2 *")),
        facts=(Fact("cronjob/default/web", "spec.schedule", "0 0 31 2 *"),),
    ),
    Case(
        reason="FailedGetScale",
        by=_SCALE,
        asked=AUTOSCALER,
        objects=(node("n"), autoscaler()),
        facts=(Fact("horizontalpodautoscaler/default/web", "status.conditions[0]"),),
    ),
    Case(
        reason="FailedComputeMetricsReplicas",
        by=_SCALE,
        asked=AUTOSCALER,
        objects=(node("n"), workload("Deployment"), autoscaler()),
        facts=(Fact("horizontalpodautoscaler/default/web", "status.conditions[1]"),),
    ),
    Case(
        reason="AmbiguousSelector",
        by=_SCALE,
        asked=AUTOSCALER,
        objects=(node("n"), workload("Deployment"), autoscaler(), autoscaler("again")),
        seconds=40,
        facts=(Fact("horizontalpodautoscaler/default/web", "status.conditions[1]"),),
    ),
)
