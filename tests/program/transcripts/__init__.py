"""Transcripts that the program was designed by, and what of them it says."""

from __future__ import annotations

import re
from pathlib import Path

_BLOCK = re.compile(r"^=== (stdout|stderr|exit (\d+))$")


def stdout_of(name: str) -> list[str]:
    """The lines of standard output in a transcript."""
    found: list[str] = []
    stream = ""
    for line in Path(__file__).with_name(f"{name}.txt").read_text().splitlines():
        match = _BLOCK.match(line)
        if match:
            stream = match[1]
        elif stream == "stdout":
            found.append(line)
    return found


def lines_from(name: str, first: str) -> list[str]:
    """The lines of a transcript from *first* to the end of its block."""
    lines = Path(__file__).with_name(f"{name}.txt").read_text().splitlines()
    begin = lines.index(first)
    end = next(place for place in range(begin, len(lines)) if lines[place].startswith("==="))
    return lines[begin:end]
