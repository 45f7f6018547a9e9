"""A run whose scheduler asks an extender: what was answered once is never asked again."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from engine.input.loader import load_files
from engine.kernel.stepwise import finished
from kscope.runs import services
from kscope.runs.drive import engines, runner
from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.drive.checkpoints import checkpoint_freeze, checkpoint_insert
from kscope.runs.drive.replay import engine_at_head, engine_at_seq
from kscope.runs.models import Run, RunEvent
from tests.engine.scheduler.configuration.test_extenders import Extender
from tests.web.conftest import CLUSTER
from tests.web.drive.test_runner import drive_and_kill, seqs

pytestmark = pytest.mark.django_db(transaction=True)

CONFIGURATION = """
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {{urlPrefix: "{url}", filterVerb: filter, prioritizeVerb: prioritize, weight: 1, bindVerb: bind}}
"""


@pytest.fixture
def extender(monkeypatch: pytest.MonkeyPatch) -> Iterator[Extender]:
    """An extender whose answers depend on how often it was asked: it must not be asked twice."""
    server = Extender()
    monkeypatch.setenv("KSCOPE_EXTENDERS", server.place)
    server.replies["filter"] = lambda body: body

    def prioritize(body: dict[str, Any]) -> Any:
        items = body["Nodes"]["items"]
        favourite = len(server.asked) % len(items)
        return [
            {"Host": one["metadata"]["name"], "Score": 10 if place == favourite else 0}
            for place, one in enumerate(items)
        ]

    server.replies["prioritize"] = prioritize
    server.replies["bind"] = lambda body: {"Error": ""}
    yield server
    server.close()


def _run(extender: Extender, **options: Any) -> Run:
    text = CLUSTER + CONFIGURATION.format(url=extender.url)
    result = load_files([("asks.yaml", text.encode())])
    assert result.ok, result.problems
    return services.run_create(
        scenario=services.scenario_store(name="asks", result=result), **options
    )


def _calls(run: Run) -> list[int]:
    found = RunEvent.objects.filter(run=run, kind="ExtenderCalled").order_by("seq")
    return [data["call"] for data in found.values_list("data", flat=True)]


def _after_one_bound_pod(extender: Extender) -> Run:
    run = _run(extender)
    while not RunEvent.objects.filter(run=run, kind="PodBound").exists():
        services.run_transport(run=run, action="step", unit="event")
        runner.run_drive(run.pk)
    engines._live.clear()
    run.refresh_from_db()
    return run


def test_recovery_takes_the_answers_from_the_record(extender: Extender) -> None:
    run = _after_one_bound_pod(extender)
    asked = len(extender.asked)
    assert asked == len(_calls(run)) > 0
    engine = engine_at_head(run)
    assert (engine.seq, engine.digest()) == (run.head_seq, run.head_digest)
    assert len(extender.asked) == asked


def test_recovery_from_a_checkpoint_reuses_later_answers(extender: Extender) -> None:
    run = _after_one_bound_pod(extender)
    first = RunEvent.objects.filter(run=run, kind="ExtenderCalled").order_by("seq").first()
    assert first is not None
    engine = engine_at_seq(run, seq=first.seq)
    engine.take()
    checkpoint_insert(finished(checkpoint_freeze(run_id=run.pk, engine=engine, commands=0)))
    asked = len(extender.asked)
    again = engine_at_head(run)
    assert (again.seq, again.digest()) == (run.head_seq, run.head_digest)
    assert len(extender.asked) == asked


def test_a_recovered_run_resumes_asking_extenders(extender: Extender) -> None:
    run = _after_one_bound_pod(extender)
    services.run_transport(run=run, action="play", speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    calls = _calls(run)
    assert calls == list(range(1, len(calls) + 1))
    assert len(extender.asked) == len(calls)


def test_an_unstorable_answer_is_an_extender_error(
    extender: Extender,
) -> None:
    extender.replies["filter"] = lambda body: {"Error": "a\0b"}
    run = _run(extender, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    failed = RunEvent.objects.filter(run=run, kind="FailedScheduling").first()
    assert failed is not None
    assert "U+0000" in failed.message


@pytest.mark.slow
def test_a_killed_worker_repeats_only_uncommitted_calls(extender: Extender) -> None:
    run = _run(extender, play=True, speed="max")
    chance = Random(5)
    for _ in range(5):
        drive_and_kill(run, chance)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert seqs(run) == list(range(1, run.head_seq + 1))
    calls = _calls(run)
    assert calls == list(range(1, len(calls) + 1))
    asked = len(extender.asked)
    cluster = cluster_create(run)
    cluster.extender_calls.transport = None
    while (due := cluster.next_at) is not None:
        cluster.advance(due)
    cluster.take()
    assert cluster.digest() == run.head_digest
    assert len(extender.asked) == asked
