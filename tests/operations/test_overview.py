"""The page of workers, leases and queues, and its JSON."""

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client

from engine.cluster.source import fingerprint
from kscope.operations import presence
from kscope.operations.overview import overview, summary
from kscope.runs import services
from kscope.runs.drive import runner, slices
from kscope.runs.models import Command, Run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("nobody_reports"),
]
Start = Callable[..., Run]


def test_a_lease_shows_its_owner_and_epoch(start: Start) -> None:
    run = start(play=True)
    reporter = presence.Reporter("worker")
    reporter.report()
    owner = presence.processes()[0].owner
    assert slices.lease_take(run.pk, owner) == 1
    found = overview()
    (lease,) = found["leases"]
    assert (lease["run"], lease["owner"], lease["epoch"]) == (run.pk, owner, 1)
    assert 0 <= lease["held_s"] < lease["left_s"] <= 30
    assert found["processes"][0]["drives"] == [run.pk]


def test_a_waiting_command_shows_its_age(start: Start) -> None:
    run = start()
    command = services.command_submit(run=run, body={"verb": "cordon", "object": "node/n1"})
    Command.objects.update(created="2026-01-01T00:00:00Z")
    (shown,) = overview()["commands"]
    assert (shown["id"], shown["verb"], shown["object"]) == (command.pk, "cordon", "node/n1")
    assert shown["age_s"] > 24 * 3600


def test_stuck_runs_are_shown_with_the_reason(start: Start) -> None:
    failed, older = start(), start()
    Run.objects.filter(pk=failed.pk).update(status="failed", error="ZeroDivisionError: no")
    digest = fingerprint()
    Run.objects.filter(pk=older.pk).update(differs_from=1204, differs_for=digest)
    reasons = {row["run"]: row["error"] for row in overview()["failures"]}
    assert reasons == {
        failed.pk: "ZeroDivisionError: no",
        older.pk: "recorded by another version of kscope; this one decides differently from event "
        "1,204 on",
    }


def test_the_largest_runs_show_their_checkpoint_sizes(driven: Run) -> None:
    (row,) = overview()["largest"]
    checkpoint = driven.checkpoints.get()
    assert (row["run"], row["events"], row["checkpoints"]) == (driven.pk, driven.head_seq, 1)
    assert row["checkpoint_bytes"] == len(checkpoint.engine) + len(checkpoint.view)


def test_queues_show_how_many_tasks_wait(nobody_reports: "redis.Redis") -> None:
    nobody_reports.delete("kscope", "sweeps")
    nobody_reports.rpush("kscope", "one", "two")
    assert overview()["queues"] == {"kscope": 2, "sweeps": 0}
    nobody_reports.delete("kscope")


def test_the_summary_counts_in_words() -> None:
    found = {"runs": {"playing": 1200, "paused": 0}, "queues": {}, "retention": {}}
    words = {"runs": "1,200 playing · 0 paused", "queues": "unknown"}
    assert summary(found) == {**words, "retention": "nothing is deleted"}


def test_the_page_stands_while_valkey_is_away(admin_client: Client, valkey_is_away: None) -> None:
    page = admin_client.get("/operations/")
    assert page.status_code == 200
    assert "Valkey does not answer" in page.content.decode()


def test_the_page_shows_runs_and_links_to_them(admin_client: Client, start: Start) -> None:
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    page = admin_client.get("/operations/").content.decode()
    assert f'href="/runs/{run.pk}/"' in page
    assert "nothing is deleted" in page
    assert admin_client.get("/api/v1/operations/").json()["runs"]["finished"] == 1


def test_only_admins_see_how_kscope_is_operated(client: Client, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    assert client.get("/operations/").status_code == 302
    assert client.get("/api/v1/operations/").status_code == 401
    client.force_login(User.objects.create_user("viewer"))
    assert client.get("/operations/").status_code == 403
    assert client.get("/api/v1/operations/").status_code == 403
    settings.LOGIN_REQUIRED = False
    assert client.get("/operations/").status_code == 200
