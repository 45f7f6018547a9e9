"""Gives every request an id, logs it, and counts it."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponseBase

from kscope.logs import bound, current_request
from kscope.operations.headers import REQUEST_ID, request_id_of
from kscope.runs import measures

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
log = logging.getLogger(__name__)


class RequestMiddleware:
    """Adds the request id to every log line and to the response, and counts the request."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """See Django's middleware."""
        began = time.monotonic()
        token = current_request.set(request)
        try:
            with bound(request_id=request_id(request)):
                response = self._get_response(request)
                response[REQUEST_ID] = request_id(request)
                _count(request, response, time.monotonic() - began)
        finally:
            current_request.reset(token)
        return response


def request_id(request: Any) -> str:
    """The id that came with the request, else a new one."""
    if not hasattr(request, "request_id"):
        request.request_id = request_id_of(request.headers.get(REQUEST_ID, ""))
    found: str = request.request_id
    return found


def _count(request: HttpRequest, response: HttpResponseBase, seconds: float) -> None:
    match = request.resolver_match
    # All requests without a named view are counted together.
    view = (match.view_name if match else None) or "none"
    method = request.method if request.method in METHODS else "other"
    measures.REQUESTS.labels(view, method, str(response.status_code)).inc()
    measures.REQUEST_SECONDS.labels(view).observe(seconds)
    level = logging.DEBUG if request.method in ("GET", "HEAD", "OPTIONS") else logging.INFO
    log.log(
        level, "%s %s: %s in %.3f s", request.method, request.path, response.status_code, seconds
    )
