"""Whether a request has changed anything: it decides how a lost database is answered.

Browsers and clients repeat a request when the answer says after how long (`Retry-After`). So an answer
says so only while nothing is stored. This module watches which statements of the request store something, in
one place; kube/server/handover.py does the same for the Kubernetes API, which does not ask Django.
"""

from collections.abc import Callable
from typing import Any

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from rest_framework.permissions import SAFE_METHODS

from kscope.runs.write_keys import is_undone

_ATTRIBUTE = "kscope_written"
# What begins a statement that stores nothing.
_READS = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET", "SHOW", "FETCH", "DECLARE", "CLOSE")


class Written:
    """What the statements of one request have stored, or may have."""

    def __init__(self) -> None:
        self._is_stored = False
        self._is_pending = False
        """A transaction has changed something; it was given up, or its commit was not confirmed."""

    def is_open(self, problem: BaseException | None = None) -> bool:
        """Whether something is stored, or may be, once *problem* has ended the request.

        Only of a commit that failed it is not known what came of it.
        """
        return self._is_stored or (self._is_pending and isinstance(problem, DatabaseError))

    def __call__(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        """Around each statement; see django.db.connection.execute_wrapper."""
        if str(sql).lstrip(" \n(").upper().startswith(_READS):
            return self._executed(execute, sql, params, many, context)
        before = (self._is_stored, self._is_pending)
        if not connection.in_atomic_block:
            self._is_stored = True
        else:
            self._is_pending = True
            connection.on_commit(self._commit)
        try:
            return self._executed(execute, sql, params, many, context)
        except DatabaseError as problem:
            if is_undone(problem.__cause__):
                self._is_stored, self._is_pending = before
            raise

    def _executed(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        try:
            return execute(sql, params, many, context)
        except DatabaseError as problem:
            if connection.in_atomic_block and not is_undone(problem.__cause__):
                # The connection is lost before the transaction was committed.
                self._is_pending = False
            raise

    def _commit(self) -> None:
        self._is_stored, self._is_pending = True, False


class WrittenMiddleware:
    """Watches what requests store, and takes `Retry-After` from what must not be sent again."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.method in SAFE_METHODS:
            return self._get_response(request)
        written = Written()
        setattr(request, _ATTRIBUTE, written)
        with connection.execute_wrapper(written):
            response = self._get_response(request)
        if written.is_open() and "Retry-After" in response:
            del response["Retry-After"]
        return response


def may_be_stored(request: Any, problem: BaseException | None) -> bool:
    """Whether a request, of Django or of REST framework, that *problem* ends may have stored something."""
    written = getattr(request, _ATTRIBUTE, None)
    return written is not None and written.is_open(problem)
