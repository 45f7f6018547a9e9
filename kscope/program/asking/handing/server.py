"""Speaks with a kscope that runs, by its REST API."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from engine.input.scenario import parse_duration
from kscope.program.asking.handing.sending import Form, Sent
from kscope.program.asking.play.output import Output
from kscope.program.asking.reading.kinds import Named
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status

DEFAULT: Final = "http://localhost:8000/"
API: Final = "api/v1/"
_SECONDS: Final = 600
_PIECE: Final = 1 << 20
_MOST_SAID: Final = 64 * 1024


def _unheard(sent: int, size: int) -> None:
    """Nobody wants to know how much was sent."""


class Server:
    """The kscope at *url*, at KSCOPE_SERVER, or on this machine; KSCOPE_TOKEN says who asks."""

    def __init__(self, url: str | None) -> None:
        given = url or os.environ.get("KSCOPE_SERVER") or DEFAULT
        if not given.startswith(("http://", "https://")):
            raise ProgramError(f"--server: {given} is no address", helps=[f"--server {DEFAULT}"])
        self.url = f"{given.rstrip('/')}/"

    def address(self, path: str) -> str:
        """The address of a page."""
        return f"{self.url}{path}"

    def get(self, path: str, query: Mapping[str, str]) -> Iterator[bytes]:
        """The body of an answer, piece by piece. Raises ProgramError."""
        asked = f"{self.address(API + path)}?{urllib.parse.urlencode(query)}"
        with self._open(urllib.request.Request(asked)) as answer:
            while piece := answer.read(_PIECE):
                yield piece

    def read(self, path: str) -> Any:
        """An answer in JSON. Raises ProgramError."""
        return json.loads(b"".join(self.get(path, {})))

    def send(self, path: str, body: Any) -> Any:
        """Send JSON; the answer. Raises ProgramError."""
        headers = {"Content-Type": "application/json"}
        data = json.dumps(body).encode()
        asked = urllib.request.Request(self.address(API + path), data, headers, method="POST")
        with self._open(asked) as answer:
            return json.loads(answer.read())

    def upload(
        self, path: str, files: Sequence[Path], fields: Mapping[str, str], sent: Sent = _unheard
    ) -> Any:
        """Send files as a form does, piece by piece; the answer. Raises ProgramError, OSError."""
        form = Form(files, fields)
        headers = {"Content-Type": form.kind, "Content-Length": str(form.size)}
        body = form.pieces(sent)
        asked = urllib.request.Request(self.address(API + path), body, headers, method="POST")
        with self._open(asked) as answer:
            return json.loads(answer.read())

    def _open(self, asked: urllib.request.Request) -> Any:
        token = os.environ.get("KSCOPE_TOKEN")
        if token:
            asked.add_header("Authorization", f"Token {token}")
        try:
            return urllib.request.urlopen(asked, timeout=_SECONDS)
        except urllib.error.HTTPError as error:
            raise _refused(error) from error
        except (urllib.error.URLError, OSError) as error:
            raise ProgramError(
                f"no kscope answers at {self.url}",
                helps=[
                    "start one: kscope up",
                    "or name another one: --server URL, or KSCOPE_SERVER",
                ],
                status=Status.UNSEEN,
            ) from error


def _refused(error: urllib.error.HTTPError) -> ProgramError:
    """The words of a refusal."""
    text = error.read(_MOST_SAID).decode("utf-8", "replace")
    try:
        said = json.loads(text)
        message = said.get("message") or said.get("detail") or said.get("title") or error.reason
        problems = [str(each.get("message") or each) for each in said.get("problems") or ()]
    except (ValueError, AttributeError):
        message, problems = f"{error.code} {error.reason}", []
    unseen = error.code in (401, 403, 502, 503, 504)
    status = Status.UNSEEN if unseen else Status.WRONG_USE
    helps = ["say who asks: KSCOPE_TOKEN"] if error.code == 401 else []
    return ProgramError(str(message), places=problems, helps=helps, status=status)


def export_of_server(
    request: Request, server: Server, run: int, pod: Named | None, output: Output
) -> str:
    """Write an export that a kscope makes; what was written in words."""
    query = {"format": output.format.name}
    if pod is not None:
        query["pod"] = f"{pod.namespace or request['namespace'] or 'default'}/{pod.own_name}"
    until: str | None = request["at"] or request["until"]
    if until:
        query["at"] = str(_nanoseconds(until))
    if request["history"]:
        query["history"] = "1"
    if request["since"]:
        query["since"] = str(_nanoseconds(request["since"], "since"))
    if request["without"]:
        query["without"] = ",".join(request["without"])
    for piece in server.get(f"runs/{run}/export/", query):
        output.take_as_it_is(piece)
        if not output.is_read:
            break
    return f"run {run} of {server.url}"


def _nanoseconds(text: str, flag: str = "at") -> int:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ProgramError(f"--{flag}: {error}", helps=[f"--{flag} 30s"]) from error
