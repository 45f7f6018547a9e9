"""Requests to the Kubernetes API of a run, answered as client-go takes them."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from random import choice
from typing import Any

from tests.waiting import HANG_SECONDS

AWAY = (OSError, HTTPException, ValueError)
# As often as client-go sends a request again. Upstream: client-go, rest/request.go.
MOST_RETRIES = 10
MERGE = "application/merge-patch+json"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; 0 where nothing did."""

    status: int
    retry_after: int | None = None
    body: Any = None
    is_sent: bool = True
    """Whether anybody took the request."""

    @property
    def is_open(self) -> bool:
        """Whether a write may have been carried out, or not."""
        is_failed = self.status == 0 or self.status >= 500
        return self.is_sent and is_failed and self.retry_after is None

    @property
    def reason(self) -> str:
        """Why the server refuses."""
        return str(self.body.get("reason", "")) if isinstance(self.body, dict) else ""


NOTHING = Answer(0)
UNSENT = Answer(0, is_sent=False)


@dataclass(frozen=True, slots=True)
class Link:
    """The API of one run, for one client."""

    ports: Sequence[int]
    """Of the web processes; each request goes to one of them."""
    run: int
    token: str = ""

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send it once; NOTHING where the connection breaks, UNSENT where there is none."""
        try:
            with (
                closing(self._sent(method, path, body, headers)) as connection,
                connection.getresponse() as answer,
            ):
                found = json.loads(answer.read())
                after = answer.getheader("Retry-After")
                return Answer(answer.status, int(after) if after else None, found)
        except ConnectionRefusedError:
            return UNSENT
        except AWAY:
            return NOTHING

    def obey(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send it, and again after as long as the server says, as client-go does."""
        answer = self.ask(method, path, body, **headers)
        for _ in range(MOST_RETRIES):
            if answer.retry_after is None or not (answer.status == 429 or answer.status >= 500):
                break
            time.sleep(answer.retry_after)
            answer = self.ask(method, path, body, **headers)
        return answer

    def abandon(self, method: str, path: str, body: Any, after: float, **headers: str) -> bool:
        """Send it, and leave before an answer is read; whether anybody took it."""
        try:
            with closing(self._sent(method, path, body, headers)):
                time.sleep(after)
        except ConnectionRefusedError:
            return False
        except AWAY:
            pass
        return True

    def lines(self, path: str) -> Iterator[tuple[int, Any]]:
        """The lines of a watch, with its status. Raises one of AWAY."""
        with closing(self._sent("GET", path, None, {})) as connection:
            answer = connection.getresponse()
            while line := answer.readline():
                # One that a killed server has not ended is none.
                if line.endswith(b"\n") or answer.status != 200:
                    yield answer.status, json.loads(line)

    def _sent(self, method: str, path: str, body: Any, headers: dict[str, str]) -> HTTPConnection:
        connection = HTTPConnection("127.0.0.1", choice(self.ports), timeout=HANG_SECONDS)
        given = {"Content-Type": "application/json"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            given["Authorization"] = f"Bearer {self.token}"
        content = None if body is None else json.dumps(body)
        connection.request(method, f"/k8s/runs/{self.run}{path}", content, given)
        return connection
