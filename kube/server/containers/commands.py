"""Commands in containers, answered from their script, over a WebSocket.

Upstream: staging/src/k8s.io/kubelet/pkg/cri/streaming/remotecommand/{exec,websocket}.go.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import orjson
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.websockets import WebSocket

from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.output import answer_to
from engine.objects.scripts.script import CommandAnswer, Script
from engine.objects.scripts.told_probes import PROBES_ANNOTATION, told_text
from kube.server.answers import JSON
from kube.server.containers.found import FoundContainer, container_named
from kube.server.containers.seen import Seen
from kube.status import ApiError, bad_request, internal_error, method_not_allowed

NO_PROCESSES: Final = "simulated containers run no processes"
# The newest first. They frame bytes alike; since version 5 a client can close its stdin.
PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDOUT, _STDERR, _ERROR = b"\x01", b"\x02", b"\x03"
_PIECE: Final = 32 * 1024  # bytes in a frame
NO_UPGRADE: Final = bad_request("Upgrade request required")
_SUCCESS: Final = {"metadata": {}, "status": "Success"}


class CommandResponse(Response):
    """What a command answers. It needs a WebSocket; a plain request is told so."""

    def __init__(
        self, query: QueryParams, answer: CommandAnswer | None, container: FoundContainer
    ) -> None:
        super().__init__(orjson.dumps(NO_UPGRADE.body), NO_UPGRADE.code, media_type=JSON)
        self._query = query
        self._answer = answer
        self._container = container

    @property
    def has_effect(self) -> bool:
        """Whether the command changes what probes of its container find."""
        return self._answer is not None and bool(self._answer.probes)

    def told_by(self, pod: Pod) -> Manifest:
        """The patch of *pod* that this effect is."""
        assert self._answer is not None
        restarts = int(self._container.status.get("restartCount") or 0)
        text = told_text(pod, self._container.name, restarts, dict(self._answer.probes))
        return {"metadata": {"annotations": {PROBES_ANNOTATION: text}}}

    async def run(self, socket: WebSocket, protocol: str) -> None:
        """Answer over *socket*, and close it."""
        await socket.accept(protocol)
        # Upstream: an empty frame says that the streams are there.
        streams = [(_STDOUT, "stdout"), (_STDERR, "stderr")]
        wanted = [channel for channel, name in streams if _is_wanted(self._query, name)]
        await socket.send_bytes(wanted[0] if wanted else _ERROR)
        for channel, text in self._output():
            if channel in wanted:
                for piece in _pieces(text.encode()):
                    await socket.send_bytes(channel + piece)
        await socket.send_bytes(_ERROR + orjson.dumps(self._status()))
        await socket.close()

    def _output(self) -> Iterable[tuple[bytes, str]]:
        if self._answer is None:
            return
        # A terminal has one stream for both.
        on_terminal = _is_wanted(self._query, "tty")
        yield _STDOUT, self._answer.stdout
        yield _STDOUT if on_terminal else _STDERR, self._answer.stderr

    def _status(self) -> Manifest:
        """Upstream: exec.go, ServeExec()."""
        if self._answer is None:
            command = self._query.getlist("command")
            why = f'exec: "{command[0] if command else ""}": executable file not found in $PATH'
            started = f"unable to start container process: {why}: unknown"
            text = f"failed to exec in container: OCI runtime exec failed: exec failed: {started}"
            return internal_error(f"error executing command in container: {text}").body
        code = self._answer.exit_code
        if not code:
            return _SUCCESS
        ended = f"command terminated with non-zero exit code: exit status {code}"
        causes = [{"reason": "ExitCode", "message": str(code)}]
        return {
            "metadata": {},
            "status": "Failure",
            "message": ended,
            "reason": "NonZeroExitCode",
            "details": {"causes": causes},
        }


def negotiated(socket: WebSocket) -> str:
    """The protocol in which a command is answered. Raises ApiError where the client knows none."""
    offered = socket.scope.get("subprotocols") or []
    protocol = next((one for one in PROTOCOLS if one in offered), None)
    if protocol is None:
        raise ApiError(403, "Forbidden", _not_negotiated(offered))
    return protocol


def command_response(seen: Seen, query: QueryParams, scenario: Sequence[Script]) -> CommandResponse:
    """What the command of *query* answers in its container. Raises ApiError."""
    found = container_for(seen.pod, query, scenario)
    assert found.script is not None, "commands are only answered by scripts"
    command, filling = query.getlist("command"), seen.filling_of(found)
    return CommandResponse(query, answer_to(found.script, command, filling), found)


def container_for(pod: Pod, query: QueryParams, scenario: Sequence[Script]) -> FoundContainer:
    """The container in which a command of *query* is answered. Raises ApiError."""
    found = container_named(pod, query.get("container", ""), scenario)
    if found.script is None or found.script.commands is None:
        raise method_not_allowed(NO_PROCESSES)
    if not pod.node_name:
        raise bad_request(f"pod {pod.name} does not have a host assigned")
    if pod.is_terminated:
        # Upstream: pkg/registry/core/pod/rest/subresources.go.
        raise bad_request(
            f"cannot exec into a container in a completed pod; current phase is {pod.phase}"
        )
    if found.state[0] != "running":
        raise internal_error(f'unable to upgrade connection: container not found ("{found.name}")')
    return found


def refused_upgrade(request: Request) -> Response:
    """The answer to SPDY, which is not spoken here.

    Upstream: apimachinery/pkg/util/httpstream/httpstream.go, Handshake().
    """
    offered = request.headers.getlist("x-stream-protocol-version")
    return PlainTextResponse(_not_negotiated(offered), 403, _accepted(PROTOCOLS))


def _accepted(protocols: Sequence[str]) -> Mapping[str, str]:
    return {"X-Accepted-Stream-Protocol-Versions": ", ".join(protocols)}


def _not_negotiated(offered: Iterable[str]) -> str:
    client, server = " ".join(offered), " ".join(PROTOCOLS)
    what = f"client supports [{client}], server accepts [{server}]"
    return f"unable to upgrade: unable to negotiate protocol: {what}"


def _is_wanted(query: QueryParams, name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1")


def _pieces(text: bytes) -> Iterable[bytes]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
