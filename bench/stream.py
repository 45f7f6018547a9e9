"""Commit to client: how long after a slice's commit each of 50 browsers has its frame.

One process commits 20 slices a second by the runner's own code, the web process fans out, a third
process holds the clients. Both ends read the same monotonic clock.
"""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import orjson
from websockets.asyncio.client import connect

from bench.commits import Committer, paced
from bench.servers import Servers, origin_of, servers, store_run
from bench.size import usual
from bench.table import Row, rows_of_waits
from engine.input.generate import synthetic
from engine.kernel.recorder import EventRow
from engine.kernel.units import MILLISECOND

CLIENTS = usual(50, least=2)
PER_SECOND = 20
EVENTS = 10


def bench(full: bool = False) -> list[Row]:
    """p50 and p99, beside what one client alone sees."""
    frames = 1_200 if full else usual(300, least=4)
    with servers() as stack:
        if not stack.port:
            stack.start_web()
        alone = _latencies(stack, 1, frames // 2)
        many = _latencies(stack, CLIENTS, frames)
    note = f"{len(many):,} frames received; {PER_SECOND} commits/s of {EVENTS} events"
    name = f"commit → client, {CLIENTS} clients"
    return rows_of_waits(name, many, alone, "one client alone", note)


def _latencies(stack: Servers, clients: int, frames: int) -> list[float]:
    """Milliseconds from commit to receipt, of every slice at every client."""
    run = store_run(synthetic(200, 0))
    committer = Committer(run)
    address = f"ws://127.0.0.1:{stack.port}/ws/runs/{run.pk}/"
    words = ["-m", "bench.stream", address, str(clients), str(frames * EVENTS)]
    receivers = subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
    )
    assert receivers.stdout
    assert receivers.stdout.readline() == b"ready\n"
    committed: dict[int, float] = {}
    for frame in paced(frames, PER_SECOND):
        rows = [_row(frame * EVENTS + place) for place in range(1, EVENTS + 1)]
        committed[rows[-1].seq] = committer.commit(rows, {})
    output, _ = receivers.communicate(timeout=60)
    return [
        (at - when) * 1_000
        for received in json.loads(output)
        for seq, when, at in _first_arrivals(received, committed)
    ]


def _first_arrivals(
    received: list[tuple[int, float]], committed: dict[int, float]
) -> list[tuple[int, float, float]]:
    """When each commit's last event was first at the client: with the first frame that reaches it."""
    arrivals: list[tuple[int, float, float]] = []
    frames = iter(received)
    last, at = next(frames, (0, 0.0))
    for seq, when in committed.items():
        while last < seq:
            last, at = next(frames)
        arrivals.append((seq, when, at))
    return arrivals


def _row(seq: int) -> EventRow:
    entity = f"pod/default/pod-{seq % 500}"
    changes = {
        entity: {"queue": "active", "queue_since": seq, "attempts": 1, "node": f"node-{seq}"}
    }
    text = orjson.dumps(changes).decode()
    at = seq * MILLISECOND
    return EventRow(seq, at, "PodQueued", entity, "scheduler", None, "a measured event", None, text)


# The clients' process.


async def _receive(
    address: str, last_seq: int, ready: asyncio.Semaphore
) -> list[tuple[int, float]]:
    received: list[tuple[int, float]] = []
    async with connect(address, max_size=None, origin=origin_of(address)) as socket:
        seq = 0
        while seq < last_seq:
            message = orjson.loads(await socket.recv())
            if message["type"] == "snapshot":
                ready.release()
            elif message["type"] == "frame":
                seq = message["last"]
                received.append((seq, time.monotonic()))
    return received


async def _clients(address: str, count: int, last_seq: int) -> None:
    ready = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(_receive(address, last_seq, ready)) for _ in range(count)]
    for _ in range(count):
        await ready.acquire()
    print("ready", flush=True)
    print(json.dumps(await asyncio.gather(*tasks)))


if __name__ == "__main__":
    asyncio.run(_clients(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
