"""What is answered while PostgreSQL or Redis is away: 503, as a page or as JSON, and no traceback."""

import sys
from http import HTTPStatus

import psycopg
import redis
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error
from psycopg.errors import DiskFull

from kscope.database_format import WrongFormat

RETRY_SECONDS = 2
_AWAY: dict[type[Exception], str] = {
    OperationalError: "The database does not answer.",
    InterfaceError: "The database does not answer.",
    psycopg.OperationalError: "The database does not answer.",
    redis.ConnectionError: "The message broker does not answer.",
    redis.TimeoutError: "The message broker does not answer.",
}


def handle_server_error(request: HttpRequest) -> HttpResponseBase:
    """Django's handler of whatever no view has caught; 500 for all but a server that is away."""
    message = what_is_away(sys.exc_info()[1])
    if message is None:
        return server_error(request)
    status = HTTPStatus.SERVICE_UNAVAILABLE
    answer: HttpResponse
    if request.path.startswith("/api/"):
        text = f"{message} Nothing that was recorded is lost; try again in a moment."
        answer = JsonResponse({"message": text}, status=status)
    else:
        answer = HttpResponse(render_to_string("503.html", {"message": message}), status=status)
    answer["Retry-After"] = str(RETRY_SECONDS)
    return answer


def what_is_away(problem: BaseException | None) -> str | None:
    """Which server cannot do its work, in words for users; None for any other error."""
    if isinstance(problem, WrongFormat):
        return f"{problem}."
    if any(isinstance(each, DiskFull) for each in (problem, getattr(problem, "__cause__", None))):
        return "The disk of the database is full."
    return next((text for kind, text in _AWAY.items() if isinstance(problem, kind)), None)
