"""A large cluster that stands: its first state and first board, and then it plays, seeks and is asked.

5,000 nodes with 150,000 pods that run (`--full`: 65,000 and 500,000), and pods that fit nowhere.
Then pods are deleted from one node after the other, and others come. At the end it is asked why
these pods wait: of the worker that has the engine, and then where nobody has it any more. CPU is that of all processes
which take part, PostgreSQL's too; memory is the most that a process took (`VmHWM`). Baseline of the
first state: a cluster of a few objects, so that what a process needs to start is not counted.
"""

import asyncio
import contextlib
import gc
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from bench.hosting.many import working
from bench.pages.board import WATCH, open_run
from bench.pages.browser import CATEGORIES, find_browser, main_thread_of, opened
from bench.pages.history import Answer, Reader
from bench.servers import Servers, servers, store_run
from bench.shapes import node, pod
from bench.size import is_least, usual
from bench.table import Row, median, percentile
from engine.input.budget import Budget
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MILLISECOND, SECOND

NODES, PODS = usual(5_000, least=20), usual(150_000, least=60)
FULL_NODES, FULL_PODS = 65_000, 500_000
_STEPS = usual(1_000, least=10)
_SEEKS = usual(10, least=2)
_NEAR = 7
_MIB = 1_048_576
_MOST_MEMORY = 12_288 * _MIB
STUCK = ("too-large", "too-large-b", "too-large-c")


def bench(full: bool = False) -> list[Row]:
    """All figures."""
    nodes, pods = (FULL_NODES, FULL_PODS) if full else (NODES, PODS)
    with servers() as stack:
        few = _first_state(stack, _stored(3, 3))
        run = _stored(nodes, pods)
        gc.collect()
        many = _first_state(stack, run)
        port, pid = stack.start_another_web()
        reader = Reader(port, pid, run.pk)
        rows = [*_first_rows(few, many, nodes + pods), *_board_rows(port, pid, run, reader)]
        with working(stack, drivers=1) as worker:
            played = _played(stack, run, worker)
            whys = _why_rows(reader, worker)
        rows += [_play_row(played, run.head_seq - many.seq, run), *whys]
        return [*rows, *_why_elsewhere(reader), *_seek_rows(reader, many.seq, run.head_seq)]


def _stored(nodes: int, pods: int) -> Any:
    """A run of such a cluster, with a budget of memory that it does not use up."""
    hosts = [node(index) for index in range(nodes)]
    names = [each["metadata"]["name"] for each in hosts]
    ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    objects = [
        {**pod(f"web-{index}", cpu="100m", node=names[index % nodes]), "status": ready}
        for index in range(pods)
    ]
    steps: list[Step] = []
    for index in range(_STEPS):
        at = SECOND + index * 20 * MILLISECOND
        steps.append(Step(at=at, verb="create", manifest=pod(f"new-{index}")))
        gone = f"node/{names[index % nodes]}"
        steps.append(Step(at=at, verb="delete_pods", object=gone, grace_seconds=1))
    scenario = Scenario(
        name="large",
        title="large",
        objects=(*hosts, *objects, *(pod(name, cpu="1000") for name in STUCK)),
        steps=tuple(steps),
        until=steps[-1].at + 5 * SECOND,
    )
    run = store_run(scenario)
    budget = Budget.of({"objects": scenario.objects})
    run.budget_objects, run.budget_memory = budget.objects, _MOST_MEMORY
    run.save(update_fields=["budget_objects", "budget_memory"])
    return run


class Worked:
    """What the worker of a run and the database took, from now on."""

    def __init__(self, stack: Servers, worker: Any = None) -> None:
        self._postgres = psutil.Process(stack.children[0].pid)
        self._worker: psutil.Process | None = psutil.Process(worker.pid) if worker else None
        self._before = self._cpu()
        self._began = time.perf_counter()
        self.cpu = self.database = self.wall = self.shown = 0.0
        self.mib = self.seq = 0

    def end(self) -> None:
        """It is done: note down the seconds of CPU and of the clock, and the memory."""
        now = self._cpu()
        self.cpu, self.database = (after - at for after, at in zip(now, self._before, strict=True))
        self.wall = self.passed
        self.mib = _peak_of_all(self._worker) if self._worker else 0

    @property
    def passed(self) -> float:
        """Seconds by the clock until now."""
        return time.perf_counter() - self._began

    def _cpu(self) -> tuple[float, float]:
        return _tree_cpu(self._worker) if self._worker else 0.0, _tree_cpu(self._postgres)


def _tree_cpu(process: psutil.Process) -> float:
    """Seconds of a process and of all that it started, those that have ended among them."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(each.cpu_times()[:4])
    return total


def _peak_of_all(process: psutil.Process) -> int:
    """MiB that the largest of a process and of those that it started has had."""
    peaks = [0]
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess, OSError):
            peaks.append(_peak_mib(each.pid))
    return max(peaks)


def _peak_mib(pid: int) -> int:
    """The most that it has had. Raises psutil.NoSuchProcess once it has ended."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) // 1_024
    raise psutil.NoSuchProcess(pid)


def _first_state(stack: Servers, run: Any) -> Worked:
    worker = stack.start_python("worker", "-m", "bench.drive", str(run.pk), "--again")
    worked = Worked(stack, worker)
    shown = 0.0
    while not run.is_started or run.rows_seq is not None:
        assert worker.exit_code() is None, "the worker has ended"
        assert not run.error, run.error
        time.sleep(0.2)
        run.refresh_from_db()
        shown = shown or (worked.passed if run.is_started else 0.0)
    worked.end()
    worked.shown = shown
    worked.seq = run.head_seq
    worker.stop()
    return worked


def _first_rows(few: Worked, many: Worked, objects: int) -> list[Row]:
    return [
        Row(
            name=f"first state of {objects:,} objects",
            figure=many.cpu - few.cpu,
            unit="s of CPU",
            baseline=few.cpu,
            against="a few objects, and the process's start",
            aim=8 if objects == NODES + PODS and not is_least() else None,
            at_least=False,
            note=f"shown after {many.shown:.0f} s by the clock, with all rows of objects after "
            f"{many.wall:.0f}; PostgreSQL took {many.database:.1f} s of CPU besides",
        ),
        Row(
            name="memory of the worker",
            figure=many.mib,
            unit="MiB",
            baseline=few.mib,
            against="a few objects",
        ),
    ]


def _board_rows(port: int, pid: int, run: Any, reader: Reader) -> list[Row]:
    before = reader.cpu()
    took, size, sent = asyncio.run(open_run(f"127.0.0.1:{port}", run.pk))
    rows = [
        Row(
            name="page and snapshot",
            figure=reader.cpu() - before,
            unit="s of CPU",
            baseline=took,
            against="by the clock",
            note=f"{size / 1e6:.0f} MB, {sent / 1e6:.1f} MB as sent; "
            f"the web process took {_peak_mib(pid):,} MiB",
        )
    ]
    path = find_browser()
    return [*rows, *_drawn(port, run, path)] if path else rows


def _drawn(port: int, run: Any, path: str) -> list[Row]:
    with opened(path) as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(WATCH)
        browser.start_tracing(page=page, categories=list(CATEGORIES))
        page.goto(f"http://127.0.0.1:{port}/runs/{run.pk}/")
        page.wait_for_function("() => seen.drawn", timeout=600_000)
        drawn = page.evaluate("seen.drawn")
        thread = main_thread_of(browser.stop_tracing())
        client = page.context.new_cdp_session(page)
        heap = client.send("Runtime.getHeapUsage")["usedSize"]
    longest = max(thread.tasks, key=lambda task: task.cpu)
    return [
        Row(
            name="Chromium: main thread until the first board",
            figure=sum(task.cpu for task in thread.tasks) / 1_000,
            unit="s of CPU",
            baseline=drawn / 1_000,
            against="by the clock",
            note=f"the heap has {heap / 1e6:.0f} MB",
        ),
        Row(
            name="Chromium: longest task until then",
            figure=longest.cpu,
            unit="ms of CPU",
            note=f"it was {longest.does}",
        ),
    ]


def _played(stack: Servers, run: Any, worker: psutil.Process) -> Worked:
    from kscope.runs.services import run_wake

    run.refresh_from_db()
    run.status = run.Status.PLAYING
    run.save(update_fields=["status"])
    worked = Worked(stack, worker)
    run_wake(run.pk)
    while run.status == run.Status.PLAYING or run.lease_until is not None:
        time.sleep(0.1)
        run.refresh_from_db()
    worked.end()
    assert run.status == run.Status.FINISHED, (run.status, run.error, run.stop_reason)
    return worked


def _play_row(played: Worked, events: int, run: Any) -> Row:
    return Row(
        name=f"{events:,} events, from the engine made again to the end",
        figure=played.cpu,
        unit="s of CPU",
        baseline=played.database,
        against="PostgreSQL's",
        note=f"the worker took {played.mib:,} MiB, the run {run.memory_used // _MIB:,}",
    )


def _seek_rows(reader: Reader, first: int, head: int) -> list[Row]:
    chance = random.Random(1)
    places = [chance.randrange(first, head) for _ in range(_SEEKS)]
    far = [
        reader.get(f"state/?from={before}&to={seq}")
        for before, seq in zip([head, *places], places, strict=False)
    ]
    near = [reader.get(f"state/?from={seq}&to={min(seq + _NEAR, head)}") for seq in places]
    shown = [reader.get(f"state/?seq={seq}&only=node,pod/default/{STUCK[0]}") for seq in places]
    return [
        _seek_row("seek", far),
        _seek_row(f"seek {_NEAR} events on", near),
        _seek_row("seek, one pod and the nodes, whole", shown),
    ]


def _seek_row(name: str, found: list[Answer]) -> Row:
    size = median(each.size for each in found) / 1_000
    return Row(
        name=f"{name}, p95",
        figure=percentile([each.cpu for each in found], 95),
        unit="ms of CPU",
        baseline=median(each.cpu for each in found),
        against="the median",
        note=f"{size:,.1f} kB at the median",
    )


def _why_rows(reader: Reader, worker: psutil.Process) -> list[Row]:
    """Of the process that has the engine: the CPU of its forks counts, too."""
    names = ("first", "about another pod", "once more")
    pods = (STUCK[0], STUCK[1], STUCK[0])
    return [
        _why_row(f"why at the end, {name}", reader, pod, worker)
        for name, pod in zip(names, pods, strict=True)
    ]


def _why_elsewhere(reader: Reader) -> list[Row]:
    """Nobody has the engine any more."""
    first = _why_row("why where the engine is made again", reader, STUCK[2])
    note = f"{first.note}; the largest process took {_peak_of_all(reader.process):,} MiB"
    return [replace(first, note=note)]


def _why_row(name: str, reader: Reader, pod: str, worker: psutil.Process | None = None) -> Row:
    def cpu() -> float:
        return reader.cpu() + (_tree_cpu(worker) if worker else 0.0)

    began = time.perf_counter()
    causes, *more = reader.lines(f"why/pod/default/{pod}/?parts=1", cpu)
    wall = time.perf_counter() - began
    return Row(
        name=f"{name}: causes and first fix",
        figure=more[0],
        unit="s of CPU",
        baseline=causes,
        against="the causes",
        note=f"all of it {more[-1]:.2f}, {wall:.1f} s by the clock",
    )
