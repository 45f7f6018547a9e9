"""What comes in from outside, made into what the engine and the database can hold."""

from collections.abc import Callable
from typing import IO, Any

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest
from django.utils.translation import gettext
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from engine.objects.documents import DocumentError, parse_json
from kscope.runs.web.contract.problems import is_api, problem_response


class JSONParser(BaseParser):
    """JSON read as a scenario file is: no NaN, no U+0000, no integers beyond 64 bits."""

    media_type = "application/json"

    def parse(self, stream: IO[bytes], media_type: Any = None, parser_context: Any = None) -> Any:
        """See BaseParser. Raises ParseError."""
        try:
            return parse_json(stream.read())
        except DocumentError as problem:
            raise ParseError(str(problem)) from problem


class AddressMiddleware:
    """Refuses addresses with U+0000, which the database cannot even look for."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        if "\0" not in request.path and "%00" not in query and "\0" not in query:
            return self._get_response(request)
        words = gettext("The address holds the character U+0000.")
        if is_api(request.path):
            names = [name for name, texts in request.GET.lists() if "\0" in "".join((name, *texts))]
            faults = [{"name": name.replace("\0", ""), "detail": words} for name in names]
            return problem_response(400, words, None, **({"errors": faults} if faults else {}))
        return HttpResponseBadRequest(f"{words}\n", content_type="text/plain")
