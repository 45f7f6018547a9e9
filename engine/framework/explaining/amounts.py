"""Amounts of resources: for people, and how much of them is short."""

from __future__ import annotations

from typing import cast

from engine.framework.framework import Detail
from engine.objects.values import quantity


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource for people: "250m", "1.5Gi", "2"."""
    if name == "cpu":
        return quantity.format_cpu(amount)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return quantity.format_bytes(amount)
    return str(amount)


def shortages(detail: Detail) -> dict[str, float]:
    """The resources that are short, each with the part of the request that is missing."""
    found: dict[str, float] = {}
    for name, entry in detail.numbers.items():
        if isinstance(entry, dict) and "requested" in entry:
            numbers = cast("dict[str, int]", entry)
            found[name] = numbers.get("short", 1) / max(numbers["requested"], 1)
    return found
