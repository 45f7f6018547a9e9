"""The web process's end of questions about the head of a run, where another process has the engine."""

import logging
from contextlib import aclosing

import orjson
import redis

from kscope.runs.aside.process import OnPart, answer_of, check_size
from kscope.runs.nudges import HeadAsker

# Who says nothing by then is in a long step, and an engine process of our own is asked. That has to
# make the engine first, which takes longer for a large run.
PATIENCE_SECONDS, LARGE_PATIENCE_SECONDS = 1.0, 15.0
log = logging.getLogger(__name__)


class Heads:
    """Asks the processes that drive runs."""

    def __init__(self) -> None:
        self._asker: HeadAsker | None = None

    async def ask(
        self,
        request: bytes,
        run_id: int,
        seconds: float,
        on_part: OnPart,
        patience: float = PATIENCE_SECONDS,
    ) -> bytes | None:
        """The JSON text of the answer, or None where nobody has the engine at the head.

        *on_part* gets each part of an answer that comes in parts; each may take *seconds*, as in
        `Spent`.

        Raises TimeoutError, ApplicationError, RuntimeError.
        """
        if self._asker is None:
            self._asker = HeadAsker()
        try:
            asking = self._asker.ask(run_id, request, seconds, patience)
            async with aclosing(asking) as messages:
                async for message in messages:
                    line, _, text = message.partition(b"\n")
                    head = orjson.loads(line)
                    if head["said"] in ("begun", "working"):
                        continue
                    if head["said"] == "late":
                        raise TimeoutError
                    check_size(head["size"])
                    if head["said"] != "part":
                        return answer_of(head, text)
                    on_part(text)
        except redis.RedisError as problem:
            log.warning("nobody was asked about the head of run %s: %s", run_id, problem)
        return None

    async def close(self) -> None:
        """End the connection."""
        if self._asker is not None:
            await self._asker.close()
            self._asker = None
