"""How a REST request proves which account it is from: a token, or the session of a browser."""

import re
from typing import Any
from urllib.parse import urlsplit

import knox.auth
from django.conf import settings
from django.utils.translation import gettext
from rest_framework import authentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied, Throttled
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from kscope.accounts import limits
from kscope.accounts.models import Token

# RFC 6750; programs that know nothing of kscope send it.
BEARER = "bearer"
_WORD = re.compile(rb"[0-9A-Za-z_]+")


class TokenAuthentication(knox.auth.TokenAuthentication):
    """`Authorization: Bearer kscope_…`, or `Token` in place of the word Bearer.

    Expired tokens are refused, and stay listed until revoked.
    """

    def authenticate(self, request: Request) -> Any:
        """See knox. An address that keeps sending wrong tokens has to wait."""
        try:
            return super().authenticate(request)
        except AuthenticationFailed:
            wait = limits.take("login", f"token {limits.address_of(request)}")
            if wait:
                raise Throttled(wait) from None
            raise

    def authenticate_header(self, request: Request) -> str:
        """See knox: the word before the token."""
        word = authentication.get_authorization_header(request).split(b" ", 1)[0].decode("latin-1")
        return word if word.lower() == BEARER else super().authenticate_header(request)

    def authenticate_credentials(self, token: bytes) -> Any:
        """See knox, which would stumble over what is not text."""
        if not _WORD.fullmatch(token):
            raise AuthenticationFailed(gettext("Invalid token."))
        return super().authenticate_credentials(token)

    def _cleanup_token(self, auth_token: Token) -> bool:
        return auth_token.has_expired


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of a browser, with its CSRF token.

    Where no login is required, a write without a session must not come from a page of another site.
    """

    def authenticate(self, request: Request) -> Any:
        """See rest_framework."""
        found = super().authenticate(request)
        if found is None and not settings.LOGIN_REQUIRED and request.method not in SAFE_METHODS:
            refuse_foreign_page(request)
        return found


def refuse_foreign_page(request: Any) -> None:
    """Raise PermissionDenied for a request that a browser sent for a page of another origin.

    Browsers name the origin with every such write; other programs name none.
    """
    origin = request.headers.get("Origin")
    if origin is not None and not is_own_origin(origin, request.get_host()):
        raise PermissionDenied(gettext("The request came from a page of another site."))


def is_own_origin(origin: str, host: str) -> bool:
    """Whether *origin*, as a browser names it, is this site at *host*, or one that is trusted."""
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc == host
