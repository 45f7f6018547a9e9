"""`python -m bench.load`: many sockets over many runs, and who cannot keep up with them.

It starts `manage.py up` on loopback with a data directory of its own, plays runs, opens sockets on
them, some of which read slowly or not at all, cuts many at once now and then so that they come back
together, and asks questions meanwhile. Printed are the memory of the processes over time, the latency
of frames and of the list of runs, and what was refused or cut off. See docs/limits.md.
"""

import argparse
import asyncio
import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import psutil
import redis.asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from bench.table import percentile

ROOM = Path(__file__).resolve().parent.parent
SAMPLE_SECONDS = 5.0
OPEN_SECONDS = 60.0  # for a socket to open
RAMP_SECONDS = 10.0  # in which the sockets come one after the other
SLOW_SECONDS = 2.0  # between two messages that a slow reader takes
ALONE = 20  # lists of runs that are asked for before the load comes
STEP_SECONDS = 0.5  # between two pods that come into each cluster
QUESTIONS = (
    "pods/default/waits/why/",
    "objects/pod/default/waits/?seq={seq}",
    "compare/?with={other}",
    "state/?seq={seq}",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much of everything."""

    seconds: float
    runs: int
    sockets: int
    slow: float
    dead: float
    storm_seconds: float
    stalled: int
    askers: int
    nodes: int
    pods: int
    port: int
    checkout: Path


@dataclass(slots=True)
class Tally:
    """What was seen."""

    # Of frames whose commit came while their socket was open, and of those that a socket was given
    # because it had come back.
    latencies: list[float] = field(default_factory=list)
    caught_up: list[float] = field(default_factory=list)
    alone: list[float] = field(default_factory=list)
    lists: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    closes: Counter[int] = field(default_factory=Counter)
    messages: Counter[str] = field(default_factory=Counter)
    connects: int = 0
    memory: list[tuple[float, dict[str, float]]] = field(default_factory=list)


# The servers.


@contextlib.contextmanager
def served(plan: Plan) -> Iterator[Path]:
    """`manage.py up` on a data directory that goes with it."""
    with tempfile.TemporaryDirectory(prefix="kscope-load-") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "data")
        words = [sys.executable, "manage.py", "up", "--data", str(data), "--port", str(plan.port)]
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("DATABASE_URL", "REDIS_URL")
        }
        up = subprocess.Popen(words, cwd=plan.checkout, env=environment)
        try:
            _wait_until_served(up, plan.port)
            yield data
        finally:
            up.terminate()
            up.wait(30)


def _wait_until_served(up: "subprocess.Popen[bytes]", port: int) -> None:
    while up.poll() is None:
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 5) as probe,
        ):
            probe.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            if b" 200 " in probe.recv(64):
                return
        time.sleep(0.2)
    raise SystemExit("kscope did not start")


def cluster(plan: Plan) -> dict[str, Any]:
    """Nodes, pods, one that fits nowhere, and a pod more every so often until the end."""
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "50m"}}}
    large = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "64"}}}

    def pod(name: str, of: dict[str, Any]) -> dict[str, Any]:
        spec = {"containers": [of]}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}

    node = {"allocatable": {"cpu": "32", "memory": "64Gi", "pods": "250"}}
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{place}"}, "status": node}
        for place in range(plan.nodes)
    ]
    objects += [pod(f"first-{place}", container) for place in range(plan.pods)]
    objects.append(pod("waits", large))
    steps = [
        {"at": f"{round(STEP_SECONDS * 1000) * place}ms", "create": pod(f"p{place}", container)}
        for place in range(1, int(2 * plan.seconds / STEP_SECONDS))
    ]
    scenario = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "metadata": {"name": "load"},
        "spec": {"title": "Load", "duration": f"{round(2 * plan.seconds)}s", "steps": steps},
    }
    return {"apiVersion": "v1", "kind": "List", "items": [scenario, *objects]}


class Client:
    """Just enough HTTP for one machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def request(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> tuple[int, bytes]:
        """The status and the content."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        try:
            writer.write(head.encode() + body)
            answer = await reader.read()
        finally:
            writer.close()
        first, _, rest = answer.partition(b"\r\n\r\n")
        return int(first.split()[1]), rest

    async def upload(self, document: dict[str, Any]) -> int:
        """The id of the scenario."""
        boundary = "kscope-load"
        part = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="load.json"\r\n'
            "Content-Type: application/json\r\n\r\n"
        )
        body = part.encode() + orjson.dumps(document) + f"\r\n--{boundary}--\r\n".encode()
        kind = f"multipart/form-data; boundary={boundary}"
        status, answer = await self.request("POST", "/api/v1/scenarios/", body, kind)
        assert status == 201, answer
        return int(json.loads(answer)["id"])

    async def start(self, scenario: int, seed: int) -> int:
        """The id of a run that plays."""
        wanted = {"scenario": scenario, "seed": seed, "play": True, "speed": "1"}
        status, answer = await self.request("POST", "/api/v1/runs/", orjson.dumps(wanted))
        assert status == 201, answer
        return int(json.loads(answer)["id"])


# The clients.


class Load:
    """One measurement."""

    def __init__(self, plan: Plan, data: Path) -> None:
        self.plan = plan
        self.data = data
        self.tally = Tally()
        self.client = Client(plan.port)
        self.runs: list[int] = []
        self.committed: dict[int, dict[int, float]] = {}
        self._sockets: set[ClientConnection] = set()
        self._chance = random.Random(0)

    async def run(self) -> None:
        """Play, watch, cut, ask, until the time is over."""
        scenario = await self.client.upload(cluster(self.plan))
        self.runs = [await self.client.start(scenario, seed) for seed in range(self.plan.runs)]
        self.committed = {run: {} for run in self.runs}
        for _ in range(ALONE):
            self.tally.alone.append(await self._time_list())
        work = [self._note_commits(), self._sample(), self._storm(), self._list_runs()]
        work += [self._watch(place) for place in range(self.plan.sockets)]
        work += [self._ask(place) for place in range(self.plan.askers)]
        work += [self._stall() for _ in range(self.plan.stalled)]
        tasks = [asyncio.create_task(each) for each in work]
        await asyncio.wait(tasks, timeout=self.plan.seconds, return_when=asyncio.FIRST_EXCEPTION)
        broken = [task.exception() for task in tasks if task.done() and not task.cancelled()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for problem in filter(None, broken):
            raise problem

    async def _note_commits(self) -> None:
        """When each head was announced, which is right after its commit."""
        address = json.loads((self.data / "run.json").read_text())["redis_url"]
        client = redis.asyncio.Redis.from_url(address)
        async with client, client.pubsub(ignore_subscribe_messages=True) as heads:
            await heads.psubscribe("head:*")
            async for message in heads.listen():
                run = int(message["channel"].removeprefix(b"head:"))
                if run in self.committed:
                    self.committed[run][int(message["data"])] = time.monotonic()

    async def _sample(self) -> None:
        began = time.monotonic()
        while True:
            self.tally.memory.append((time.monotonic() - began, self._memory()))
            await asyncio.sleep(SAMPLE_SECONDS)

    def _memory(self) -> dict[str, float]:
        """MiB that each part of kscope has for itself, with its children."""
        written = json.loads((self.data / "run.json").read_text())
        found: dict[str, float] = {}
        for child in written["children"]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(child["pid"])
                found[child["name"]] = process.memory_info().rss / 1_048_576
                own = [each.memory_info().rss / 1_048_576 for each in process.children(True)]
                if child["name"] in ("web", "worker") and own:
                    found[f"{child['name']}'s {len(own)}"] = sum(own)
        return found

    async def _storm(self) -> None:
        """Cut half of all sockets at once, again and again."""
        while True:
            await asyncio.sleep(self.plan.storm_seconds)
            for connection in self._chance.sample(
                sorted(self._sockets, key=id), len(self._sockets) // 2
            ):
                connection.transport.abort()

    async def _watch(self, place: int) -> None:
        """One page: it comes back after the newest event that it has."""
        run = self.runs[place % len(self.runs)]
        kind = place / self.plan.sockets
        is_dead = kind < self.plan.dead
        is_slow = not is_dead and kind < self.plan.dead + self.plan.slow
        seq: int | None = None
        await asyncio.sleep(kind * RAMP_SECONDS)
        while True:
            address = f"ws://127.0.0.1:{self.plan.port}/ws/runs/{run}/"
            if seq is not None:
                address += f"?after={seq}"
            try:
                async with self._connected(address) as connection:
                    if is_dead:
                        connection.transport.pause_reading()
                        await connection.wait_closed()
                    opened = time.monotonic()
                    async for text in connection:
                        seq = self._receive(run, seq, text, None if is_slow else opened)
                        if is_slow:
                            await asyncio.sleep(SLOW_SECONDS)
                    self.tally.closes[connection.close_code or 0] += 1
            except ConnectionClosed as closed:
                self.tally.closes[closed.rcvd.code if closed.rcvd else 1006] += 1
            except InvalidStatus as refused:
                self.tally.statuses[f"socket {refused.response.status_code}"] += 1
            except (OSError, TimeoutError) as problem:
                self.tally.statuses[f"socket {type(problem).__name__}"] += 1
            await asyncio.sleep(self._chance.uniform(0.2, 0.8))

    @contextlib.asynccontextmanager
    async def _connected(self, address: str) -> AsyncIterator[ClientConnection]:
        origin: Any = f"http://127.0.0.1:{self.plan.port}"
        async with connect(
            address, max_size=None, max_queue=1, origin=origin, open_timeout=OPEN_SECONDS
        ) as connection:
            self.tally.connects += 1
            self._sockets.add(connection)
            try:
                yield connection
            finally:
                self._sockets.discard(connection)

    def _receive(
        self, run: int, seq: int | None, text: str | bytes, opened: float | None
    ) -> int | None:
        """Where the page stands now; *opened* is when its socket was, None where none is timed."""
        message = orjson.loads(text)
        self.tally.messages[message["type"]] += 1
        if message["type"] == "snapshot":
            return int(message["seq"])
        if message["type"] != "frame":
            return seq
        assert seq is None or message["first"] == seq + 1, (run, seq, message["first"])
        committed = self.committed[run].get(message["last"])
        if committed is not None and opened is not None:
            kept = self.tally.latencies if committed > opened else self.tally.caught_up
            kept.append((time.monotonic() - committed) * 1_000)
        return int(message["last"])

    async def _ask(self, place: int) -> None:
        """One who asks a question as soon as the one before was answered or refused."""
        while True:
            run, other = self._chance.sample(self.runs, 2)
            question = QUESTIONS[place % len(QUESTIONS)]
            seq = max(self.committed[run], default=1) // 2 + 1
            path = f"/api/v1/runs/{run}/{question.format(seq=seq, other=other)}"
            name = question.split("/")[0]
            try:
                status, _ = await self.client.request("GET", path)
                self.tally.statuses[f"{name} {status}"] += 1
            except (OSError, IndexError) as problem:
                self.tally.statuses[f"{name} {type(problem).__name__}"] += 1
            await asyncio.sleep(self._chance.uniform(0.5, 1.5))

    async def _stall(self) -> None:
        """One who asks for a whole state and then reads nothing, until the connection is closed."""
        while True:
            with contextlib.suppress(OSError), _narrow_socket() as connection:
                loop = asyncio.get_running_loop()
                await loop.sock_connect(connection, ("127.0.0.1", self.plan.port))
                path = f"/api/v1/runs/{self._chance.choice(self.runs)}/state/"
                head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                await loop.sock_sendall(connection, head.encode())
                while connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _OPEN:
                    await asyncio.sleep(1)
            self.tally.statuses["stalled reader closed"] += 1
            await asyncio.sleep(1)

    async def _list_runs(self) -> None:
        while True:
            self.tally.lists.append(await self._time_list())
            await asyncio.sleep(0.5)

    async def _time_list(self) -> float:
        """Milliseconds until the list of runs is there."""
        began = time.monotonic()
        status, _ = await self.client.request("GET", "/api/v1/runs/")
        self.tally.statuses[f"runs {status}"] += 1
        return (time.monotonic() - began) * 1_000


_OPEN = 1  # the state of a connection in the kernel's TCP_INFO


def _narrow_socket() -> socket.socket:
    """One that takes little which its reader has not asked for yet."""
    connection = socket.socket()
    connection.setblocking(False)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    return connection


# What is printed.

_ERROR = re.compile(
    r"^([A-Za-z_.]+(?:Error|Exception|Timeout|Warning|Full)\b.{0,80})", re.MULTILINE
)


def report(plan: Plan, tally: Tally, log: str) -> None:
    """Memory over time, latencies, and what was shed."""
    print(
        f"\n{plan.sockets} sockets over {plan.runs} runs of {plan.nodes} nodes for {plan.seconds:.0f} s,"
        f" {plan.slow:.0%} slow, {plan.dead:.0%} that read nothing, half cut every"
        f" {plan.storm_seconds:.0f} s, {plan.stalled} HTTP readers that stall, {plan.askers} askers;"
        f" {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end"
    )
    print("\nMiB resident")
    every = max(1, len(tally.memory) // 20)
    names = list(dict.fromkeys(name.split("'s ")[0] for _, each in tally.memory for name in each))
    for at, memory in [*tally.memory[::every], tally.memory[-1]]:
        cells = "  ".join(f"{name} {size:,.0f}" for name, size in memory.items())
        print(f"  {at:6.0f} s  {cells}")
    for name in names:
        sizes = [memory[name] for _, memory in tally.memory if name in memory]
        print(f"  most of {name}: {max(sizes):,.0f}")
    for name, found in (
        ("frame after its commit", tally.latencies),
        ("the same after coming back", tally.caught_up),
        ("list of runs before the load", tally.alone),
        ("list of runs", tally.lists),
    ):
        if found:
            shown = (f"p{each} {percentile(found, each):,.0f} ms" for each in (50, 99))
            print(f"{name}: {', '.join(shown)}, most {max(found):,.0f} ms of {len(found):,}")
    print(f"connections: {tally.connects:,}; messages: {dict(tally.messages)}")
    print(f"closed with: {dict(sorted(tally.closes.items()))}")
    print(f"answers: {dict(sorted(tally.statuses.items()))}")
    print(f"readers cut off: {log.count('was cut off')}")
    errors = Counter(_ERROR.findall(log))
    print(f"errors in the web process's log: {dict(errors.most_common(8))}")


def main() -> None:
    """Measure as the arguments say."""
    plan = _plan()
    with served(plan) as data:
        load = Load(plan, data)
        try:
            asyncio.run(load.run())
        finally:
            log = (data / "log" / "web.log").read_text(errors="replace")
            if load.tally.memory:
                report(plan, load.tally, log)


def _plan() -> Plan:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    number: dict[str, Any] = {"type": int}
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--runs", default=50, **number)
    parser.add_argument("--sockets", default=500, **number)
    parser.add_argument("--slow", type=float, default=0.1, help="share of slow readers")
    parser.add_argument("--dead", type=float, default=0.02, help="share that reads nothing")
    parser.add_argument("--storm-seconds", type=float, default=20, help="between two storms")
    parser.add_argument("--stalled", default=0, help="HTTP clients that do not read", **number)
    parser.add_argument("--askers", default=20, **number)
    parser.add_argument("--nodes", default=100, **number)
    parser.add_argument("--pods", default=300, **number)
    parser.add_argument("--port", default=8106, **number)
    parser.add_argument("--checkout", type=Path, default=ROOM, help="another commit's files")
    return Plan(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
