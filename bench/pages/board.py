"""How long a browser waits for the first state of a run of 5,000 nodes and 10,000 pods.

Page and WebSocket snapshot, one after the other as a browser does it. Baseline: folding the run's
events from the first one instead of starting at a checkpoint. Then in a real Chromium, if there is
one: from the first state to what is drawn of it, and how many frames it draws while the run plays
at full speed. Baseline: the same board before the run plays.
"""

import asyncio
import time
import zlib
from typing import Any
from urllib.request import urlopen

import orjson
from websockets.asyncio.client import connect

from bench.pages.browser import find_browser, opened
from bench.servers import Servers, origin_of, servers, store_run
from bench.size import usual
from bench.table import Row, median
from engine.input.generate import synthetic
from engine.kernel.view import State, fold

NODES = usual(5_000, least=10)
PODS = usual(10_000, least=30)


def bench(full: bool = False) -> list[Row]:
    """The first opening in a web process, and later ones."""
    with servers() as stack:
        from kscope.runs.drive.runner import run_drive
        from kscope.runs.models import RunEvent

        run = store_run(synthetic(NODES, PODS))
        run_drive(run.pk)  # it is paused: only its beginning is committed
        if not stack.port:
            stack.start_web()
        urlopen(f"http://127.0.0.1:{stack.port}/healthz").read()
        address = f"127.0.0.1:{stack.port}"
        openings = [asyncio.run(open_run(address, run.pk)) for _ in range(5 if full else 3)]
        began = time.perf_counter()
        state: State = {}
        events = RunEvent.objects.filter(run=run).order_by("seq")
        for changes in events.values_list("changes", flat=True).iterator():
            fold(state, changes or {})
        folded = time.perf_counter() - began
        drawn = _drawn(stack, run)
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
            name="snapshot, as sent",
            figure=first[2] / 1e3,
            unit="kB",
            baseline=first[1] / 1e3,
            against="not compressed",
            at_least=False,
        ),
        Row(
            name="opening it again",
            figure=median(took for took, *_ in later),
            unit="s",
            baseline=folded,
            against="folding every event",
            aim=1,
            at_least=False,
        ),
        *drawn,
    ]


# Runs in the page before its own scripts.
WATCH = """
window.seen = {frames: 0};
const Socket = WebSocket;
window.WebSocket = class extends Socket {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", () => { seen.state ??= performance.now(); });
  }
};
new MutationObserver((_, observer) => {
  if (!document.querySelector("main.board:not(.waiting)")) return;
  observer.disconnect();
  requestAnimationFrame(() => requestAnimationFrame(() => { seen.drawn = performance.now(); }));
}).observe(document, {childList: true, subtree: true, attributeFilter: ["class"]});
const count = () => { seen.frames += 1; requestAnimationFrame(count); };
requestAnimationFrame(count);
"""
_SECONDS = 5


def _drawn(stack: Servers, run: Any) -> list[Row]:
    """What the browser itself makes of it; nothing without a Chromium."""
    path = find_browser()
    if path is None:
        return []
    with opened(path) as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.add_init_script(WATCH)
        page.goto(f"http://127.0.0.1:{stack.port}/runs/{run.pk}/")
        page.wait_for_function("() => seen.drawn")
        took = page.evaluate("seen.drawn - seen.state") / 1_000
        page.wait_for_timeout(1_000)
        still = _frames(page)
        page.get_by_role("button", name="Play", exact=True).click()
        stack.start_python("drive", "-m", "bench.drive", str(run.pk), "--again")
        beyond = f"() => Number(document.querySelector('#seq').value) > {NODES + PODS}"
        page.wait_for_function(beyond)
        playing = _frames(page)
    return [
        Row(name="Chromium: first state to drawn", figure=took, unit="s", aim=1, at_least=False),
        Row(
            name="Chromium: drawing while it plays",
            figure=playing,
            unit="frames/s",
            baseline=still,
            against="before it plays",
            aim=30,
        ),
    ]


def _frames(page: Any) -> float:
    """Animation frames per second, for some seconds from now."""
    before, began = page.evaluate("[seen.frames, performance.now()]")
    page.wait_for_timeout(_SECONDS * 1_000)
    after, ended = page.evaluate("[seen.frames, performance.now()]")
    return float((after - before) / (ended - began) * 1_000)


async def open_run(host: str, run_id: int) -> tuple[float, int, int]:
    """Seconds until the snapshot is there, its bytes, and those that were sent."""
    began = time.perf_counter()
    await asyncio.to_thread(_get, f"http://{host}/runs/{run_id}/")
    address = f"ws://{host}/ws/runs/{run_id}/?packed=deflate"
    async with connect(address, max_size=None, origin=origin_of(address)) as socket:
        size = sent = 0
        has_more = True
        while has_more:
            part = await socket.recv()
            # Heartbeats come while the state is read.
            if isinstance(part, bytes):
                text = zlib.decompress(part)
                has_more = orjson.loads(text)["more"]
                size, sent = size + len(text), sent + len(part)
    return time.perf_counter() - began, size, sent


def _get(address: str) -> bytes:
    with urlopen(address) as answer:
        return bytes(answer.read())
