"""Jobs of every kind end as their containers are scripted."""

from dataclasses import replace
from typing import Any

import pytest

from engine.input.header.job_marks import MARK
from tests.scenarios.containers.scripted import condition, job, play, scenario, status
from tests.scenarios.played import Played

FAILS = {"runs": [{"for": "2s", "exit": 1}]}
WORKS = {"runs": [{"for": "2s"}]}


def complete(played: Played) -> str:
    return condition(played, "Job", "work", "Complete")[0]


def failed(played: Played) -> tuple[str, str]:
    state, reason, _ = condition(played, "Job", "work", "Failed")
    return state, reason


def created(played: Played) -> list[int]:
    """In which seconds pods were created."""
    return [event.at // 10**9 for event in played.events if event.kind == "PodCreated"]


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20", "v1.34", "v1.35", "v1.36"])
def test_a_job_completes_when_its_pods_have(profile: str) -> None:
    played = play(job("work", completions=3, parallelism=2), containers=[WORKS], profile=profile)
    assert complete(played) == "True"
    assert status(played, "Job", "work")["succeeded"] == 3


@pytest.mark.parametrize("profile", ["v1.34", "v1.35", "v1.36"])
def test_a_job_retries_with_backoff_and_completes(profile: str) -> None:
    scripts = [{"times": 2, **FAILS}, WORKS]
    played = play(job("work"), containers=scripts, profile=profile)
    assert complete(played) == "True"
    shown = status(played, "Job", "work")
    assert (shown["succeeded"], shown["failed"]) == (1, 2)
    first, second, third = created(played)
    assert 10 <= second - first < 16
    assert 20 <= third - second < 26


@pytest.mark.parametrize("profile", ["v1.34", "v1.36"])
def test_a_job_fails_at_its_backoff_limit(profile: str) -> None:
    played = play(job("work", backoffLimit=2), containers=[FAILS], profile=profile)
    assert failed(played) == ("True", "BackoffLimitExceeded")
    assert status(played, "Job", "work")["failed"] == 3


@pytest.mark.parametrize("profile", ["v1.34", "v1.36"])
def test_restarts_in_place_count_against_the_backoff_limit(profile: str) -> None:
    work = job("work", "OnFailure", backoffLimit=2)
    played = play(work, containers=[FAILS], profile=profile)
    assert failed(played) == ("True", "BackoffLimitExceeded")
    assert len(created(played)) == 1


def test_a_container_that_recovers_in_place_completes() -> None:
    script = {"runs": [{"for": "2s", "exit": 1}, {"for": "2s"}]}
    played = play(job("work", "OnFailure", backoffLimit=2), containers=[script])
    assert complete(played) == "True"
    assert len(created(played)) == 1


# Older versions have no indexes: see test_older_versions_know_no_indexes.
INDEXED = pytest.mark.parametrize("profile", ["v1.34", "v1.34.9", "v1.35", "v1.36", "v1.37"])


@INDEXED
def test_each_index_of_an_indexed_job_succeeds_once(profile: str) -> None:
    scripts = [{"index": 1, "times": 1, **FAILS}, WORKS]
    work = job("work", completionMode="Indexed", completions=3, parallelism=3)
    played = play(work, containers=scripts, profile=profile)
    assert complete(played) == "True"
    shown = status(played, "Job", "work")
    assert (shown["completedIndexes"], shown["succeeded"], shown["failed"]) == ("0-2", 3, 1)


@INDEXED
def test_each_index_has_its_own_backoff_limit(profile: str) -> None:
    scripts = [{"index": [1, 3], **FAILS}, WORKS]
    work = job(
        "work", completionMode="Indexed", completions=5, parallelism=5, backoffLimitPerIndex=1
    )
    played = play(work, containers=scripts, profile=profile)
    assert failed(played) == ("True", "FailedIndexes")
    shown = status(played, "Job", "work")
    assert (shown["completedIndexes"], shown["failedIndexes"]) == ("0,2,4", "1,3")
    assert shown["failed"] == 4


@INDEXED
def test_a_job_ends_with_too_many_failed_indexes(profile: str) -> None:
    work = job(
        "work",
        completionMode="Indexed",
        completions=5,
        parallelism=1,
        backoffLimitPerIndex=0,
        maxFailedIndexes=1,
    )
    played = play(work, containers=[{"index": [0, 2], **FAILS}, WORKS], profile=profile)
    assert failed(played) == ("True", "MaxFailedIndexesExceeded")


@INDEXED
def test_a_success_policy_ends_an_indexed_job(profile: str) -> None:
    work = job(
        "work",
        completionMode="Indexed",
        completions=4,
        parallelism=4,
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    scripts = [{"index": 0, **WORKS}, {"runs": [{"for": "forever"}]}]
    played = play(work, containers=scripts, profile=profile)
    assert complete(played) == "True"
    assert status(played, "Job", "work")["completedIndexes"] == "0"


def policy(action: str, *values: int) -> dict[str, Any]:
    codes = {"containerName": "main", "operator": "In", "values": [*values]}
    return {"rules": [{"action": action, "onExitCodes": codes}]}


@INDEXED
def test_a_pod_failure_policy_fails_the_job(profile: str) -> None:
    work = job("work", podFailurePolicy=policy("FailJob", 42))
    played = play(work, containers=[{"runs": [{"for": "2s", "exit": 42}]}], profile=profile)
    assert failed(played) == ("True", "PodFailurePolicy")
    assert len(created(played)) == 1


@INDEXED
def test_a_pod_failure_policy_ignores_a_failure(profile: str) -> None:
    work = job("work", backoffLimit=0, podFailurePolicy=policy("Ignore", 42))
    scripts = [{"times": 2, "runs": [{"for": "2s", "exit": 42}]}, WORKS]
    played = play(work, containers=scripts, profile=profile)
    assert complete(played) == "True"
    assert status(played, "Job", "work").get("failed", 0) == 0


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_a_job_fails_at_its_deadline(profile: str) -> None:
    work = job("work", activeDeadlineSeconds=30)
    played = play(work, containers=[{"runs": [{"for": "forever"}]}], profile=profile)
    assert failed(played) == ("True", "DeadlineExceeded")


def patched(at: str, **spec: Any) -> dict[str, Any]:
    """A step that changes the spec of the Job."""
    return {"at": at, "patch": {"object": "job/default/work", "patch": {"spec": spec}}}


@INDEXED
def test_a_suspended_job_begins_when_it_is_resumed(profile: str) -> None:
    steps = [patched("60s", suspend=False)]
    played = play(job("work", suspend=True), containers=[WORKS], steps=steps, profile=profile)
    assert created(played) == [60]
    assert complete(played) == "True"
    assert condition(played, "Job", "work", "Suspended")[:2] == ("False", "JobResumed")


@INDEXED
def test_a_running_job_can_be_suspended_and_resumed(profile: str) -> None:
    # The first two pods are deleted while they run; what they did is done again.
    steps = [patched("5s", suspend=True), patched("60s", suspend=False)]
    work = job("work", completions=2, parallelism=2)
    played = play(work, containers=[{"runs": [{"for": "20s"}]}], steps=steps, profile=profile)
    assert created(played) == [0, 0, 60, 60]
    assert complete(played) == "True"
    assert status(played, "Job", "work")["succeeded"] == 2
    said = [event.kind for event in played.events if event.component == "job-controller"]
    assert [word for word in said if word in ("Suspended", "Resumed")] == ["Suspended", "Resumed"]


@INDEXED
def test_an_indexed_job_grows_with_its_parallelism(profile: str) -> None:
    # Upstream: ElasticIndexedJob; both change together.
    steps = [
        patched("5s", completions=4, parallelism=4),
        patched("10s", completions=3, parallelism=3),
    ]
    work = job("work", completionMode="Indexed", completions=2, parallelism=2)
    played = play(work, containers=[{"runs": [{"for": "20s"}]}], steps=steps, profile=profile)
    assert created(played) == [0, 0, 5, 5]
    assert complete(played) == "True"
    assert status(played, "Job", "work")["completedIndexes"] == "0-2"


@INDEXED
def test_fewer_parallel_pods_run_after_a_change(profile: str) -> None:
    steps = [patched("5s", parallelism=1)]
    work = job("work", completionMode="Indexed", completions=3, parallelism=3)
    played = play(work, containers=[{"runs": [{"for": "20s"}]}], steps=steps, profile=profile)
    assert complete(played) == "True"
    assert status(played, "Job", "work")["completedIndexes"] == "0-2"
    assert len(created(played)) == 5


@INDEXED
@pytest.mark.parametrize(("policy", "waits"), [("Failed", True), ("TerminatingOrFailed", False)])
def test_the_replacement_policy_says_when_pods_follow(
    policy: str, waits: bool, profile: str
) -> None:
    steps = [{"at": "5s", "delete_pods": {"object": "node/n1", "grace_seconds": 20}}]
    work = job("work", completionMode="Indexed", completions=1, podReplacementPolicy=policy)
    played = play(
        work,
        containers=[{"runs": [{"for": "40s"}], "stop": {"after": "15s"}}],
        steps=steps,
        profile=profile,
    )
    first, second = created(played)[:2]
    assert (first, second >= 25) == (0, waits)


@INDEXED
def test_jobs_of_a_cron_job_have_indexes(profile: str) -> None:
    template = {"spec": job("work", completionMode="Indexed", completions=2, parallelism=2)["spec"]}
    cron_job = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "work", "namespace": "default"},
        "spec": {"schedule": "*/10 * * * *", "jobTemplate": template},
    }
    played = play(cron_job, containers=[WORKS], profile=profile, duration="15m")
    (made,) = played.cluster.store.objects("Job")
    assert made.status["completedIndexes"] == "0,1"


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20"])
def test_older_versions_know_no_indexes(profile: str) -> None:
    work = job("work", completionMode="Indexed", completions=2, parallelism=2)
    played = play(work, containers=[WORKS], profile=profile)
    assert complete(played) == "True"
    assert "completedIndexes" not in status(played, "Job", "work")


@pytest.mark.parametrize("profile", ["v1.34", "v1.34.9"])
def test_what_was_stored_without_mark_plays_as_before(profile: str) -> None:
    work = job("work", completionMode="Indexed", completions=2, parallelism=2)
    stored = scenario(work, containers=[WORKS], profile=profile)
    assert MARK in stored.objects[-1]["metadata"]["annotations"]
    bare = {**stored.objects[-1], "metadata": {"name": "work", "namespace": "default"}}
    before = Played(replace(stored, objects=(*stored.objects[:-1], bare)))
    assert complete(before) == "True"
    assert "completedIndexes" not in status(before, "Job", "work")
    assert not any(event.object.startswith("pod/default/work-0-") for event in before.events)


def test_a_finished_job_goes_after_a_time() -> None:
    played = play(job("work", ttlSecondsAfterFinished=30), containers=[WORKS])
    (ended,) = [event.at for event in played.events if event.kind == "Completed"]
    (gone,) = [event.at for event in played.events if event.kind == "JobDeleted"]
    assert 29 <= (gone - ended) // 10**9 <= 32
