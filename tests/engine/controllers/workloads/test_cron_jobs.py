"""CronJobs, by watches since v1.21 and by polling before. Upstream: pkg/controller/cronjob."""

from typing import Any

import pytest

from engine.kernel.units import HOUR
from tests.engine.controllers.workloads.builders import Json, World, make, make_node

OLD = ("v1.11", "v1.16", "v1.20")
NEW = ("v1.34", "v1.35", "v1.36")
BEGIN = "2026-01-01T00:00:00Z"
# The minutes since 1970 at BEGIN.
MINUTES = 29_453_760


def cron_job(
    schedule: str = "* * * * *", *, seconds: int = 2, code: str = "0", **spec: Any
) -> Json:
    """A CronJob whose Jobs run for *seconds* and end with *code*."""
    job = make("Job")["spec"]
    ends = {"kscope.dev/run-for": f"{seconds}s", "kscope.dev/exit-code": code}
    job["template"]["metadata"]["annotations"] = ends
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "web", "namespace": "default", "creationTimestamp": BEGIN},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": job}, **spec},
    }


def _world(*objects: Json, profile: str = "v1.36", **more: Any) -> World:
    return World(make_node("n1"), *objects, profile=profile, until=24 * HOUR, **more)


def _jobs(world: World) -> list[str]:
    return [job.name for job in world.store.objects("Job")]


def _said(world: World) -> list[str]:
    return world.said("cronjob-controller")


@pytest.mark.parametrize("profile", NEW)
def test_a_job_starts_just_after_each_minute(profile: str) -> None:
    world = _world(cron_job(), profile=profile)
    world.run(150)
    assert _jobs(world) == [f"web-{MINUTES + 1}", f"web-{MINUTES + 2}"]
    assert [round(at, 3) for at in world.facts("JobCreated")] == [60.1, 120.1]
    assert _said(world)[:2] == [
        f"SuccessfulCreate: Created job web-{MINUTES + 1}",
        f"SawCompletedJob: Saw completed job: web-{MINUTES + 1}, condition: Complete",
    ]


@pytest.mark.parametrize("profile", OLD)
def test_old_controllers_look_every_ten_seconds(profile: str) -> None:
    world = _world(cron_job(), profile=profile)
    world.run(150)
    unix = MINUTES * 60
    assert _jobs(world) == [f"web-{unix + 60}", f"web-{unix + 120}"]
    assert [round(at) for at in world.facts("JobCreated")] == [60, 120]
    completed = {"v1.11": ""}.get(profile, ", status: Complete")
    assert f"SawCompletedJob: Saw completed job: web-{unix + 60}{completed}" in _said(world)


def test_the_status_names_what_runs() -> None:
    world = _world(cron_job(seconds=20))
    world.run(65)
    status = world.get("CronJob").status
    assert [one["name"] for one in status["active"]] == _jobs(world)
    assert status["lastScheduleTime"] == "2026-01-01T00:01:00Z"
    world.run(30)
    status = world.get("CronJob").status
    assert "active" not in status
    assert (
        status["lastSuccessfulTime"] == world.get("Job", _jobs(world)[0]).status["completionTime"]
    )


def test_a_job_says_when_it_was_due() -> None:
    world = _world(cron_job("30 1 * * *", timeZone="Europe/Berlin"))
    world.run(31 * 60)
    job = world.store.objects("Job")[0]
    due = {"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T01:30:00+01:00"}
    assert job.metadata["annotations"] == due
    assert job.controller == {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "name": "web",
        "uid": world.get("CronJob").uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def test_only_so_many_finished_jobs_are_kept() -> None:
    world = _world(cron_job(successfulJobsHistoryLimit=2))
    world.run(5 * 60 + 30)
    assert _jobs(world) == [f"web-{MINUTES + 4}", f"web-{MINUTES + 5}"]
    assert f"SuccessfulDelete: Deleted job web-{MINUTES + 1}" in _said(world)


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_one_failed_job_is_kept(profile: str) -> None:
    made = cron_job(code="1")
    made["spec"]["jobTemplate"]["spec"]["backoffLimit"] = 0
    world = _world(made, profile=profile)
    world.run(3 * 60 + 50)
    assert len(_jobs(world)) == 1


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_forbid_leaves_a_running_job_alone(profile: str) -> None:
    world = _world(cron_job(seconds=90, concurrencyPolicy="Forbid"), profile=profile)
    world.run(125)
    assert len(_jobs(world)) == 1
    said = (
        "JobAlreadyActive: Not starting job because prior execution is running and concurrency "
        "policy is Forbid"
    )
    assert (said in _said(world)) is (profile == "v1.36")
    # When it has finished, the one that was due meanwhile is created late.
    world.run(60)
    assert len(_jobs(world)) == 2


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_replace_deletes_the_running_job(profile: str) -> None:
    world = _world(cron_job(seconds=900, concurrencyPolicy="Replace"), profile=profile)
    world.run(130)
    assert len(_jobs(world)) == 1
    assert len(world.facts("JobDeleted")) == 1
    assert len(world.get("CronJob").status["active"]) == 1


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_a_suspended_cron_job_starts_nothing(profile: str) -> None:
    world = _world(cron_job(suspend=True), profile=profile)
    world.run(200)
    assert not _jobs(world)
    world.patch("cronjob/default/web", spec={"suspend": False})
    world.run(15)
    # Only the newest of those that were due is created.
    assert len(_jobs(world)) == 1


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_too_late_a_job_is_missed(profile: str) -> None:
    made = cron_job("0 * * * *", startingDeadlineSeconds=60, suspend=True)
    world = _world(made, profile=profile)
    world.run(3600 + 120)
    world.patch("cronjob/default/web", spec={"suspend": False})
    world.run(30)
    assert not _jobs(world)
    world.run(3600)
    assert len(_jobs(world)) == 1


def test_a_narrow_deadline_is_missed() -> None:
    world = _world(cron_job(startingDeadlineSeconds=0))
    world.run(70)
    assert not _jobs(world)
    assert not [one for one in _said(world) if "MissSchedule" in one]


def test_many_missed_times_are_said() -> None:
    made = cron_job(concurrencyPolicy="Forbid")
    made["status"] = {"lastScheduleTime": BEGIN}
    world = _world(made, instant="2026-01-01T03:00:30Z")
    world.run(2)
    said = (
        "TooManyMissedTimes: too many missed start times. Set or decrease "
        ".spec.startingDeadlineSeconds or check clock skew"
    )
    assert said in _said(world)
    assert _jobs(world) == [f"web-{MINUTES + 180}"]


def test_old_controllers_give_up_after_many_misses() -> None:
    made = cron_job()
    made["status"] = {"lastScheduleTime": BEGIN}
    world = _world(made, profile="v1.20", instant="2026-01-01T03:00:30Z")
    world.run(30)
    assert not _jobs(world)
    assert _said(world)[0] == (
        "FailedNeedsStart: Cannot determine if job needs to be started: too many missed start time "
        "(> 100). Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    )


def test_a_day_that_never_comes_is_said() -> None:
    world = _world(cron_job("59 23 31 2 *"))
    world.run(10)
    assert _said(world) == [
        "InvalidSchedule: invalid schedule: 59 23 31 2 * : time difference between two schedules "
        "is less than 1 second"
    ]


def test_a_zone_in_the_schedule_is_unsupported() -> None:
    world = _world(cron_job("CRON_TZ=Asia/Tokyo 1 9 * * *"))
    world.run(70)
    assert _jobs(world) == [f"web-{MINUTES + 1}"]
    assert _said(world)[0].startswith(
        'UnsupportedSchedule: CRON_TZ or TZ used in schedule "CRON_TZ=Asia/Tokyo 1 9 * * *" is not '
        "officially supported"
    )


def test_a_changed_schedule_counts_from_now() -> None:
    world = _world(cron_job("0 5 * * *"))
    world.run(60)
    world.patch("cronjob/default/web", spec={"schedule": "*/5 * * * *"})
    world.run(5 * 60)
    assert _jobs(world) == [f"web-{MINUTES + 5}"]


def test_a_quota_refuses_the_job() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": "default"},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    }
    world = _world(cron_job(), quota)
    world.run(61)
    assert not _jobs(world)
    assert _said(world)[0].startswith(
        f'FailedCreate: Error creating job: jobs.batch "web-{MINUTES + 1}" is forbidden: exceeded quota'
    )
    world.do("delete", "resourcequota/default/few")
    world.run(50)
    assert _jobs(world) == [f"web-{MINUTES + 1}"]


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_jobs_go_with_their_cron_job(profile: str) -> None:
    world = _world(cron_job(), profile=profile)
    world.run(100)
    assert _jobs(world)
    world.do("delete", "cronjob/default/web")
    world.run(30)
    assert not _jobs(world)
    assert not world.pods()


def test_an_active_job_that_is_deleted_is_missed() -> None:
    world = _world(cron_job("0 * * * *", seconds=900))
    world.run(3605)
    name = _jobs(world)[0]
    world.do("delete", f"job/default/{name}")
    world.run(5)
    assert f"MissingJob: Active job went missing: {name}" in _said(world)
    assert "active" not in world.get("CronJob").status


def test_a_job_of_unknown_origin_is_unexpected() -> None:
    world = _world(cron_job("0 * * * *"))
    world.run(1)
    made = {**make("Job", "own"), "metadata": {"name": "own", "namespace": "default"}}
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "web", "controller": True}
    owner["uid"] = world.get("CronJob").uid
    made["metadata"]["ownerReferences"] = [owner]
    world.do("create", manifest=made)
    world.run(1)
    said = "UnexpectedJob: Saw a job that the controller did not create or forgot: own"
    assert said in _said(world)


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_a_restarted_controller_goes_on(profile: str) -> None:
    world = _world(cron_job(), profile=profile)
    world.run(30)
    world.cluster.workloads.restart(["cronjob-controller", "job-controller"])
    world.run(100)
    assert len(_jobs(world)) == 2


def test_two_runs_are_alike() -> None:
    first, second = (_world(cron_job(seconds=30)) for _ in range(2))
    for world in (first, second):
        world.run(600)
    lines = [
        [(e.at, e.kind, e.message) for e in w.cluster.recorder.pending] for w in (first, second)
    ]
    assert lines[0] == lines[1]
    assert len(first.facts("JobCreated")) == 9
