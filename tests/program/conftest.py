"""The program as a fixture."""

import pytest

from tests.program.asked import Program


@pytest.fixture
def kscope(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    """Calls the program: `kscope("triage", "prod-eu.yaml")`."""
    return Program(capsys, monkeypatch)
