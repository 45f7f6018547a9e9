"""The web process's end of one engine process."""

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext

from kscope.runs.aside.spent import LOOK_SECONDS, Spent
from kscope.runs.errors import ApplicationError
from kscope.up.processes import Call, Process, start_function

START_SECONDS = 60.0  # a second or two, where there is no loader
ANSWER_BYTES = 64 * 1_048_576
# How many runs a process remembers being asked about; it keeps the replayed engines of the newest.
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


@dataclass(frozen=True, slots=True)
class _Running:
    """A process, and both directions of the pipe to it."""

    process: Process
    questions: asyncio.StreamWriter
    answers: asyncio.StreamReader


class EngineProcess:
    """Starts with its first question and answers one at a time."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.ended = False
        self.is_large = False
        """Whether the question that it answered last was about a large run."""
        self._running: _Running | None = None

    @property
    def pid(self) -> int | None:
        """None before it was started."""
        return self._running.process.pid if self._running else None

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked; one that was not started yet can."""
        return not self.ended and (self._running is None or self._running.process.poll() is None)

    async def ask(
        self, request: bytes, run_id: int, seconds: float, on_part: OnPart = ignored
    ) -> bytes:
        """The JSON text of the answer, which may take *seconds* once the process has started.

        *on_part* gets each part of an answer that comes in parts; each may take *seconds*. These are
        as in `Spent`.

        Raises TimeoutError, ProcessEnded, ApplicationError, RuntimeError.
        """
        self.runs = [run_id, *(each for each in self.runs if each != run_id)][:REMEMBERED]
        if self._running is None:
            self._running = await self._start()
        begun = False
        output = self._running.answers
        try:
            self._running.questions.write(request)
            await self._running.questions.drain()
            async with asyncio.timeout(START_SECONDS):
                begun = bool(await output.readline())
            spent = Spent(self.pid, asyncio.get_running_loop().time)
            head = orjson.loads(await _within(seconds, spent, output.readline()) if begun else b"")
            while head["said"] == "part":
                on_part(await _within(seconds, spent, self._answer(head, output)))
                spent.begin()
                head = orjson.loads(await _within(seconds, spent, output.readline()))
            return await _within(seconds, spent, self._answer(head, output))
        except TimeoutError:  # which is an OSError as well
            self.kill()
            raise
        except (OSError, EOFError, ValueError):
            self.kill()
            raise ProcessEnded(begun=begun) from None

    def kill(self) -> None:
        """End it at once; whatever it computes is lost."""
        self.ended = True
        if self._running is not None:
            self._running.process.send_signal(signal.SIGKILL)

    async def renew(self) -> None:
        """Have a fresh process answer the next question."""
        self.kill()
        await self.wait()
        self._running, self.ended, self.runs = None, False, []

    async def wait(self) -> None:
        """Return when it is gone."""
        self.close()
        if self._running is not None:
            await asyncio.to_thread(self._running.process.wait)

    def close(self) -> None:
        """Close the pipe to it, which ends it."""
        if self._running is not None:
            self._running.questions.close()

    async def _start(self) -> _Running:
        ours, theirs = socket.socketpair()
        with theirs:
            # Whoever waits here may be cancelled; then no process is started that nobody ends.
            answers, questions = await asyncio.open_connection(sock=ours)
            call = Call("engine", "kscope.runs.aside.child:main")
            try:
                process = start_function(call, stdin=theirs.fileno(), stdout=theirs.fileno())
            except OSError:
                questions.close()
                raise
        return _Running(process, questions, answers)

    async def _answer(self, head: dict[str, Any], output: asyncio.StreamReader) -> bytes:
        self.ended = head["last"]
        try:
            check_size(head["size"])
        except ApplicationError:
            self.kill()
            raise
        return answer_of(head, await output.readexactly(head["size"]))


async def _within(seconds: float, spent: Spent, reading: Coroutine[Any, Any, bytes]) -> bytes:
    """What comes of *reading*. Raises TimeoutError where more time than that is spent."""
    task = asyncio.create_task(reading)
    try:
        while not (await asyncio.wait({task}, timeout=min(LOOK_SECONDS, seconds / 4)))[0]:
            if spent.look() > seconds:
                raise TimeoutError
        return task.result()
    finally:
        task.cancel()


def check_size(size: int) -> None:
    """Raises ApplicationError for an answer of so many bytes, if those are too many."""
    if size > ANSWER_BYTES:
        raise ApplicationError(
            gettext("The answer is too large: {size} MiB.").format(size=size // 1_048_576),
            status=413,
        )


def answer_of(head: dict[str, Any], text: bytes) -> bytes:
    """The *text* of a message, if it is an answer. Raises ApplicationError and RuntimeError if not."""
    if head["said"] == "refusal":
        raise ApplicationError(**orjson.loads(text))
    if head["said"] == "problem":
        raise RuntimeError(text.decode())
    return text
