"""The Chromium that pages are measured in, and what its trace says of the main thread."""

import contextlib
import shutil
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

_NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--enable-precise-memory-info",
)
CATEGORIES = ("toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline")
_TASK = "RunTask"
# With one of these a frame leaves the main thread.
_FRAME = "BeginCommitCompositorFrame"


def find_browser() -> str | None:
    """The path of a Chromium, if there is one."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextlib.contextmanager
def opened(path: str) -> Iterator[Any]:
    """The Chromium at *path*, without windows."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True, slots=True)
class Task:
    """One task of the main thread, in ms of the trace; `cpu` is the processor's time for it."""

    start: float
    wall: float
    cpu: float
    does: str


@dataclass(frozen=True, slots=True)
class MainThread:
    """The tasks of the page's main thread, and when its frames left it."""

    tasks: Sequence[Task]
    frames: Sequence[float]

    @property
    def frame_times(self) -> list[float]:
        """What the main thread worked for each frame, in ms of the processor: from frame to frame."""
        if len(self.frames) < 2:
            return []
        sums, place = [0.0] * (len(self.frames) - 1), 0
        for task in self.tasks:
            while place < len(sums) and task.start >= self.frames[place + 1]:
                place += 1
            if place < len(sums) and task.start >= self.frames[0]:
                sums[place] += task.cpu
        return sums


def main_thread_of(trace: bytes) -> MainThread:
    """What a trace says of the page's main thread: the busiest that is called CrRendererMain."""
    events = orjson.loads(trace)["traceEvents"]
    names = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"
    }
    by_thread = defaultdict[Any, list[Any]](list)
    for each in events:
        thread = each["pid"], each.get("tid")
        if thread in names and ("dur" in each or each["name"] == _FRAME):
            by_thread[thread].append(each)
    busiest = max(by_thread.values(), key=_work, default=[])
    busiest.sort(key=lambda each: each["ts"])
    frames = [each["ts"] / 1000 for each in busiest if each["name"] == _FRAME]
    return MainThread(_tasks(busiest), frames)


def _work(events: Sequence[Any]) -> float:
    return sum(each.get("dur", 0) for each in events if each["name"].endswith(_TASK))


def _tasks(events: Sequence[Any]) -> list[Task]:
    """Each task with the longest thing that it did."""
    found: list[Task] = []
    longest, end = 0.0, 0.0
    for each in events:
        if each["name"].endswith(_TASK) and each["ts"] >= end:
            wall = each["dur"] / 1000
            found.append(Task(each["ts"] / 1000, wall, each.get("tdur", each["dur"]) / 1000, ""))
            longest, end = 0.0, each["ts"] + each["dur"]
        elif each["ts"] < end and each.get("dur", 0) > longest and not each["name"].endswith(_TASK):
            longest = each["dur"]
            last = found[-1]
            found[-1] = Task(last.start, last.wall, last.cpu, each["name"])
    return found
