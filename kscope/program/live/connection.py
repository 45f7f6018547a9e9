"""One cluster, reached through a context of a kubeconfig. All that it can do is get.

The official client reads the kubeconfig, runs exec plugins, holds certificates, and sends the
requests; nothing is written back to the kubeconfig. Every request of `kscope.program` to a cluster
goes through `Connection.get` or `Connection.stream`, which know no other method than GET.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from kscope.program.live.kubeconfig import Context
from kscope.program.speech.errors import ProgramError, Status

TRIES: Final = 3
_PAUSE_SECONDS: Final = 0.2
# An API server that is busy says how long to wait; longer than this nobody on call does.
_LONGEST_PAUSE_SECONDS: Final = 5.0
# Bookmarks come about once a minute: a line that is silent for longer is dead.
_SILENCE_SECONDS: Final = 120.0
_BUSY: Final = (429, 502, 503, 504)
_AGENT: Final = "kscope (read only)"


@dataclass(slots=True)
class Traffic:
    """What went over the line: requests, and bytes as they came."""

    requests: int = 0
    bytes: int = 0
    _lock: Any = field(default_factory=Lock)

    def note(self, size: int) -> None:
        """One more answer."""
        with self._lock:
            self.requests += 1
            self.bytes += size


class Refusal(Exception):
    """An answer other than 2xx: its status, and what the server says of it."""

    def __init__(self, status: int, body: bytes | str) -> None:
        self.status, self.document = status, _status_document(body)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The server's own words, else the number."""
        return str(self.document.get("message") or f"HTTP {self.status}")

    @property
    def is_forbidden(self) -> bool:
        """Whether RBAC, or what is in its place, does not allow it."""
        return self.status == 403


class NotReached(Exception):
    """No answer at all, after some tries."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One request; *timeout* as urllib3 takes it."""

    path: str
    query: dict[str, str]
    accept: str
    timeout: float | tuple[float, float]
    is_whole: bool = True


class Connection:
    """Gets from one cluster."""

    def __init__(self, context: Context, timeout_seconds: float) -> None:
        self.context, self.timeout_seconds = context, timeout_seconds
        self.traffic = Traffic()
        self._is_closed = False
        self._client = context.client(_AGENT)

    def close(self) -> None:
        """Try nothing again from now on: nobody waits for it."""
        self._is_closed = True

    def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str) -> bytes:
        """The body of an answer. Raises Refusal, NotReached."""
        asked = _Asked(path, dict(query or {}), accept, self.timeout_seconds)
        body: bytes = self._tried(asked).data
        self.traffic.note(len(body))
        return body

    def stream(self, path: str, query: Mapping[str, str], *, accept: str) -> Any:
        """An answer that goes on, unread. Raises Refusal, NotReached."""
        timeout = (self.timeout_seconds, _SILENCE_SECONDS)
        response = self._tried(_Asked(path, dict(query), accept, timeout, is_whole=False))
        self.traffic.note(0)
        return response

    def _tried(self, asked: _Asked) -> Any:
        last: Exception | None = None
        for number in range(TRIES):
            try:
                return self._answer(asked)
            except _Again as again:
                last = again.cause
                if self._is_closed:
                    break
                if number + 1 < TRIES:
                    time.sleep(again.pause_seconds or _PAUSE_SECONDS * 2**number)
        assert last is not None
        raise last

    def _answer(self, asked: _Asked) -> Any:
        import urllib3
        from kubernetes.client.exceptions import ApiException

        try:
            response = self._client.call_api(
                asked.path,
                "GET",
                query_params=list(asked.query.items()),
                header_params={"Accept": asked.accept, "Accept-Encoding": "gzip", **self._token()},
                auth_settings=[],
                _preload_content=False,
                _request_timeout=asked.timeout,
            )
            # What breaks off while it is read is tried again as well.
            _ = response.data if asked.is_whole else b""
            return response
        except ApiException as refused:
            if not refused.status:
                raise _Again(NotReached(_last_line(str(refused.reason)))) from refused
            refusal = Refusal(refused.status, refused.body or b"")
            if refused.status in _BUSY:
                raise _Again(refusal, _retry_after(refused.headers)) from refused
            raise refusal from refused
        except (urllib3.exceptions.HTTPError, OSError) as problem:
            raise _Again(NotReached(_why(problem))) from problem

    def _token(self) -> dict[str, str]:
        """The token of the user, renewed where it is over.

        Its place among the client's settings differs between versions: since 36 its kubeconfig puts it
        where its requests do not look.
        """
        configuration = self._client.configuration
        names = ("authorization", "BearerToken")
        found = (configuration.get_api_key_with_prefix(each) for each in names)
        token = next(filter(None, found), "")
        return {"Authorization": str(token)} if token else {}


class _Again(Exception):
    """Something that may be over when it is asked again."""

    def __init__(self, cause: Exception, pause_seconds: float = 0.0) -> None:
        super().__init__()
        self.cause, self.pause_seconds = cause, pause_seconds


def not_reached(context: Context, why: str, timeout_seconds: float) -> ProgramError:
    """The error for a cluster that does not answer."""
    return ProgramError(
        f"the API server of context {context.name} was not reached: {context.server}",
        details=[f"tried {TRIES} times within {timeout_seconds:g} s; the last answer: {why}"],
        helps=[
            f"kubectl --context {context.name} get --raw /readyz",
            f"from files instead: kscope triage {context.name}.tar.gz (made by kscope collect where "
            "it is reached)",
        ],
        status=Status.UNSEEN,
    )


def _status_document(body: bytes | str) -> Mapping[str, Any]:
    """The Status that API servers send with a refusal; empty for what proxies send."""
    import orjson

    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _retry_after(headers: Any) -> float:
    text = str((headers or {}).get("Retry-After") or "")
    return min(float(text), _LONGEST_PAUSE_SECONDS) if text.isdecimal() else 0.0


def _why(problem: BaseException) -> str:
    """The innermost reason, as the operating system has it: "connection refused"."""
    while True:
        inner = getattr(problem, "reason", None) or problem.__cause__ or problem.__context__
        if not isinstance(inner, BaseException) or inner is problem:
            break
        problem = inner
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror[:1].lower() + problem.strerror[1:]
    return _last_line(str(problem)) or type(problem).__name__


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""
