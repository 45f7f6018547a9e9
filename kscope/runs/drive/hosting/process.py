"""A process that hosts runs: it takes those that its worker names, and says which it has left.

    worker ── adopt RUN, drain ──▶ stdin
           ◀── ready, left RUN WHY, busy SHARE MEMORY, did WORK, rests ── stdout

It ends with its worker, or once it is drained: it takes no more runs, and gives back those it has.
"""

import gc
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO

import orjson

from kscope.runs.app_registry import registry
from kscope.runs.drive import garbage
from kscope.runs.drive.committer import writer_close
from kscope.runs.drive.ending.stopping import stop_ask, stop_unask
from kscope.runs.drive.ending.stuck import ended_when_stuck, moves
from kscope.runs.drive.engines import engines_used
from kscope.runs.drive.hosting.asks import Asks
from kscope.runs.drive.hosting.at_work import AtWork
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.record.work import tally

NICENESS = 2
WRITING_THREADS = 2
TOLD_SECONDS = 1.0  # how often the worker is told how busy the process is, while it gets on
LEAST_SHARE = 0.02  # of a core, that a process takes which computes
# Whoever pauses a run most likely goes on with it soon.
REST_SECONDS = 120.0


def main() -> None:
    """Host runs until the worker ends, or wants the process to."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    # Stray prints must not come between the answers.
    os.dup2(2, 1)
    # Ctrl-C in a terminal reaches the worker as well, which drains us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop_ask())
    stop_unask()
    # Where there are too few cores for everything, requests and streams come before computing.
    os.nice(NICENESS)
    registry.process_began("driver")
    gc.freeze()
    worker = _Worker(answers)
    at_work = AtWork(Path(sys.argv[1]))
    loop = Loop(threads=WRITING_THREADS, left=worker.told_left, at_work=at_work.note)
    # Unbuffered: a thread that reads from a buffer when the interpreter ends would hold its lock.
    orders = open(os.dup(0), "rb", buffering=0)  # noqa: SIM115 PTH123 until the end
    threading.Thread(target=_obey, args=(orders, loop), name="orders", daemon=True).start()
    threading.Thread(target=_report, args=(worker, loop), name="report", daemon=True).start()
    Asks(loop.engine_at_head, loop.put, registry.answer_ask).start()
    worker.tell("ready")
    with ended_when_stuck():
        loop.run(forever=True)
    writer_close()


class _Worker:
    """The worker, as the process tells it things."""

    def __init__(self, answers: IO[str]) -> None:
        self._answers = answers
        self._lock = threading.Lock()

    def tell(self, line: str) -> None:
        """Say a line; nothing where the worker has gone, which ends us anyway."""
        with self._lock:
            try:
                self._answers.write(f"{line}\n")
            except OSError:
                stop_ask()

    def told_left(self, run_id: int, why: str) -> None:
        """The process has this run no longer, or did not take it."""
        self.tell(f"left {run_id} {why}")


def _obey(orders: io.FileIO, loop: Loop) -> None:
    for line in orders:
        word, *rest = line.decode().split()
        if word == "adopt":
            loop.put(partial(loop.adopt, int(rest[0])))
        elif word == "drain":
            _stop(loop)
    # The worker has ended.
    _stop(loop)


def _stop(loop: Loop) -> None:
    stop_ask()
    loop.put(lambda: None)


def _report(worker: _Worker, loop: Loop, cpu: Callable[[], float] = time.process_time) -> None:
    """Tell how busy the process is, in hundredths of a core, its memory in MiB, and what it did."""
    before, then, known = cpu(), time.monotonic(), moves()
    used_at = then
    while True:
        time.sleep(TOLD_SECONDS)
        used, now, moved = cpu(), time.monotonic(), moves()
        share = (used - before) / (now - then)
        if moved != known or share > LEAST_SHARE:
            worker.tell(f"busy {100 * share:.0f} {garbage.resident_bytes() >> 20}")
        if done := tally.take():
            worker.tell(f"did {orjson.dumps(done, option=orjson.OPT_NON_STR_KEYS).decode()}")
        used_at = now if loop.hosts else max(used_at, engines_used())
        if now - used_at > REST_SECONDS:
            worker.tell("rests")
            used_at = now
        before, then, known = used, now, moved
