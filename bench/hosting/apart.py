"""The same runs at full speed on one worker, and on two that share a database.

Each worker has one process that drives runs, and a name of its own, as on another machine. What an
event costs is the CPU of the workers and of PostgreSQL. What they wait for each other is what
PostgreSQL says of their connections, asked many times.

Two busy processes share a machine's caches, memory and clock, whatever they do. So two workers are
also measured with a database each, at the same time: what those take more than one worker is the
machine's, and the rest comes of sharing a database.
"""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import IO, Any

import psutil

from bench.hosting.many import CELERY, lively, sweeping
from bench.servers import ROOM, Servers, servers, store_run
from bench.size import usual
from bench.table import Row

RUNS = usual(20, least=2)
ROUNDS = usual(2, least=1)
LOOK_SECONDS = 0.1
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
    of_database: float
    """The part of that which PostgreSQL used."""
    shares: list[float]
    """Of each worker in the CPU of all of them."""
    waits: dict[str, float]
    """Kind of wait → the part of the looks at which a connection of a worker waited so."""

    @property
    def cost(self) -> float:
        """Microseconds of CPU an event."""
        return 1e6 * self.cpu / self.events


def bench(full: bool = False) -> list[Row]:
    """CPU an event on one worker and on two, how the work is shared, and what they wait for."""
    ones, twos, aparts = list[Played](), list[Played](), list[Played]()
    with servers() as stack:
        # In turns: what else the machine does changes what everything costs.
        for _ in range(ROUNDS):
            ones.append(_played(stack, 1, RUNS))
            aparts.append(_played_apart())
            twos.append(_played(stack, 2, RUNS))
    one, two, apart = _together(ones), _together(twos), _together(aparts)
    waits = [
        f"{kind} at {100 * part:.1f} % of the looks" for kind, part in sorted(two.waits.items())
    ]
    return [
        Row(
            name=f"{RUNS} runs at full speed on two workers: CPU of an event",
            figure=two.cost,
            unit="µs",
            baseline=one.cost,
            against="one worker",
            aim=1.1 * one.cost,
            at_least=False,
            note=f"{two.events / two.seconds:,.0f} events a second, {one.events / one.seconds:,.0f} on one",
        ),
        Row(
            name="the same: beside two workers that share nothing",
            figure=two.cost,
            unit="µs",
            baseline=apart.cost,
            against="a database each, at the same time",
            aim=1.1 * apart.cost,
            at_least=False,
            note=f"PostgreSQL's part: {_part(two)} shared, {_part(apart)} with one each, {_part(one)} of one worker",
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


def _part(played: Played) -> str:
    return f"{1e6 * played.of_database / played.events:.0f} µs"


def _together(rounds: list[Played]) -> Played:
    """Several rounds as one; of shares the least equal ones."""
    kinds = {kind for each in rounds for kind in each.waits}
    return Played(
        events=sum(each.events for each in rounds),
        seconds=sum(each.seconds for each in rounds),
        cpu=sum(each.cpu for each in rounds),
        of_database=sum(each.of_database for each in rounds),
        shares=min((each.shares for each in rounds), key=min),
        waits={kind: max(each.waits.get(kind, 0.0) for each in rounds) for kind in kinds},
    )


def _played_apart() -> Played:
    """Two workers at the same time, each with its part of the runs and with servers of its own."""
    halves = [_half(runs) for runs in (RUNS // 2, RUNS - RUNS // 2)]
    with contextlib.ExitStack() as ends:
        for half in halves:
            ends.enter_context(half)
        for half in halves:
            _line(half.stdout)  # it is ready
        told = [half.communicate("go\n")[0] for half in halves]
    found = [Played(**json.loads(text)) for text in told]
    both = _together(found)
    return Played(
        both.events,
        max(each.seconds for each in found),
        both.cpu,
        both.of_database,
        [each.cpu / both.cpu for each in found],
        both.waits,
    )


def _half(runs: int) -> "subprocess.Popen[str]":
    left_out = ("DATABASE_URL", "REDIS_URL", "KSCOPE_DATA")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    words = [sys.executable, "-m", "bench.hosting.apart", str(runs)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    return subprocess.Popen(words, env=environment, cwd=ROOM, text=True, **pipes)


def _line(output: IO[str] | None) -> str:
    assert output is not None
    line = output.readline()
    assert line, "a part of the bench has ended"
    return line


def main() -> None:
    """One worker with as many runs as the first word says, once a line comes from stdin."""
    with servers() as stack:
        played = _played(stack, 1, int(sys.argv[1]), waits_for_word=True)
    print(json.dumps(asdict(played)))


def _played(stack: Servers, workers: int, runs: int, *, waits_for_word: bool = False) -> Played:
    """Play so many runs to their ends on so many workers."""
    from kscope.runs.models import Run
    from kscope.runs.services import run_wake

    with contextlib.ExitStack() as work:
        work.enter_context(sweeping(stack))
        processes = [work.enter_context(_worker(stack, f"w{number}")) for number in range(workers)]
        looks = work.enter_context(_looks())
        postgres = _postgres()
        if waits_for_word:
            print("ready", flush=True)
            sys.stdin.readline()
        before = [_cpu(each) for each in processes], _cpu(postgres) - looks.cpu
        began = time.monotonic()
        stored = [store_run(lively(), play=True, speed="max", profile="v1.36") for _ in range(runs)]
        for run in stored:
            run_wake(run.pk)
        mine = Run.objects.filter(pk__in=[run.pk for run in stored])
        while mine.filter(status="playing").exists():
            if time.monotonic() - began > _PATIENCE_SECONDS:
                raise TimeoutError("the runs do not come to their ends")
            time.sleep(0.5)
        seconds = time.monotonic() - began
        used = [_cpu(each) - was for each, was in zip(processes, before[0], strict=True)]
        of_database = _cpu(postgres) - looks.cpu - before[1]
    assert not mine.exclude(status="finished").exists()
    return Played(
        events=sum(mine.values_list("head_seq", flat=True)),
        seconds=seconds,
        cpu=sum(used) + of_database,
        of_database=of_database,
        shares=[each / sum(used) for each in used],
        waits={kind: times / looks.times for kind, times in looks.found.items()},
    )


@contextlib.contextmanager
def _worker(stack: Servers, name: str) -> Iterator[psutil.Process]:
    from kscope.celery import app

    words = ("--concurrency", "1", "--hostname", f"{name}@%h")
    worker = stack.start_python(name, *CELERY, *words)
    process = psutil.Process(worker.pid)
    # Loading kscope is not what is measured. A worker answers once it takes runs.
    while not any(who.startswith(f"{name}@") for each in app.control.ping() for who in each):
        assert worker.exit_code() is None, f"the worker {name} has ended"
    used = 0.0
    while _cpu(process) - used > _REST:
        used = _cpu(process)
        time.sleep(1.0)
    try:
        yield process
    finally:
        worker.stop()


class _Looks:
    """How often connections waited, by kind, and what it took PostgreSQL to say so."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self.times = 0
        self.server: psutil.Process | None = None
        """The server's process that answers."""

    @property
    def cpu(self) -> float:
        """Seconds of that process."""
        return _cpu(self.server) if self.server else 0.0


@contextlib.contextmanager
def _looks() -> Iterator[_Looks]:
    from django.db import connection

    looks, is_over, has_begun = _Looks(), threading.Event(), threading.Event()

    def look() -> None:
        query = (
            "SELECT DISTINCT wait_event_type FROM pg_stat_activity WHERE state = 'active'"
            " AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " AND wait_event_type = ANY(%s)"
        )
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            looks.server = psutil.Process(cursor.fetchone()[0])
            has_begun.set()
            while not is_over.wait(LOOK_SECONDS):
                cursor.execute(query, [list(_WAITS)])
                looks.found.update(kind for (kind,) in cursor.fetchall())
                looks.times += 1
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    has_begun.wait()
    try:
        yield looks
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


if __name__ == "__main__":
    main()
