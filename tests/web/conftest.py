"""Runs in the test database, driven in this process instead of by a worker."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from engine.input.loader import load_files
from kscope.runs import aside, services
from kscope.runs.app_registry import registry
from kscope.runs.drive import committer, driver, runner
from kscope.runs.models import Run, Scenario
from tests.loaders import forked_processes  # noqa: F401  # a fixture
from tests.waiting import HANG_SECONDS, wait_for

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


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody but the test drives runs, and a driver does not linger."""
    monkeypatch.setattr(registry, "enqueue", lambda run_id: None)
    monkeypatch.setattr(driver, "LINGER_SECONDS", 0.0)


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who waits for an answer gets it, however busy the machine is."""
    for wait in (services.command_wait, services.run_wait_for_goal):
        monkeypatch.setitem(wait.__kwdefaults__, "seconds", HANG_SECONDS)


@pytest.fixture(autouse=True)
def no_writer_left() -> Iterator[None]:
    """A process that a big run has started to write its slices ends with the test."""
    yield
    committer.writer_close()


@pytest.fixture(autouse=True)
def nothing_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is computed beside the web process is computed in it."""
    answer_here(monkeypatch)


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


@pytest.fixture
def scenario(transactional_db: Any) -> Scenario:
    """Two nodes, a pod that fits, one that does not, and one that comes at two seconds."""
    return services.scenario_store(
        name="small", result=load_files([("small.yaml", CLUSTER.encode())])
    )


@pytest.fixture
def start(scenario: Scenario) -> Callable[..., Run]:
    """Make a run of the small scenario."""

    def _start(**options: Any) -> Run:
        return services.run_create(scenario=scenario, **options)

    return _start


def drive(run_id: int) -> None:
    """Drive the run in this thread, which is not Django's own and must clean up after itself."""
    try:
        runner.run_drive(run_id)
    finally:
        connection.close()


@contextmanager
def driving(run: Run) -> Iterator[None]:
    """Meanwhile, another thread drives the run, as a worker would after a nudge."""
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
        thread.join()


def in_thread(run: Run) -> threading.Thread:
    """Drive the run beside the test."""
    thread = threading.Thread(target=drive, args=(run.pk,))
    thread.start()
    return thread


def wait_until_beyond(run: Run, at: int) -> None:
    """Wait until the run has come further than *at*, or to its end."""
    further = Run.objects.filter(pk=run.pk).exclude(head_at__lte=at, status=Run.Status.PLAYING)
    wait_for(further.exists)


@pytest.fixture
def driven(start: Callable[..., Run]) -> Run:
    """A run of the small scenario, played to its end."""
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run
