"""HTTP to scheduler extenders, for engines that do no I/O themselves.

Only addresses that the setting KSCOPE_EXTENDERS allows are ever called: a comma-separated list of
`host:port` or whole URL prefixes; by default there are none. Redirects are not followed, proxies
are not used, and the size and the time of an answer are limited.
"""

import http.client
import os
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

from engine.scheduler.configuration.extenders import ExtenderError
from kscope.env import env_list

SETTING = "KSCOPE_EXTENDERS"
_MAX_ANSWER = 64 << 20
_CHUNK = 1 << 16
_PORTS = {"http": 80, "https": 443}


class HttpTransport:
    """Posts JSON to allowed addresses. See ExtenderTransport."""

    def __init__(self, allowed: Iterable[str]) -> None:
        self._allowed = tuple(allowed)

    @classmethod
    def from_environment(cls) -> "HttpTransport":
        """The addresses of the setting KSCOPE_EXTENDERS."""
        return cls(env_list(os.environ, SETTING, []))

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        """The body of the answer, within *timeout* ns. Raises ExtenderError."""
        if not self.allows(url):
            raise ExtenderError(f"Post {url}: the address is not among {SETTING}")
        parts = urlsplit(url)
        seconds = timeout / 1e9
        deadline = time.monotonic() + seconds
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(parts.hostname or "", parts.port, timeout=seconds)
        try:
            connection.request("POST", parts.path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != http.client.OK:
                # Upstream: HTTPExtender.send().
                raise ExtenderError(
                    f"failed {parts.path.rpartition('/')[2]} with extender at URL {url}, "
                    f"code {response.status}"
                )
            return _read(response, connection, deadline, url)
        except TimeoutError as error:
            raise ExtenderError(f"Post {url}: timeout after {seconds:g}s") from error
        except (OSError, http.client.HTTPException) as error:
            raise ExtenderError(f"Post {url}: {error or type(error).__name__}") from error
        finally:
            connection.close()

    def allows(self, url: str) -> bool:
        """Whether an entry has the scheme, host and port of *url*, and its path or a parent of it."""
        asked = _place(url)
        if asked is None:
            return False
        for entry in self._allowed:
            known = _place(entry if "://" in entry else f"{asked[0]}://{entry}")
            if known is None or known[:3] != asked[:3]:
                continue
            prefix = known[3].rstrip("/")
            if asked[3] == prefix or asked[3].startswith(f"{prefix}/"):
                return True
        return False


def _place(url: str) -> tuple[str, str, int, str] | None:
    """Scheme, host, port and path; None for a URL that is never allowed."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname or parts.username or ".." in parts.path:
        return None
    return parts.scheme, parts.hostname.lower(), port or _PORTS[parts.scheme], parts.path


def _read(
    response: http.client.HTTPResponse,
    connection: http.client.HTTPConnection,
    deadline: float,
    url: str,
) -> bytes:
    """The whole body; a slow trickle must not outlast the deadline."""
    found = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(_CHUNK)
        if not chunk:
            return bytes(found)
        found += chunk
        if len(found) > _MAX_ANSWER:
            raise ExtenderError(f"Post {url}: the answer is longer than {_MAX_ANSWER} bytes")
