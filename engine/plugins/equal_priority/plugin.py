"""The same score for all nodes. Upstream: core/generic_scheduler.go EqualPriorityMap() (v1.16)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.plugins.classic import Priority


class EqualPriority(Priority):
    """Makes no difference."""

    name: ClassVar[str] = names.EQUAL_PRIORITY
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for every node."""
        return np.ones(len(rows), np.int64)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        return Terms.sum_of((Term(say("the same for all nodes"), raw),))
