"""Offers the tools by the Model Context Protocol, on standard input and output."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from kscope.program.asking.agents.files import TOOLS
from kscope.program.asking.agents.refusals import Refusal
from kscope.program.asking.agents.runs import Runs
from kscope.program.asking.handing.server import Server
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from kscope.program.version import version_text

_TELLS: Final = (
    "kscope simulates Kubernetes scheduling and storage. Ask `triage` first: it says what is stuck and "
    "which change was tried and works. `why` says it of one object. Nothing is written to any cluster."
)


def answer_mcp(request: Request, screen: Screen) -> int:
    """Serve until the agent leaves."""
    try:
        from mcp.server import MCPServer
    except ImportError as error:
        raise ProgramError(
            "kscope mcp needs the extra [mcp]", helps=["pip install 'kscope-sim[mcp]'"]
        ) from error
    server = MCPServer("kscope", instructions=_TELLS, version=version_text().split()[1])
    offer(server, Runs(Server(request["server"])), allows_writes=bool(request["allow_writes"]))
    server.run("stdio")
    return Status.FINE


def offer(server: Any, runs: Runs, *, allows_writes: bool) -> None:
    """Add every tool to *server*; those that make forks only where they were allowed."""
    from mcp.types import ToolAnnotations

    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    asking = (runs.runs, runs.run_triage, runs.run_why, runs.run_events, runs.run_compare)
    for tool in (*TOOLS, *asking):
        server.tool(annotations=reading)(_told(tool))
    if allows_writes:
        making = ToolAnnotations(read_only_hint=False, destructive_hint=False)
        server.tool(annotations=making)(_told(runs.try_change))


def _told(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, whose refusals reach the agent as the protocol has them."""
    from mcp.server.mcpserver.exceptions import ToolError

    @wraps(tool)
    def asked(*words: Any, **given: Any) -> Any:
        try:
            return tool(*words, **given)
        except Refusal as refusal:
            raise ToolError(str(refusal)) from refusal

    return asked
