"""What it costs to look at the past of a large run, and to ask why at its head.

5,000 nodes, a ReplicaSet of 10,000 pods, of which one node after the other loses its own. A page
that shows one event asks for another one: far away, or seven events on. Baseline: the whole state
of that event. Then why a pod waits at the newest event: asked first, about another pod, and once
more. CPU is that of the web process and its engine processes; bytes are those on the wire.
"""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any

import orjson
import psutil

from bench.pages.board import open_run
from bench.pages.frames import NODES, PODS, busy
from bench.servers import Servers, servers, store_run
from bench.shapes import pod
from bench.size import is_least, usual
from bench.table import Row, median, percentile
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND

EVENTS = usual(200_000, least=1_500)
FULL_EVENTS = 1_000_000
_SEEKS = usual(30, least=3)
_NEAR = 7
_STUCK = ("too-large-a", "too-large-b")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one request took: CPU and wall in ms, bytes on the wire; and what was answered."""

    cpu: float
    wall: float
    size: int
    content: Any


class Reader:
    """Asks the web process, as a page does."""

    def __init__(self, port: int, pid: int, run_id: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=600)
        self.process = psutil.Process(pid)
        self._room = f"/api/v1/runs/{run_id}/"

    def lines(self, path: str, cpu: Callable[[], float]) -> list[float]:
        """What the answer at *path* has taken of *cpu*, in seconds, when each of its lines comes."""
        # The server may have ended one that was idle.
        self._connection.close()
        before = cpu()
        self._connection.request("GET", self._room + path)
        response = self._connection.getresponse()
        assert response.status == 200, response.read()[:500]
        taken = [cpu() - before for _ in iter(response.readline, b"")]
        response.read()
        return taken

    def get(self, path: str, *, packed: bool = True) -> Answer:
        """The answer at *path*; *packed* says that it may be compressed."""
        cpu, began = self.cpu(), time.perf_counter()
        headers = {"Accept-Encoding": "gzip" if packed else "identity", "Accept": "*/*"}
        self._connection.request("GET", self._room + path, headers=headers)
        response = self._connection.getresponse()
        text = response.read()
        wall = time.perf_counter() - began
        assert response.status == 200, text[:500]
        took = self.cpu() - cpu
        content = None if packed else text
        return Answer(took * 1_000, wall * 1_000, len(text), content)

    def cpu(self) -> float:
        """Seconds of the web process and of those that it started."""
        found = [self.process, *self.process.children(recursive=True)]
        times = [each.cpu_times() for each in found]
        return sum(each.user + each.system for each in times)


def bench(full: bool = False) -> list[Row]:
    """Seeks and answers of a run that has played until so many events."""
    with servers() as stack:
        run = _played(stack, FULL_EVENTS if full else EVENTS)
        port, pid = stack.start_another_web()
        reader = Reader(port, pid, run.pk)
        reader.get("")
        return [
            *_seeks(reader, run.head_seq),
            *_whys(reader),
            _opened(reader, port, run.pk),
            _exported(reader, run.head_seq),
        ]


def _played(stack: Servers, events: int) -> Any:
    run = store_run(_scenario(), play=True)
    worker = stack.start_worker(run, "--again")
    run.refresh_from_db()
    while run.head_seq < events:
        assert worker.exit_code() is None, "the worker has ended"
        time.sleep(0.5)
        run.refresh_from_db()
    run.until = run.head_at + SECOND
    run.save(update_fields=["until"])
    while run.status != run.Status.FINISHED or run.lease_until is not None:
        time.sleep(0.1)
        run.refresh_from_db()
    worker.stop()
    run.refresh_from_db()
    return run


def _scenario() -> Scenario:
    base = busy()
    stuck = tuple(pod(name, cpu="1000") for name in _STUCK)
    return Scenario(
        name="history",
        title="history",
        objects=(*base.objects, *stuck),
        steps=base.steps,
        until=base.until,
    )


def _seeks(reader: Reader, head: int) -> list[Row]:
    chance = random.Random(1)
    begun = min(head // 2, NODES + PODS)
    places = [chance.randrange(begun, head - _NEAR) for _ in range(_SEEKS)]
    whole = [reader.get(f"state/?seq={seq}", packed=False) for seq in places[: _SEEKS // 3 + 1]]
    jumps = list(zip([head, *places], places, strict=False))
    far = [reader.get(f"state/?from={before}&to={seq}") for before, seq in jumps]
    near = [reader.get(f"state/?from={seq}&to={seq + _NEAR}") for seq in places]
    back = [reader.get(f"state/?from={seq + _NEAR}&to={seq}") for seq in places]
    nodes, one = (
        [reader.get(f"state/?from={before}&to={seq}&only={only}") for before, seq in jumps]
        for only in ("node", f"pod/default/{_STUCK[0]}")
    )
    entities = len(orjson.loads(whole[0].content)["state"])
    note = f"{head:,} events, {entities:,} objects"
    return [
        *_rows("seek far", far, whole, aim=100, note=note),
        *_rows("seek far, nodes alone", nodes, whole, aim=100),
        *_rows("seek far, one pod", one, whole, aim=100),
        *_rows(f"seek {_NEAR} events on", near, whole, aim=30),
        *_rows(f"seek {_NEAR} events back", back, whole, aim=30),
    ]


def _rows(
    name: str, found: list[Answer], whole: list[Answer], *, aim: float, note: str = ""
) -> list[Row]:
    against = "the whole state"
    cpu = [each.cpu for each in found]
    wall = [each.wall for each in found]
    waits = (
        f"by the clock {percentile(wall, 50):.0f} ms at the median, {percentile(wall, 95):.0f} p95"
    )
    return [
        Row(
            name=f"{name}, p95",
            figure=percentile(cpu, 95),
            unit="ms of CPU",
            baseline=percentile([each.cpu for each in whole], 95),
            against=against,
            aim=None if is_least() else aim,
            at_least=False,
            note="; ".join(part for part in (note, waits) if part),
        ),
        Row(
            name=f"{name}: bytes, median",
            figure=median(each.size for each in found) / 1_000,
            unit="kB",
            baseline=median(each.size for each in whole) / 1_000,
            against=f"{against}, not compressed",
        ),
    ]


def _opened(reader: Reader, port: int, run_id: int) -> Row:
    before = reader.cpu()
    took, size, sent = asyncio.run(open_run(f"127.0.0.1:{port}", run_id))
    return Row(
        name="page and first state",
        figure=reader.cpu() - before,
        unit="s of CPU",
        baseline=took,
        against="by the clock",
        note=f"{size / 1e6:.1f} MB, {sent / 1e3:.0f} kB as sent",
    )


def _exported(reader: Reader, head: int) -> Row:
    answer = reader.get("events/export/", packed=False)
    assert answer.content.count(b"\n") == head
    return Row(
        name="export of all events",
        figure=answer.cpu / 1_000,
        unit="s of CPU",
        baseline=answer.wall / 1_000,
        against="by the clock",
        note=f"{answer.size / 1e6:,.0f} MB, {answer.cpu * 1_000 / head:.1f} µs of CPU an event",
    )


def _whys(reader: Reader) -> list[Row]:
    first, other = _STUCK
    asked = [
        ("why at the head, first", reader.get(f"pods/default/{first}/why/"), None),
        ("why at the head, of another pod", reader.get(f"pods/default/{other}/why/"), 0.3),
        ("why at the head, once more", reader.get(f"pods/default/{first}/why/"), 0.3),
    ]
    began = asked[0][1].cpu / 1_000
    return [
        Row(
            name=name,
            figure=answer.cpu / 1_000,
            unit="s of CPU",
            baseline=began,
            against="the first",
            aim=None if is_least() else aim,
            at_least=False,
        )
        for name, answer, aim in asked
    ]
