"""How long a browser waits for the first state of a run of 5,000 nodes and 10,000 pods.

Page and WebSocket snapshot, one after the other as a browser does it. Baseline: folding the run's
events from the first one instead of starting at a checkpoint.
"""

import asyncio
import time
from urllib.request import urlopen

import orjson
from websockets.asyncio.client import connect

from bench.servers import origin_of, servers, store_run
from bench.table import Row, median
from kscope.sim.generate import synthetic
from kscope.sim.view import State, fold


def bench(full: bool = False) -> list[Row]:
    """The first opening in a web process, and later ones."""
    with servers() as stack:
        from kscope.runs.models import RunEvent
        from kscope.runs.runner import Driver
        from kscope.runs.slices import lease_take

        run = store_run(synthetic(5_000, 10_000))
        epoch = lease_take(run.pk, "bench")
        assert epoch is not None
        Driver(run.pk, epoch)  # commits the beginning
        if not stack.port:
            stack.start_web()
        urlopen(f"http://127.0.0.1:{stack.port}/healthz").read()
        address = f"127.0.0.1:{stack.port}"
        openings = [asyncio.run(_open(address, run.pk)) for _ in range(5 if full else 3)]
        began = time.perf_counter()
        state: State = {}
        events = RunEvent.objects.filter(run=run).order_by("seq")
        for changes in events.values_list("changes", flat=True).iterator():
            fold(state, changes or {})
        folded = time.perf_counter() - began
    first, *later = openings
    return [
        Row(
            name="first opening",
            figure=first[0],
            unit="s",
            baseline=folded,
            against="folding every event",
            aim=1,
            at_least=False,
            note=f"page and snapshot of {first[1] / 1e6:.1f} MB with {len(state):,} entities",
        ),
        Row(
            name="opening it again",
            figure=median(took for took, _ in later),
            unit="s",
            baseline=folded,
            against="folding every event",
            aim=1,
            at_least=False,
        ),
    ]


async def _open(host: str, run_id: int) -> tuple[float, int]:
    began = time.perf_counter()
    await asyncio.to_thread(_get, f"http://{host}/runs/{run_id}/")
    address = f"ws://{host}/ws/runs/{run_id}/"
    async with connect(address, max_size=None, origin=origin_of(address)) as socket:
        text = await socket.recv()
    message = orjson.loads(text)
    assert message["type"] == "snapshot", message
    return time.perf_counter() - began, len(text)


def _get(address: str) -> bytes:
    with urlopen(address) as answer:
        return bytes(answer.read())
