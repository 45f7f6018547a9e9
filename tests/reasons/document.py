"""The table of reasons as a document."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.reasons.case import Case
from tests.reasons.table import CASES, WITHOUT_CASE

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "diagnosis-reasons.md"
_HEAD: Final = """# Reasons, and the facts that explain them

For each reason that the scheduler's plugins, the storage controllers, the kubelet and the workload
controllers give, a small cluster provokes it in `tests/reasons`. The table lists the fields that
the answer to "why?" then names as facts; [why-pending.md](why-pending.md) says what a fact is. `*`
stands for names and numbers. The names of the objects are those of the cases.

This document is generated: `python -m tests.reasons`.

"""


def text() -> str:
    """The whole document."""
    rows = ["| reason | of | version | facts |", "|---|---|---|---|"]
    rows += [_row(each) for each in CASES]
    left = ["| reason | why |", "|---|---|"]
    left += [f"| {_quoted(reason)} | {why} |" for reason, why in WITHOUT_CASE.items()]
    return "\n".join([_HEAD + "\n".join(rows), "", "## Reasons without a case", "", *left]) + "\n"


def _row(case: Case) -> str:
    facts = "; ".join(f"{each.object} {each.field}" for each in case.facts)
    return f"| {_quoted(case.reason)} | {case.by} | {case.profile} | {facts} |"


def _quoted(reason: str) -> str:
    return f'"{reason}"'
