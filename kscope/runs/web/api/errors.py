"""Errors of the API: always problem details (RFC 9457), with a fitting status."""

from typing import Any

from django.core.exceptions import ObjectDoesNotExist, SuspiciousOperation
from django.db import IntegrityError
from django.utils.translation import gettext
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response
from rest_framework.views import exception_handler

from kscope.runs.errors import PROBLEM_JSON, ApplicationError
from kscope.runs.errors import problem as problem_details
from kscope.runs.models import Run
from kscope.runs.web.body_limit import why_refused
from kscope.runs.web.contract.etags import NotModified, mark
from kscope.runs.web.contract.problems import described, errors_of
from kscope.runs.web.written import may_be_stored


def handle_errors(problem: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in one shape: a sentence for people, and what else may help."""
    if isinstance(problem, NotModified):
        unchanged = Response(status=304)
        mark(unchanged, problem.tag)
        return unchanged
    if isinstance(problem, ObjectDoesNotExist | IntegrityError):
        problem = _gone(problem, context) or problem
    if isinstance(problem, ApplicationError):
        if may_be_stored(context["request"], problem):
            problem.retry_after = None
        return _answer(problem.body, problem.headers)
    if isinstance(problem, SuspiciousOperation):
        words, status = why_refused(problem)
        detail = gettext("Nothing was saved: {reason}.").format(reason=words)
        return _answer(problem_details(status, detail))
    return _of_framework(problem, context)


def _gone(problem: Exception, context: dict[str, Any]) -> ApplicationError | None:
    """The refusal where the run of the address, or one made there, was deleted meanwhile."""
    run_id = context["kwargs"].get("run_id")
    if run_id is not None and not Run.objects.filter(pk=run_id).exists():
        return ApplicationError(gettext("Run {number} is gone.").format(number=run_id), status=404)
    if isinstance(problem, Run.DoesNotExist):
        return ApplicationError(gettext("The run was deleted meanwhile."), status=404)
    return None


def _of_framework(problem: Exception, context: dict[str, Any]) -> Response | None:
    response = exception_handler(problem, context)
    if response is None:
        return None
    headers = {name: response[name] for name in _KEPT if name in response}
    if isinstance(problem, ValidationError):
        errors = errors_of(response.data)
        return _answer(problem_details(400, described(errors), errors=errors), headers)
    detail = response.data.get("detail", "") if isinstance(response.data, dict) else ""
    return _answer(problem_details(response.status_code, str(detail)), headers)


# What rest_framework says beside a refusal.
_KEPT = ("Allow", "Retry-After", "WWW-Authenticate")


def _answer(body: dict[str, Any], headers: dict[str, str] | None = None) -> Response:
    return Response(body, status=body["status"], headers=headers, content_type=PROBLEM_JSON)
