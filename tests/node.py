"""Runs a script of the tests by Node.js, as the Makefile does: that of the machine, or of a wheel."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

_ROOM = Path(__file__).resolve().parents[1]


def answers_of(script: Path, asked: Iterable[Any]) -> list[Any]:
    """What the script writes: lines of JSON for those that it reads."""
    command = [sys.executable, _ROOM / "kscope/up/setup.py", "node", script]
    lines = b"\n".join(map(orjson.dumps, asked))
    done = subprocess.run(command, input=lines, stdout=subprocess.PIPE, check=True)
    return [orjson.loads(line) for line in done.stdout.splitlines()]
