"""Refusals in one shape, whoever gives them: problem details (RFC 9457)."""

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import Resolver404, resolve
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt

from kscope.runs.errors import PROBLEM_JSON, problem

API = "/api/"


def is_api(path: str) -> bool:
    """Whether a program asks, and not a person with a browser."""
    return path.startswith(API)


def problem_response(
    status: int, detail: str, headers: Mapping[str, str] | None = None, **more: Any
) -> HttpResponse:
    """The answer with problem details."""
    content = problem(status, detail, **more)
    return JsonResponse(
        content, status=status, content_type=PROBLEM_JSON, headers=dict(headers or {})
    )


def errors_of(found: Any, prefix: str = "") -> list[dict[str, str]]:
    """The faults that rest_framework found in fields, as [{name, detail}]; a name is a path with dots."""
    if isinstance(found, Mapping):
        inner = [errors_of(each, _joined(prefix, str(name))) for name, each in found.items()]
        return [one for several in inner for one in several]
    if isinstance(found, list) and any(isinstance(each, dict | list) for each in found):
        inner = [errors_of(each, _joined(prefix, str(place))) for place, each in enumerate(found)]
        return [one for several in inner for one in several]
    texts = found if isinstance(found, list) else [found]
    return [{"name": prefix, "detail": str(text)} for text in texts]


def _joined(prefix: str, name: str) -> str:
    # Faults of the whole body have no field.
    if name == "non_field_errors":
        return prefix
    return f"{prefix}.{name}" if prefix else name


def described(errors: list[dict[str, str]]) -> str:
    """All of the *errors* in one text."""
    return " ".join(
        f"{each['name']}: {each['detail']}" if each["name"] else each["detail"] for each in errors
    )


class Redirect(HttpResponseRedirect):
    """308: the same request, with its method and its body, to another address."""

    status_code = 308


@csrf_exempt
def nothing_here(request: HttpRequest, rest: str) -> HttpResponse:
    """The answer at an address below /api/v1/ that there is not; one without its last slash has moved."""
    if not rest.endswith("/") and not is_nothing(f"{request.path}/"):
        return Redirect(request.get_full_path(force_append_slash=True))
    return problem_response(404, gettext("There is nothing at this address."))


def is_nothing(path: str) -> bool:
    """Whether there is no address *path*."""
    try:
        return resolve(path).func is nothing_here
    except (Resolver404, Http404):
        return True
