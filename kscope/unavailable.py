"""What is answered while PostgreSQL or Redis is away: 503, as a page or as JSON, and no traceback."""

import sys
from http import HTTPStatus

import psycopg
import redis
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from kscope.clean_ends import FULL, is_disk_full
from kscope.database_format import WrongFormat
from kscope.runs.nudges import note_if_full

RETRY_SECONDS = 2
DATABASE_FULL = "The disk of the database is full."
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
    is_full = message == FULL
    status = HTTPStatus.INSUFFICIENT_STORAGE if is_full else HTTPStatus.SERVICE_UNAVAILABLE
    answer: HttpResponse
    if request.path.startswith("/api/"):
        text = f"{message} Nothing that was recorded is lost; try again {_when(message)}."
        answer = JsonResponse({"message": text}, status=status)
    else:
        answer = HttpResponse(render_to_string("503.html", {"message": message}), status=status)
    if not is_full:
        answer["Retry-After"] = str(RETRY_SECONDS)
    return answer


def _when(message: str) -> str:
    return "once there is room" if message in (FULL, DATABASE_FULL) else "in a moment"


def what_is_away(problem: BaseException | None) -> str | None:
    """Which server cannot do its work, in words for users; None for any other error."""
    if isinstance(problem, WrongFormat):
        return f"{problem}."
    if note_if_full(problem):
        return DATABASE_FULL
    if is_disk_full(problem):
        return FULL
    return next((text for kind, text in _AWAY.items() if isinstance(problem, kind)), None)
