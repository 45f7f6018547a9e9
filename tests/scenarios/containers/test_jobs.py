"""Jobs of every kind end as their containers are scripted."""

from typing import Any

import pytest

from tests.scenarios.containers.scripted import condition, job, play, status
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


def test_each_index_of_an_indexed_job_succeeds_once() -> None:
    scripts = [{"index": 1, "times": 1, **FAILS}, WORKS]
    work = job("work", completionMode="Indexed", completions=3, parallelism=3)
    played = play(work, containers=scripts)
    assert complete(played) == "True"
    shown = status(played, "Job", "work")
    assert (shown["completedIndexes"], shown["succeeded"], shown["failed"]) == ("0-2", 3, 1)


def test_each_index_has_its_own_backoff_limit() -> None:
    scripts = [{"index": [1, 3], **FAILS}, WORKS]
    work = job(
        "work", completionMode="Indexed", completions=5, parallelism=5, backoffLimitPerIndex=1
    )
    played = play(work, containers=scripts)
    assert failed(played) == ("True", "FailedIndexes")
    shown = status(played, "Job", "work")
    assert (shown["completedIndexes"], shown["failedIndexes"]) == ("0,2,4", "1,3")
    assert shown["failed"] == 4


def test_a_job_ends_with_too_many_failed_indexes() -> None:
    work = job(
        "work",
        completionMode="Indexed",
        completions=5,
        parallelism=1,
        backoffLimitPerIndex=0,
        maxFailedIndexes=1,
    )
    played = play(work, containers=[{"index": [0, 2], **FAILS}, WORKS])
    assert failed(played) == ("True", "MaxFailedIndexesExceeded")


def test_a_success_policy_ends_an_indexed_job() -> None:
    work = job(
        "work",
        completionMode="Indexed",
        completions=4,
        parallelism=4,
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    scripts = [{"index": 0, **WORKS}, {"runs": [{"for": "forever"}]}]
    played = play(work, containers=scripts)
    assert complete(played) == "True"
    assert status(played, "Job", "work")["completedIndexes"] == "0"


def policy(action: str, *values: int) -> dict[str, Any]:
    codes = {"containerName": "main", "operator": "In", "values": [*values]}
    return {"rules": [{"action": action, "onExitCodes": codes}]}


def test_a_pod_failure_policy_fails_the_job() -> None:
    work = job("work", podFailurePolicy=policy("FailJob", 42))
    played = play(work, containers=[{"runs": [{"for": "2s", "exit": 42}]}])
    assert failed(played) == ("True", "PodFailurePolicy")
    assert len(created(played)) == 1


def test_a_pod_failure_policy_ignores_a_failure() -> None:
    work = job("work", backoffLimit=0, podFailurePolicy=policy("Ignore", 42))
    scripts = [{"times": 2, "runs": [{"for": "2s", "exit": 42}]}, WORKS]
    played = play(work, containers=scripts)
    assert complete(played) == "True"
    assert status(played, "Job", "work").get("failed", 0) == 0


@pytest.mark.parametrize("profile", ["v1.20", "v1.36"])
def test_a_job_fails_at_its_deadline(profile: str) -> None:
    work = job("work", activeDeadlineSeconds=30)
    played = play(work, containers=[{"runs": [{"for": "forever"}]}], profile=profile)
    assert failed(played) == ("True", "DeadlineExceeded")


def test_a_suspended_job_begins_when_it_is_resumed() -> None:
    steps = [{"at": "60s", "patch": {"object": "job/default/work", "patch": RESUMED}}]
    played = play(job("work", suspend=True), containers=[WORKS], steps=steps)
    assert created(played) == [60]
    assert complete(played) == "True"


RESUMED = {"spec": {"suspend": False}}


def test_a_finished_job_goes_after_a_time() -> None:
    played = play(job("work", ttlSecondsAfterFinished=30), containers=[WORKS])
    (ended,) = [event.at for event in played.events if event.kind == "Completed"]
    (gone,) = [event.at for event in played.events if event.kind == "JobDeleted"]
    assert 29 <= (gone - ended) // 10**9 <= 32
