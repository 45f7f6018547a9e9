"""docs/browser-model.md names for each invariant the test that holds it."""

import re
from pathlib import Path

ROOM = Path(__file__).resolve().parents[2]
ROWS = re.findall(
    r"^\| (?P<rule>.+) \| `(?P<file>\S+\.test\.js)`: (?P<test>.+) \|$",
    (ROOM / "docs/browser-model.md").read_text(),
    re.MULTILINE,
)


def test_every_invariant_of_the_browser_has_a_test() -> None:
    assert len(ROWS) > 20
    missing = [
        f"{file}: {test}"
        for _, file, test in ROWS
        if f'test("{test}"' not in (ROOM / "tests/js" / file).read_text()
    ]
    assert missing == []
