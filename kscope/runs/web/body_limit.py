"""Answers to requests whose body was refused, or is of a kind that Django refuses."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from engine.input.load_result import LoadResult, Problem
from kscope.runs.errors import PROBLEM_JSON, ApplicationError
from kscope.runs.web.bodies import REFUSED, announced_of, limit_of, too_long
from kscope.runs.web.contract.problems import is_api
from kscope.runs.web.upload_report import UploadReport, upload_report

_MIB = 1_048_576


class BodyLimitMiddleware:
    """Answers requests whose body was refused, in front of everything that would parse it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self._get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        """The refusal, if there is one; it comes before the CSRF token is looked for in the body."""
        refusal = getattr(request, "scope", {}).get(REFUSED)
        announced = announced_of(request.META.get("CONTENT_LENGTH") or "")
        method = request.method or ""
        if refusal is None and announced > limit_of(method, request.path):
            refusal = too_long(method, request.path, announced)
        return None if refusal is None else refused(request, refusal)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The answer to a request that Django cannot accept, such as one with too many files."""
    words, status = why_refused(exception)
    return refused(request, ApplicationError(words, status=status))


def why_refused(problem: Exception) -> tuple[str, int]:
    """What is wrong with a request that Django does not accept, and the status of the answer."""
    if isinstance(problem, TooManyFilesSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FILES
        words = gettext(
            "more than {most} files were sent; an upload may hold {most}. One file may hold many "
            "objects, as `kubectl get … -A -o yaml` prints them"
        )
        return words.format(most=f"{most:,}"), 413
    if isinstance(problem, TooManyFieldsSent):
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        return gettext("more than {most} fields were sent").format(most=f"{most:,}"), 413
    if isinstance(problem, RequestDataTooBig):
        allowed = settings.DATA_UPLOAD_MAX_MEMORY_SIZE // _MIB
        words = gettext("more than {allowed} MiB were sent; larger things go into a file")
        return words.format(allowed=allowed), 413
    return gettext("the request cannot be understood"), 400


def refused(request: HttpRequest, refusal: ApplicationError) -> HttpResponse:
    """The refusal as JSON, as the upload page's report, or as plain text: what the client can show."""
    response = _answer(request, refusal)
    for name, value in refusal.headers.items():
        response[name] = value
    return response


def _answer(request: HttpRequest, refusal: ApplicationError) -> HttpResponse:
    words, status = refusal.message, refusal.status
    if is_api(request.path):
        detail = gettext("Nothing was saved: {reason}.").format(reason=words)
        return JsonResponse(
            {**refusal.body, "detail": detail}, status=status, content_type=PROBLEM_JSON
        )
    if status == 401:
        return redirect_to_login("/")
    if request.path != reverse("scenario-upload"):
        return HttpResponse(f"{words}\n", content_type="text/plain", status=status)
    context = {"report": problem_report(words), "scenario": None}
    return render(request, "runs/upload.html", context, status=status)


def problem_report(words: str) -> UploadReport:
    """The report on an upload of which nothing was read, and why."""
    files = gettext("Your files")
    result = LoadResult(problems=[Problem(file=files, message=words)])
    return upload_report([files], result)
