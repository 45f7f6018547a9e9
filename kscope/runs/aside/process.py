"""The web process's end of one engine process."""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from typing import Any

import orjson

from kscope.runs.errors import ApplicationError

START_SECONDS = 60.0  # a second or two, where the machine has nothing else to do
ANSWER_BYTES = 64 * 1_048_576
# Of the runs that a process was asked about; it keeps what it replayed of the newest.
REMEMBERED = 3


# Gets the JSON text of one part of an answer.
OnPart = Callable[[bytes], object]


def ignored(_: bytes) -> None:
    """An `OnPart` for those who wait for the whole."""


class ProcessEnded(Exception):
    """The process has ended. If it had not *begun*, another one may be asked the same."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("an engine process ended without an answer")
        self.begun = begun


class EngineProcess:
    """Starts with its first question and answers one at a time."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.ended = False
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """None before it was started."""
        return self._process.pid if self._process else None

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked; one that was not started yet can."""
        return not self.ended and (self._process is None or self._process.returncode is None)

    async def ask(
        self, request: bytes, run_id: int, seconds: float, on_part: OnPart = ignored
    ) -> bytes:
        """The JSON text of the answer, which may take *seconds* once the process has started.

        *on_part* gets each part of an answer that comes in parts.

        Raises TimeoutError, ProcessEnded, ApplicationError, RuntimeError.
        """
        self.runs = [run_id, *(each for each in self.runs if each != run_id)][:REMEMBERED]
        if self._process is None:
            self._process = await self._start()
        begun = False
        try:
            assert self._process.stdin
            assert self._process.stdout
            self._process.stdin.write(request)
            await self._process.stdin.drain()
            async with asyncio.timeout(START_SECONDS):
                begun = bool(await self._process.stdout.readline())
            async with asyncio.timeout(seconds):
                output = self._process.stdout
                head = orjson.loads(await output.readline() if begun else b"")
                while head["said"] == "part":
                    on_part(await self._answer(head, output))
                    head = orjson.loads(await output.readline())
                return await self._answer(head, output)
        except TimeoutError:  # which is an OSError as well
            self.kill()
            raise
        except (OSError, EOFError, ValueError):
            self.kill()
            raise ProcessEnded(begun=begun) from None

    def kill(self) -> None:
        """End it at once; whatever it computes is lost."""
        self.ended = True
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def renew(self) -> None:
        """Have a fresh process answer the next question."""
        self.kill()
        await self.wait()
        self._process, self.ended, self.runs = None, False, []

    async def wait(self) -> None:
        """Return when it is gone."""
        if self._process is not None:
            await self._process.wait()

    async def _start(self) -> Process:
        from django.conf import settings

        # The pool of connections of a web process is of no use to a process with one thread.
        environment = {**os.environ, "KSCOPE_DATABASE_POOL": "0"}
        words = [sys.executable, "-m", "kscope.runs.aside.child", str(os.getpid())]
        return await asyncio.create_subprocess_exec(
            *words, stdin=PIPE, stdout=PIPE, cwd=settings.BASE_DIR, env=environment
        )

    async def _answer(self, head: dict[str, Any], output: asyncio.StreamReader) -> bytes:
        self.ended = head["last"]
        if head["size"] > ANSWER_BYTES:
            self.kill()
            mebibytes = head["size"] // 1_048_576
            raise ApplicationError(f"The answer is too large: {mebibytes} MiB.", status=413)
        text = await output.readexactly(head["size"])
        if head["said"] == "refusal":
            raise ApplicationError(**orjson.loads(text))
        if head["said"] == "problem":
            raise RuntimeError(text.decode())
        return text
