"""Requests to a server in a container, by the proxy of the API server, answered from its script.

Upstream: pkg/registry/core/pod/strategy.go, ResourceLocation().
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from starlette.responses import PlainTextResponse, Response

from engine.objects.manifest_parts import items
from engine.objects.objects import Manifest
from engine.objects.scripts.matching import all_containers
from engine.objects.scripts.output import http_answer_to
from engine.objects.scripts.script import Script
from kube.server.containers.commands import NO_PROCESSES
from kube.server.containers.found import FoundContainer, container_named
from kube.server.containers.seen import Seen
from kube.status import bad_request, method_not_allowed, unavailable

# "NAME", "NAME:PORT", "SCHEME:NAME:PORT". Upstream: apimachinery/pkg/util/net/port_split.go.
_NAME: Final = re.compile(r"(?:(?:https?)?:(?=[^:]*:))?([^:]+)(?::(\d{0,5}))?")
# A browser that is led here is in the origin of the pages: what a script answers runs nothing there.
_HEADERS: Final = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


class ProxiedPod(NamedTuple):
    """The pod that the name in an address of the proxy means, and the port; None for its first."""

    name: str
    port: int | None

    @classmethod
    def of(cls, text: str) -> "ProxiedPod":
        """That of an address. Raises ApiError."""
        found = _NAME.fullmatch(text)
        if found is None:
            raise bad_request(f'invalid pod request "{text}"')
        return cls(found[1], int(found[2]) if found[2] else None)


def proxy_answer(seen: Seen, port: int | None, path: str, scenario: Sequence[Script]) -> Response:
    """What the pod answers to a request for *path*. Raises ApiError."""
    address = seen.pod.status.get("podIP")
    if not address:
        raise bad_request("address not allowed")
    containers = [
        container_named(seen.pod, str(one["name"]), scenario) for one in all_containers(seen.pod)
    ]
    if all(one.script is None or one.script.http is None for one in containers):
        raise method_not_allowed(NO_PROCESSES)
    first = next((each for one in containers for each in _ports(one.spec)), None)
    port = port or first
    served = next((one for one in containers if _listens(one, port)), None)
    if served is None or served.script is None:
        where = f"{address}:{port or 80}"
        refused = f"dial tcp {where}: connect: connection refused"
        raise unavailable(f"error trying to reach service: {refused}")
    answer = http_answer_to(served.script, path, seen.filling_of(served))
    if answer is None:
        return PlainTextResponse("404 page not found\n", 404, _HEADERS)
    return PlainTextResponse(answer.body, answer.status, _HEADERS)


def _listens(container: FoundContainer, port: int | None) -> bool:
    """Whether a server in it answers at *port*: at any, where it names none."""
    if container.script is None or container.script.http is None:
        return False
    ports = _ports(container.spec)
    return container.state[0] == "running" and (not ports or port in ports)


def _ports(container: Manifest) -> list[int]:
    return [int(one["containerPort"]) for one in items(container, "ports")]
