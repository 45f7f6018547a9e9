"""Every process says that it lives and what it has counted, every few seconds, through Valkey.

Through Valkey, because web and workers may be on several machines and share no folder. A process is
known for `SECONDS_KNOWN` after it last spoke, so that one that was killed or stopped is soon missed.
Counts are added up in one hash: what a process counted stays when it ends, and totals never fall
while Valkey lives. A killed process loses what it counted in its last `EVERY_SECONDS`.
"""

import atexit
import logging
import os
import socket
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from secrets import token_hex
from typing import Any

import orjson
import psutil
import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from kscope.runs.measures import REGISTRY
from kscope.runs.stream.streaming import hubs

EVERY_SECONDS = 3.0
SECONDS_KNOWN = 15
# A server that does not answer must hold up neither the reports nor who asks for them.
PATIENCE_SECONDS = 2.0
_PROCESSES = "kscope:process:"
_COUNTS = "kscope:counts"
_GENERATION = "generation"  # the field of the counts that is another one after they were lost
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Process:
    """A process as it last spoke; `owner` is how it signs the leases of runs."""

    role: str
    owner: str
    since: datetime
    memory_bytes: int
    hubs: int
    sockets: int


class Reporter:
    """Announces this process, from a thread of its own."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.pid = os.getpid()
        self._since = datetime.now(UTC)
        # The parent of a fork has counted the samples that it inherits.
        self._sent = _samples()
        self._announced: set[str] = set()
        self._generation = ""
        self._speaking = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)

    def start(self) -> None:
        """Begin to announce."""
        self._thread.start()

    def stop(self) -> None:
        """Say what was counted since, and good-bye."""
        self._end.set()
        try:
            self.report()
            client().delete(self._key)
        except redis.RedisError as problem:
            log.debug("nothing was reported at the end: %s", problem)

    def report(self) -> None:
        """Announce once. Raises redis.RedisError; nothing counts as announced then."""
        with self._speaking:
            self._report()

    def _report(self) -> None:
        samples = _samples()
        generation = _generation()
        if generation != self._generation:
            # Valkey has lost what it had, perhaps in a restart.
            self._generation, self._announced = generation, set()
        with client().pipeline(transaction=True) as pipeline:
            pipeline.set(self._key, orjson.dumps(self._state()), ex=SECONDS_KNOWN)
            for name, value in samples.items():
                added = value - self._sent.get(name, 0.0)
                # A histogram needs its empty buckets as well.
                if added or name not in self._announced:
                    pipeline.hincrbyfloat(_COUNTS, name, added)
            pipeline.execute()
        self._sent = samples
        self._announced = set(samples)

    @property
    def _key(self) -> str:
        return f"{_PROCESSES}{socket.gethostname()}:{self.pid}"

    def _state(self) -> dict[str, Any]:
        watched = list(hubs.watched())
        return {
            "role": self.role,
            "owner": f"{socket.gethostname()}:{self.pid}",
            "since": self._since.isoformat(),
            "memory_bytes": psutil.Process().memory_info().rss,
            "hubs": len(watched),
            "sockets": sum(hub.users for hub in watched),
        }

    def _run(self) -> None:
        while True:
            try:
                self.report()
            except redis.RedisError as problem:
                log.debug("nothing was reported: %s", problem)
            if self._end.wait(EVERY_SECONDS):
                return


_reporter: Reporter | None = None


def begin(role: str) -> None:
    """Have this process report, unless it does; a fork is a process of its own."""
    global _reporter
    if _reporter is None or _reporter.pid != os.getpid():
        _reporter = Reporter(role)
        _reporter.start()
        atexit.register(end)


def end() -> None:
    """This process is about to end."""
    global _reporter
    reporter, _reporter = _reporter, None
    if reporter is not None and reporter.pid == os.getpid():
        reporter.stop()


def processes() -> list[Process]:
    """Those that spoke lately, in order of role and since when they live. Raises redis.RedisError."""
    keys = sorted(client().scan_iter(match=f"{_PROCESSES}*", count=1_000))
    with client().pipeline(transaction=False) as pipeline:
        for key in keys:
            pipeline.get(key).ttl(key)
        found = pipeline.execute()
    # An entry that lives longer than any entry may was written before the server's clock was set back.
    pairs = zip(found[::2], found[1::2], strict=True)
    known = [orjson.loads(text) for text, left in pairs if text and left <= SECONDS_KNOWN]
    spoke = [
        Process(**{**state, "since": datetime.fromisoformat(state["since"])}) for state in known
    ]
    return sorted(spoke, key=lambda process: (process.role, process.since, process.owner))


def counts() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """What all processes counted, by sample name and labels. Raises redis.RedisError."""
    found = {}
    for name, value in client().hgetall(_COUNTS).items():
        if name == _GENERATION.encode():
            continue
        sample, labels = orjson.loads(name)
        found[sample, tuple((key, text) for key, text in labels)] = float(value)
    return found


def queue_lengths() -> dict[str, int]:
    """How many tasks wait in each of Celery's queues. Raises redis.RedisError."""
    queues = (settings.CELERY_TASK_DEFAULT_QUEUE, settings.CELERY_SWEEP_QUEUE)
    return {name: int(client().llen(name)) for name in queues}  # type: ignore[arg-type]


@cache
def client() -> Any:
    """A client that waits no longer than PATIENCE_SECONDS for an answer, and asks once."""
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=PATIENCE_SECONDS,
        socket_connect_timeout=PATIENCE_SECONDS,
        retry=Retry(NoBackoff(), 0),
    )


def _generation() -> str:
    client().hsetnx(_COUNTS, _GENERATION, token_hex(8))
    found: bytes = client().hget(_COUNTS, _GENERATION)
    return found.decode()


def _samples() -> dict[str, float]:
    """The counts of this process by the JSON of `[sample name, [[label, value], …]]`."""
    return {
        orjson.dumps([sample.name, sorted(sample.labels.items())]).decode(): sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }
