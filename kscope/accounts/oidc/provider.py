"""The provider, as a client of it sees it: where to send a browser, and who came back."""

from typing import Any

import requests
from authlib.integrations.base_client import OAuthError
from authlib.integrations.django_client.apps import DjangoOAuth2App
from authlib.integrations.django_client.integration import DjangoIntegration
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError

from kscope.accounts.oidc.options import ProviderError, ProviderOptions

SECONDS = 5.0  # for each of its answers
# Only algorithms with a public key: with a shared secret its holders, and with none anyone, could make tokens.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
_LEEWAY_SECONDS = 60


class _Client(DjangoOAuth2App):
    """Authlib's client, which believes only what is of the provider that the settings name."""

    issuer = ""

    def load_server_metadata(self) -> Any:
        """What the provider says of itself. Raises ProviderError when it is another provider."""
        metadata: dict[str, Any] = super().load_server_metadata()
        if metadata.get("issuer") != self.issuer:
            raise ProviderError(f"it calls itself {metadata.get('issuer')!r}")
        offered = metadata.get("id_token_signing_alg_values_supported") or ["RS256"]
        allowed = [name for name in offered if name in _ALGORITHMS]
        metadata["id_token_signing_alg_values_supported"] = allowed
        return metadata


class Provider:
    """Sends browsers to the provider, and reads the claims that they bring back.

    The flow is the authorization code flow with PKCE. State, nonce and verifier are in the session
    of the browser, so that no browser can finish a login that another one began.
    """

    def __init__(self, options: ProviderOptions) -> None:
        self.options = options
        method = "client_secret_basic" if options.client_secret else "none"
        self._client: Any = _Client(
            DjangoIntegration("oidc"),
            "oidc",
            client_id=options.client_id,
            client_secret=options.client_secret or None,
            server_metadata_url=f"{options.issuer.rstrip('/')}/.well-known/openid-configuration",
            client_kwargs={
                "scope": options.scope,
                "code_challenge_method": "S256",
                "token_endpoint_auth_method": method,
                "default_timeout": SECONDS,
            },
        )
        self._client.issuer = options.issuer

    def redirect(self, request: HttpRequest, back: str) -> HttpResponse:
        """The answer that sends the browser to the provider, which sends it to the address *back*.

        Raises ProviderError when the provider cannot be asked.
        """
        try:
            answer: HttpResponse = self._client.authorize_redirect(request, back)
        except (OAuthError, requests.RequestException, RuntimeError, ValueError) as problem:
            raise ProviderError(_words(problem)) from problem
        return answer

    def claims(self, request: HttpRequest) -> dict[str, Any]:
        """The claims about the account whose browser came back with *request*.

        They are those of an ID token that the provider signed for this browser's login and for us.
        Raises ProviderError.
        """
        wanted = {
            "iss": {"essential": True, "value": self.options.issuer},
            "sub": {"essential": True},
            "exp": {"essential": True},
        }
        try:
            token = self._client.authorize_access_token(
                request, claims_options=wanted, leeway=_LEEWAY_SECONDS
            )
        except (
            *(OAuthError, JoseError, requests.RequestException),
            *(RuntimeError, ValueError, KeyError, TypeError),
        ) as problem:
            raise ProviderError(_words(problem)) from problem
        claims = token.get("userinfo")
        if not claims:
            raise ProviderError("it sent no ID token")
        return dict(claims)


def _words(problem: Exception) -> str:
    return f"{type(problem).__name__}: {problem}"
