"""Writes of the REST API that happen once although they are sent twice: `Idempotency-Key`.

The key is stored in the transaction of what the request writes, together with the answer. Where an
answer waits for a worker, that follows afterwards; what is stored by then says what to wait for.
See kscope/runs/write_keys.py.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import orjson
from django.db import OperationalError, connection, transaction
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from psycopg.errors import LockNotAvailable
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kscope.accounts.access import visitor_of
from kscope.accounts.limits import address_of, visitor_key
from kscope.runs import write_keys
from kscope.runs.errors import PROBLEM_JSON, ApplicationError
from kscope.runs.write_keys import AskedOnce, Held, KeptAnswer, KnownKey

# How long a repetition waits for the transaction of the first.
WAIT = "10s"
_JSON = "application/json"
_PARAMETER = OpenApiParameter(
    write_keys.HEADER,
    {"type": "string", "pattern": write_keys.PATTERN},
    OpenApiParameter.HEADER,
    description=f"the same request with the same key is carried out once; kept {write_keys.MINUTES} minutes",
)

Handler = Callable[..., Any]
Finish = Callable[[dict[str, Any]], Response]


def once(finish: Finish | None = None) -> Callable[[Handler], Handler]:
    """Have a handler that writes carry out a request with an `Idempotency-Key` once.

    The handler writes, and waits for nothing. *finish* makes the answer of what it answers: what
    has to wait until that is stored.
    """

    def decorate(write: Handler) -> Handler:
        @extend_schema(parameters=[_PARAMETER])
        @wraps(write)
        def answered(view: APIView, request: Request, *args: Any, **kwargs: Any) -> Any:
            if write_keys.HEADER in request.headers:
                asked = _asked(request)
                return _Once(view, asked, finish).answer(
                    lambda: write(view, request, *args, **kwargs)
                )
            response = write(view, request, *args, **kwargs)
            return response if finish is None else finish(response.data)

        answered.is_once = True  # type: ignore[attr-defined]
        return answered

    return decorate


class _Once:
    """One request that has a key."""

    def __init__(self, view: APIView, asked: AskedOnce, finish: Finish | None) -> None:
        self._view = view
        self._asked = asked
        self._finish = finish

    def answer(self, write: Callable[[], Response]) -> HttpResponse | Response:
        """The answer of *write*, or of the request that this one repeats."""
        try:
            with transaction.atomic():
                known = self._written(write)
        except OperationalError as problem:
            if not isinstance(problem.__cause__, LockNotAvailable):
                raise
            raise ApplicationError(write_keys.OPEN, status=409, retry_after=1) from problem
        if known.answer is None:
            known = self._finished(known)
        assert known.answer is not None
        return HttpResponse(
            known.answer.body, status=known.answer.status, headers=dict(known.answer.headers)
        )

    def _written(self, write: Callable[[], Response]) -> KnownKey:
        """The key once the write is done, now or by an earlier request."""
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{WAIT}'")
            cursor.execute(write_keys.TAKE, self._asked.columns)
            taken = cursor.fetchone()
        if taken is None:
            known = self._known()
            if known is None:
                raise ApplicationError(write_keys.FULL, status=429, retry_after=60)
            if not known.is_same:
                raise ApplicationError(write_keys.REUSED, status=422)
            return known
        held = Held(*taken)
        response, is_done = self._response(write)
        if is_done and self._finish is not None:
            promise = {"promise": _rendered(response).decode(), "commands": "[]"}
            self._execute(write_keys.PROMISE, held.place | promise)
            return KnownKey(Held(held.id, held.version + 1), [], response.data, None, True)
        return self._answered(KnownKey(held, [], None, None, True), response)

    def _response(self, write: Callable[[], Response]) -> tuple[Response, bool]:
        """The answer, and whether the write is done. A refusal that may change is no answer."""
        try:
            with transaction.atomic():
                return write(), True
        except Exception as problem:
            response = self._view.handle_exception(problem)
            if not KeptAnswer(response.status_code, {}, b"").is_final:
                raise
            return response, False

    def _answered(self, known: KnownKey, response: Response) -> KnownKey:
        """The key with this answer, or with the one that somebody else has stored."""
        body = _rendered(response)
        kind = PROBLEM_JSON if response.status_code >= 400 else _JSON
        kept = KeptAnswer(response.status_code, {"Content-Type": kind} if body else {}, body)
        if self._execute(write_keys.ANSWER, known.held.place | kept.columns):
            return KnownKey(known.held, [], None, kept, True)
        found = self._known()
        if found is None or found.answer is None:
            raise ApplicationError(write_keys.OPEN, status=409, retry_after=1)
        return found

    def _finished(self, known: KnownKey) -> KnownKey:
        """The key of a write that is done, with the answer that had to wait for that."""
        assert self._finish is not None
        assert known.promise is not None
        return self._answered(known, self._finish(known.promise))

    def _known(self) -> KnownKey | None:
        with connection.cursor() as cursor:
            cursor.execute(write_keys.READ, self._asked.columns)
            row = cursor.fetchone()
        return KnownKey.of(row, self._asked) if row else None

    def _execute(self, statement: str, values: dict[str, Any]) -> int:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.rowcount


def _asked(request: Request) -> AskedOnce:
    key = write_keys.key_in(request.headers[write_keys.HEADER])
    if key is None:
        raise ApplicationError(write_keys.MALFORMED)
    return AskedOnce(
        visitor_key(visitor_of(request), address_of(request)),
        key,
        request.method or "",
        request.get_full_path(),
        write_keys.digest_of(request.content_type.encode(), request.body),
    )


def _rendered(response: Response) -> bytes:
    if response.data is None:
        return b""
    return orjson.dumps(orjson.loads(JSONRenderer().render(response.data)))
