"""What a fork of a process that drives runs does: it answers one question about a head, and ends.

Of the process that it was forked from only this thread lives on. What the others may have held at
that moment, connections and locks, is not touched.
"""

import gc
import os
import signal
import time
from types import FrameType
from typing import Any

import orjson
import psutil
from django.conf import settings
from django.db import connections

from engine.cluster.cluster import Cluster
from kscope.runs.app_registry import registry
from kscope.runs.aside import child
from kscope.runs.aside.kept import engine_given
from kscope.runs.aside.spent import LOOK_SECONDS, Spent
from kscope.runs.drive.ending.stuck import unwatched
from kscope.runs.drive.same_database import database_name
from kscope.runs.models import Run
from kscope.runs.nudges import Ask, AskNews, ask_answer, ask_decline, connect_anew
from kscope.up.children import die_with_parent

_MEBIBYTE = 1_048_576
# Who asks is told so often that the answer is still being computed.
NEWS_SECONDS = 5.0
# Connections of the process that it was forked from: to close one here would end it there.
_inherited: list[object] = []


class _Answer:
    """The answer to a question, message by message."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._message = b""
        self._spent = Spent(os.getpid(), time.monotonic)
        self._said = time.monotonic()

    def watch(self) -> None:
        """Say from time to time that it is being computed, and end when that takes too long."""
        # A thread would do no trials, which are forks.
        self._news = AskNews(self._ask)
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, LOOK_SECONDS, LOOK_SECONDS)

    def _look(self, _signal: int, _frame: FrameType | None) -> None:
        if self._spent.look() > self._ask.seconds:
            self._news.say(orjson.dumps({"said": "late"}))
            os._exit(1)
        if time.monotonic() - self._said > NEWS_SECONDS:
            self._said = time.monotonic()
            self._news.say(orjson.dumps({"said": "working"}))

    def write(self, text: bytes) -> None:
        """See Written."""
        self._message += text

    def flush(self) -> None:
        """See Written."""
        message, self._message = self._message, b""
        self._spent.begin()
        self._said = time.monotonic()
        ask_answer(self._ask, message)


def answer_in_fork(ask: Ask, engine: Cluster) -> None:
    """Answer with this *engine*, unless the head of the run is elsewhere by now."""
    die_with_parent()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_DFL)
    unwatched()
    # Nothing that was there is garbage, and looking through it would copy it.
    gc.freeze()
    os.nice(child.NICENESS)
    for one in connections.all(initialized_only=True):
        _inherited.append(one.connection)
        one.connection = None
    _inherited.append(connect_anew())
    child.limit_memory(_bytes_of_data() + settings.ENGINE_MEMORY_MIB * _MEBIBYTE)
    request = orjson.loads(ask.request)
    if not _is_ours(request) or not _stands(ask.run, request["arguments"].get("seq"), engine):
        ask_decline(ask)
        return
    answer = _Answer(ask)
    answer.watch()
    child.say(answer, {"said": "begun"})
    outcome = child.outcome_of(request, answer)
    child.say(answer, {"said": outcome.said, "size": len(outcome.text)}, outcome.text)


def _is_ours(request: dict[str, Any]) -> bool:
    """Whether it is one of the questions that are asked so: whoever reaches Valkey may say anything."""
    is_known = request["function"] in registry.asked_of_heads
    return is_known and request["database"] == database_name()


def _stands(run_id: int, seq: int | None, engine: Cluster) -> bool:
    """Whether the engine is that of the run's head, and the question about that."""
    run = Run.objects.filter(pk=run_id).first()
    return run is not None and seq in (None, run.head_seq) and engine_given(run, engine)


def _bytes_of_data() -> int:
    found: int = psutil.Process().memory_info().data
    return found
