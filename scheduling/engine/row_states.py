"""Which rows are in the same state: as much allocatable, as much requested, as many pods.

Filters and scores that go by these sums alone (room, and how it is used) say the same of all rows
in one state, so what a template makes of a state is worked out once. Clusters have few kinds of
nodes and few kinds of pods: most states have been seen before.
"""

from __future__ import annotations

from scheduling.engine.node_table import NodeTable

_MOST_STATES = 16_384
_FEW_ROWS = 64
_UNKNOWN = -1


class RowStates:
    """A number for the state of each row, kept in step by the table's log.

    It holds the table's arrays themselves: make it anew when they are replaced, do not pickle it.
    `epoch` grows when the numbers begin again.
    """

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._position = table.log_end
        self._known: dict[tuple[int, ...], int] = {}
        self.epoch = 0
        # By row; -1 where it has to be looked up.
        self.numbers: list[int] = [_UNKNOWN] * table.capacity
        self._columns = [
            column.data
            for column in (
                table.pod_count,
                table.allowed_pods,
                *table.allocatable,
                *table.requested,
                *table.scored,
            )
        ]

    def catch_up(self) -> None:
        """Look up rows that have changed, or where they are many, forget them."""
        table = self._table
        changed = table.changed_since(self._position)
        self._position = table.log_end
        if changed is None or len(self._known) > _MOST_STATES:
            self._begin_again()
        elif len(changed) <= _FEW_ROWS:
            for row in changed:
                self.number(row)
        else:
            for row in changed:
                self.numbers[row] = _UNKNOWN

    def number(self, row: int) -> int:
        """The number of the state that *row* is in."""
        known = self._known
        number = known.setdefault(tuple([column[row] for column in self._columns]), len(known))
        self.numbers[row] = number
        return number

    def _begin_again(self) -> None:
        self._known.clear()
        self.numbers = [_UNKNOWN] * self._table.capacity
        self.epoch += 1
