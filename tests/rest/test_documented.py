"""The commands of docs/rest.md run, in their order, as they are written."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kscope.accounts.access import Role, Scope
from kscope.accounts.services import account_create, token_create
from kscope.runs.models import Run, Scenario
from tests.docs.documents import ROOT, read
from tests.docs.examples import runnable

WRITTEN_FOR = "http://localhost:8000"


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_every_command_of_the_document_runs(address: str, settings: Any, tmp_path: Path) -> None:
    settings.LOGIN_REQUIRED = True
    user, _ = account_create(name="eva", role=Role.EDITOR, password="a long enough phrase")
    token = token_create(user=user, name="curl", scope=Scope.WRITE)[1]
    blocks = runnable(read(ROOT / "docs" / "rest.md"), "sh")
    commands = "\n".join(block.text for block in blocks)
    assert WRITTEN_FOR in commands
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands.replace(WRITTEN_FOR, address)],
        cwd=tmp_path,
        env={**os.environ, "TOKEN": token},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "{'Node': 1, 'Pod': 1}" in done.stdout
    assert "applied" in done.stdout
    assert "{'unschedulable': 1" in done.stdout
    assert "\nsame\n" in done.stdout
    assert "'name': 'limit'" in done.stdout
    assert (Run.objects.count(), Scenario.objects.count()) == (0, 0)
