"""The choice of the host among the nodes with the highest total score.

Upstream: pkg/scheduler/schedule_one.go selectHost().
"""

from __future__ import annotations

import numpy as np

from engine.framework.columns.cells import Ties
from engine.framework.handle import Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.runtime import Scores
from engine.kernel.rng import Stream
from engine.scheduler.cycle.decision.trace_scores import HostChosen


class HostChoice:
    """Chooses one of the tied nodes: by name, by a draw from *ties*, or in turn (v1.11)."""

    def __init__(self, handle: Handle, ties: Stream | None, *, takes_turns: bool) -> None:
        self._handle = handle
        self._table = handle.table
        self._ties = ties
        # Without a draw the smallest name wins in every version.
        self._takes_turns = takes_turns and ties is not None

    @property
    def way(self) -> str:
        """How it chooses: by "name", in "turn" or at "random"."""
        if self._ties is None:
            return "name"
        return "turn" if self._takes_turns else "random"

    def choose(self, scores: Scores) -> tuple[int, IntArray]:
        """One of the rows with the highest total, and all of them."""
        # In the order of rows, so that the draw does not depend on where the search began.
        tied = np.sort(scores.rows[scores.total == scores.total.max()])
        if self._takes_turns:
            return self._next_in_turn(tied, len(scores.rows)), tied
        return self._pick(tied), tied

    def step_of(self, row: int, tied: IntArray, scores: Scores) -> HostChosen:
        """The choice of *row* among the *tied*, as a step has it."""
        rows: list[int] = tied.tolist()
        names, drawn = self._table.names(rows), rows.index(row)
        return HostChosen(
            self._table.name(row), int(scores.total.max()), self.way, tuple(names), drawn
        )

    def choose_tied(self, tied: IntArray | Ties, feasible: int) -> int:
        """One of the *tied* rows of the fast path, which found so many *feasible* nodes."""
        if self._takes_turns:
            return self._next_in_turn(np.array(tied.tolist(), np.int64), feasible)
        return tied.pick(self._ties) if isinstance(tied, Ties) else self._pick(tied)

    def _pick(self, tied: IntArray) -> int:
        if len(tied) == 1:
            return int(tied[0])
        if self._ties is None:
            return int(tied[np.argmin(self._table.name_rank[tied])])
        return int(tied[self._ties.below(len(tied))])

    def _next_in_turn(self, tied: IntArray, feasible: int) -> int:
        """The *tied* rows by name, descending, one after the other. Upstream: v1.11 selectHost()."""
        if feasible == 1:
            # It is taken without a choice, and the turn does not move on.
            return int(tied[0])
        turn = self._handle.hosts_chosen % len(tied)
        self._handle.hosts_chosen += 1
        return int(tied[np.argsort(-self._table.name_rank[tied])[turn]])
