"""The two addresses of a login with the account of a provider."""

import logging
from functools import cache
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from kscope.accounts import limits
from kscope.accounts.oidc.identities import NoRole, user_of
from kscope.accounts.oidc.options import ProviderError, ProviderOptions
from kscope.accounts.web.language import with_language_of
from kscope.accounts.web.pages import refused, too_many

if TYPE_CHECKING:
    from kscope.accounts.oidc.provider import Provider

_NEXT = "oidc_next"
_BACKEND = "django.contrib.auth.backends.ModelBackend"
log = logging.getLogger(__name__)


@require_GET
def oidc_begin(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    provider = _provider()
    wait = limits.take("login_address", limits.address_of(request))
    if wait:
        return too_many(request, wait)
    wanted = request.GET.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, request.is_secure())
    request.session[_NEXT] = wanted if is_ours else "/"
    try:
        return provider.redirect(request, request.build_absolute_uri(reverse("oidc-back")))
    except ProviderError as problem:
        return _failed(request, problem)


@require_GET
def oidc_back(request: HttpRequest) -> HttpResponse:
    """Log the browser in that comes back from the provider."""
    provider = _provider()
    wait = limits.take("login_address", limits.address_of(request))
    if wait:
        return too_many(request, wait)
    try:
        user = user_of(provider.claims(request), provider.options)
    except ProviderError as problem:
        return _failed(request, problem)
    except NoRole:
        return refused(request, gettext("Your account at the provider has no role in kscope."), 403)
    if not user.is_active:
        return refused(request, gettext("Your account was deactivated."), 403)
    wanted = request.session.pop(_NEXT, "/")
    login(request, user, backend=_BACKEND)
    return with_language_of(user, HttpResponseRedirect(wanted))


def _provider() -> "Provider":
    if settings.OIDC is None:
        raise Http404(gettext("No provider is set."))
    return _provider_with(settings.OIDC)


@cache
def _provider_with(options: ProviderOptions) -> "Provider":
    """One for the whole process: it keeps what the provider said of itself, and its keys."""
    # Loaded only where there is one: it takes 150 ms and 20 MB.
    from kscope.accounts.oidc.provider import Provider

    return Provider(options)


def _failed(request: HttpRequest, problem: ProviderError) -> HttpResponse:
    log.warning("login with the provider: %s", problem)
    return refused(request, gettext("The login with the provider failed. Begin it again."), 403)
