"""`kscope import`: files become a run of a kscope that runs."""

import io
import json
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from kube.clusters.cluster import Cluster
from tests.program.asked import DATA, Program
from tests.waiting import wait_for

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


@pytest.fixture
def server(prod_eu: Cluster) -> str:
    """The address of a kscope that runs."""
    return prod_eu.page.partition("/runs/")[0]


def nodes_of(server: str, said: str) -> list[str]:
    """The nodes of the run that an answer names."""
    number = int(said.partition("kscope has it as run ")[2].partition(":")[0])
    nodes: list[str] = []

    def are_there() -> bool:
        with urlopen(f"{server}/api/v1/runs/{number}/state/") as answer:
            state: dict[str, Any] = json.loads(answer.read())["state"]
        nodes[:] = sorted(entity for entity in state if entity.startswith("node/"))
        return bool(nodes)

    wait_for(are_there, "the run has no nodes", every=0.1)
    return nodes


def test_a_file_becomes_a_run(kscope: Program, server: str) -> None:
    said = kscope("import", "prod-eu.yaml", "--server", server, folder=DATA)
    assert said.status == 0, said.err
    assert len(nodes_of(server, said.out)) == 11
    assert said.lines[-1] == "next       kscope triage prod-eu.yaml"


def test_a_folder_is_sent_as_an_archive(kscope: Program, server: str, tmp_path: Path) -> None:
    (tmp_path / "prod/sub").mkdir(parents=True)
    (tmp_path / "prod/sub/nodes.yaml").write_text(yaml.dump(NODE))
    (tmp_path / "prod/README.md").write_text("# What this is\n")
    said = kscope("import", "prod", "--server", server, folder=tmp_path)
    assert said.status == 0, said.err
    assert nodes_of(server, said.out) == ["node/n1"]


def test_standard_input_is_sent_as_well(
    kscope: Program, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = io.TextIOWrapper(io.BytesIO(json.dumps(NODE).encode()))
    monkeypatch.setattr(sys, "stdin", given)
    said = kscope("import", "-", "--nodes", "2xm5.large", "--server", server)
    assert said.status == 0, said.err
    assert len(nodes_of(server, said.out)) == 3
    assert "next" not in said.out


def test_the_document_names_the_run(kscope: Program, server: str, tmp_path: Path) -> None:
    (tmp_path / "node.yaml").write_text(yaml.dump(NODE))
    said = kscope(
        *("import", "node.yaml", "--profile", "v1.34", "-o", "json", "--server", server),
        folder=tmp_path,
    )
    run = json.loads(said.out)["run"]
    assert run["url"] == f"{server}/runs/{run['id']}/"
    with urlopen(f"{server}/api/v1/runs/{run['id']}/") as answer:
        assert json.loads(answer.read())["profile"] == "v1.34"
