"""The answer while PostgreSQL or Redis is away, as a page or as JSON, without a traceback.

503 says that nothing was stored, and when to try again. 504 says that the request may have been
carried out: it names no time, because clients would send it again by themselves.
"""

import sys
from http import HTTPStatus
from typing import Any

import psycopg
import redis
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy
from django.views.defaults import server_error

from kscope.database_format import WrongFormat
from kscope.failures.clean_ends import FULL, is_disk_full
from kscope.runs.nudges import note_if_full
from kscope.runs.web.contract.problems import is_api, problem_response
from kscope.runs.web.written import may_be_stored
from kscope.words.joining import sentences

RETRY_SECONDS = 2
DATABASE_FULL = gettext_lazy("The disk of the database is full.")
_OPEN = gettext_lazy("The request may have been carried out: look before you send it again.")
_AWAY: dict[type[Exception], Any] = {
    OperationalError: gettext_lazy("The database does not answer."),
    InterfaceError: gettext_lazy("The database does not answer."),
    psycopg.OperationalError: gettext_lazy("The database does not answer."),
    redis.ConnectionError: gettext_lazy("The message broker does not answer."),
    redis.TimeoutError: gettext_lazy("The message broker does not answer."),
}


def handle_server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler of whatever no view has caught; 500 for all but a server that is away."""
    problem = sys.exc_info()[1]
    message = what_is_away(problem)
    is_program = is_api(request.path)
    if message is None and is_program:
        return problem_response(500, gettext("kscope failed. Its log says why."))
    if message is None:
        return server_error(request)
    is_open, is_full = may_be_stored(request, problem), message == FULL
    status = HTTPStatus.SERVICE_UNAVAILABLE
    if is_open:
        status = HTTPStatus.GATEWAY_TIMEOUT
    elif is_full:
        status = HTTPStatus.INSUFFICIENT_STORAGE
    answer: HttpResponse
    if is_program:
        advice = _OPEN if is_open else _when(message)
        answer = problem_response(status, sentences(message, advice))
    else:
        context = {"message": message, "open": _OPEN if is_open else ""}
        answer = HttpResponse(render_to_string("503.html", context), status=status)
    if not is_open and not is_full:
        answer["Retry-After"] = str(RETRY_SECONDS)
    return answer


def _when(message: str) -> str:
    if message in (FULL, DATABASE_FULL):
        return gettext("Nothing that was recorded is lost; try again once there is room.")
    return gettext("Nothing that was recorded is lost; try again in a moment.")


def what_is_away(problem: BaseException | None) -> str | None:
    """Which server cannot do its work, in words for users; None for any other error."""
    if isinstance(problem, WrongFormat):
        return f"{problem}."
    if note_if_full(problem):
        return str(DATABASE_FULL)
    if is_disk_full(problem):
        return str(FULL)
    return next((str(text) for kind, text in _AWAY.items() if isinstance(problem, kind)), None)
