"""A run of a kscope that serves, kept in step: paused, so that nothing follows from what is written."""

from __future__ import annotations

import queue
from dataclasses import dataclass, field
from threading import Thread
from typing import Any, Final

from kscope.program.grammar import Request
from kscope.program.places import running_address
from kscope.program.speech.errors import ProgramError, Status

_SECONDS: Final = 60.0


@dataclass(slots=True)
class FollowingRun:
    """The run, its address, and how many commands it has refused."""

    server: str
    number: int
    token: str
    refused: int = 0
    lost: str = ""
    _commands: queue.Queue[list[dict[str, Any]] | None] = field(default_factory=queue.Queue)
    _thread: Thread | None = None

    @property
    def address(self) -> str:
        """Of its page."""
        return f"{self.server}/runs/{self.number}/"

    def start(self) -> None:
        """Begin to hand commands over, in a thread of its own, in their order."""
        self._thread = Thread(target=self._hand_over, name="commands to the run", daemon=True)
        self._thread.start()

    def do(self, commands: list[dict[str, Any]]) -> None:
        """Have the commands carried out after those before."""
        if commands:
            self._commands.put(commands)

    def finish(self) -> None:
        """Wait until all are carried out, for a while."""
        self._commands.put(None)
        if self._thread is not None:
            self._thread.join(_SECONDS)

    def _hand_over(self) -> None:
        import requests

        while (commands := self._commands.get()) is not None:
            for each in commands:
                path, body = self._request(each)
                try:
                    answer = _asked(self.server, self.token, "POST", path, json=body)
                except requests.RequestException as problem:
                    self.lost = str(problem)
                    return
                self.refused += answer.status_code >= 400

    def _request(self, command: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Where a command goes, and as what: bindings are those of the run's Kubernetes API."""
        if command["verb"] != "bind":
            return f"/api/v1/runs/{self.number}/commands/", command
        _, namespace, name = str(command["object"]).split("/")
        path = f"/k8s/runs/{self.number}/api/v1/namespaces/{namespace}/pods/{name}/binding"
        target = {"apiVersion": "v1", "kind": "Node", "name": command["node"]}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        return path, body


def begin_run(
    request: Request, name: str, archive: bytes
) -> tuple[FollowingRun, str] | tuple[None, str]:
    """A paused run of the archive at the kscope that was named, or else that runs here.

    Without one, None and the reason. Raises ProgramError where the server that was named does not
    answer, or refuses.
    """
    import os

    import requests

    named = request["server"] or os.environ.get("KSCOPE_SERVER") or ""
    server, token = named.rstrip("/") or running_address(), os.environ.get("KSCOPE_TOKEN") or ""
    if not server:
        return None, "none was named (--server, KSCOPE_SERVER), and none runs here (kscope up)"
    try:
        files = [("files", (f"{name}.tar.gz", archive))]
        scenario = _asked(
            server, token, "POST", "/api/v1/scenarios/", files=files, data={"name": name}
        )
        _check(server, scenario)
        body = {"scenario": scenario.json()["id"], "play": False}
        run = _asked(server, token, "POST", "/api/v1/runs/", json=body)
        _check(server, run)
    except requests.RequestException as problem:
        if not named:
            return None, f"the one at {server}/ does not answer"
        raise ProgramError(
            f"no kscope answers at {server}/",
            helps=["start one: kscope up", "or follow without a run: leave --server out"],
            status=Status.UNSEEN,
        ) from problem
    found = FollowingRun(server, int(run.json()["id"]), token)
    found.start()
    return found, ""


def _asked(server: str, token: str, method: str, path: str, **body: Any) -> Any:
    import requests

    headers = {"Accept": "application/json"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    return requests.request(method, f"{server}{path}", headers=headers, timeout=_SECONDS, **body)


def _check(server: str, answer: Any) -> None:
    if answer.status_code < 400:
        return
    try:
        said: Any = answer.json()
        why = str(said.get("error") or said.get("detail") or said)
    except ValueError:
        why = f"HTTP {answer.status_code}"
    raise ProgramError(f"the kscope at {server}/ refuses: {why}", status=Status.UNSEEN)
