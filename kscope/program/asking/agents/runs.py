"""Tools that ask a kscope about its runs, as the account of KSCOPE_TOKEN and within its limits."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from kscope.program.asking.agents.files import MOST_CHARACTERS
from kscope.program.asking.agents.refusals import Refusal
from kscope.program.asking.handing.server import Server
from kscope.program.speech.errors import ProgramError


class Runs:
    """The runs of one kscope."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def runs(self) -> dict[str, Any]:
        """The runs that you may see, the newest first: id, name, status, head (its newest event)."""
        return self._read("runs/")

    def run_triage(self, run: int) -> dict[str, Any]:
        """What is stuck in a run that began with a cluster as it stands, by cause, with changes."""
        return self._read(f"runs/{run}/triage/")

    def run_why(self, run: int, object: str, seq: int | None = None) -> dict[str, Any]:
        """Why an object of a run is in its state, after event seq or now.

        object: kind/namespace/name, such as pod/shop/web-3, claim/shop/data or node/n1.
        """
        return self._read(f"runs/{run}/why/{urllib.parse.quote(object)}/", seq=seq)

    def run_events(self, run: int, object: str = "", after: int = 0) -> dict[str, Any]:
        """Events of a run after event `after`, with their causes; of one object, or of all."""
        return self._read(f"runs/{run}/events/", object=object, after=after)

    def run_compare(self, run: int, other: int) -> dict[str, Any]:
        """Where two runs part, why, and which pods are bound otherwise or later."""
        return self._read(f"runs/{run}/compare/", **{"with": other})

    def try_change(self, run: int, seq: int, manifests: str) -> dict[str, Any]:
        """Make a fork of a run after event seq and create the objects of *manifests* (YAML) in it.

        The run itself stays as it is. Returns the fork; ask about it with run_why.
        """
        fork = self._send(f"runs/{run}/fork/", {"seq": seq})
        asked = self._send(f"runs/{fork['id']}/edits/", {"text": manifests})
        for command in asked["commands"]:
            self._send(f"runs/{fork['id']}/commands/", command)
        return self._read(f"runs/{fork['id']}/")

    def _read(self, path: str, **query: Any) -> dict[str, Any]:
        given = {name: str(value) for name, value in query.items() if value not in (None, "")}
        try:
            body = b"".join(self._server.get(path, given))
        except ProgramError as problem:
            raise Refusal(str(problem)) from problem
        if len(body) > MOST_CHARACTERS:
            raise Refusal(f"the answer has {len(body):,} bytes; ask about one object")
        return json.loads(body)

    def _send(self, path: str, body: Any) -> dict[str, Any]:
        try:
            return self._server.send(path, body)
        except ProgramError as problem:
            raise Refusal(str(problem)) from problem
