"""The Kubernetes API of a run: writes while it plays in real time, a long list, many watchers.

Web process, database, the worker's own code and the clients share the machine. The clients have a
process of their own; for watchers, both ends read the same monotonic clock.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import orjson

from bench.commits import Committer, Manifest, paced
from bench.servers import ROOM, Servers, servers, store_run
from bench.size import usual
from bench.table import Row, rows_of_waits
from engine.input.generate import synthetic
from engine.kernel.recorder import EventRow
from engine.kernel.units import MILLISECOND, SECOND

CLIENTS = usual(16, least=2)
ALONE = usual(100, least=3)  # writes of a client that is alone
WATCHERS = usual(200, least=2)
PER_SECOND = 20
NODES = 50
PODS = usual(50_000, least=50)
FEWER_PODS = usual(5_000, least=5)


def bench(full: bool = False) -> list[Row]:
    """Writes of one client and of many, lists of two lengths, one watcher and many."""
    with servers() as stack:
        if not stack.port:
            stack.start_web()
        return [
            *_writes(stack, 200 if full else usual(60, least=2)),
            *_lists(stack),
            *_watches(stack, 1_200 if full else usual(200, least=4)),
        ]


# Writes


def _writes(stack: Servers, each: int) -> list[Row]:
    """The wait of one client, and how much many clients get done."""
    run = store_run(synthetic(NODES, 0), play=True, speed="1", profile="v1.36")
    rows: list[Row] = []
    with _driven(stack, run):
        for write in ("create configmaps", "create pods", "patch pods"):
            alone = _written(stack, run, write, clients=1, each=ALONE)
            many = _written(stack, run, write, clients=CLIENTS, each=each)
            if write == "create pods":
                rows.insert(0, _waited(alone))
            rows.append(
                Row(
                    name=f"{write}, {CLIENTS} clients",
                    figure=CLIENTS * each / many["seconds"],
                    unit="writes/s",
                    baseline=ALONE / alone["seconds"],
                    against="one client",
                    aim=500,
                    note=f"a client waits {statistics.median(many['waits']):.0f} ms at the median",
                )
            )
    return rows


def _waited(alone: Any) -> Row:
    return Row(
        name="create pods, one client: request to answer, median",
        figure=statistics.median(alone["waits"]),
        unit="ms",
        baseline=_commit_ms(),
        against="a commit of one row",
        aim=15,
        at_least=False,
        note="each pod is also scheduled and started",
    )


@contextmanager
def _driven(stack: Servers, run: Any) -> Iterator[None]:
    """A worker drives the run meanwhile, which has started."""
    worker = stack.start_worker(run, "--again")
    try:
        yield
    finally:
        worker.stop()


def _written(stack: Servers, run: Any, write: str, *, clients: int, each: int) -> Any:
    """{seconds, waits}: how long all took, and each write in milliseconds."""
    words = [str(stack.port), str(run.pk), write, str(clients), str(each)]
    command = [sys.executable, "-m", "bench.api", "write", *words]
    return json.loads(subprocess.check_output(command, cwd=ROOM))


def _commit_ms() -> float:
    """Milliseconds that the database takes to commit one row, at the median."""
    from django.db import connection

    def commit() -> float:
        began = time.perf_counter()
        cursor.execute("INSERT INTO bench_commits VALUES (1)")
        return (time.perf_counter() - began) * 1_000

    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS bench_commits (number integer)")
        return statistics.median(commit() for _ in range(ALONE))


# Lists


def _lists(stack: Servers) -> list[Row]:
    """A list of all pods: its first byte, its end, and what the web process needed for it."""
    import psutil

    web = psutil.Process(next(one for one in stack.children if one.name == "web").pid)
    fewer, many = (run_of_pods(count) for count in (FEWER_PODS, PODS))
    _listed(stack, fewer)
    short = _listed(stack, fewer)
    with _most_memory(web) as grown:
        long = _listed(stack, many)
    against = f"{FEWER_PODS:,} pods"
    return [
        Row(
            name=f"list of {PODS:,} pods: first byte",
            figure=long[0] * 1_000,
            unit="ms",
            baseline=short[0] * 1_000,
            against=against,
            aim=200,
            at_least=False,
        ),
        Row(
            name=f"list of {PODS:,} pods: all of it",
            figure=long[1],
            unit="s",
            baseline=short[1],
            against=against,
            aim=5,
            at_least=False,
            note=f"{long[2] / 1e6:.0f} MB; the web process grew by {grown[0]:.0f} MiB meanwhile",
        ),
    ]


def run_of_pods(count: int) -> Any:
    """A run whose record has so many running pods."""
    run = store_run(synthetic(1, 0))
    committer, manifest = Committer(run), _running_pod()
    piece = min(count, 5_000)
    for place, first in enumerate(range(0, count, piece)):
        pods: dict[str, Manifest | None] = {}
        for number in range(first, first + piece):
            metadata = {**manifest["metadata"], "name": f"pod-{number:05d}"}
            pods[f"pod/default/pod-{number:05d}"] = {**manifest, "metadata": metadata}
        committer.commit([_row(place + 1, pods)], pods)
    return run


def _running_pod() -> Manifest:
    from engine.cluster.cluster import Cluster

    cluster = Cluster.create(synthetic(1, 1))
    cluster.advance(60 * SECOND)
    manifest = cluster.take().touched["pod/default/pod-00000"]
    assert manifest is not None
    return manifest


def _listed(stack: Servers, run: Any) -> tuple[float, float, int]:
    """Seconds until the first byte and until the last one, and how many bytes there were."""
    link = HTTPConnection("127.0.0.1", stack.port)
    began = time.perf_counter()
    link.request("GET", f"/k8s/runs/{run.pk}/api/v1/pods")
    answer = link.getresponse()
    assert answer.status == 200, answer.read()
    size = len(answer.read(1))
    first = time.perf_counter() - began
    while piece := answer.read(1 << 16):
        size += len(piece)
    return first, time.perf_counter() - began, size


@contextmanager
def _most_memory(process: Any) -> Iterator[list[float]]:
    """By how many MiB the process grows meanwhile, at most."""
    before, most, ended = process.memory_info().rss, [0.0], threading.Event()

    def look() -> None:
        while not ended.wait(0.05):
            most[0] = max(most[0], (process.memory_info().rss - before) / 2**20)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield most
    finally:
        ended.set()
        looking.join()


# Watches


def _watches(stack: Servers, commits: int) -> list[Row]:
    """From a commit to each of many watchers."""
    alone = _told(stack, 1, commits // 2)
    many = _told(stack, WATCHERS, commits)
    note = f"{len(many):,} changes told; {PER_SECOND} commits/s, each of one pod"
    name = f"commit → watcher, {WATCHERS} watchers"
    return rows_of_waits(name, many, alone, "one watcher alone", note)


def _told(stack: Servers, watchers: int, commits: int) -> list[float]:
    """Milliseconds from commit to receipt, of every change at every watcher."""
    run = store_run(synthetic(NODES, 0))
    committer = Committer(run)
    pods: dict[str, Manifest | None] = {"pod/default/pod-00000": _running_pod()}
    committer.commit([_row(1, pods)], pods)
    words = [str(stack.port), str(run.pk), str(watchers), str(commits + 1)]
    watching = subprocess.Popen(
        [sys.executable, "-m", "bench.api", "watch", *words], stdout=subprocess.PIPE, cwd=ROOM
    )
    assert watching.stdout
    assert watching.stdout.readline() == b"ready\n"
    committed: dict[int, float] = {}
    for number in paced(commits, PER_SECOND):
        seq = number + 2
        committed[seq] = committer.commit([_row(seq, pods)], pods)
    output, _ = watching.communicate(timeout=60)
    return [
        (at - committed[seq]) * 1_000
        for received in json.loads(output)
        for seq, at in received
        if seq in committed
    ]


def _row(seq: int, pods: dict[str, Manifest | None]) -> EventRow:
    """The event that writes the *pods*."""
    entity = next(iter(pods))
    return EventRow(seq, seq * MILLISECOND, "PodUpdated", entity, "bench", None, "", None, None)


# The clients' process.


def _write(port: int, run_id: int, write: str, clients: int, each: int) -> None:
    """Print what `_written` returns."""
    verb, _, kind = write.partition(" ")
    place = f"/k8s/runs/{run_id}/api/v1/namespaces/default/{kind}"
    name = f"{'alone' if clients == 1 else 'many'}-"

    def request(client: int, number: int) -> tuple[str, str, Manifest, str]:
        called = f"{name}{client}-{number}"
        if verb == "patch":
            kind_of_patch = "application/merge-patch+json"
            return "PATCH", f"{place}/{called}", {"metadata": {"labels": {"a": "b"}}}, kind_of_patch
        body: Manifest = {"metadata": {"name": called}}
        if kind == "pods":
            resources = {"requests": {"cpu": "10m"}}
            body["spec"] = {"containers": [{"name": "c", "image": "i", "resources": resources}]}
        return "POST", place, body, "application/json"

    waits: list[float] = []
    threads = [
        threading.Thread(target=_one_client, args=(port, client, each, request, waits))
        for client in range(clients)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(waits) == clients * each, "a client has failed"
    print(json.dumps({"seconds": time.perf_counter() - began, "waits": waits}))


def _one_client(
    port: int, client: int, each: int, request: Callable[..., Any], waits: list[float]
) -> None:
    link = HTTPConnection("127.0.0.1", port)
    for number in range(each):
        method, path, body, kind = request(client, number)
        began = time.perf_counter()
        link.request(method, path, json.dumps(body), {"Content-Type": kind})
        answer = link.getresponse()
        text = answer.read()
        assert answer.status in (200, 201), text
        waits.append((time.perf_counter() - began) * 1_000)


async def _watch(port: int, run_id: int, watchers: int, last: int) -> None:
    """Print what each watcher was told, and when."""
    ready = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(_one_watcher(port, run_id, last, ready)) for _ in range(watchers)]
    for _ in range(watchers):
        await ready.acquire()
    print("ready", flush=True)
    print(json.dumps(await asyncio.gather(*tasks)))


async def _one_watcher(
    port: int, run_id: int, last: int, ready: asyncio.Semaphore
) -> list[tuple[int, float]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    path = f"/k8s/runs/{run_id}/api/v1/pods?watch=true"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    told: list[tuple[int, float]] = []
    seq = 0
    while seq < last:
        line = await reader.readline()
        assert line, "the watch has ended"
        if not line.startswith(b"{"):
            continue  # HTTP's own
        seq = int(orjson.loads(line)["object"]["metadata"]["resourceVersion"])
        told.append((seq, time.monotonic()))
        if len(told) == 1:
            ready.release()
    writer.close()
    return told


if __name__ == "__main__":
    if sys.argv[1] == "write":
        _write(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], *map(int, sys.argv[5:]))
    else:
        port, run_id, watchers, last = map(int, sys.argv[2:])
        asyncio.run(_watch(port, run_id, watchers, last))
