"""The same runs at full speed on one worker, and on two that share a database.

Each worker has one process that drives runs, and a name of its own, as on another machine. What an
event costs is the CPU of the workers and of PostgreSQL. What they wait for each other is what
PostgreSQL says of their connections, asked many times.
"""

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil

from bench.hosting.many import CELERY, lively, sweeping
from bench.servers import Servers, servers, store_run
from bench.size import usual
from bench.table import Row

RUNS = usual(20, least=2)
LOOK_SECONDS = 0.02
_PATIENCE_SECONDS = 900.0
_REST = 0.1  # seconds of CPU in a second, at most, of a worker that has nothing to do
# Others write to the same rows: what two workers could wait for, beside the disk.
_WAITS = ("Lock", "LWLock", "BufferPin")


@dataclass(frozen=True, slots=True)
class Played:
    """What it took to play all runs to their ends."""

    events: int
    seconds: float
    cpu: float
    shares: list[float]
    """Of each worker in the CPU of all of them."""
    waits: dict[str, float]
    """Kind of wait → the part of the looks at which a connection of a worker waited so."""


def bench(full: bool = False) -> list[Row]:
    """CPU an event on one worker and on two, how the work is shared, and what they wait for."""
    with servers() as stack:
        one, two = _played(stack, 1), _played(stack, 2)
    waits = [
        f"{kind} at {100 * part:.1f} % of the looks" for kind, part in sorted(two.waits.items())
    ]
    return [
        Row(
            name=f"{RUNS} runs at full speed on two workers: CPU of an event",
            figure=1e6 * two.cpu / two.events,
            unit="µs",
            baseline=1e6 * one.cpu / one.events,
            against="one worker",
            aim=1.1e6 * one.cpu / one.events,
            at_least=False,
            note=f"{two.events / two.seconds:,.0f} events a second, {one.events / one.seconds:,.0f} on one",
        ),
        Row(
            name="the same: share of the worker that did less",
            figure=100 * min(two.shares),
            unit="%",
            baseline=50,
            against="an equal share",
            aim=35,
            note=f"their connections waited for each other: {', '.join(waits) or 'never'}",
        ),
    ]


def _played(stack: Servers, workers: int) -> Played:
    """Play the runs to their ends on so many workers."""
    from kscope.runs.models import Run
    from kscope.runs.services import run_wake

    with contextlib.ExitStack() as work:
        work.enter_context(sweeping(stack))
        processes = [work.enter_context(_worker(stack, f"w{number}")) for number in range(workers)]
        looks = work.enter_context(_looks())
        postgres = _postgres()
        before = [_cpu(each) for each in processes], _cpu(postgres)
        began = time.monotonic()
        runs = [store_run(lively(), play=True, speed="max", profile="v1.36") for _ in range(RUNS)]
        for run in runs:
            run_wake(run.pk)
        mine = Run.objects.filter(pk__in=[run.pk for run in runs])
        while mine.filter(status="playing").exists():
            if time.monotonic() - began > _PATIENCE_SECONDS:
                raise TimeoutError("the runs do not come to their ends")
            time.sleep(0.2)
        seconds = time.monotonic() - began
        used = [_cpu(each) - was for each, was in zip(processes, before[0], strict=True)]
        of_database = _cpu(postgres) - before[1]
    assert not mine.exclude(status="finished").exists()
    return Played(
        events=sum(mine.values_list("head_seq", flat=True)),
        seconds=seconds,
        cpu=sum(used) + of_database,
        shares=[each / sum(used) for each in used],
        waits={kind: times / looks[""] for kind, times in looks.items() if kind},
    )


@contextlib.contextmanager
def _worker(stack: Servers, name: str) -> Iterator[psutil.Process]:
    words = ("--concurrency", "1", "--hostname", f"{name}@%h")
    worker = stack.start_python(name, *CELERY, *words)
    process = psutil.Process(worker.pid)
    # Loading kscope is not what is measured.
    used = 0.0
    while not process.children() or _cpu(process) - used > _REST:
        used = _cpu(process)
        time.sleep(1.0)
    try:
        yield process
    finally:
        worker.stop()


@contextlib.contextmanager
def _looks() -> Iterator[Counter[str]]:
    """How often connections waited, by kind; "" is how often somebody looked."""
    from django.db import connection

    found: Counter[str] = Counter()
    is_over = threading.Event()

    def look() -> None:
        query = (
            "SELECT DISTINCT wait_event_type FROM pg_stat_activity WHERE state = 'active'"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " AND wait_event_type = ANY(%s)"
        )
        with connection.cursor() as cursor:
            while not is_over.wait(LOOK_SECONDS):
                cursor.execute(query, [list(_WAITS)])
                found.update(["", *(kind for (kind,) in cursor.fetchall())])
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


def _postgres() -> psutil.Process:
    """The server that the database is on."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return psutil.Process(cursor.fetchone()[0]).parents()[0]


def _cpu(process: psutil.Process) -> float:
    """Of a process, those that it has, and those that have ended."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times: Any = each.cpu_times()
            own = times.user + times.system
            total += own + times.children_user + times.children_system
    return total
