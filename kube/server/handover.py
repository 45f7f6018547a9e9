"""Whether a request may have changed anything yet: this alone decides how its failure is answered.

    nothing stored ──a command is handed over──▶ open ──the engine has done it──▶ stored
          ▲                                        │
          └── refused, by the engine or the database

Clients send a request again where the answer has a Retry-After. So an answer has one only while
nothing is stored; where the outcome is open it is 504, as upstream answers a request that takes too
long, without a time to try again. Upstream: endpoints/handlers/finisher/finisher.go; client-go,
rest/with_retry.go.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psycopg

from engine.objects.objects import Manifest
from kscope.failures.unavailable import what_is_away
from kscope.runs.errors import ApplicationError
from kscope.runs.served.links import DATABASE_ERRORS
from kscope.runs.write_keys import Held, is_undone
from kube.status import ApiError, internal_error, timed_out, unavailable

_AWAY = "The database does not answer."
_LOOK = "ask for the object before you write it again"
_BUSY = (429, 503)
log = logging.getLogger(__name__)


class NotStored(Exception):
    """A command was not stored, or was refused; `__cause__` becomes the answer."""


@dataclass(frozen=True, slots=True)
class Pledge:
    """The key of a request, and what is to be answered once its commands are carried out."""

    held: Held
    promise: Manifest


@dataclass(slots=True)
class Handover:
    """Of one request, by the name that the log gives it."""

    name: str
    is_open: bool = False
    """Whether something of it is stored, or may be."""

    @contextmanager
    def command(self) -> Iterator[None]:
        """While a command is handed over and carried out; raises what a NotStored was raised from."""
        before, self.is_open = self.is_open, True
        try:
            yield
        except NotStored as refusal:
            self.is_open = before
            raise refusal.__cause__ or refusal from None

    def refusal(self, problem: Exception) -> ApiError:
        """The answer when *problem* ends the request."""
        error = self._error(problem)
        if not self.is_open:
            return error
        if error.code in _BUSY:
            return timed_out(error.message)
        error.details.pop("retryAfterSeconds", None)
        return error

    def _error(self, problem: Exception) -> ApiError:
        match problem:
            case ApiError():
                return problem
            case ApplicationError():
                # No place was free for the request.
                return unavailable(problem.message, problem.retry_after or 1)
            case _ if _is_of_deleted_run(problem):
                return run_deleted()
            case _ if isinstance(problem, DATABASE_ERRORS):
                log.warning("kubernetes api: %s: %s", self.name, problem)
                text = (what_is_away(problem) or _AWAY).rstrip(".")
                return timed_out(f"{text}; {_LOOK}") if self.is_open else unavailable(text)
            case _:
                log.error("kubernetes api: %s", self.name, exc_info=problem)
                return internal_error("see the log of this server")


def run_deleted() -> ApiError:
    """The answer to a request that had found its run, and then met its deletion."""
    return ApiError(404, "NotFound", "the run was deleted meanwhile")


def _is_of_deleted_run(problem: Exception) -> bool:
    """Whether what was to be stored belongs to a run that is gone."""
    causes = (problem, problem.__cause__)
    return any(isinstance(each, psycopg.errors.ForeignKeyViolation) for each in causes)


@contextmanager
def storing() -> Iterator[None]:
    """Around a statement that stores something; raises NotStored where the database has undone it."""
    try:
        yield
    except psycopg.Error as problem:
        if is_undone(problem):
            raise NotStored from problem
        raise
