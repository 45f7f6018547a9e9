"""What the components of a run did: counted from its events, and told by the process that drives it."""

from collections.abc import Callable
from typing import Any

from celery import Celery
from kombu import Exchange, Queue

from kscope import worker_steps
from kscope.runs import measures
from kscope.runs.models import Run, RunEvent
from kscope.runs.record.work import Tally, tally, work_of
from tests.web.conftest import drive

Start = Callable[..., Run]


def row(kind: str, component: str) -> tuple[Any, ...]:
    """An event as a row of the record."""
    return 1, 0, kind, "pod/default/a", component, 0, "", None, None


def test_work_is_counted_by_its_component() -> None:
    rows = [
        row("AttemptStarted", "scheduler"),
        row("PodNominated", "scheduler"),
        row("ClaimBound", "pv-controller"),
        row("PodRunning", "kubelet/node-1"),
        row("PodRunning", "kubelet"),
        row("PodCreated", "somebody"),
    ]
    assert work_of(rows) == {
        "scheduling_cycles": 1,
        "preemptions": 1,
        "pv_controller_writes": 1,
        "kubelet_writes": 2,
    }


def test_tally_begins_anew_when_taken() -> None:
    of_runs = Tally()
    of_runs.note(1, {"preemptions": 1})
    of_runs.note(1, {"preemptions": 2})
    of_runs.note(2, {})
    assert of_runs.take() == {1: {"preemptions": 3}}
    assert of_runs.take() == {}


def test_each_scheduling_cycle_is_counted_once(start: Start) -> None:
    before = measures.WORK.labels("scheduling_cycles")._value.get()
    tally.take()
    run = start(play=True, speed="max")
    drive(run.pk)
    cycles = RunEvent.objects.filter(run=run, kind="AttemptStarted").count()
    assert cycles > 0
    assert tally.take()[run.pk]["scheduling_cycles"] == cycles
    assert measures.WORK.labels("scheduling_cycles")._value.get() - before == cycles


class Listened:
    """A worker whose events are listened to, as far as `_tell` looks at it."""

    hostname = "worker@here"

    def __init__(self, app: Celery, *, listens: bool) -> None:
        self.app = app
        self.consumer = self
        self.event_dispatcher = self
        self.enabled = listens


def test_work_is_sent_to_those_who_listen() -> None:
    app = Celery("listened", broker="memory://work")
    heard: list[dict[str, Any]] = []
    with app.connection() as link:
        exchange = Exchange("celeryev", type="topic")
        queue = Queue("listener", exchange, routing_key="#", channel=link.channel())
        queue.declare()
        with link.Consumer([queue], callbacks=[lambda body, message: heard.append(body)]):
            worker_steps._tell(Listened(app, listens=False), 7, {3: {"preemptions": 2}})
            worker_steps._tell(Listened(app, listens=True), 8, {3: {"preemptions": 2}})
            link.drain_events(timeout=5)
    assert [(each["type"], each["driver"], each["runs"]) for each in heard] == [
        ("driver-worked", 8, {"3": {"preemptions": 2}})
    ]
