"""The addresses before /api/v1/: for one release they lead to those of today (docs/adr/0040)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from kscope.runs.web.contract.problems import API, Redirect

NOW = f"{API}v1/"
# The page that describes the API.
_DOCS = f"{API}docs/"


class OldAddressMiddleware:
    """Answers 308 with the address of today, before anything looks at the body."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(API) or request.path.startswith((NOW, _DOCS)):
            return self._get_response(request)
        answer = Redirect(NOW + request.get_full_path().removeprefix(API))
        answer["Link"] = f'<{answer["Location"]}>; rel="successor-version"'
        return answer
