"""Whether a node has room for what a pod requests, and how much is short."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from engine.framework.explaining.amounts import format_amount
from engine.framework.framework import Detail
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import CPU, EPHEMERAL_STORAGE, MEMORY, NodeTable
from engine.kernel.sentences import Sentence, enumerated, say
from engine.objects.pods.pod_resources import Resources


def asked_amounts(table: NodeTable, fit: Resources) -> list[tuple[int, int]]:
    """(column, amount) as old versions compare them: all native resources, if any is requested.

    Upstream: PodFitsResources() (v1.16), fitsRequest() (v1.20).
    """
    if not (fit.milli_cpu or fit.memory or fit.ephemeral_storage or fit.scalars):
        return []
    native = [
        (CPU, fit.milli_cpu),
        (MEMORY, fit.memory),
        (EPHEMERAL_STORAGE, fit.ephemeral_storage),
    ]
    return native + [(table.resource(name), amount) for name, amount in fit.scalars]


class Room:
    """Whether rows have room for the requests of one template, a list of (column, amount).

    It refers to the table's own arrays: create it again when they are replaced; do not pickle it.
    """

    goes_by_sums: ClassVar[bool] = True
    __slots__ = ("_allowed", "_columns", "_pods", "_row_allowed", "_row_columns", "_row_pods")

    def __init__(self, table: NodeTable, wanted: list[tuple[int, int]]) -> None:
        self._pods, self._allowed = table.pod_count, table.allowed_pods
        self._columns = [
            (table.allocatable[column], table.requested[column], amount)
            for column, amount in wanted
        ]
        # Single ints are read several times faster through a memoryview.
        self._row_pods, self._row_allowed = self._pods.data, self._allowed.data
        self._row_columns = [
            (allocatable.data, requested.data, amount)
            for allocatable, requested, amount in self._columns
        ]

    def fits(self, rows: IntArray) -> BoolArray:
        """For each of *rows*."""
        fits = self._pods.take(rows) < self._allowed.take(rows)
        for allocatable, requested, amount in self._columns:
            fits &= allocatable.take(rows) - requested.take(rows) >= amount
        return fits

    def fits_row(self, row: int) -> bool:
        """For one row, in plain ints."""
        if self._row_pods[row] >= self._row_allowed[row]:
            return False
        for allocatable, requested, amount in self._row_columns:
            if amount > allocatable[row] - requested[row]:
                return False
        return True


def shortage(
    table: NodeTable, row: int, wanted: list[tuple[int, int]], *, too_many_pods: bool
) -> Detail:
    """Evidence for a node that lacks room for (column, amount) pairs, or for one more pod."""
    amounts = tuple(
        (
            table.resource_names[column],
            amount,
            int(table.allocatable[column][row]),
            int(table.requested[column][row]),
        )
        for column, amount in wanted
    )
    pods = (int(table.pod_count[row]), int(table.allowed_pods[row])) if too_many_pods else None
    return _shortage(amounts, pods)


@lru_cache(maxsize=512)
def _shortage(
    amounts: tuple[tuple[str, int, int, int], ...], pods: tuple[int, int] | None
) -> Detail:
    """The evidence, made once for nodes of equal figures.

    Each amount is (resource, requested, allocatable, used). *pods* are (placed, allowed), where no
    more are allowed.
    """
    texts: list[Sentence] = []
    numbers: dict[str, Any] = {}
    shorts: list[tuple[int, str]] = []
    for name, amount, allocatable, used in amounts:
        short = amount - (allocatable - used)
        numbers[name] = {
            "requested": amount,
            "used": used,
            "allocatable": allocatable,
            "short": short,
        }
        texts.append(
            say("{resource} {amount} short", resource=name, amount=format_amount(name, short))
        )
        shorts.append((short, name))
    if pods is not None:
        count, allowed = pods
        numbers["pods"] = {"requested": 1, "used": count, "allocatable": allowed}
        texts.append(say("{count} of {allowed} pods", count=count, allowed=allowed))
        # On an overfull node more than one pod must be removed.
        shorts.append((count + 1 - allowed, "pods"))
    short, unit = shorts[0]
    return Detail(text=enumerated(texts), short=short, unit=unit, numbers=numbers)
