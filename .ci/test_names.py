"""The name of a test is a sentence of four to eight words (STYLE.md).

`test_` is no word of it, and a version such as `v1_20` is one. Fails with the place of each test
whose name is shorter or longer.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOM = Path(__file__).resolve().parents[1]
FEWEST, MOST = 4, 8
PREFIX = "test_"


def names(source: str) -> Iterator[tuple[int, str]]:
    """The line and the name of each test in *source*, in classes, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            PREFIX
        ):
            yield node.lineno, node.name


def words(name: str) -> list[str]:
    """The words of a test's name."""
    return re.findall(r"(?:v?\d+(?:_\d+)+)(?=_|$)|[^_]+", name.removeprefix(PREFIX))


def findings(tests: Path) -> list[str]:
    """A line for each test below *tests* whose name has too few words or too many."""
    return [
        f"{path.relative_to(tests.parent)}:{line}: {name} has {len(words(name))} words"
        for path in sorted(tests.rglob("test_*.py"))
        for line, name in names(path.read_text())
        if not FEWEST <= len(words(name)) <= MOST
    ]


def main() -> int:
    """Print the findings; 1 when there is one."""
    found = findings(ROOM / "tests")
    if found:
        print(*found, f"The name of a test has {FEWEST} to {MOST} words.", sep="\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
