"""The catalogue of the browser, as the module that `static/js/lib/words.js` imports as "#words".

English is what the code is written in, so its module is a static file with no sentence in it. That
of another language is made from the language's `djangojs` catalogue. Its address has a digest of
what it holds, so that browsers keep it for good.
"""

import hashlib
import json
import re
from functools import cache

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language, to_locale
from django.utils.translation.trans_real import DjangoTranslation
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

MODULE = "#words"
ENGLISH = "js/lib/english.js"
# What the header Plural-Forms may compute with; it becomes a part of a script.
_PLURAL = re.compile(r"[n0-9\s()?:!=<>%&|]+")


def words_address() -> str:
    """Where the language of this request has its module."""
    language = get_language() or "en"
    if _is_english(language):
        return static(ENGLISH)
    return reverse("words", args=[language, _digest(module_text(language))])


@require_safe
def words(request: HttpRequest, language: str, digest: str) -> HttpResponse:
    """The module of a language."""
    if language not in dict(settings.LANGUAGES):
        raise Http404
    text = module_text(language)
    response = HttpResponse(text, content_type="text/javascript; charset=utf-8")
    # A page of another version of kscope may still ask by the digest that it knew.
    kept = "public, max-age=315360000, immutable" if digest == _digest(text) else "no-cache"
    response["Cache-Control"] = kept
    return response


@cache
def module_text(language: str) -> str:
    """The module of *language*. Raises ValueError for a rule of plurals that is not arithmetic."""
    catalogue = JavaScriptCatalog()
    catalogue.translation = DjangoTranslation(  # type: ignore[attr-defined]
        language, domain="djangojs", localedirs=settings.LOCALE_PATHS
    )
    forms = {
        message: [found] if isinstance(found, str) else found
        for message, found in catalogue.get_catalog().items()
    }
    return "\n".join(
        (
            f"export const messages = {_script(forms)};",
            f"export const plural = (n) => {checked_rule(str(catalogue.get_plural() or 'n != 1'))};",
            f"export const language = {_script(number_language(language))};",
            f"export const isStrict = {_script(settings.PSEUDO_LANGUAGE)};",
            "",
        )
    )


def checked_rule(plural: str) -> str:
    """The expression of the header Plural-Forms, which is the same in C and in JavaScript."""
    rule = plural.strip()
    if not _PLURAL.fullmatch(rule):
        raise ValueError(f"{rule!r} is no rule of plurals")
    return rule


def number_language(language: str) -> str:
    """How numbers are written, as Intl names it: the words of a made-up language have English ones."""
    return "en-US" if language.startswith("en") else to_locale(language).replace("_", "-")


def _is_english(language: str) -> bool:
    return language in ("en", settings.LANGUAGE_CODE)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def _script(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
