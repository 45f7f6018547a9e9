"""Jobs as of v1.36, and marked ones of v1.34: counted pods, failure policies, indexes, success policies."""

from collections.abc import Iterator
from typing import Any

import pytest

from engine.controllers.workloads.job.backoff import BackoffRecord
from engine.controllers.workloads.job.indexes import indexes_text, parse_indexes
from engine.controllers.workloads.job.pod_templates import PodTemplates
from engine.controllers.workloads.job.progress import FINALIZER, JobProgress
from engine.input.header.job_marks import MARK, with_job_mark, with_job_marks
from engine.objects.objects import Pod
from tests.engine.controllers.workloads.builders import Json, World, make, make_node

NODES = [make_node("n1"), make_node("n2")]


def _job(code: str = "0", *, seconds: int = 2, **spec: Any) -> Json:
    """A Job whose containers end after *seconds* with *code*; see kscope.dev/exit-code."""
    made = make("Job", **spec)
    ends = {"kscope.dev/run-for": f"{seconds}s", "kscope.dev/exit-code": code}
    made["spec"]["template"]["metadata"]["annotations"] = ends
    return made


@pytest.fixture(autouse=True, params=["v1.34", "v1.36"])
def _version(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test is of both, but for those that say of which they are."""
    versions.append(request.param)
    yield
    versions.pop()


versions: list[str] = []


def _world(*objects: Json, profile: str = "") -> World:
    if not profile:
        # As if each of them needed it: a Job that is not marked is counted in v1.34.
        for each in objects:
            each["metadata"]["annotations"] = {MARK: "true"}
    return World(*NODES, *objects, profile=profile or versions[-1])


def _policy(action: str, **rule: Any) -> Json:
    return {"rules": [{"action": action, **rule}]}


def _on_code(*values: int, operator: str = "In", **more: Any) -> Json:
    return {"onExitCodes": {"operator": operator, "values": [*values], **more}}


def _conditions(world: World) -> list[tuple[str, str]]:
    conditions = world.get("Job").status.get("conditions") or ()
    return [(each["type"], each.get("reason", "")) for each in conditions]


def _created(world: World) -> int:
    return len(world.facts("PodCreated"))


def test_a_finalizer_holds_pods_until_counted() -> None:
    world = _world(_job(completions=2, parallelism=2))
    world.run(1)
    assert all(pod.finalizers == (FINALIZER,) for pod in world.pods())
    world.run(60)
    status = world.get("Job").status
    assert all(not pod.finalizers for pod in world.store.objects("Pod"))
    assert status["succeeded"] == 2
    assert status["uncountedTerminatedPods"] == {}
    assert _conditions(world) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]


def test_an_ended_pod_that_is_deleted_stays_counted() -> None:
    world = _world(_job(completions=2, parallelism=1))
    while not any(pod.phase == "Succeeded" for pod in world.pods()):
        world.run(0.1)
    world.do("delete", f"pod/default/{world.pods()[0].name}")
    world.run(60)
    assert world.get("Job").status["succeeded"] == 2
    assert _created(world) == 2


def test_deleted_pod_of_a_job_counts_as_failed() -> None:
    world = _world(_job(seconds=100))
    world.run(5)
    world.do("delete", f"pod/default/{world.pods()[0].name}")
    world.run(60)
    assert world.get("Job").status["failed"] == 1


def test_a_deleted_job_releases_its_pods() -> None:
    world = _world(_job(seconds=100))
    world.run(5)
    world.do("delete", "job/default/web")
    world.run(60)
    assert world.store.objects("Pod") == []


def test_fail_job_rule_ends_the_job_at_once() -> None:
    policy = _policy("FailJob", **_on_code(42))
    world = _world(_job("42", podFailurePolicy=policy))
    world.run(60)
    assert _created(world) == 1
    assert _conditions(world) == [
        ("FailureTarget", "PodFailurePolicy"),
        ("Failed", "PodFailurePolicy"),
    ]
    (pod,) = world.store.objects("Pod")
    message = f"Container c for pod default/{pod.name} failed with exit code 42 matching"
    assert (
        world.get("Job").status["conditions"][1]["message"] == f"{message} FailJob rule at index 0"
    )


@pytest.mark.parametrize(
    ("rule", "pods"),
    [
        (_on_code(42), 1),
        (_on_code(42, containerName="other"), 2),
        (_on_code(42, operator="NotIn"), 2),
        (_on_code(1, 2, operator="NotIn"), 1),
        ({"onPodConditions": [{"type": "ContainersReady", "status": "False"}]}, 1),
        ({"onPodConditions": [{"type": "DisruptionTarget"}]}, 2),
    ],
)
def test_rules_match_codes_or_conditions(rule: Json, pods: int) -> None:
    world = _world(_job("42", backoffLimit=1, podFailurePolicy=_policy("FailJob", **rule)))
    world.run(120)
    assert _created(world) == pods


def test_ignored_failures_do_not_use_up_the_limit() -> None:
    policy = _policy("Ignore", **_on_code(42))
    world = _world(_job("42", backoffLimit=0, podFailurePolicy=policy))
    world.run(100)
    assert _created(world) > 2
    assert not world.get("Job").status.get("failed")
    assert _conditions(world) == []


def test_limit_by_index_lets_the_others_go_on() -> None:
    job = _job(
        "0,1,0", completionMode="Indexed", completions=3, parallelism=3, backoffLimitPerIndex=1
    )
    world = _world(job)
    world.run(120)
    status = world.get("Job").status
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")
    assert (status["succeeded"], status["failed"]) == (2, 2)
    assert _conditions(world)[-1] == ("Failed", "FailedIndexes")
    counts = [
        pod.annotations["batch.kubernetes.io/job-index-failure-count"]
        for pod in world.store.objects("Pod")
        if pod.annotations["batch.kubernetes.io/job-completion-index"] == "1"
    ]
    assert sorted(counts) == ["0", "1"]


def test_fail_index_gives_up_an_index_at_once() -> None:
    job = _job(
        "0,1",
        completionMode="Indexed",
        completions=2,
        parallelism=2,
        backoffLimitPerIndex=5,
        podFailurePolicy=_policy("FailIndex", **_on_code(1)),
    )
    world = _world(job)
    world.run(60)
    assert _created(world) == 2
    assert world.get("Job").status["failedIndexes"] == "1"


def test_too_many_failed_indexes_end_the_job() -> None:
    job = _job(
        "1",
        completionMode="Indexed",
        completions=5,
        parallelism=1,
        backoffLimitPerIndex=0,
        maxFailedIndexes=1,
    )
    world = _world(job)
    world.run(120)
    assert _created(world) == 2
    assert _conditions(world)[-1] == ("Failed", "MaxFailedIndexesExceeded")


def test_a_success_policy_ends_the_job_early() -> None:
    job = _job("0,1", completionMode="Indexed", completions=3, parallelism=3, backoffLimit=9)
    job["spec"]["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
    world = _world(job)
    world.run(60)
    status = world.get("Job").status
    assert _conditions(world) == [
        ("SuccessCriteriaMet", "SuccessPolicy"),
        ("Complete", "SuccessPolicy"),
    ]
    assert status["conditions"][0]["message"] == "Matched rules at index 0"
    assert status["completedIndexes"] == "0"


def test_pods_of_an_index_bear_its_number() -> None:
    world = _world(_job(completionMode="Indexed", completions=2, parallelism=2))
    world.run(1)
    label = "batch.kubernetes.io/job-completion-index"
    found = sorted((pod.labels[label], pod.spec["hostname"]) for pod in world.pods())
    assert found == [("0", "web-0"), ("1", "web-1")]
    assert sorted(pod.name[:6] for pod in world.pods()) == ["web-0-", "web-1-"]
    assert all(pod.annotations[label] == pod.labels[label] for pod in world.pods())
    told = {"name": "JOB_COMPLETION_INDEX"}
    told |= {"valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}}
    template = PodTemplates(JobProgress(world.get("Job"), [], (), BackoffRecord()), [1]).next()[0]
    assert [each["env"] for each in template["spec"]["containers"]] == [[told]]


def test_a_suspended_job_has_no_pods() -> None:
    world = _world(_job(seconds=100, suspend=True))
    world.run(5)
    assert (_created(world), _conditions(world)) == (0, [("Suspended", "JobSuspended")])
    world.patch("job/default/web", spec={"suspend": False})
    world.run(5)
    assert (_created(world), _conditions(world)) == (1, [("Suspended", "JobResumed")])
    world.patch("job/default/web", spec={"suspend": True})
    world.run(60)
    assert world.store.objects("Pod") == []
    assert world.said("job-controller")[-1] == "Suspended: Job suspended"


def test_failed_pods_are_replaced_after_growing_waits() -> None:
    world = _world(_job("1", seconds=1, backoffLimit=3))
    world.run(200)
    created = world.facts("PodCreated")
    waits = [round(b - a) for a, b in zip(created, created[1:], strict=False)]
    # Their containers end 1 s after they start; times of the status are whole seconds.
    assert waits == [pytest.approx(12, abs=1), pytest.approx(22, abs=1), pytest.approx(42, abs=1)]
    assert _conditions(world)[-1] == ("Failed", "BackoffLimitExceeded")


def test_an_orphan_becomes_a_pod_of_the_job() -> None:
    made = _job(seconds=100, manualSelector=True, selector={"matchLabels": {"app": "web"}})
    orphan = make("Job")["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **orphan}
    pod["metadata"] = {"name": "lone", "namespace": "default", "labels": {"app": "web"}}
    world = _world(pod, made)
    world.run(10)
    (adopted,) = world.pods()
    assert isinstance(adopted, Pod)
    assert adopted.finalizers == (FINALIZER,)


_BY_HAND = {"manualSelector": True, "selector": {"matchLabels": {"app": "web"}}}


@pytest.mark.parametrize("selecting", [_BY_HAND, {}], ids=["by hand", "generated"])
@pytest.mark.parametrize("profile", ["v1.34", "v1.36"])
def test_a_pod_that_lost_its_job_is_adopted(profile: str, selecting: Json) -> None:
    # test/e2e/apps/job.go, "should adopt matching orphans and release non-matching pods"
    world = _world(_job(seconds=500, parallelism=2, completions=4, **selecting), profile=profile)
    world.run(10)
    before = world.pods()
    world.patch(before[0].id, metadata={"ownerReferences": None})
    world.run(5)
    assert [pod.finalizers for pod in world.pods()] == [pod.finalizers for pod in before]
    assert all(pod.controller for pod in world.pods())
    assert [pod.uid for pod in world.pods()] == [pod.uid for pod in before]


@pytest.mark.parametrize(
    ("profile", "selecting"), [("v1.34", _BY_HAND), ("v1.36", _BY_HAND), ("v1.36", {})]
)
def test_a_pod_without_its_labels_is_released(profile: str, selecting: Json) -> None:
    world = _world(_job(seconds=500, **selecting), profile=profile)
    world.run(10)
    (pod,) = world.pods()
    world.patch(pod.id, metadata={"labels": None})
    world.run(20)
    released, made = sorted(world.pods(), key=lambda each: each.uid != pod.uid)
    assert (released.uid, released.controller, released.finalizers) == (pod.uid, None, ())
    assert made.controller


def test_a_job_with_a_policy_replaces_deleted_pods() -> None:
    # test/e2e/apps/job.go, "should allow to use a pod failure policy to ignore failure matching on
    # DisruptionTarget condition": only what has failed is replaced, and a stopped pod has.
    policy = _policy("Ignore", onPodConditions=[{"type": "DisruptionTarget", "status": "True"}])
    world = _world(_job(seconds=500, podFailurePolicy=policy))
    world.run(10)
    (pod,) = world.pods()
    world.patch(pod.id, status={"conditions": [{"type": "DisruptionTarget", "status": "True"}]})
    world.do("delete", pod.id)
    world.run(60)
    (other,) = world.pods()
    assert other.uid != pod.uid
    assert world.get("Job").status.get("failed") is None
    assert world.get("Job").status["terminating"] == 0


def test_a_job_of_another_controller_is_left_alone() -> None:
    world = _world(_job(managedBy="example.com/queue"))
    world.run(10)
    assert world.pods() == []


def test_failures_before_the_last_success_do_not_count() -> None:
    def ended(at: int) -> Pod:
        state = {"terminated": {"finishedAt": f"2026-01-01T00:00:{at:02}Z"}}
        status = {"containerStatuses": [{"name": "c", "state": state}]}
        return Pod({"metadata": {"name": "p", "namespace": "default"}, "status": status})

    assert BackoffRecord(2, 5).after([ended(10)], [ended(8), ended(12)]).failures == 1
    assert BackoffRecord(2, 5).after([ended(10)], [ended(8)]) == BackoffRecord()
    assert BackoffRecord(2, 5).after([], [ended(8), ended(7)]).failures == 4


@pytest.mark.parametrize("text", ["", "0", "0,1", "0-2", "1,3-5,7,8"])
def test_indexes_are_written_as_upstream(text: str) -> None:
    assert indexes_text(parse_indexes(text, 10)) == text


def test_indexes_past_the_completions_are_left_out() -> None:
    assert [*parse_indexes("1-9", 4)] == [1, 2, 3]


def test_a_job_that_is_suspended_later_is_tracked() -> None:
    # In v1.34 a plain Job is counted until it says something that needs more.
    world = _world(_job(seconds=20, completions=3, parallelism=1), profile="v1.34")
    world.run(30)
    assert _conditions(world) == []
    change: Json = {"verb": "patch", "object": "job/default/web", "patch": {"spec": {}}}
    change["patch"]["spec"]["suspend"] = True
    world.do(**with_job_marks(change))
    world.run(20)
    assert _conditions(world) == [("Suspended", "JobSuspended")]
    assert [pod.phase for pod in world.pods()] == ["Succeeded"]
    world.patch("job/default/web", spec={"suspend": False})
    world.run(100)
    status = world.get("Job").status
    assert (status["succeeded"], _conditions(world)[-1][0]) == (3, "Complete")


def test_pods_are_held_once_their_job_is_marked() -> None:
    world = _world(_job(seconds=60, completions=1), profile="v1.34")
    world.run(5)
    change = {"spec": {"podReplacementPolicy": "Failed"}}
    command = {"verb": "patch", "object": "job/default/web", "patch": change}
    world.do(**with_job_marks(command))
    world.run(5)
    assert [pod.finalizers for pod in world.pods()] == [(FINALIZER,)]
    world.run(100)
    assert (_created(world), world.get("Job").status["succeeded"]) == (1, 1)


def test_a_restarted_controller_goes_on_with_marked_jobs() -> None:
    job = _job(seconds=20, completionMode="Indexed", completions=4, parallelism=2)
    world = _world(job, make("Job", "plain", completions=1))
    world.run(5)
    world.cluster.workloads.restart(["job-controller"])
    world.run(100)
    assert world.get("Job").status["completedIndexes"] == "0-3"
    assert _created(world) == 5


@pytest.mark.parametrize(
    ("spec", "is_marked"),
    [
        ({"completionMode": "Indexed", "completions": 2}, True),
        ({"podReplacementPolicy": "Failed"}, True),
        ({"podReplacementPolicy": "TerminatingOrFailed"}, False),
        ({"podFailurePolicy": _policy("Ignore", **_on_code(42))}, True),
        ({"suspend": True}, True),
        ({"suspend": False, "completionMode": "NonIndexed"}, False),
        ({"managedBy": "example.com/queue"}, True),
        ({"completions": 3, "parallelism": 2, "backoffLimit": 1}, False),
    ],
)
def test_jobs_are_marked_that_need_to_be_tracked(spec: Json, is_marked: bool) -> None:
    plain = make("Job", **spec)
    marked = with_job_mark(plain, "Job")
    assert (MARK in marked["metadata"].get("annotations", {})) is is_marked
    assert (marked is plain) is not is_marked
    cron_job = {"kind": "CronJob", "spec": {"jobTemplate": {"spec": plain["spec"]}}}
    template = with_job_mark(cron_job, "CronJob")["spec"]["jobTemplate"]
    assert (MARK in template.get("metadata", {}).get("annotations", {})) is is_marked
