"""How the OpenAPI schema names our ways to authenticate."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension


class TokenScheme(OpenApiAuthenticationExtension):
    """`Authorization: Token kscope_…`."""

    target_class = "kscope.accounts.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """See drf_spectacular."""
        return {
            "type": "apiKey",
            "in": "header",
            "name": "Authorization",
            "description": "Token, a space, and a token of your account",
        }


class SessionScheme(OpenApiAuthenticationExtension):
    """The session of a browser."""

    target_class = "kscope.accounts.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        """See drf_spectacular."""
        return {"type": "apiKey", "in": "cookie", "name": "sessionid"}
