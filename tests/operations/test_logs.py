"""What a line of the log carries, and how it is written."""

import io
import json
import logging
import logging.config
from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from kscope import logs
from kscope.runs.app_registry import registry
from kscope.runs.drive import replay, runner
from kscope.runs.drive.moving.clock import Time
from kscope.runs.models import Run

Written = Callable[[], list[dict]]


@pytest.fixture
def written() -> Iterator[Written]:
    """What is logged from now on, as JSON."""
    settings = logs.logging_settings("json", "DEBUG")
    formatter = settings["formatters"]["kscope"]
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        formatter["()"](
            processors=formatter["processors"], foreign_pre_chain=formatter["foreign_pre_chain"]
        )
    )
    logger = logging.getLogger("kscope")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("DEBUG")
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logger.removeHandler(handler)
    logger.setLevel(before)


def line(form: str, **fields: object) -> str:
    """One line about a run as the settings would write it."""
    formatter = logs.logging_settings(form, "INFO")["formatters"]["kscope"]
    made = formatter["()"](
        processors=formatter["processors"], foreign_pre_chain=formatter["foreign_pre_chain"]
    )
    record = logging.LogRecord("kscope.x", logging.WARNING, "", 0, "run %s is slow", (3,), None)
    with logs.bound(**fields):
        return made.format(record)


def test_a_readable_line_ends_with_bound_values() -> None:
    assert line("lines", run=3, seq=120, epoch=2).endswith(
        "WARNING kscope.x: run 3 is slow [epoch=2 run=3 seq=120]"
    )


def test_a_line_of_json_holds_what_is_bound() -> None:
    found = json.loads(line("json", run=3, seq=120))
    assert {key: found[key] for key in ("level", "logger", "message", "run", "seq")} == {
        "level": "warning",
        "logger": "kscope.x",
        "message": "run 3 is slow",
        "run": 3,
        "seq": 120,
    }


def test_uvicorn_and_celery_write_with_our_formatter() -> None:
    settings = logs.logging_settings("json", "INFO")
    for name in ("uvicorn", "uvicorn.error", "celery"):
        ours = {"handlers": [], "level": "INFO", "propagate": True}
        assert ours.items() <= settings["loggers"][name].items()


@pytest.mark.django_db(transaction=True)
def test_a_worker_says_run_seq_and_epoch(
    start: Callable[..., Run], written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start()
    runner.run_drive(run.pk)
    run.refresh_from_db()
    monkeypatch.setattr(registry, "enqueue", lambda run_id: replay.log.warning("queued"))
    Run.objects.filter(pk=run.pk).update(status="playing")
    monkeypatch.setattr(Time, "is_at_end", property(lambda self: 1 / 0))
    runner.run_drive(run.pk)
    (failed,) = [each for each in written() if each["level"] == "error"]
    assert (failed["run"], failed["epoch"]) == (run.pk, 2)
    assert "ZeroDivisionError" in failed["exception"]


@pytest.mark.django_db
def test_a_proxys_request_id_is_logged_and_returned(client: Client, written: Written) -> None:
    answer = client.get("/api/v1/runs/", headers={"X-Request-ID": "from-the-proxy.1"})
    assert answer["X-Request-ID"] == "from-the-proxy.1"
    assert {each["request_id"] for each in written()} == {"from-the-proxy.1"}


@pytest.mark.django_db
def test_a_request_id_with_odd_characters_is_replaced(client: Client) -> None:
    answer = client.get("/api/v1/runs/", headers={"X-Request-ID": "two words"})
    assert answer["X-Request-ID"].isalnum()


@pytest.mark.django_db
def test_the_account_of_a_request_is_logged(admin_client: Client, written: Written) -> None:
    admin_client.get("/admin/")
    assert written()[-1]["account"] == "admin"
