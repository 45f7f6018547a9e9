"""Runs in the test database, driven in this process instead of by a worker."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from engine.input.scenario import Scenario as LoadedScenario
from kscope.runs import aside
from kscope.runs.contents import packed, pieces_keep
from kscope.runs.drive import runner
from kscope.runs.models import Run, Scenario
from kscope.runs.nudges import wake_drivers
from tests.contract import kept
from tests.waiting import wait_for

CLUSTER = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: small}
spec:
  title: Small
  question: Who waits?
  duration: 60s
  steps:
  - at: 2s
    create: {apiVersion: v1, kind: Pod, metadata: {name: late}, spec: {containers: [{name: c, image: app:1}]}}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: za}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/zone: zb}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: c, image: app:1, resources: {requests: {cpu: 500m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: giant}
spec: {containers: [{name: c, image: app:1, resources: {requests: {cpu: "3"}}}]}
"""


@pytest.fixture(scope="session", autouse=True)
def processes_of_a_loader(forked_processes: None) -> None:
    """Questions about the past are answered in processes that are forked from one."""


@pytest.fixture(autouse=True)
def contract() -> Iterator[None]:
    """Every answer of the REST API is what its document says."""
    with kept():
        yield


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""


def answer_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have questions to engines answered in this process."""

    def answer(question: aside.Question, on_part: aside.OnPart) -> bytes:
        found = question.function(**question.arguments)
        if not isinstance(found, Iterator):
            return orjson.dumps(found)
        for part in found:
            on_part(orjson.dumps(part))
        return b""

    async def ask(
        question: aside.Question, asker: str, on_part: aside.OnPart = lambda _: None
    ) -> bytes:
        return await sync_to_async(answer)(question, on_part)

    monkeypatch.setattr(aside, "ask", ask)


def kept_scenario(loaded: LoadedScenario) -> Scenario:
    """A scenario that came in no file."""
    content = packed(loaded.to_dict())
    scenario = Scenario.objects.create(name="crowd", digest="crowd", header=content.header)
    pieces_keep(scenario, content.pieces)
    return scenario


def drive(run_id: int) -> None:
    """Drive the run in this thread, which is not Django's own and must clean up after itself."""
    try:
        runner.run_drive(run_id)
    finally:
        connection.close()


def unused(run_id: int) -> None:
    """As ten minutes after the newest request of a client; to be called in a thread of its own.

    What is left of the run is played as fast as possible.
    """
    Run.objects.filter(pk=run_id).update(used_at=None, speed=Run.Speed.MAX)
    wake_drivers(run_id)
    connection.close()


@contextmanager
def driving(run: Run) -> Iterator[None]:
    """Meanwhile, another thread drives the run, as a worker would after a nudge.

    At the end no client uses it any more, so that it finishes.
    """
    over = threading.Event()

    def drive_on() -> None:
        while not over.wait(0.05):
            drive(run.pk)

    thread = threading.Thread(target=drive_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        while thread.is_alive():
            end = threading.Thread(target=unused, args=(run.pk,))
            end.start()
            end.join()
            thread.join(0.5)


def in_thread(run: Run) -> threading.Thread:
    """Drive the run beside the test."""
    thread = threading.Thread(target=drive, args=(run.pk,))
    thread.start()
    return thread


def wait_until_beyond(run: Run, at: int) -> None:
    """Wait until the run has come further than *at*, or to its end."""
    further = Run.objects.filter(pk=run.pk).exclude(head_at__lte=at, status=Run.Status.PLAYING)
    wait_for(further.exists)
