"""What goes after some time, and what never does."""

import io
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client

from kscope.celery import app as celery
from kscope.operations import retention, tasks
from kscope.operations.retention import Policy, retention_apply, retention_plan
from kscope.operations.tasks import apply_retention
from kscope.runs import services
from kscope.runs.drive import slices
from kscope.runs.drive.hosting import fleet
from kscope.runs.history.chunks import digest_of
from kscope.runs.history.states import state_at
from kscope.runs.models import Checkpoint, Keyframe, Run, RunEvent, ViewChunk
from kscope.runs.selectors import run_state_at
from scheduling.models import SchedulingAttempt

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]
DELETE = Policy(delete_runs_days=30)


def aged(run: Run, days: int = 31) -> Run:
    """*run* as if a worker had it last so many days ago."""
    then = datetime.now(UTC) - timedelta(days=days)
    Run.objects.filter(pk=run.pk).update(created=then, lease_since=then, lease_until=None)
    run.refresh_from_db()
    return run


def test_by_default_nothing_ever_goes(driven: Run) -> None:
    aged(driven, days=10_000)
    apply_retention()
    assert Run.objects.filter(pk=driven.pk).exists()


def test_a_policy_says_what_goes_and_when() -> None:
    assert Policy().sentence == "nothing is deleted"
    policy = Policy(delete_runs_days=30, drop_evidence_days=1)
    assert policy.sentence == "runs are deleted after 30 days · evidence is dropped after 1 day"


def test_every_periodic_task_belongs_to_the_sweeper(settings: Any) -> None:
    celery.loader.import_default_modules()
    for entry in settings.CELERY_BEAT_SCHEDULE.values():
        assert entry["task"] in celery.tasks
        assert settings.CELERY_TASK_ROUTES[entry["task"]] == {"queue": "sweeps"}


def test_a_worker_with_drivers_retains_apart(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DELETE_RUNS_DAYS = 30
    monkeypatch.setattr(fleet, "fleet", fleet.Fleet(0, lambda death: None))
    process = Mock()
    start = Mock(return_value=process)
    monkeypatch.setattr(tasks, "start_function", start)
    monkeypatch.setattr(tasks, "_retaining", None)
    for is_over in (False, False, True):
        process.poll.return_value = 0 if is_over else None
        apply_retention()
    assert [call.args[0].function for call in start.call_args_list] == [
        "kscope.operations.retention:main",
        "kscope.operations.retention:main",
    ]


def test_the_process_apart_follows_the_settings(driven: Run, settings: Any) -> None:
    settings.DELETE_RUNS_DAYS = 30
    aged(driven)
    retention.main()
    assert not Run.objects.exists()


def test_an_old_run_goes_with_all_it_recorded(driven: Run, settings: Any) -> None:
    settings.DELETE_RUNS_DAYS = 30
    aged(driven)
    apply_retention()
    for table in (Run, RunEvent, Checkpoint, SchedulingAttempt):
        assert not table.objects.exists()


def test_a_plan_changes_nothing_and_shows_the_size(driven: Run) -> None:
    aged(driven)
    (item,) = retention_plan(DELETE).deleted
    assert (item.run, item.count) == (driven.pk, driven.head_seq)
    assert item.size > 1_000
    assert Run.objects.filter(pk=driven.pk).exists()


@pytest.mark.parametrize(
    "spared",
    [
        {"kept": True},
        {"status": "playing"},
        {"steps_wanted": 1},
        {"lease_until": Now() + timedelta(seconds=30)},
        {"lease_since": datetime.now(UTC)},
    ],
)
def test_runs_in_use_or_kept_are_never_touched(driven: Run, spared: dict[str, Any]) -> None:
    aged(driven)
    Run.objects.filter(pk=driven.pk).update(**spared)
    policy = Policy(30, 30, 30)
    plan = retention_apply(policy)
    assert (plan.deleted, plan.thinned, plan.emptied) == ([], [], [])
    assert Run.objects.filter(pk=driven.pk).exists()


def test_a_run_with_a_command_that_waits_stays(driven: Run) -> None:
    services.command_submit(run=driven, body={"verb": "cordon", "object": "node/n1"})
    aged(driven)
    assert not retention_apply(DELETE).deleted


def test_a_run_that_a_worker_takes_meanwhile_stays(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    aged(driven)
    planned = retention.retention_plan

    def taken_meanwhile(policy: Policy) -> retention.Plan:
        plan = planned(policy)
        slices.lease_take(driven.pk, "a worker")
        return plan

    monkeypatch.setattr(retention, "retention_plan", taken_meanwhile)
    assert not retention_apply(DELETE).deleted
    assert Run.objects.filter(pk=driven.pk).exists()


def test_thinning_keeps_first_last_and_spaced_checkpoints(driven: Run) -> None:
    sample = Checkpoint.objects.filter(run=driven).first()
    assert sample is not None
    for seq in range(10_000, 200_001, 10_000):
        sample.pk, sample.seq = None, seq
        sample.save()
    aged(driven)
    first = Checkpoint.objects.filter(run=driven).order_by("seq").first()
    assert first is not None
    retention_apply(Policy(thin_runs_days=30))
    left = list(Checkpoint.objects.filter(run=driven).order_by("seq").values_list("seq", flat=True))
    assert left == [first.seq, 50_000, 100_000, 150_000, 200_000]


def test_keyframes_are_thinned_with_their_chunks(driven: Run) -> None:
    level = driven.keyframes.order_by("seq").last()
    assert level is not None
    for seq in range(10_000, 120_001, 10_000):
        text = f"pod/default/p{seq}\t{{}}".encode()
        Keyframe.objects.create(
            run=driven, seq=seq, at=0, levels=[*level.levels, *_level(driven, text)]
        )
    aged(driven)
    planned, kept = (
        retention.retention_plan(Policy(thin_runs_days=30)).thinned[0],
        driven.keyframes.count(),
    )
    before, first = (
        ViewChunk.objects.filter(run=driven).count(),
        driven.keyframes.earliest("seq").seq,
    )
    retention_apply(Policy(thin_runs_days=30))
    left = list(driven.keyframes.order_by("seq").values_list("seq", flat=True))
    assert left == [first, 50_000, 100_000, 120_000]
    assert planned.count == kept - 4
    # A level and a chunk went with each of nine, and nothing that is still needed.
    assert ViewChunk.objects.filter(run=driven).count() <= before - 18
    assert "pod/default/p50000" in state_at(driven.pk, 50_000)


def _level(run: Run, chunk: bytes) -> list[tuple[str, int]]:
    """A level with one chunk, as it is kept."""
    digest = digest_of(chunk)
    index = orjson.dumps({"pod": [digest]})
    for text in (chunk, index):
        ViewChunk.objects.create(run=run, digest=digest_of(text), body=zlib.compress(text))
    return [(digest_of(index), 1)]


def test_a_thinned_run_is_shown_at_every_event(driven: Run) -> None:
    before = [run_state_at(driven, seq=seq).state for seq in range(driven.head_seq + 1)]
    aged(driven)
    retention_apply(Policy(thin_runs_days=30))
    assert [run_state_at(driven, seq=seq).state for seq in range(driven.head_seq + 1)] == before


def test_dropped_evidence_is_computed_again_when_asked(driven: Run, client: Client) -> None:
    attempt = SchedulingAttempt.objects.filter(run=driven, pod="default/giant").first()
    assert attempt is not None
    address = f"/api/v1/runs/{driven.pk}/attempts/{attempt.pk}/"
    before = client.get(address).json()
    aged(driven)
    plan = retention_apply(Policy(drop_evidence_days=30))
    attempt.refresh_from_db()
    assert attempt.evidence is None
    assert plan.emptied[0].count == SchedulingAttempt.objects.filter(run=driven).count()
    assert client.get(address).json() == before


def test_evidence_of_another_version_is_never_dropped(driven: Run) -> None:
    aged(driven)
    Run.objects.filter(pk=driven.pk).update(engine_digest="of another version")
    assert not retention_apply(Policy(drop_evidence_days=30)).emptied


def test_compact_says_what_would_go_and_keeps_it(driven: Run) -> None:
    aged(driven)
    said = io.StringIO()
    call_command("compact", "--dry-run", "--delete-runs-days", "30", stdout=said)
    assert "Runs that would be deleted: 1" in said.getvalue()
    assert f"#{driven.pk} Small" in said.getvalue() or f"#{driven.pk} small" in said.getvalue()
    assert Run.objects.filter(pk=driven.pk).exists()
    call_command("compact", "--delete-runs-days", "30", "--vacuum", stdout=said)
    assert not Run.objects.exists()


def test_a_run_is_kept_over_rest(driven: Run, client: Client) -> None:
    address = f"/api/v1/runs/{driven.pk}/kept/"
    answer = client.put(address, {"kept": True}, content_type="application/json")
    assert answer.json()["kept"] is True
    aged(driven)
    assert not retention_apply(DELETE).deleted
    client.put(address, {"kept": False}, content_type="application/json")
    assert len(retention_apply(DELETE).deleted) == 1


def test_the_parent_of_an_unfinished_fork_stays(driven: Run) -> None:
    fork = services.run_fork(run=driven, seq=5)
    aged(driven)
    assert not retention_apply(DELETE).deleted
    Run.objects.filter(pk=fork.pk).update(goal_at=None)
    assert [item.run for item in retention_apply(DELETE).deleted] == [driven.pk]
