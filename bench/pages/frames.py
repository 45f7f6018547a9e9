"""The board of 5,000 nodes and 10,000 pods while its run plays at full speed, by Chromium's trace.

Pods are deleted and made anew without end, so that the run has as much to do at the end as at the
beginning. The time of a frame is what the main thread worked from one frame to the next, in ms of
the processor: on a machine that is busy, a wall clock says what others do.
"""

import random
from typing import Any

from bench.pages.board import WATCH
from bench.pages.browser import CATEGORIES, MainThread, find_browser, main_thread_of, opened
from bench.servers import Servers, servers, store_run
from bench.shapes import claim, volume
from bench.size import is_least, usual
from bench.table import Row
from engine.input.generate import synthetic
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import Manifest

NODES = usual(5_000, least=70)
PODS = usual(10_000, least=60)
# How often a node loses its pods, from when on, and after how long the next one does.
_TIMES = usual(200_000, least=600)
_FIRST = 20 * SECOND
_EVERY = usual(20, least=100) * MILLISECOND
_TRACED_SECONDS = usual(20, least=2)
_MEMORY_SECONDS = usual(60, least=2)
_FULL_MEMORY_SECONDS = 600
_SEEKS = usual(30, least=3)
_LONG_MS = 100


def bench(full: bool = False) -> list[Row]:
    """All figures; nothing without a Chromium."""
    path = find_browser()
    if path is None:
        return []
    with servers() as stack:
        from kscope.runs.drive.runner import run_drive

        run = store_run(busy())
        run_drive(run.pk)  # it is paused: only its beginning is committed
        if not stack.port:
            stack.start_web()
        with opened(path) as browser:
            return _measured(stack, run, browser, full=full)


def busy(claims: int = 0) -> Scenario:
    """A ReplicaSet that places its pods, and nodes that lose theirs, one node after the other.

    Half of the *claims* are there from the beginning, the others come one by one meanwhile; there are
    as many volumes.
    """
    base = synthetic(NODES, 1)
    *nodes, pod = base.objects
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod["spec"]}
    spec = {"replicas": PODS, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "web", "namespace": "default"}
    pods = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}
    steps = tuple(
        Step(
            at=_FIRST + i * _EVERY,
            verb="delete_pods",
            object=f"node/{nodes[i % NODES]['metadata']['name']}",
            grace_seconds=1,
        )
        for i in range(_TIMES)
    )
    until = _FIRST + _TIMES * _EVERY
    there, later = _claims(claims)
    objects = (*nodes, *there, pods)
    steps = tuple(sorted((*steps, *later), key=lambda step: step.at))
    return Scenario(name="busy", title="busy", objects=objects, steps=steps, until=until)


def _claims(many: int) -> tuple[list[Manifest], list[Step]]:
    """Volumes without a class and half of the claims, and the steps that create the other half."""
    volumes = [volume(f"disk-{i}") for i in range(many)]
    claims = [claim(f"data-{i}", storage_class="") for i in range(many)]
    later = [
        Step(at=_FIRST + i * _EVERY, verb="create", manifest=manifest)
        for i, manifest in enumerate(claims[many // 2 :])
    ]
    return [*volumes, *claims[: many // 2]], later


def _measured(stack: Servers, run: Any, browser: Any, *, full: bool) -> list[Row]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script(WATCH)
    page.goto(f"http://127.0.0.1:{stack.port}/runs/{run.pk}/")
    page.wait_for_function("() => seen.drawn")
    painted = page.evaluate(_PAINTED)
    page.get_by_role("button", name="Play", exact=True).click()
    worker = stack.start_python("drive", "-m", "bench.drive", str(run.pk), "--again")
    beyond = f"() => Number(document.querySelector('#seq').value) > {NODES + 5 * PODS}"
    page.wait_for_function(beyond, timeout=600_000)
    thread = _traced(browser, page)
    memory = _grown(page, _FULL_MEMORY_SECONDS if full else _MEMORY_SECONDS)
    worker.stop()
    head = int(page.evaluate("document.querySelector('#seq').value"))
    sought = [page.evaluate(_SEEK, seq) for seq in _places(head)]
    return [*_frame_rows(thread), *_other_rows(painted, memory, sought)]


_PAINTED = """() => ({
  first: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
  drawn: seen.drawn,
})"""

# Type a number and press Enter; over as soon as the page says that it shows that event.
_SEEK = """async (seq) => {
  const [field, place] = ["#seq", "[aria-label='Position in the run']"].map((each) => document.querySelector(each));
  const began = performance.now();
  field.focus();
  field.value = seq;
  field.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  const shown = () => place.getAttribute("aria-valuetext").includes(`event ${seq} of`);
  while (!shown()) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
}"""


def _places(head: int) -> list[int]:
    chance = random.Random(1)
    return [chance.randrange(1, head) for _ in range(_SEEKS)]


def _traced(browser: Any, page: Any) -> MainThread:
    browser.start_tracing(page=page, categories=list(CATEGORIES))
    page.wait_for_timeout(_TRACED_SECONDS * 1_000)
    return main_thread_of(browser.stop_tracing())


def _grown(page: Any, seconds: int) -> tuple[float, float, int]:
    """The heap before and after so many seconds of playing, in MB, without garbage."""
    client = page.context.new_cdp_session(page)
    before = _heap(client)
    page.wait_for_timeout(seconds * 1_000)
    return before, _heap(client), seconds


def _heap(client: Any) -> float:
    client.send("HeapProfiler.collectGarbage")
    return float(client.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def _frame_rows(thread: MainThread) -> list[Row]:
    times = thread.frame_times
    if not times:
        return []
    seconds = (thread.frames[-1] - thread.frames[0]) / 1_000
    longest = max(thread.tasks, key=lambda task: task.cpu)
    long = [task for task in thread.tasks if task.cpu > _LONG_MS]
    return [
        Row(
            name="main thread per frame, p95",
            figure=part(times, 0.95),
            unit="ms of CPU",
            baseline=part(times, 0.5),
            against="the median",
            aim=None if is_least() else 16,
            at_least=False,
            note=f"{len(times) / seconds:.1f} frames/s, software rendering",
        ),
        Row(
            name="longest task while it plays",
            figure=longest.cpu,
            unit="ms of CPU",
            baseline=longest.wall,
            against="by the clock",
            aim=None if is_least() else _LONG_MS,
            at_least=False,
            note=f"{len(long)} of {len(thread.tasks):,} tasks over {_LONG_MS} ms; it was {longest.does}",
        ),
    ]


def _other_rows(painted: Any, memory: tuple[float, float, int], sought: list[float]) -> list[Row]:
    before, after, seconds = memory
    return [
        Row(name="first paint", figure=painted["first"], unit="ms"),
        Row(name="board drawn after navigation", figure=painted["drawn"], unit="ms"),
        Row(
            name=f"heap after {seconds} s of playing",
            figure=after,
            unit="MB",
            baseline=before,
            against="before them",
        ),
        Row(
            name="seek to an event, p95",
            figure=part(sought, 0.95),
            unit="ms",
            baseline=part(sought, 0.5),
            against="the median",
        ),
    ]


def part(values: list[float], share: float) -> float:
    """The value below which that share of the *values* lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
