"""The door of the engine's answers: there their sentences are said in the reader's language.

The engine speaks English and hands out patterns and arguments (ADR 0038). What is kept has these;
what goes to a reader goes through here, once, in the process that makes JSON or text of it.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation

from engine.kernel.sentences import ENGLISH, Translations, translated

_ENGLISH = "en"


def language() -> str:
    """The language that is active for the reader, such as "en-gb"."""
    return translation.get_language() or settings.LANGUAGE_CODE


def catalogue() -> Translations:
    """The sentences of that language."""
    return ENGLISH if _is_english() else translation


def language_of(scope: Mapping[str, Any]) -> str:
    """The language that the client of a WebSocket asked for, as LocaleMiddleware finds it."""
    request = HttpRequest()
    request.COOKIES = dict(scope.get("cookies") or {})
    asked = dict(scope["headers"]).get(b"accept-language", b"")
    request.META["HTTP_ACCEPT_LANGUAGE"] = asked.decode("latin-1")
    return translation.get_language_from_request(request)


def said(document: Any) -> Any:
    """The JSON-like *document* with the engine's sentences in that language."""
    return document if _is_english() else translated(document, translation)


def _is_english() -> bool:
    return language().partition("-")[0] == _ENGLISH
