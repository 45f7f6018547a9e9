"""How the objects of each kind are printed: columns, cells, and the conditions of a row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kube.tables import pods
from kube.tables.autoscalers import AUTOSCALERS
from kube.tables.cluster import CLUSTER
from kube.tables.columns import (
    AGE,
    NAME,
    UNREADABLE,
    Cell,
    Column,
    Columns,
    Heading,
    Object,
    metadata_of,
)
from kube.tables.durations import UNKNOWN
from kube.tables.events import EVENTS
from kube.tables.network import NETWORK
from kube.tables.storage import STORAGE
from kube.tables.webhooks import WEBHOOKS
from kube.tables.workloads import WORKLOADS


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind, and the cells of an object in them.

    *_cells* finds the cells of an object, *_conditions* what is true of its row as a whole.
    """

    headings: tuple[Heading, ...]
    _cells: Callable[[Object, int], list[Cell]]
    _conditions: Callable[[Object], list[dict[str, Any]]] | None = None

    def cells(self, one: Object, now: int) -> list[Cell]:
        """The cells of an object when clocks show *now*, one for each column."""
        return self._cells(one, now)

    def conditions(self, one: Object) -> list[dict[str, Any]]:
        """What is true of the row as a whole."""
        return self._conditions(one) if self._conditions is not None else []


class _EachByItself:
    """Finds the cells of an object column by column."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __call__(self, one: Object, now: int) -> list[Cell]:
        return [_cell(column, one, now) for column in self._columns]


def _cell(column: Column, one: Object, now: int) -> Cell:
    try:
        return column.get(one, now)
    except UNREADABLE:
        return UNKNOWN


def _printer(columns: Columns) -> Printer:
    return Printer(columns, _EachByItself(columns))


_CREATED = Column(
    "Created At",
    "date",
    get=lambda one, now: str(metadata_of(one).get("creationTimestamp") or ""),
)
# Upstream: rest.NewDefaultTableConvertor(), of kinds without columns of their own.
_USUAL = _printer((NAME, _CREATED))
# Not in upstream's table of printers, and shown like the kinds beside them.
_WITH_AGE = _printer((NAME, AGE))

_COLUMNS = {**AUTOSCALERS, **CLUSTER, **NETWORK, **STORAGE, **WEBHOOKS, **WORKLOADS}
_PRINTERS: dict[str, Printer] = {
    "Event": _printer(EVENTS),
    "Pod": Printer(pods.HEADINGS, pods.cells, pods.conditions),
    "PodGroup": _WITH_AGE,
    "Workload": _WITH_AGE,
    **{kind: _printer(columns) for kind, columns in _COLUMNS.items()},
}


def printer_of(kind: str) -> Printer:
    """How objects of *kind* are printed."""
    return _PRINTERS.get(kind, _USUAL)
