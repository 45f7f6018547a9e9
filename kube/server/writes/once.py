"""A write that its client may send again: with an `Idempotency-Key` it happens once.

See kscope/runs/write_keys.py. A repetition does what is left to do of the write:

    answered                ──▶ the same answer
    promised, not answered  ──▶ waits for the commands that are stored, and answers as promised
    nothing stored          ──▶ takes the key over, and writes

Promises and answers that may have the data of Secrets are sealed (ADR 0054).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic

from starlette.requests import Request
from starlette.responses import Response

from kscope.accounts.access import Visitor
from kscope.accounts.limits import visitor_key
from kscope.accounts.sockets import address_of
from kscope.runs import write_keys
from kscope.runs.capacity import requests_at_once
from kscope.runs.nudges import Outcome
from kscope.runs.served.commands import RunFailed, outcomes_of_all
from kscope.runs.served.keys import (
    key_answer,
    key_give_back,
    key_known,
    key_take,
    key_take_over,
)
from kscope.runs.served.sealing import OtherKey, opened, sealed
from kscope.runs.write_keys import AskedOnce, Held, KeptAnswer, KnownKey, TakenOver
from kube.addresses import Target
from kube.server.answers import JSON, refused
from kube.server.objects.secrets import is_secret
from kube.server.writes.engine_line import NOT_YET, WAIT_SECONDS, run_failed
from kube.server.writes.run_objects import Promise, RunObjects
from kube.status import ApiError, bad_request, timed_out, too_many_requests

LOOK_SECONDS = 0.1
# What begins a sealed answer, and no JSON.
_SEALED = b"sealed "
_UNREADABLE = "the answer was sealed by another key and cannot be read; ask for the object"
_KEPT_HEADERS = ("content-type", "warning")

Write = Callable[[RunObjects], Awaitable[Response]]


async def asked_once(request: Request, visitor: Visitor) -> AskedOnce | None:
    """The request by which a repetition is known; None where it has no key. Raises ApiError."""
    header = request.headers.get(write_keys.HEADER)
    if header is None:
        return None
    key = write_keys.key_in(header)
    if key is None:
        raise bad_request(str(write_keys.MALFORMED))
    media_type = request.headers.get("content-type", "")
    query = f"?{request.url.query}" if request.url.query else ""
    return AskedOnce(
        visitor_key(visitor, address_of(request.scope)),
        key,
        request.method,
        f"{request.url.path}{query}",
        write_keys.digest_of(media_type.encode(), await request.body()),
    )


@dataclass(slots=True)
class WriteOnce:
    """One request that has a key, which writes *objects* at *target*."""

    objects: RunObjects
    target: Target
    asked: AskedOnce

    async def answer(self, write: Write) -> Response:
        """The answer of *write*, or of the request that this one repeats. Raises ApiError."""
        requests_at_once.leave()
        give_up_at = monotonic() + WAIT_SECONDS
        held, may_take_over = await self._taken(), True
        while monotonic() < give_up_at:
            if held is not None:
                try:
                    return await self._written(held, write)
                except TakenOver:
                    held, may_take_over = None, False
            known = await self._known()
            if known is None:
                # It was given back just now, or there is no room for it.
                held = await self._taken()
                if held is None:
                    raise too_many_requests(str(write_keys.FULL))
                continue
            if known.answer is not None:
                return await self._replayed(known.held, known.answer)
            answer = await self._promised(known)
            if answer is not None:
                return answer
            if may_take_over and not known.commands:
                held = await self._taken_over(known)
            if held is None:
                await asyncio.sleep(LOOK_SECONDS)
        raise timed_out(NOT_YET)

    async def _written(self, held: Held, write: Write) -> Response:
        """Write as the first that has the key. Raises TakenOver when that is another one now."""
        objects = replace(self.objects, held=held)
        try:
            response = await write(objects)
        except ApiError as error:
            response = refused(objects.handover.refusal(error))
            if objects.handover.is_open:
                raise
            if not _kept(response).is_final:
                async with self.objects.links.link() as link:
                    await key_give_back(link, held)
                raise
        return await self._keep(held, response)

    async def _keep(self, held: Held, response: Response) -> Response:
        """Store the answer before it is sent; returns it, or the one that somebody else has stored."""
        answer = _kept(response)
        if is_secret(self.target.resource):
            answer = await asyncio.to_thread(_sealed, held, answer)
        async with self.objects.links.link() as link:
            if await key_answer(link, held, answer):
                return response
        known = await self._known()
        if known is None or known.answer is None:
            raise TakenOver
        return await self._replayed(known.held, known.answer)

    async def _replayed(self, held: Held, answer: KeptAnswer) -> Response:
        """The answer that is stored. Raises ApiError where another key than ours has sealed it."""
        if answer.body.startswith(_SEALED):
            with _opening():
                answer = await asyncio.to_thread(_opened, held, answer)
        headers = {name: value for name, value in answer.headers.items() if name != "content-type"}
        return Response(answer.body, answer.status, headers, JSON)

    async def _promised(self, known: KnownKey) -> Response | None:
        """The answer once the commands of the key are carried out; None while nothing is to be said."""
        if known.promise is None:
            return None
        outcomes = await self._outcomes(known.commands) if known.commands else [_OF_A_LEASE]
        if outcomes is None:
            return None
        if not any(one.is_applied for one in outcomes):
            # Nothing was written and no answer was sent: the write may be tried again.
            known.commands.clear()
            return None
        with _opening():
            promise = await asyncio.to_thread(Promise.of, known.promise, known.held)
        named = [
            Target(self.target.resource, namespace, name, self.target.subresource)
            for namespace, name in promise.places
        ]
        try:
            response = await self.objects.as_promised(promise, named or [self.target], outcomes)
        except ApiError as error:
            response = refused(error)
        try:
            return await self._keep(known.held, response)
        except TakenOver:
            return None

    async def _outcomes(self, commands: list[int]) -> list[Outcome] | None:
        """What came of the commands; None while one of them waits. Raises ApiError."""
        async with self.objects.links.link() as link:
            try:
                found = await outcomes_of_all(link, commands)
            except RunFailed as failed:
                self.objects.handover.is_open = True
                raise run_failed(self.objects.run.pk, str(failed)) from failed
        if found is None:
            self.objects.handover.is_open = True
        return found

    async def _taken(self) -> Held | None:
        """The key, where this is the first request that has it."""
        async with self.objects.links.link() as link:
            return await key_take(link, self.asked)

    async def _taken_over(self, known: KnownKey) -> Held | None:
        """The key at its next version, unless another request was quicker."""
        async with self.objects.links.link() as link:
            return await key_take_over(link, known)

    async def _known(self) -> KnownKey | None:
        """The key as it is stored, if it is. Raises ApiError where it was sent with another request."""
        async with self.objects.links.link() as link:
            known = await key_known(link, self.asked)
        if known is not None and not known.is_same:
            raise ApiError(422, "Invalid", str(write_keys.REUSED))
        return known


# A promise without a command is for a Lease, and kept at once.
_OF_A_LEASE = Outcome(0, True, "", 0)


def _kept(response: Response) -> KeptAnswer:
    headers = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    return KeptAnswer(response.status_code, headers, bytes(response.body))


def _sealed(held: Held, answer: KeptAnswer) -> KeptAnswer:
    return replace(answer, body=_SEALED + sealed(answer.body.decode(), held.name))


def _opened(held: Held, answer: KeptAnswer) -> KeptAnswer:
    text: str = opened(answer.body.removeprefix(_SEALED), held.name)
    return replace(answer, body=text.encode())


@contextmanager
def _opening() -> Iterator[None]:
    try:
        yield
    except OtherKey as problem:
        raise timed_out(_UNREADABLE) from problem
