"""Errors of the API: always `{"message", …}` with a fitting status."""

from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.utils.translation import gettext
from rest_framework.response import Response
from rest_framework.views import exception_handler

from kscope.runs.errors import ApplicationError
from kscope.runs.web.body_limit import why_refused
from kscope.runs.web.written import may_be_stored


def handle_errors(problem: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in one shape: a message for people, and what else may help."""
    if isinstance(problem, ApplicationError):
        if may_be_stored(context["request"], problem):
            problem.retry_after = None
        return Response(problem.body, status=problem.status, headers=problem.headers)
    if isinstance(problem, SuspiciousOperation):
        words, status = why_refused(problem)
        message = gettext("Nothing was saved: {reason}.").format(reason=words)
        return Response({"message": message}, status=status)
    response = exception_handler(problem, context)
    if response is not None and isinstance(response.data, dict) and "detail" in response.data:
        response.data = {"message": str(response.data["detail"])}
    elif response is not None:
        response.data = {"message": gettext("The request is not valid."), "fields": response.data}
    return response
