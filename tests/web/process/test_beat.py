"""The beat, a thread of the worker that sweeps."""

import signal

import pytest
from celery import Celery
from celery.apps.worker import Worker
from celery.beat import Scheduler

from kscope import worker_steps
from kscope.celery import app
from kscope.runs.drive.ending.stopping import stop_ask, stop_unask
from kscope.worker_steps import Beat


class Broken(Scheduler):
    """Ends with its first tick."""

    def tick(self) -> float:
        raise SystemExit


class Quiet(Scheduler):
    """Has nothing to do."""

    def tick(self) -> float:
        return 0.001


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The signals that the process sent to itself."""
    found: list[int] = []
    monkeypatch.setattr(worker_steps.os, "kill", lambda _pid, number: found.append(number))
    stop_unask()
    return found


def ended(scheduler: type[Scheduler], *, is_stopped: bool = False) -> None:
    """Have a beat run to its end."""
    with Celery(set_as_current=False) as celery:
        beat = Beat(celery, f"{__name__}:{scheduler.__name__}")
        beat.start()
        if is_stopped:
            stop_ask()
            beat.stop()
        beat.join(60)
        assert not beat.is_alive()


def test_a_worker_ends_with_its_beat(sent: list[int]) -> None:
    ended(Broken)
    assert sent == [signal.SIGTERM]


def test_a_worker_that_stops_stops_its_beat(sent: list[int]) -> None:
    ended(Quiet, is_stopped=True)
    stop_unask()
    assert sent == []


def test_a_worker_has_one_beat_at_most() -> None:
    steps = {*Worker.Blueprint.default_steps, *app.steps["worker"]}  # type: ignore[misc]
    assert [step for step in steps if "Beat" in str(step)] == [worker_steps.Beats]
