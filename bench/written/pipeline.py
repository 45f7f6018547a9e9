"""Pods per second from the engine over committed rows to a WebSocket client, kubelets included.

The worker's process, the web process, PostgreSQL, Valkey and the client share this machine.
Baseline: the same slices, computed in this process and written by the ORM's bulk_create.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

import orjson
import psutil
from websockets.asyncio.client import connect

from bench.servers import Servers, origin_of, servers, store_run
from bench.size import usual
from bench.table import Row
from engine.input.generate import synthetic
from engine.kernel.units import MILLISECOND, SECOND

PATIENCE_S = 180.0
NODES = usual(5_000, least=10)
PODS = usual(10_000, least=30)
COMMITTED = usual(1_500, least=30)
MOST_SLICES = 60
STEPS_PER_SLICE = 400
STRETCH = 100 * MILLISECOND


@dataclass(slots=True)
class Watcher:
    """A client that counts the pods which it has seen getting their node."""

    wanted: int
    bound: set[str] = field(default_factory=set)
    first: float = 0.0
    last: float = 0.0
    frames: int = 0
    events: int = 0
    size: int = 0

    async def watch(self, address: str) -> None:
        """Until all the wanted pods were bound. Raises TimeoutError."""
        async with (
            asyncio.timeout(PATIENCE_S),
            connect(address, max_size=None, origin=origin_of(address)) as socket,
        ):
            while len(self.bound) < self.wanted:
                text = await socket.recv()
                self._take(orjson.loads(text), len(text))

    def _take(self, message: dict[str, Any], size: int) -> None:
        changes: dict[str, Any] = message.get("changes") or message.get("state") or {}
        if message["type"] == "frame":
            self.frames += 1
            self.size += size
            self.events += message["last"] - message["first"] + 1
        before = len(self.bound)
        self.bound |= {
            entity
            for entity, patch in changes.items()
            if entity.startswith("pod/") and patch and patch.get("node")
        }
        if len(self.bound) > before:
            self.last = time.monotonic()
            self.first = self.first or self.last


def bench(full: bool = False) -> list[Row]:
    """The sustained rate, and what a commit costs."""
    nodes, pods = NODES, 30_000 if full else PODS
    with servers() as stack:
        from django.db import connections

        watcher, cpu_s = _through_everything(stack, nodes, pods)
        copied, by_orm = _commits(nodes, COMMITTED)
        never, at_rest, always = (_cost(nodes, COMMITTED, when) for when in WHEN)
        connections.close_all()
    seconds = max(watcher.last - watcher.first, MILLISECOND / SECOND)
    return [
        Row(
            name=f"engine to client, {nodes:,} nodes, {pods:,} pods",
            figure=pods / seconds,
            unit="pods/s",
            baseline=by_orm.pods / (by_orm.engine_s + by_orm.write_s),
            against="engine, then ORM rows; no client",
            aim=2_000,
            note=f"{watcher.events / seconds:,.0f} events/s in {watcher.frames / seconds:.1f} frames/s "
            f"of {watcher.size / max(1, watcher.frames) / 1024:,.0f} KiB; worker on the CPU {cpu_s:.1f} s",
        ),
        Row(
            name="commit of a slice",
            figure=copied.events / copied.write_s,
            unit="events/s",
            baseline=by_orm.events / by_orm.write_s,
            against="ORM bulk_create",
            note=f"with object rows and attempts; {copied.events / copied.slices:,.0f} events a slice",
        ),
        Row(
            name="CPU of an event for object rows, written at rest",
            figure=at_rest - never,
            unit="µs",
            baseline=always - never,
            against="written with each slice",
            aim=(always - never) / 2,
            at_least=False,
            note=f"of this process and of its process of PostgreSQL; the rest of an event takes {never:.0f} µs",
        ),
    ]


def _through_everything(stack: Servers, nodes: int, pods: int) -> tuple[Watcher, float]:
    from kscope.runs.models import Run

    run = store_run(synthetic(nodes, pods))
    if not stack.port:
        stack.start_web()
    worker = stack.start_worker(run)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.PLAYING)
    watcher = Watcher(pods)
    try:
        asyncio.run(watcher.watch(f"ws://127.0.0.1:{stack.port}/ws/runs/{run.pk}/"))
        spent = psutil.Process(worker.pid).cpu_times()
    finally:
        Run.objects.filter(pk=run.pk).update(status=Run.Status.PAUSED)
        worker.stop()
    return watcher, spent.user + spent.system


@dataclass(slots=True)
class Written:
    """What a way of writing the slices took."""

    pods: int = 0
    engine_s: float = 0.0
    write_s: float = 0.0
    events: int = 0
    slices: int = 0

    def count(self, piece: Any, engine_s: float, write_s: float) -> None:
        """One more slice."""
        self.pods += sum(event.kind == "PodBound" for event in piece.events)
        self.engine_s += engine_s
        self.write_s += write_s
        self.events += len(piece.rows)
        self.slices += 1


def _commits(nodes: int, pods: int) -> tuple[Written, Written]:
    """The slices of one engine, written once by the runner's own code and once by the ORM."""
    from engine.cluster.cluster import Cluster
    from kscope.runs.drive.slices import Commit, Head, lease_take, slice_commit, slice_packed

    scenario = synthetic(nodes, pods)
    copied, by_orm = Written(), Written()
    cluster = Cluster.create(scenario)
    cluster.take()
    first, second = store_run(scenario), store_run(scenario)
    epoch = lease_take(first.pk, "bench")
    assert epoch is not None
    while (due := cluster.next_at) is not None and copied.slices < MOST_SLICES:
        began = time.perf_counter()
        cluster.advance(due + STRETCH, max_steps=STEPS_PER_SLICE)
        piece = cluster.take()
        engine_s = time.perf_counter() - began
        if not piece.rows:
            continue
        head = Head(
            seq=cluster.seq,
            at=cluster.now,
            steps=cluster.steps,
            commands=0,
            digest=cluster.digest(),
            next_at=cluster.next_at,
        )
        began = time.perf_counter()
        slice_commit(first.pk, epoch, Commit(packed=slice_packed(piece), head=head))
        middle = time.perf_counter()
        _write_by_orm(second, piece)
        ended = time.perf_counter()
        copied.count(piece, engine_s, middle - began)
        by_orm.count(piece, engine_s, ended - middle)
    return copied, by_orm


# When rows of objects are written.
WHEN = ("never", "at rest", "with each slice")


def _cost(nodes: int, pods: int, when: str) -> float:
    """Microseconds of CPU to write an event after the first state; *when* rows of objects are, too."""
    from django.db import connection

    from engine.cluster.cluster import Cluster
    from kscope.runs.drive.slices import Commit, Head, lease_take, slice_commit, slice_packed

    scenario = synthetic(nodes, pods)
    cluster, run = Cluster.create(scenario), store_run(scenario)
    epoch = lease_take(run.pk, "bench")
    assert epoch is not None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        backend = psutil.Process(cursor.fetchone()[0])
    cluster.take()
    left: dict[str, Any] = {}
    events, spent, number, is_over = 0, 0.0, 0, False
    while not is_over:
        due = cluster.next_at
        number += 1
        is_over = due is None or number == MOST_SLICES
        if due is not None:
            cluster.advance(due + STRETCH, max_steps=STEPS_PER_SLICE)
        piece = cluster.take()
        head = Head(
            seq=cluster.seq,
            at=cluster.now,
            steps=cluster.steps,
            commands=0,
            digest=cluster.digest(),
            next_at=cluster.next_at,
        )
        before = _cpu(backend)
        left |= {each: (one, piece.written[each]) for each, one in piece.touched.items()}
        is_written = when == "with each slice" or (is_over and when == "at rest")
        packed = slice_packed(piece, left if is_written else {})
        rows = "newest" if is_written else "behind"
        slice_commit(run.pk, epoch, Commit(packed=packed, head=head, rows=rows))
        if is_written:
            left = {}
        spent += _cpu(backend) - before
        events += len(piece.rows)
    return 1e6 * spent / events


def _cpu(backend: psutil.Process) -> float:
    """Seconds on the CPU, of this process and of that one."""
    other = backend.cpu_times()
    return time.process_time() + other.user + other.system


def _write_by_orm(run: Any, piece: Any) -> None:
    """What one would write at first: bulk_create of events and of the touched objects."""
    from django.db import transaction

    from kscope.runs.app_registry import registry
    from kscope.runs.models import RemovedObject

    with transaction.atomic():
        # A row each, as a table of events would have them.
        RemovedObject.objects.bulk_create(
            [
                RemovedObject(
                    run_id=run.pk, seq=event.seq, created_seq=0, object="", manifest=event.to_dict()
                )
                for event in piece.events
            ]
        )
        by_model: dict[Any, list[Any]] = {}
        for entity, manifest in piece.touched.items():
            model, key = registry.place_of(entity)
            if manifest is not None:
                row = model(run_id=run.pk, key=key, manifest=manifest)
                by_model.setdefault(model, []).append(row)
        for model, rows in by_model.items():
            model.objects.bulk_create(
                rows,
                update_conflicts=True,
                unique_fields=["run", "key"],
                update_fields=["manifest"],
            )
        run.head_seq = piece.rows[-1].seq
        run.save(update_fields=["head_seq"])
