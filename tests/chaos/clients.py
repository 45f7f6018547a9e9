"""Those who use kscope during an episode: one who sends commands, one who watches."""

import json
import threading
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.chaos.judge import Evidence
from tests.chaos.plan import Act
from tests.waiting import HANG_SECONDS, wait_for


class Api:
    """The REST API, which may be away for a while but must never answer with nonsense."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.headers = {"Authorization": f"Token {token}"} if token else {}
        self.nonsense: list[str] = []

    def request(
        self,
        path: str,
        content: bytes | None = None,
        *,
        kind: str = "application/json",
        method: str | None = None,
    ) -> Request:
        """A request that names who asks."""
        headers = {"Content-Type": kind, **self.headers}
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}"
        return Request(address, content, headers, method=method)

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """Status and answer; OSError when nobody answers."""
        request = self.request(path, json.dumps(body).encode() if body is not None else None)
        try:
            with urlopen(request, timeout=HANG_SECONDS) as answer:
                return answer.status, json.load(answer)
        except HTTPError as refused:
            return refused.code, self._read(path, refused)

    def _read(self, path: str, refused: HTTPError) -> Any:
        text = refused.read().decode()
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {}
        if refused.code == 500 or not {"type", "title", "status", "detail"} <= answer.keys():
            self.nonsense.append(f"{path}: {refused.code} {text[:300]}")
        return answer

    def insist(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer, once there is one."""
        answers: list[Any] = []

        def is_answered() -> bool:
            try:
                status, answer = self.ask(path, body)
            except (OSError, ValueError):
                return False
            if status < 300:
                answers.append(answer)
            return bool(answers)

        wait_for(is_answered, lambda: f"no answer from {path}; {self.nonsense}", every=0.1)
        return answers[0]


def command_in(answer: dict[str, Any]) -> dict[str, Any]:
    """The command of an answer; a refusal names the one that was rejected."""
    found: dict[str, Any] = answer.get("command", answer)
    return found


class Commander(threading.Thread):
    """Sends its commands at their times, each once, and notes what it is told."""

    def __init__(
        self, api: Api, acts: list[Act], runs: list[int], found: dict[int, Evidence]
    ) -> None:
        super().__init__()
        self.api, self.acts, self.runs, self.found = api, acts, runs, found
        self.nodes: dict[int, list[str]] = {}

    def run(self) -> None:
        began = time.monotonic()
        for act in self.acts:
            time.sleep(max(0.0, began + act.after - time.monotonic()))
            self._send(self.runs[act.run], dict(act.body or {}))

    def _send(self, run: int, body: dict[str, Any]) -> None:
        if isinstance(body.get("object"), int):
            nodes = self.nodes[run]
            body["object"] = nodes[body["object"] % len(nodes)]
        try:
            status, answer = self.api.ask(f"runs/{run}/commands/", body)
        except (OSError, ValueError):
            self.found[run].unanswered += 1
            return
        command = command_in(answer)
        if "id" in command:
            self.found[run].answers[command["id"]] = command
        elif status == 504:
            self.found[run].unanswered += 1


class Watcher(threading.Thread):
    """A page: follows the stream of a run, and comes back after the last event that it has."""

    def __init__(self, api: Api, run: int, evidence: Evidence) -> None:
        super().__init__()
        self.address = f"ws://127.0.0.1:{api.port}/ws/runs/{run}/?events=all"
        self.origin = Origin(f"http://127.0.0.1:{api.port}")
        self.headers = api.headers
        self.evidence = evidence
        self.over = threading.Event()
        self.cursor: int | None = None

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self._follow()
            except (OSError, WebSocketException, TimeoutError):
                self.over.wait(0.1)

    def _follow(self) -> None:
        address = self.address + (f"&after={self.cursor}" if self.cursor is not None else "")
        with connect(
            address,
            origin=self.origin,
            additional_headers=self.headers,
            close_timeout=1,
            max_size=None,
        ) as socket:
            while not self.over.is_set():
                try:
                    message = json.loads(socket.recv(timeout=0.2))
                except TimeoutError:
                    continue
                self._take(message)

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "snapshot":
            self.evidence.seqs.clear()
            self.cursor = message["seq"]
        elif message["type"] == "frame":
            self.evidence.seqs += [event["seq"] for event in message["events"]]
            self.cursor = message["last"]
