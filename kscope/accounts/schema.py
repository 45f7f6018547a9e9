"""How the OpenAPI schema names our ways to authenticate."""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(OpenApiAuthenticationExtension):
    """`Authorization: Bearer kscope_…`, or `Token` in place of the word Bearer."""

    target_class = "kscope.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """See drf_spectacular."""
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "a token of your account; the word Token does as well as Bearer",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    """The session of a browser."""

    target_class = "kscope.accounts.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """See drf_spectacular."""
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
