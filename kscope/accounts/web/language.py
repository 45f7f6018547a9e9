"""The language that a visitor has chosen: a cookie of Django, and with an account the account as well."""

from typing import cast

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.translation import check_for_language
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from kscope.accounts.models import Account


@require_POST
def language_choose(request: HttpRequest) -> HttpResponseBase:
    """Take the language of the form, and go back to where it was chosen; an unknown one changes nothing."""
    chosen = request.POST.get("language", "")
    if request.user.is_authenticated and _is_offered(chosen):
        user = cast("User", request.user)
        Account.objects.update_or_create(user=user, defaults={"language": chosen})
    return set_language(request)


def with_language_of(user: object, answer: HttpResponse) -> HttpResponse:
    """The answer to a login, which brings the language of the account to this browser."""
    account: Account | None = getattr(user, "account", None)
    if account is not None and _is_offered(account.language):
        answer.set_cookie(
            settings.LANGUAGE_COOKIE_NAME,
            account.language,
            max_age=settings.LANGUAGE_COOKIE_AGE,
            path=settings.LANGUAGE_COOKIE_PATH,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite=settings.LANGUAGE_COOKIE_SAMESITE,
        )
    return answer


def _is_offered(language: str) -> bool:
    return language in dict(settings.LANGUAGES) and check_for_language(language)
