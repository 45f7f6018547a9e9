"""Clocks that were set to another time: of the database, of Valkey, of the machine."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.beat import Scheduler
from django.conf import settings
from django.db import connection

from kscope import steady_clock
from kscope.celery import app
from kscope.operations import clock, presence, tasks
from kscope.operations.metrics import metrics_text
from kscope.operations.overview import overview
from kscope.operations.retention import _old_ids
from kscope.runs import nudges, services
from kscope.runs.drive import slices
from kscope.runs.drive.slices import run_needs_driver
from kscope.runs.models import Run

Start = Callable[..., Run]
HOUR = "1 hour"


@pytest.fixture
def lost(start: Start) -> Run:
    """A playing run whose worker died an hour before the database's clock was set back by one."""
    run = start(play=True)
    assert slices.lease_take(run.pk, "dead") == 1
    _lease_ends_in(run, HOUR)
    return run


def _lease_ends_in(run: Run, time: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET lease_until = clock_timestamp() + %s::interval WHERE id = %s",
            [time, run.pk],
        )


def test_a_lease_of_the_future_is_not_believed(lost: Run) -> None:
    with connection.cursor() as cursor:
        assert run_needs_driver(cursor) == [lost.pk]
    assert slices.lease_take(lost.pk, "alive") == 2


def test_nobody_waits_for_a_lease_from_the_future(
    lost: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(services, "_wake", asked.append)
    services.command_submit(run=lost, body={"verb": "cordon", "object": "node/n1"})
    assert asked == [lost.pk]


@pytest.mark.usefixtures("nobody_reports")
def test_operators_see_no_such_lease(lost: Run) -> None:
    assert overview()["leases"] == []
    assert b"kscope_leases 0.0" in metrics_text()


def test_such_a_lease_keeps_no_old_run(lost: Run) -> None:
    past = datetime(2000, 1, 1, tzinfo=UTC)
    fields: dict[str, Any] = {"created": past, "lease_since": past, "status": "finished"}
    Run.objects.filter(pk=lost.pk).update(**fields, is_started=True)
    assert _old_ids(1) == [lost.pk]


@pytest.mark.parametrize("ends", ["1 second", "30 seconds", "31 seconds"])
def test_a_lease_of_usual_length_is_believed(start: Start, ends: str) -> None:
    run = start(play=True)
    assert slices.lease_take(run.pk, "alive") == 1
    _lease_ends_in(run, ends)
    assert slices.lease_take(run.pk, "another") is None


@pytest.mark.usefixtures("nobody_reports")
def test_valkeys_clock_set_back_hides_no_dead_process() -> None:
    reporter = presence.Reporter("worker")
    reporter.report()
    assert len(presence.processes()) == 1
    presence.client().expire(reporter._key, 3600)
    assert presence.processes() == []


def test_clock_set_back_keeps_no_place_in_line() -> None:
    nudges.place_leave(41)
    assert [nudges.place_take(41), nudges.place_take(41)] == [True, False]
    nudges._client().expire("queued:41", 3600)
    assert [nudges.place_take(41), nudges.place_take(41)] == [True, False]
    nudges.place_leave(41)


def test_sweeps_continue_when_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Celery's own clock would wait for the hour to pass again."""
    passed = [0.0]
    monkeypatch.setattr(steady_clock, "monotonic", lambda: passed[0])
    beat = Scheduler(app, lazy=True)
    monkeypatch.setattr(beat, "apply_entry", lambda entry, producer: sent.append(entry.name))
    sent: list[str] = []
    beat.merge_inplace(settings.CELERY_BEAT_SCHEDULE)
    now = datetime.now(UTC)
    monkeypatch.setattr(app, "now", lambda: now - timedelta(hours=1))
    for _ in range(4):
        while beat.tick() == 0:
            pass
        passed[0] += 3.0
    assert sent.count("sweep-runs") >= 3


@pytest.mark.django_db
def test_a_clock_set_ahead_deletes_nothing(
    monkeypatch: pytest.MonkeyPatch, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DELETE_RUNS_DAYS = 30
    applied: list[object] = []
    monkeypatch.setattr(tasks, "retention_apply", applied.append)
    tasks.apply_retention()
    assert len(applied) == 1
    monkeypatch.setattr(clock, "_database_now", lambda: datetime.now(UTC) + timedelta(days=365))
    tasks.apply_retention()
    assert len(applied) == 1
    assert "nothing is deleted for its age: the database's clock says" in caplog.text
