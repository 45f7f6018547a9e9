"""Amounts of resources, for people."""

from __future__ import annotations

from engine.objects.values import quantity


def format_amount(name: str, amount: int) -> str:
    """An amount of a resource for people: "250m", "1.5Gi", "2"."""
    if name == "cpu":
        return quantity.format_cpu(amount)
    if name in ("memory", "ephemeral-storage") or name.startswith("hugepages-"):
        return quantity.format_bytes(amount)
    return str(amount)
