"""`kscope mcp`: what an agent is offered, asked with the protocol's own client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.server import MCPServer

from kscope.program.asking.agents.files import export, triage, why
from kscope.program.asking.agents.refusals import Refusal
from kscope.program.asking.agents.runs import Runs
from kscope.program.asking.agents.serving import offer
from kscope.program.asking.handing.server import Server
from kscope.program.speech.errors import ProgramError
from tests.program.asked import DATA, SCENARIOS

STUCK = str(DATA / "prod-eu.yaml")


def served(*, allows_writes: bool = False, server: Server | None = None) -> Any:
    """The server that an agent speaks with."""
    made = MCPServer("kscope")
    offer(made, Runs(server or Server("http://127.0.0.1:9/")), allows_writes=allows_writes)
    return made


async def test_an_agent_may_only_read_by_default() -> None:
    async with Client(served()) as agent:
        tools = (await agent.list_tools()).tools
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert {"triage", "why", "diff", "export", "run_why"} <= {tool.name for tool in tools}
    assert all(tool.description for tool in tools)
    async with Client(served(allows_writes=True)) as agent:
        more = {tool.name for tool in (await agent.list_tools()).tools}
    assert more - {tool.name for tool in tools} == {"try_change"}


async def test_an_agent_is_told_what_is_stuck() -> None:
    async with Client(served()) as agent:
        answer = await agent.call_tool("triage", {"source": STUCK})
    assert not answer.is_error
    assert answer.structured_content["headline"] == "3 causes hold 40 pods"


async def test_a_refusal_reaches_the_agent_in_words() -> None:
    async with Client(served()) as agent:
        gone = await agent.call_tool("triage", {"source": "gone.yaml"})
        nobody = await agent.call_tool("runs", {})
    assert gone.is_error
    assert "gone.yaml" in gone.content[0].text
    assert nobody.is_error
    assert "no kscope answers at http://127.0.0.1:9/" in nobody.content[0].text


def test_answers_are_those_of_the_program() -> None:
    assert triage(STUCK, namespace="nowhere")["groups"] == []
    found = why(STUCK, "pod/embeddings-0", changes="none")
    assert found["kind"] == "Why"


def test_an_export_is_a_text() -> None:
    assert export(str(SCENARIOS / "fits-nowhere.yaml"), "yaml").startswith("---\napiVersion: v1")
    with pytest.raises(Refusal, match="must be one of"):
        export(STUCK, "parquet")


def test_a_change_is_made_in_a_fork(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sent: list[tuple[str, Any]] = []

    def send(_: Server, path: str, body: Any) -> Any:
        sent.append((path, body))
        return {"id": 7} if path.endswith("/fork/") else {"commands": [{"verb": "create"}]}

    monkeypatch.setattr(Server, "send", send)
    monkeypatch.setattr(Server, "get", lambda *_: iter([b'{"id": 7}']))
    assert Runs(Server("http://127.0.0.1:9/")).try_change(3, 12, "kind: Node") == {"id": 7}
    assert [path for path, _ in sent] == ["runs/3/fork/", "runs/7/edits/", "runs/7/commands/"]


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from kscope.program.asking.agents import serving
    from kscope.program.grammar import parsed
    from kscope.program.speech.screen import Screen

    monkeypatch.setitem(__import__("sys").modules, "mcp.server", None)
    with pytest.raises(ProgramError, match="needs the extra"):
        serving.answer_mcp(parsed(["mcp"]), Screen.of_process())
