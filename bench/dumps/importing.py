"""A dump of a gigabyte: read on the command line, and uploaded through the form to the first board.

CPU is that of all processes of kscope together: web, engine process, worker and PostgreSQL. Memory is
the peak of the largest process. Meanwhile another visitor asks for the list of runs.
"""

import asyncio
import http.client
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.request import urlopen

import orjson
import psutil
from websockets.asyncio.client import connect

from bench.dumps.writing import Form, write_dump
from bench.servers import Servers, origin_of, servers
from bench.sick import Size
from bench.size import usual
from bench.table import Row, median

NODES, PODS, STUCK = usual(5_000, least=12), usual(50_000, least=40), usual(2_000, least=20)
# In seconds of CPU, and in MiB.
FIRST_BOARD, PEAK = 60.0, 2048.0
_MIB = 1024 * 1024
_READ = (
    "import sys; from pathlib import Path; from engine.input.loader import load_paths; "
    "assert load_paths([Path(sys.argv[1])]).ok"
)


def bench(full: bool = False) -> list[Row]:
    """Rows for the command line and for the upload; with *full*, for YAML as well."""
    with tempfile.TemporaryDirectory(prefix="kscope-dump-") as folder:
        path = Path(folder) / "all.json"
        size = write_dump(path, Size(NODES, PODS, STUCK))
        note = f"{size / _MIB:,.0f} MiB of indented JSON, {NODES:,} nodes, {PODS:,} pods"
        rows = [*_command_line(path, note), *_uploaded(path)]
        path.unlink()
        forms: tuple[Form, ...] = ("compact", "yaml") if full else ()
        for form in forms:
            other = Path(folder) / f"all.{form}"
            length = write_dump(other, Size(NODES, PODS, STUCK), form)
            rows += _command_line(other, f"{length / _MIB:,.0f} MiB, {form}", f", {form}")
        return rows


def _command_line(path: Path, note: str, form: str = "") -> list[Row]:
    """Reading alone, in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", _READ, str(path)])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, "the dump is read"
    return [
        Row(name=f"read{form}", figure=used.ru_utime + used.ru_stime, unit="CPU s", note=note),
        _peak(f"read{form}: peak memory", used.ru_maxrss / 1024),
    ]


def _peak(name: str, figure: float, note: str = "") -> Row:
    return Row(name=name, figure=figure, unit="MiB", aim=PEAK, at_least=False, note=note)


def _uploaded(path: Path) -> list[Row]:
    with servers() as stack:
        if not stack.port:
            stack.start_web()
        with _watched(stack) as watch:
            began = time.monotonic()
            run_id, told = _upload(stack.port, path)
            stored = time.monotonic() - began
            stack.start_worker(_run(run_id))
            asyncio.run(_board(stack.port, run_id))
            whole = time.monotonic() - began
    others = watch.others
    return [
        Row(
            name="from the upload to the first board",
            figure=sum(watch.cpu.values()),
            unit="CPU s",
            aim=FIRST_BOARD,
            at_least=False,
            note=f"{stored:.0f} s until it is stored, {whole:.0f} s in all, {told} lines of progress; "
            + watch.shares,
        ),
        _peak("peak memory of a process", max(watch.peaks.values()) / _MIB, watch.memory),
        Row(
            name="the list of runs, meanwhile",
            figure=median(others),
            unit="s",
            note=f"{len(others)} requests, the slowest took {max(others):.2f} s",
        ),
    ]


# -- the upload --------------------------------------------------------------------------------------


def _upload(port: int, path: Path) -> tuple[int, int]:
    """Send the file through the form, as the page does; the run, and how often progress was told."""
    with urlopen(f"http://127.0.0.1:{port}/scenarios/upload/") as page:
        cookie = page.headers["Set-Cookie"].partition(";")[0]
    border = "b0undary"
    head = (
        f'--{border}\r\nContent-Disposition: form-data; name="files"; filename="{path.name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    end = f"\r\n--{border}--\r\n".encode()
    headers = {
        "Content-Type": f"multipart/form-data; boundary={border}",
        "Content-Length": str(len(head) + path.stat().st_size + len(end)),
        "Accept": "application/x-ndjson, text/html",
        "X-CSRFToken": cookie.partition("=")[2],
        "Cookie": cookie,
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1_200)
    with path.open("rb") as file:
        connection.request("POST", "/scenarios/upload/", _body(head, file, end), headers)
    lines = [orjson.loads(line) for line in connection.getresponse().read().splitlines()]
    assert "location" in lines[-1], lines[-1]
    where = lines[-1]["location"]
    return int(where.split("/")[2]), sum("read" in each for each in lines)


def _body(head: bytes, file: IO[bytes], end: bytes) -> Iterator[bytes]:
    yield head
    while piece := file.read(_MIB):
        yield piece
    yield end


async def _board(port: int, run_id: int) -> None:
    """Open the board of a run whose first state is stored: its page, and the state."""
    address = f"ws://127.0.0.1:{port}/ws/runs/{run_id}/"
    await asyncio.to_thread(lambda: urlopen(f"http://127.0.0.1:{port}/runs/{run_id}/").read())
    async with connect(address, max_size=None, origin=origin_of(address)) as socket:
        async with asyncio.timeout(600):
            # Heartbeats come meanwhile.
            while orjson.loads(await socket.recv())["type"] != "snapshot":
                pass


def _run(run_id: int) -> Any:
    from kscope.runs.models import Run

    return Run.objects.get(pk=run_id)


# -- what it takes -----------------------------------------------------------------------------------


@dataclass(slots=True)
class _Watch:
    """CPU and memory of processes, by their roles, and how long others wait for their answers."""

    cpu: dict[str, float] = field(default_factory=dict[str, float])
    peaks: dict[str, int] = field(default_factory=dict[str, int])
    others: list[float] = field(default_factory=list[float])
    _seen: dict[int, tuple[str, float]] = field(default_factory=dict[int, tuple[str, float]])

    @property
    def shares(self) -> str:
        """The CPU of each role."""
        return ", ".join(f"{role} {took:.1f}" for role, took in sorted(self.cpu.items()))

    @property
    def memory(self) -> str:
        """The peak of each role, in words."""
        return ", ".join(f"{role} {peak // _MIB:,}" for role, peak in sorted(self.peaks.items()))

    def look(self, roots: dict[str, int], before: Mapping[int, float]) -> None:
        """Add what each process has used by now."""
        for name, root in roots.items():
            for process in _family(root):
                self._one(name if process.pid == root else f"{name}'s", process, before)
        self.cpu.clear()
        for role, took in self._seen.values():
            self.cpu[role] = self.cpu.get(role, 0.0) + took

    def _one(self, role: str, process: Any, before: Mapping[int, float]) -> None:
        try:
            times, peak = process.cpu_times(), _peak_of(process.pid)
        except (psutil.Error, OSError):
            return
        took = times.user + times.system - before.get(process.pid, 0.0)
        self._seen[process.pid] = role, took
        self.peaks[role] = max(self.peaks.get(role, 0), peak)


def _peak_of(pid: int) -> int:
    """The most that a process has had in memory, shared pages too, in bytes: the kernel keeps it."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"process {pid} is ending")


def _family(root: int) -> list[Any]:
    try:
        process = psutil.Process(root)
        return [process, *process.children(recursive=True)]
    except psutil.Error:
        return []


@contextmanager
def _watched(stack: Servers) -> Iterator[_Watch]:
    watch, is_over = _Watch(), threading.Event()

    def roots() -> dict[str, int]:
        return {child.name: child.pid for child in stack.children}

    before = {
        each.pid: sum(each.cpu_times()[:2]) for root in roots().values() for each in _family(root)
    }

    def look() -> None:
        while not is_over.wait(0.5):
            watch.look(roots(), before)

    def ask() -> None:
        while not is_over.wait(2.0):
            began = time.monotonic()
            urlopen(f"http://127.0.0.1:{stack.port}/runs/").read()
            watch.others.append(time.monotonic() - began)

    threads = [threading.Thread(target=each) for each in (look, ask)]
    for each in threads:
        each.start()
    try:
        yield watch
    finally:
        is_over.set()
        for each in threads:
            each.join()
        watch.look(roots(), before)
