"""What the predicates about a node's conditions have in common."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework.columns.row_plugins import RowFilter
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.framework import FITS, Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.kernel.sentences import enumerated
from engine.objects.objects import Node
from engine.plugins.check_node_condition.facts import explain_condition


class NodeCheck(Plugin):
    """A predicate that looks at the node object only; its code is the place of a reason."""

    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # Reasons for which evictions are tried although they cannot change the node.
        self._hopeful: tuple[str, ...] = tuple(arguments.get("hopeful_reasons") or ())

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """What is wrong with each node."""
        return np.array([self.code_at(state, row) for row in rows.tolist()], np.int64)

    def code_at(self, state: CycleState, row: int) -> int:
        """What is wrong with one node."""
        return self.check(self._table.node(row))

    def row_filter(self, state: CycleState) -> RowFilter:
        """Itself: every pod gets the same answer."""
        return self

    def fits(self, rows: IntArray) -> BoolArray:
        """See RowFilter."""
        checked = [self.fits_row(row) for row in rows.tolist()]
        return np.array(checked, np.bool_)

    def fits_row(self, row: int) -> bool:
        """See RowFilter."""
        return self.check(self._table.node(row)) == FITS

    def check(self, node: Node) -> int:
        """0, or a code."""
        raise NotImplementedError

    def reasons(self, code: int) -> tuple[str, ...]:
        """The reasons that *code* means."""
        raise NotImplementedError

    def explain(self, state: CycleState, code: int) -> Status:
        """No eviction changes a node; upstream tries them all the same for a few reasons."""
        reasons = self.reasons(code)
        hopeful = all(reason in self._hopeful for reason in reasons)
        verdict = Code.UNSCHEDULABLE if hopeful else Code.UNRESOLVABLE
        return Status(verdict, reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The reasons again."""
        return Detail(text=enumerated(self.reasons(code)))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_condition(case)
