"""Many runs at once in real time, driven by a worker as `make up` starts one.

In each run a pod goes every second and another one comes. Web process, worker, database and client
share the machine; what a run costs is measured by CPU, for a second of its own time.
"""

import contextlib
import json
import statistics
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import psutil

from bench.servers import Servers, servers, store_run
from bench.size import usual
from bench.table import Row
from engine.input.generate import synthetic
from engine.input.scenario import Scenario, Step
from engine.kernel.units import SECOND

RUNS = usual(50, least=3)
NODES = usual(100, least=5)
PODS = usual(300, least=10)
FEW = usual(5, least=2)
_FIRST = 10
_SECONDS = _FIRST + PODS
_SETTLED = usual(15, least=1) * SECOND
_WINDOW_SECONDS = usual(30, least=2)
_WRITES = usual(30, least=2)
_PATIENCE_SECONDS = 600.0
CELERY = (
    *("-m", "celery", "-A", "kscope.celery", "worker", "--loglevel", "WARNING"),
    *("--without-gossip", "--without-mingle", "--without-heartbeat"),
)
"""Words for Python that start a worker."""


def bench(full: bool = False) -> list[Row]:
    """How fast many runs play, what they cost, and what others wait for beside them."""
    with servers() as stack:
        if not stack.port:
            stack.start_web()
        with working(stack) as worker:
            runs = [_played()]
            _settle(runs)
            alone, first_alone = _writes(stack, runs[0]), _first_event()
            cost_alone, _ = _cost(worker, runs)
            runs += [_played() for _ in range(FEW - 1)]
            _settle(runs)
            few = _writes(stack, runs[0])
            runs += [_played() for _ in range(RUNS - FEW)]
            _settle(runs)
            cost, pace = _cost(worker, runs)
            many, first = _writes(stack, runs[0]), _first_event()
            _pause(runs)
    playing = f"{RUNS} runs of {NODES} nodes, {PODS} pods at 1×"
    return [
        Row(
            name=f"{playing}: pace of the slowest",
            figure=min(pace),
            unit="s a second",
            baseline=1.0,
            against="the clock",
            aim=0.95,
            note=f"the median is {statistics.median(pace):.2f}",
        ),
        Row(
            name="the same: CPU of the worker for a second of a run",
            figure=1_000 * cost,
            unit="ms",
            baseline=1_000 * cost_alone,
            against="one run alone",
            aim=1_000 / RUNS,
            at_least=False,
            note=f"in real time all of them take {100 * cost * RUNS:.0f} % of a core",
        ),
        Row(
            name=f"a write through the API beside {FEW} playing runs, median",
            figure=few,
            unit="ms",
            baseline=alone,
            against="one playing run",
            aim=2 * alone,
            at_least=False,
            note=f"beside {RUNS}: {many:,.0f} ms",
        ),
        Row(
            name=f"first event of a new run beside {RUNS}",
            figure=first,
            unit="s",
            baseline=first_alone,
            against="beside one",
            aim=1,
            at_least=False,
        ),
    ]


@contextlib.contextmanager
def working(stack: Servers, drivers: int = 2) -> Iterator[psutil.Process]:
    """A worker with so many processes that drive runs and a sweeper, as `make up` starts them."""
    worker = stack.start_python("worker", *CELERY, "--concurrency", str(drivers))
    with sweeping(stack):
        try:
            yield psutil.Process(worker.pid)
        finally:
            worker.stop()


@contextlib.contextmanager
def sweeping(stack: Servers) -> Iterator[None]:
    """A sweeper, which finds runs whose messages were lost."""
    words = ("--queues", "sweeps", "--hostname", "sweeper@%h", "--beat")
    sweeper = stack.start_python("sweeper", *CELERY, *words)
    try:
        yield
    finally:
        sweeper.stop()


def lively() -> Scenario:
    """Pods that are there from the beginning, of which one goes each second and another one comes."""
    base = synthetic(NODES, PODS)
    *_, pod = base.objects
    steps: list[Step] = []
    for number in range(PODS):
        second = _FIRST + number
        at = second * SECOND
        steps.append(Step(at=at, verb="delete", object=f"pod/default/pod-{number:05d}"))
        metadata = {"name": f"later-{second}", "namespace": "default"}
        steps.append(Step(at=at, verb="create", manifest={**pod, "metadata": metadata}))
    return Scenario(
        name="many", title="many", objects=base.objects, steps=tuple(steps), until=_SECONDS * SECOND
    )


def _played() -> Any:
    """A run that plays in real time from now on; a worker is asked for."""
    from kscope.runs.services import run_wake

    run = store_run(lively(), play=True, speed="1", profile="v1.36")
    run_wake(run.pk)
    return run


def _first_event() -> float:
    """Seconds from a new run's beginning to its first event on record."""
    from kscope.runs.models import Run

    began = time.monotonic()
    run = _played()
    while time.monotonic() - began < _PATIENCE_SECONDS:
        if Run.objects.filter(pk=run.pk, head_seq__gt=0).exists():
            break
        time.sleep(0.02)
    _pause([run])
    return time.monotonic() - began


def _cost(worker: psutil.Process, runs: list[Any]) -> tuple[float, list[float]]:
    """CPU seconds of the worker for a second of a run, and seconds of each run a second."""
    began, cpu, before = time.monotonic(), _cpu(worker), _heads(runs)
    time.sleep(_WINDOW_SECONDS)
    after, used, passed = _heads(runs), _cpu(worker) - cpu, time.monotonic() - began
    pace = [(after[run.pk] - before[run.pk]) / SECOND / passed for run in runs]
    return used / (sum(pace) * passed), pace


def _settle(runs: list[Any]) -> None:
    """Wait until all have begun, and come to what they do from then on."""
    began = time.monotonic()
    while min(_heads(runs).values()) < _SETTLED and time.monotonic() - began < _PATIENCE_SECONDS:
        time.sleep(0.5)


def _cpu(worker: psutil.Process) -> float:
    total = 0.0
    for process in (worker, *worker.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            total += times.user + times.system
    return total


def _heads(runs: list[Any]) -> dict[int, int]:
    from kscope.runs.models import Run

    keys = [run.pk for run in runs]
    return dict(Run.objects.filter(pk__in=keys).values_list("pk", "head_at"))


def _writes(stack: Servers, run: Any) -> float:
    """Milliseconds from request to answer of one client, at the median."""
    link = HTTPConnection("127.0.0.1", stack.port)
    place = f"/k8s/runs/{run.pk}/api/v1/namespaces/default/configmaps"
    waits: list[float] = []
    for number in range(_WRITES):
        body = json.dumps({"metadata": {"name": f"c-{time.monotonic_ns()}-{number}"}})
        began = time.perf_counter()
        link.request("POST", place, body, {"Content-Type": "application/json"})
        answer = link.getresponse()
        text = answer.read()
        assert answer.status == 201, text
        waits.append((time.perf_counter() - began) * 1_000)
    return statistics.median(waits)


def _pause(runs: list[Any]) -> None:
    from kscope.runs.services import run_transport

    for run in runs:
        run_transport(run=run, action="pause")
