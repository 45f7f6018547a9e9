"""docs/threat-model.md names tests; each must be there."""

import re
from pathlib import Path

ROOM = Path(__file__).resolve().parents[2]


def test_every_test_that_the_threat_model_names_exists() -> None:
    text = (ROOM / "docs" / "threat-model.md").read_text()
    named = set(re.findall(r"`(test_\w+)`", text))
    sources = "\n".join(path.read_text() for path in (ROOM / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", sources))
    assert len(named) > 30
    assert named - defined == set()
    files = re.findall(r"`(tests/\w[\w/.]+)`", text)
    assert all((ROOM / file).exists() for file in files)
