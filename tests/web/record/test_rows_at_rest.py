"""Rows of objects: written at rest and for readers, and whole again whatever ended a driver."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from engine.cluster.cluster import Cluster
from engine.input.generate import synthetic
from engine.kernel.stepwise import finished
from engine.kernel.units import SECOND
from kscope.runs import services
from kscope.runs.drive import runner, slices
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.drive.tables import unwritten
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, Run
from kscope.runs.web.past import object_now
from scheduling.drain import drain_preview
from scheduling.findings.record_checks import run_findings
from scheduling.models import Pod
from tests.web.conftest import driving, kept_scenario
from tests.web.drive.workers import begun, behind, committed, left_behind

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]
ALL = Run.objects


def agree(run: Run) -> bool:
    """Whether its rows are exactly those of its engine, and the run says so."""
    run.refresh_from_db()
    return run.rows_seq is None and run_findings(run, engine_at_head(run)) == []


def test_a_run_that_plays_leaves_rows_behind(start: Start) -> None:
    run = start(play=True, speed="max")
    with behind(run):
        found = ALL.get(pk=run.pk)
        assert found.rows_seq is not None
        assert found.rows_seq < found.head_seq
        assert Pod.objects.get(run=run, key="default/web").node_name == ""
        assert run_findings(found, engine_at_head(found)) == []


def test_a_run_that_begins_has_no_rows(start: Start) -> None:
    run = start(play=True, speed="max")
    epoch = slices.lease_take(run.pk, "first")
    assert epoch is not None
    with begun(run.pk, epoch) as driver:
        committed(driver)
        assert ALL.get(pk=run.pk).rows_seq == -1
        assert not Pod.objects.filter(run=run).exists()
    ALL.filter(pk=run.pk).update(lease_until=None, status=Run.Status.PAUSED)
    runner.run_drive(run.pk)
    assert Pod.objects.filter(run=run).count() == 2
    assert agree(run)


def test_rows_follow_as_long_as_somebody_reads(start: Start) -> None:
    run = start(play=True, speed="max")
    with behind(run) as driver:
        ALL.filter(pk=run.pk).update(rows_asked_at=timezone.now())
        finished(driver._look())
        assert driver.wanted.reads_rows
        committed(driver)
        assert agree(run)
        ALL.filter(pk=run.pk).update(rows_asked_at=None)
        finished(driver._look())
        driver.engine.advance(3 * SECOND)
        committed(driver)
        assert not agree(run)


def test_rows_do_not_stay_behind_for_long(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start(play=True, speed="max")
    with behind(run) as driver:
        monkeypatch.setattr(unwritten, "MOST_SECONDS", 0.0)
        committed(driver)
        assert agree(run)


@pytest.mark.parametrize("status", [Run.Status.PAUSED, Run.Status.PLAYING])
def test_the_next_driver_brings_rows_up_to_date(start: Start, status: str) -> None:
    run = left_behind(start(play=True, speed="max"))
    ALL.filter(pk=run.pk).update(status=status)
    with connection.cursor() as cursor:
        assert slices.run_needs_driver(cursor, [run.pk]) == [run.pk]
    runner.run_drive(run.pk)
    assert agree(run)
    with connection.cursor() as cursor:
        assert slices.run_needs_driver(cursor, [run.pk]) == []


def test_objects_that_went_meanwhile_have_no_rows(start: Start) -> None:
    run = start(play=True, speed="max")
    with behind(run) as driver:
        body = {"verb": "delete", "object": "pod/default/web"}
        command = services.command_submit(run=run, body=body)
        finished(driver._slice())
        command.refresh_from_db()
        assert command.status == Command.Status.APPLIED
        driver.engine.advance(driver.engine.now + 60 * SECOND)
        committed(driver)
        assert Pod.objects.filter(run=run, key="default/web").exists()
    assert ALL.get(pk=run.pk).rows_seq is not None
    ALL.filter(pk=run.pk).update(lease_until=None)
    runner.run_drive(run.pk)
    assert not Pod.objects.filter(run=run, key="default/web").exists()
    assert agree(run)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_whole_after_deaths_anywhere(seed: int) -> None:
    chance = Random(seed)
    scenario = kept_scenario(synthetic(nodes=6, pods=40, seed=seed))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    for _ in range(4):
        epoch = slices.lease_take(run.pk, f"of {seed}")
        assert epoch is not None
        with begun(run.pk, epoch) as driver:
            for _ in range(chance.randint(1, 5)):
                due = driver.engine.next_at or 0
                driver.engine.advance(due + chance.randint(0, SECOND), max_steps=200)
                if chance.random() < 0.2:
                    ALL.filter(pk=run.pk).update(rows_asked_at=timezone.now())
                    finished(driver._look())
                committed(driver)
            # What it computed since is lost with it.
            driver.engine.advance(driver.engine.now + SECOND, max_steps=50)
        ALL.filter(pk=run.pk).update(lease_until=None, rows_asked_at=None)
    ALL.filter(pk=run.pk).update(status=Run.Status.PAUSED)
    runner.run_drive(run.pk)
    assert agree(run)


def test_engine_that_breaks_leaves_rows_of_its_record(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = left_behind(start(play=True, speed="max"))
    head = run.head_seq

    def breaks(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as broken:
        broken.setattr("kscope.runs.drive.engines.head_in_steps", _standing_at(run))
        broken.setattr(Cluster, "advance", breaks)
        runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error, run.head_seq) == ("failed", "RuntimeError: broken", head)
    ALL.filter(pk=run.pk).update(status=Run.Status.PAUSED)
    assert agree(run)


def _standing_at(run: Run) -> Callable[..., Any]:
    """Makes the engine at the head of *run*, computed before anything breaks."""
    engine = engine_at_head(run)

    def making(_: Run) -> Any:
        yield None
        return engine

    return making


def test_a_fork_has_rows_where_it_begins(driven: Run) -> None:
    fork = services.run_fork(run=driven, seq=driven.head_seq // 2)
    runner.run_drive(fork.pk)
    assert agree(fork)


def test_a_reader_gets_what_is_newest(start: Start) -> None:
    run = left_behind(start(play=True, speed="1"))
    with driving(run):
        web = object_now(run, "pod/default/web")
        assert web is not None
        assert web["spec"].get("nodeName")
        node = web["spec"]["nodeName"]
        assert drain_preview(run, node)["evicted"] >= 1
    assert agree(run)


def test_a_reader_is_told_where_no_worker_writes(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = left_behind(start(play=True, speed="max"))
    usual = services.rows_wait.__kwdefaults__
    assert usual is not None
    monkeypatch.setitem(usual, "seconds", 0.1)
    with pytest.raises(ApplicationError) as refusal:
        object_now(run, "pod/default/web")
    assert refusal.value.status == 503
    assert f"kept as of event {run.rows_seq}; " in refusal.value.message
    assert f"to event {run.head_seq} so far" in refusal.value.message


def test_lists_of_objects_say_as_of_which_event(
    admin_client: Client, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kscope.runs.admin.objects.ROWS_SECONDS", 0.1)
    run = left_behind(start(play=True, speed="max"))
    words = f"shown as of event {run.rows_seq}; the run is at event {run.head_seq}"
    pod = Pod.objects.get(run=run, key="default/web")
    pages = ["/admin/scheduling/pod/", f"/admin/scheduling/pod/?run__id__exact={run.pk}"]
    for page in [*pages, f"/admin/scheduling/pod/{pod.pk}/change/"]:
        assert words in admin_client.get(page).content.decode()
    ALL.filter(pk=run.pk).update(status=Run.Status.PAUSED)
    runner.run_drive(run.pk)
    for page in pages:
        assert "shown as of event" not in admin_client.get(page).content.decode()
