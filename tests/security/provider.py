"""A small OpenID Connect provider: discovery, keys, codes and ID tokens that it really signs."""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "kscope", "the secret of the client"


@cache
def key_named(kid: str, other: bool = False) -> RSAKey:
    """A key, the same for all tests, or another one of the same name."""
    return RSAKey.generate_key(2048, {"kid": kid})


class Provider:
    """Answers for accounts that the test names; *claims* change what the next ID token says."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = self.signing_key = key_named("one")
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {"alg": "RS256", "kid": "one"}
        self.metadata: dict[str, Any] = {}
        self.sends_id_token = True
        self._codes: dict[str, dict[str, str]] = {}
        self.refused = ""
        """Why a code was not taken."""

    def log_in(self, address: str) -> str:
        """Somebody logs in at the *address* that the browser was sent to; where it goes then."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        code = f"code-{len(self._codes)}"
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?code={code}&state={asked['state']}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any] | None:
        """The answer to a code; None, with the reason in `refused`, if it is not taken."""
        asked = self._codes.pop(form.get("code", ""), None)
        secret = base64.b64encode(f"{CLIENT_ID}:{_quoted(CLIENT_SECRET)}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        if asked is None:
            self.refused = "no such code, or it was used"
        elif authorization not in (f"Basic {secret}", f"Basic {plain}"):
            self.refused = "wrong secret"
        elif asked.get("code_challenge") != challenge_of(form.get("code_verifier", "")):
            self.refused = "wrong verifier"
        elif form.get("redirect_uri") != asked["redirect_uri"]:
            self.refused = "wrong redirect_uri"
        else:
            answer = {"access_token": "unused", "token_type": "Bearer", "expires_in": 60}
            return answer | ({"id_token": self._id_token(asked)} if self.sends_id_token else {})
        return None

    def _id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "248289761001",
            "preferred_username": "eva",
            "nonce": asked.get("nonce", ""),
            "iat": now,
            "exp": now + 300,
        }
        claims |= self.claims
        kept = {name: value for name, value in claims.items() if value is not None}
        if self.header["alg"] in ("none", "HS256"):
            return self._without_key(f"{_part(self.header)}.{_part(kept)}")
        return jwt.encode(self.header, kept, self.signing_key, algorithms=[self.header["alg"]])

    def _without_key(self, text: str) -> str:
        """A token that anybody can make: unsigned, or with the public key as the secret."""
        secret = self.key.as_pem(private=False)
        digest = hmac.new(secret, text.encode(), "sha256").digest()
        return f"{text}." + (_encoded(digest) if self.header["alg"] == "HS256" else "")

    def document(self, path: str) -> dict[str, Any] | None:
        """What is published at *path*."""
        if path == "/.well-known/openid-configuration":
            return {
                "issuer": self.issuer,
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "jwks_uri": f"{self.issuer}/jwks",
                "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
                **self.metadata,
            }
        if path == "/jwks":
            return {"keys": [self.key.as_dict(private=False)]}
        return None


def challenge_of(verifier: str) -> str:
    """The challenge of PKCE, method S256."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return _encoded(digest)


def _quoted(text: str) -> str:
    return text.replace(" ", "+")


def _part(content: Any) -> str:
    return _encoded(json.dumps(content).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@contextmanager
def serving(provider: Provider) -> Iterator[Provider]:
    """Serves it on the loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(provider.document(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {name: values[0] for name, values in parse_qs(body).items()}
            self._answer(provider.token(form, self.headers.get("Authorization", "")))

        def _answer(self, content: dict[str, Any] | None) -> None:
            text = json.dumps(content or {"error": "invalid_grant"}).encode()
            self.send_response(400 if content is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
