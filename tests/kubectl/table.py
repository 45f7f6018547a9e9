"""The table of docs/kubectl.md: what came of each command with each version of kubectl."""

import re
from pathlib import Path

from tests.kubectl.commands import STORIES, Command

PAGE = Path(__file__).parents[2] / "docs/kubectl.md"
HEAD = """# Commands of kubectl

What came of each command when it was last tried on a run, by version of kubectl.
`make test-kubectl` tries them with every kubectl that it finds and writes this page: the commands
with what they must print are in tests/kubectl/commands.py. Those of each part were given one after
the other to one run. "–" stands for a version that does not have the command.
"""

# By version: for each story what came of its commands, in their order.
Results = dict[str, dict[str, list[str]]]


def write(results: Results) -> None:
    """Write the page; what it said of versions that are not at hand stays."""
    known = {**read(), **results}
    versions = sorted(known, key=lambda version: [int(part) for part in version.split(".")])
    lines = [HEAD]
    for story, commands in STORIES.items():
        lines += [f"\n## {story.capitalize()}\n", _row(["command", *versions])]
        lines.append(_row(["---"] * (len(versions) + 1)))
        of_version = [known[version].get(story, []) for version in versions]
        for place, command in enumerate(commands):
            cells = [told[place] if place < len(told) else "not tried" for told in of_version]
            lines.append(_row([_name(command), *cells]))
    PAGE.write_text("\n".join(lines) + "\n")


def read() -> Results:
    """What the page says; of a story whose commands are others now it says nothing."""
    found: Results = {}
    for part in PAGE.read_text().split("\n## ")[1:] if PAGE.exists() else []:
        title, _, *rows = part.strip().splitlines()
        head, _, *cells = [_cells(row) for row in rows]
        story = title.lower()
        if [row[0] for row in cells] == [_name(command) for command in STORIES.get(story, ())]:
            for place, version in enumerate(head[1:], 1):
                found.setdefault(version, {})[story] = [row[place] for row in cells]
    return found


def _name(command: Command) -> str:
    return f"`{command.line}`".replace("|", r"\|")


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
