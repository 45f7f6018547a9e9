"""Questions about the heads of runs, for a process that has the engine there (ADR 0052).

Whoever asks says it on a channel that all processes with drivers hear. Each of them answers at once
that it has no such engine, or a fork of it answers, made between two turns of its loop.
"""

import logging
import os
import threading
from collections.abc import Callable
from functools import partial

import redis

from engine.cluster.cluster import Cluster
from kscope.runs.nudges import Ask, AskListener, ask_decline, ask_take

# So many forks of a process may compute at once: each of them takes a core.
MOST = 2
PAUSE_SECONDS = 0.25
log = logging.getLogger(__name__)


class Asks:
    """Hears questions in a thread of its own, and has forks answer them in the loop's thread."""

    def __init__(
        self,
        engine_at_head: Callable[[int], Cluster | None],
        put: Callable[[Callable[[], None]], None],
        answer: Callable[[Ask, Cluster], None],
    ) -> None:
        """*engine_at_head* is the engine of a run, if it stands where the record does. *put* has the
        loop's thread call something, and *answer* is what the fork does.
        """
        self._engine_at_head = engine_at_head
        self._put = put
        self._answer = answer
        self._forks: set[int] = set()

    def start(self) -> None:
        """Begin to listen."""
        threading.Thread(target=self._listen, name="asks", daemon=True).start()

    def _listen(self) -> None:
        listener, stopped = AskListener(), threading.Event()
        while not stopped.is_set():
            try:
                for ask in listener.wait(1.0):
                    self._hear(ask)
            except redis.RedisError as problem:
                log.debug("no questions: %s", problem)
                stopped.wait(PAUSE_SECONDS)

    def _hear(self, ask: Ask) -> None:
        if self._engine_at_head(ask.run) is None or len(self._forks) >= MOST:
            ask_decline(ask)
        else:
            ask_take(ask)
            self._put(partial(self._fork, ask))

    def _fork(self, ask: Ask) -> None:
        """In the loop's thread, between two turns: no engine is in the middle of something."""
        engine = self._engine_at_head(ask.run)
        if engine is None or len(self._forks) >= MOST:
            ask_decline(ask)
            return
        pid = os.fork()
        if not pid:
            try:
                self._answer(ask, engine)
            finally:
                os._exit(0)
        self._forks.add(pid)
        threading.Thread(target=self._wait, args=(pid,), name="answering", daemon=True).start()

    def _wait(self, pid: int) -> None:
        os.waitpid(pid, 0)
        self._forks.discard(pid)
