"""A run pauses where its budget is used up, says so, and goes on once it is raised."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client

from engine.kernel.units import SECOND
from kscope.runs import services
from kscope.runs.drive import engines, garbage, runner
from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.drive.replay import Making
from kscope.runs.drive.slices import run_needs_driver
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run

pytestmark = pytest.mark.django_db(transaction=True)

Start = Callable[..., Run]


def _limited(start: Start, **parts: int) -> Run:
    run = start(speed="max")
    services.run_budget_change(run=run, wanted=dict(parts))
    services.run_transport(run=run, action="play")
    return _driven(run)


def _driven(run: Run) -> Run:
    runner.run_drive(run.pk)
    return Run.described().get(pk=run.pk)


def test_a_run_pauses_at_its_budget_of_events(start: Start) -> None:
    run = _limited(start, events=15)
    assert (run.status, run.stopped_by) == (Run.Status.PAUSED, "events")
    assert run.stop_reason == "Stopped at 15 events, the budget of this run. Raise it to go on."
    assert 15 <= run.head_seq < 23
    with connection.cursor() as cursor:
        assert run.pk not in run_needs_driver(cursor)


def test_a_raised_budget_lets_a_run_go_on(start: Start) -> None:
    run = _limited(start, events=15)
    run = services.run_budget_change(run=run, wanted={"events": 1_000_000}, play=True)
    assert (run.status, run.stopped_by, run.stop_reason) == (Run.Status.PLAYING, "", "")
    run = _driven(run)
    assert run.status == Run.Status.FINISHED
    whole = cluster_create(run)
    whole.advance(60 * SECOND)
    whole.take()
    assert run.head_digest == whole.digest()


def test_every_speed_stops_at_the_same_event(start: Start) -> None:
    fast = _limited(start, events=15)
    stepped = start(speed="max")
    services.run_budget_change(run=stepped, wanted={"events": 15})
    for _ in range(15):
        if stepped.stopped_by:
            break
        services.run_transport(run=stepped, action="step")
        stepped = _driven(stepped)
    assert (stepped.head_digest, stepped.head_seq) == (fast.head_digest, fast.head_seq)


def test_a_run_without_events_left_does_not_play(start: Start) -> None:
    run = _limited(start, events=15)
    with pytest.raises(ApplicationError, match="Raise it to go on"):
        services.run_transport(run=run, action="play")


def test_a_run_pauses_at_its_virtual_time(start: Start) -> None:
    run = _limited(start, time=SECOND)
    assert (run.stopped_by, run.head_at) == ("time", SECOND)


def test_a_run_pauses_at_its_objects(start: Start) -> None:
    run = _limited(start, objects=4)
    assert run.stopped_by == "objects"
    assert run.head_objects == 5


def test_a_run_pauses_before_it_takes_the_machine(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "resident_bytes", lambda: 3 * 2**30)
    run = start()
    services.run_transport(run=run, action="step")
    run = _driven(run)
    assert run.stopped_by == "memory"
    assert run.stop_reason == (
        "Stopped at 2,048 MiB of memory, the budget of this run. It takes 3,072 MiB. "
        "Raise it to go on."
    )
    assert run.memory_used == 3 * 2**30
    assert run.pk not in engines._live


def test_a_finished_run_has_not_exhausted_its_memory(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage, "resident_bytes", lambda: 3 * 2**30)
    run = _limited(start)
    assert (run.status, run.stopped_by) == (Run.Status.FINISHED, "")


def test_a_fork_has_the_budget_of_its_parent(start: Start) -> None:
    run = _limited(start, events=15)
    assert services.run_fork(run=run).budget_events == 15


def test_a_fork_under_another_profile_also_stops(driven: Run) -> None:
    services.run_budget_change(run=driven, wanted={"time": SECOND})
    fork = _driven(services.run_fork(run=driven, profile="v1.20"))
    assert (fork.stopped_by, fork.goal_at) == ("time", driven.head_at)
    services.run_budget_change(run=fork, wanted={"time": 600 * SECOND})
    fork = _driven(fork)
    assert (fork.stopped_by, fork.goal_at) == ("", None)


def test_a_corrupted_cache_ends_the_run_with_reason(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(speed="max", play=True)
    create = engines.cluster_creating

    def broken(run: Run) -> Making:
        engine = yield from create(run)
        engine.loop.call_at(SECOND, engine.loop.fail, "the scheduler's process has ended")
        return engine

    monkeypatch.setattr(engines, "cluster_creating", broken)
    run = _driven(run)
    assert (run.status, run.error) == (Run.Status.FAILED, "the scheduler's process has ended")
    assert run.head_at == SECOND


def test_the_api_shows_and_changes_a_budget(start: Start, client: Client) -> None:
    run = _limited(start, events=15)
    address = f"/api/v1/runs/{run.pk}/"
    shown = client.get(address).json()
    assert shown["stopped_by"] == "events"
    assert shown["budget"]["events"] == 15
    assert shown["used"]["events"] == run.head_seq
    wish = {"events": 500, "play": True}
    told = client.patch(f"{address}budget/", wish, content_type="application/json").json()
    assert (told["budget"]["events"], told["status"], told["stopped_by"]) == (500, "playing", "")


@pytest.mark.parametrize("amount", [0, -1, 2**63, "many", None])
def test_the_api_refuses_what_is_no_amount(start: Start, client: Client, amount: object) -> None:
    address = f"/api/v1/runs/{start().pk}/budget/"
    answer = client.patch(address, {"events": amount}, content_type="application/json")
    assert answer.status_code == 400
    assert [each["name"] for each in answer.json()["errors"]] == ["events"]
