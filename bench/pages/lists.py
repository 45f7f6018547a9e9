"""The pages with long lists while a run of 5,000 nodes, 10,000 pods and 5,000 claims plays at full speed.

Each page is opened beside the playing run, and what its main thread works is read from Chromium's
trace, as for the board (`frames`).
"""

from typing import Any

from bench.pages.browser import CATEGORIES, MainThread, find_browser, main_thread_of, opened
from bench.pages.frames import NODES, PODS, busy, part
from bench.servers import Servers, servers, store_run
from bench.size import is_least, usual
from bench.table import Row

_PAGES = ("pods", "nodes", "volumes", "timeline", "timeline/?as=table", "machines")
CLAIMS = usual(5_000, least=20)
_TRACED_SECONDS = usual(12, least=1)
_LONG_MS = 100
_FRAME_MS = 16


def bench(full: bool = False) -> list[Row]:
    """Two figures for each page; nothing without a Chromium."""
    path = find_browser()
    if path is None:
        return []
    with servers() as stack:
        from kscope.runs.drive.runner import run_drive

        run = store_run(busy(CLAIMS))
        run_drive(run.pk)  # it is paused: only its beginning is committed
        if not stack.port:
            stack.start_web()
        with opened(path) as browser:
            return _measured(stack, run, browser)


def _measured(stack: Servers, run: Any, browser: Any) -> list[Row]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"http://127.0.0.1:{stack.port}/runs/{run.pk}/pods/")
    page.get_by_role("button", name="Play", exact=True).click()
    worker = stack.start_python("drive", "-m", "bench.drive", str(run.pk), "--again")
    beyond = f"() => Number(document.querySelector('#seq').value) > {NODES + 5 * PODS}"
    page.wait_for_function(beyond, timeout=600_000)
    rows: list[Row] = []
    for name in _PAGES:
        path = name if "?" in name else f"{name}/"
        page.goto(f"http://127.0.0.1:{stack.port}/runs/{run.pk}/{path}")
        page.wait_for_function("() => document.querySelector('main :is(table, canvas, svg)')")
        page.wait_for_timeout(1_000)
        rows += _rows(name, _traced(browser, page))
    worker.stop()
    return rows


def _traced(browser: Any, page: Any) -> MainThread:
    browser.start_tracing(page=page, categories=list(CATEGORIES))
    page.wait_for_timeout(_TRACED_SECONDS * 1_000)
    return main_thread_of(browser.stop_tracing())


def _rows(name: str, thread: MainThread) -> list[Row]:
    times = thread.frame_times
    if not times:
        return []
    seconds = (thread.frames[-1] - thread.frames[0]) / 1_000
    longest = max(thread.tasks, key=lambda task: task.cpu)
    return [
        Row(
            name=f"{name}: main thread per frame, p95",
            figure=part(times, 0.95),
            unit="ms of CPU",
            baseline=part(times, 0.5),
            against="the median",
            aim=None if is_least() else _FRAME_MS,
            at_least=False,
            note=f"{len(times) / seconds:.1f} frames/s, software rendering",
        ),
        Row(
            name=f"{name}: longest task",
            figure=longest.cpu,
            unit="ms of CPU",
            baseline=longest.wall,
            against="by the clock",
            aim=None if is_least() else _LONG_MS,
            at_least=False,
            note=f"it was {longest.does}",
        ),
    ]
