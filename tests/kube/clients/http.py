"""A plain HTTP client of the Kubernetes API of one run."""

import json
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from tests.waiting import HANG_SECONDS

# What a server that was killed, or is not there yet, answers with.
AWAY = (OSError, HTTPException)
JSON = "application/json"
MERGE = "application/merge-patch+json"

Found = tuple[int, dict[str, Any]]


class Http:
    """Requests to the API server at *address*, each on a connection of its own."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._host = urlsplit(address).netloc
        self._root = urlsplit(address).path

    @classmethod
    def of(cls, kubeconfig: str) -> "Http":
        """Of the first cluster of a kubeconfig."""
        found = yaml.safe_load(Path(kubeconfig).read_text())
        return cls(found["clusters"][0]["cluster"]["server"])

    def at(self, instant: str | int) -> "Http":
        """The same run at an instant of the past."""
        return Http(f"{self.address}@{instant}")

    @property
    def page(self) -> "Http":
        """The API that the pages of the run use."""
        parts = urlsplit(self.address)
        return Http(f"{parts.scheme}://{parts.netloc}/api/v1/runs/{parts.path.rpartition('/')[2]}")

    def ask(
        self, method: str, path: str, body: Any = None, content_type: str = JSON, **headers: str
    ) -> Found:
        """The status and the JSON of an answer. Raises one of AWAY where there is no server."""
        with closing(self._connection()) as connection:
            content = None if body is None else json.dumps(body).encode()
            given = {"Content-Type": content_type, "Accept": JSON, **headers}
            connection.request(method, self._root + path, content, given)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def get(self, path: str) -> dict[str, Any]:
        """The JSON of an answer that must be there."""
        status, found = self.ask("GET", path)
        assert status == 200, (path, status, found)
        return found

    def lines(self, path: str) -> Iterator[Found]:
        """The lines of an answer as they come; its status with each."""
        with closing(self._connection()) as connection:
            connection.request("GET", self._root + path, headers={"Accept": JSON})
            answer = connection.getresponse()
            while line := answer.readline():
                # A line that a killed server has not ended is none.
                if line.endswith(b"\n") or answer.status != 200:
                    yield answer.status, json.loads(line)

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(self._host, timeout=HANG_SECONDS)
