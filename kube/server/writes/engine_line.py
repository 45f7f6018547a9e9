"""Has the engine of a run carry commands out, and waits for what came of them.

Commands that arrive together are handed over together, and one message about a slice answers all
that were in it: a line with many clients costs little more than one with a single client.
"""

import asyncio
import logging
import re
from asyncio import Future, Task
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from engine.objects.objects import Manifest
from engine.objects.scripts.script import Script
from kscope.runs.capacity import requests_at_once
from kscope.runs.errors import ApplicationError
from kscope.runs.nudges import Outcome, outcomes_of
from kscope.runs.served.commands import RunDeleted, RunFailed, check_alive, outcomes_answered
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.runs import Run
from kscope.runs.served.scripts import scripts_of_run
from kscope.runs.services import CommandColumns, command_prepare
from kscope.runs.stream.follower import Follower, Followers
from kscope.runs.stream.stream_room import HeadNews
from kube.addresses import Target
from kube.server.handover import NotStored, Pledge, run_deleted
from kube.server.writes.submitting import Submitter
from kube.status import (
    ApiError,
    already_exists,
    causes_of,
    eviction_refused,
    internal_error,
    invalid,
    not_found,
    timed_out,
    unavailable,
)

# Less than the minute after which an API server gives up.
WAIT_SECONDS = 30.0
# A message may be lost, so the database is asked at least this often.
LOOK_SECONDS = 0.25
# Commands that are handed over at a time.
MOST_TOGETHER = 200
NOT_YET = "the engine of the run has not answered yet; ask for the object"
# HTTP status by the reason of an engine's refusal.
_CODES = {
    "AlreadyExists": 409,
    "BadRequest": 400,
    "Conflict": 409,
    "Forbidden": 403,
    "InternalError": 500,
    "Invalid": 422,
    "NotFound": 404,
    "RequestEntityTooLarge": 413,
    "TooManyRequests": 429,
    "Unauthorized": 401,
}
# What begins the engine's message; the answer names the object by itself.
_INVALID = re.compile(r'\A\S+ "[^"]*" is invalid: ')
# What an admission policy does not allow. Upstream: validating/dispatcher.go, Dispatch().
_DENIED = re.compile(
    r"""\A\S+ "[^"]*" is forbidden: ((?:ValidatingAdmissionPolicy|policy) '.*)""", re.DOTALL
)
# What a webhook denies, and what comes of one that cannot be called.
_DENIED_BY_WEBHOOK = "admission webhook "
_WEBHOOK_FAILED = re.compile(
    r"\AInternal error occurred: ((?:failed calling|admission) webhook .*)", re.DOTALL
)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Commands of one request, and what becomes of each."""

    commands: list[CommandColumns]
    outcomes: "list[Future[Outcome]]"
    pledge: Pledge | None


class EngineLine(Follower):
    """Commands of the clients in this process to the engine of one run."""

    subject = "outcomes"

    def __init__(self, run_id: int, submitter: Submitter, news: HeadNews) -> None:
        super().__init__(run_id, news)
        self.submitter = submitter
        # Of commands whose numbers are not known yet.
        self._early: dict[int, Outcome] = {}
        self._unsent: list[_Waiting] = []
        self._sent: dict[int, Future[Outcome]] = {}
        self._sending: Task[None] | None = None
        self._scripts: tuple[Script, ...] | None = None

    async def scripts(self) -> tuple[Script, ...]:
        """What containers of the run do, by its scenario, which no run changes."""
        if self._scripts is None:
            self._scripts = await scripts_of_run(self.run_id)
        return self._scripts

    async def carry_out(
        self,
        run: Run,
        bodies: Sequence[Manifest],
        target: Target | None,
        pledge: Pledge | None = None,
    ) -> list[Outcome]:
        """Have the engine carry commands out that are stored together; returns what came of each.

        Raises NotStored when nothing was stored, and ApiError when the engine does not answer in
        time.
        """
        try:
            commands = [_prepared(run, body, target) for body in bodies]
        except ApiError as problem:
            raise NotStored from problem
        loop = asyncio.get_running_loop()
        waiting = _Waiting(commands, [loop.create_future() for _ in commands], pledge)
        self._unsent.append(waiting)
        self._sending = _going_on(self._sending, self._send)
        requests_at_once.leave()
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                return await asyncio.gather(*waiting.outcomes)
        except TimeoutError:
            if waiting in self._unsent:
                self._unsent.remove(waiting)
                raise NotStored from unavailable("the commands of others are stored first")
            raise timed_out(NOT_YET) from None

    def hear(self, outcomes: Iterable[Outcome]) -> None:
        """Answer those whose commands were in a slice."""
        is_sending = self._sending is not None and not self._sending.done()
        for outcome in outcomes:
            waiting = self._sent.pop(outcome.command, None)
            if waiting is not None:
                _answer(waiting, outcome)
            elif is_sending:
                self._early[outcome.command] = outcome

    @property
    def poll_seconds(self) -> float:
        """See Follower: a message may be lost."""
        return LOOK_SECONDS

    async def look(self) -> bool:
        """See Follower."""
        # Without those who gave up waiting.
        self._sent = {key: each for key, each in self._sent.items() if not each.done()}
        try:
            if self._sent:
                await self._ask()
        except psycopg.Error:
            # Their outcome is there when the database is; each waiting request has its own patience.
            raise
        except Exception as problem:  # noqa: BLE001  # each of them is told
            for each in self._sent.values():
                _answer(each, problem)
            self._sent.clear()
        return False

    async def _send(self) -> None:
        while self._unsent:
            together = self._next()
            commands = [one for each in together for one in each.commands]
            outcomes = [one for each in together for one in each.outcomes]
            try:
                found = await self.submitter.submit(self.run_id, commands, together[0].pledge)
            except Exception as problem:  # noqa: BLE001  # each of them is told
                for each in outcomes:
                    _answer(each, problem)
                continue
            for outcome, key in zip(outcomes, found, strict=True):
                early = self._early.pop(key, None)
                if early is None:
                    self._sent[key] = outcome
                else:
                    _answer(outcome, early)
            # The rest are commands of other processes.
            self._early.clear()

    def _next(self) -> list[_Waiting]:
        """Whose commands are stored next; those of a request with a key by themselves."""
        together = [self._unsent.pop(0)]
        count = len(together[0].commands)
        while together[0].pledge is None and self._unsent:
            following = self._unsent[0]
            count += len(following.commands)
            if following.pledge is not None or count > MOST_TOGETHER:
                break
            together.append(self._unsent.pop(0))
        return together

    async def _ask(self) -> None:
        async with self.submitter.links.link() as link:
            found = await outcomes_answered(link, [*self._sent])
            if not found:
                await self._check_run(link)
        for outcome in found:
            waiting = self._sent.pop(outcome.command, None)
            if waiting is not None:  # no message has come meanwhile
                _answer(waiting, outcome)

    async def _check_run(self, link: "psycopg.AsyncConnection[Any]") -> None:
        try:
            await check_alive(link, self.run_id)
        except RunFailed as failed:
            raise run_failed(self.run_id, str(failed)) from failed
        except RunDeleted as gone:
            raise run_deleted() from gone


def run_failed(run_id: int, error: str) -> ApiError:
    """Nothing comes of a command any more."""
    return internal_error(f"run {run_id} has ended with an error: {error}")


class SliceNews(HeadNews):
    """The messages about slices, for the lines to whose runs they belong."""

    def __init__(self, lines: Mapping[int, EngineLine]) -> None:
        super().__init__()
        self._lines = lines

    def hear(self, run_id: int, text: bytes) -> None:
        """Answer what a slice has answered; any other message makes its line ask."""
        line = self._lines.get(run_id)
        outcomes = outcomes_of(text) if line is not None else None
        if line is None or outcomes is None:
            super().hear(run_id, text)
        else:
            line.hear(outcomes)


class EngineLines:
    """The lines of this process, each kept while a client waits for its run's engine."""

    def __init__(self) -> None:
        self._submitter = Submitter(SnapshotLinks(checked=True))
        lines: dict[int, EngineLine] = {}
        self._news = SliceNews(lines)
        self._followers = Followers(
            self._news, lambda run_id: EngineLine(run_id, self._submitter, self._news), lines
        )
        self.of = self._followers.of

    async def close(self) -> None:
        """Close what the lines share."""
        await self._news.close()
        await self._submitter.close()


def _prepared(run: Run, body: Manifest, target: Target | None) -> CommandColumns:
    try:
        return command_prepare(run=run, body=body)
    except ApplicationError as refusal:
        if refusal.status in (400, 422):
            raise refusal_of(f"Invalid: {refusal.message}", target) from refusal
        raise ApiError(refusal.status, "Invalid", refusal.message) from refusal


def _going_on(
    task: "Task[None] | None", work: Callable[[], Coroutine[Any, Any, None]]
) -> "Task[None]":
    """The task that does *work*: the one that still does, or a new one."""
    return asyncio.create_task(work()) if task is None or task.done() else task


def _answer(waiting: "Future[Outcome]", outcome: Outcome | Exception) -> None:
    """Tell a client what came of its command, unless it gave up."""
    if waiting.done():
        return
    if isinstance(outcome, Outcome):
        waiting.set_result(outcome)
    else:
        waiting.set_exception(outcome)


def refusal_of(reason: str, target: Target | None) -> ApiError:
    """The engine's "Reason: message" as a Status."""
    name, _, message = reason.partition(": ")
    code = _CODES.get(name, 422)
    if message.startswith(_DENIED_BY_WEBHOOK):
        return ApiError(code, name, message)
    if failed := _WEBHOOK_FAILED.match(message):
        return internal_error(failed[1])
    if target is None:
        return ApiError(code, name, message)
    if name == "AlreadyExists":
        return already_exists(target.resource, target.name)
    if name == "NotFound":
        return not_found(target.resource, target.name)
    details: Manifest = {"name": target.name, "kind": target.resource.plural}
    if target.resource.group:
        details["group"] = target.resource.group
    if denied := _DENIED.match(message):
        return ApiError(code, name, message, {**details, "causes": [{"message": denied[1]}]})
    if name == "Invalid":
        found = causes_of(_INVALID.sub("", message, count=1))
        return invalid(target.resource, target.name, found)
    if name == "TooManyRequests":
        return eviction_refused(message)
    return ApiError(code, name, message, details)
