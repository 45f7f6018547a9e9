"""Protocols for plugins that can answer faster than in columns with reasons; all are optional.

A local plugin may answer yes or no, or with a score, for one template at a time. A global one may
state that it does not affect a pod, or by which traits it distinguishes rows, so that one row per
cell is evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from engine.framework.asked_once import AskedOnce
from engine.framework.columns.cells import Trait
from engine.framework.framework import FITS, CycleState, FilterPlugin, ScorePlugin
from engine.framework.nodes.arrays import BoolArray, IntArray


class RowFilter(Protocol):
    """A local filter for one template, without reasons, also for a single row in plain ints."""

    def fits(self, rows: IntArray, /) -> BoolArray:
        """Which of *rows* can take the pod."""
        ...

    def fits_row(self, row: int, /) -> bool:
        """Whether the node at *row* can take the pod."""
        ...


class RowScore(Protocol):
    """A local score for one template, also for a single row in plain ints."""

    def score(self, rows: IntArray, /) -> IntArray:
        """A raw score per row."""
        ...

    def score_row(self, row: int, /) -> int:
        """The raw score of *row*."""
        ...


@runtime_checkable
class GoesBySums(Protocol, metaclass=AskedOnce):
    """A RowFilter or RowScore that depends only on the columns that `RowClasses` reads."""

    goes_by_sums: ClassVar[bool]


@runtime_checkable
class MakesRowFilter(Protocol, metaclass=AskedOnce):
    """A filter plugin that answers faster if no reason is needed."""

    def row_filter(self, state: CycleState) -> RowFilter | None:
        """`filter` for the state's template; valid until the table's arrays are replaced."""
        ...


@runtime_checkable
class MakesRowScore(Protocol, metaclass=AskedOnce):
    """A score plugin that answers faster for one template at a time."""

    def row_score(self, state: CycleState) -> RowScore | None:
        """`score` for the state's template; valid until the table's arrays are replaced."""
        ...


@runtime_checkable
class MaySkip(Protocol, metaclass=AskedOnce):
    """A global plugin that can cheaply determine that it does not affect a pod.

    With `skips_score` it does not score the nodes of such a pod either; otherwise all get nothing.
    """

    skips_score: ClassVar[bool]

    def concerns(self, state: CycleState) -> bool:
        """Whether any node might be refused, or get another score than the rest."""
        ...


@runtime_checkable
class TellsApart(Protocol, metaclass=AskedOnce):
    """A global plugin that can name the traits by which it distinguishes rows; see `cells`.

    Rows with the same traits get the same verdict and the same raw score, and its NormalizeScore
    depends only on the lowest and the highest score.
    """

    def look(self, state: CycleState) -> list[Trait] | None:
        """Prepare `filter` for this cycle, and name the traits; None if it cannot.

        As at PreFilter the plugin puts itself into `skip_filter` when it refuses no node.
        """
        ...


@runtime_checkable
class ScoresCells(Protocol, metaclass=AskedOnce):
    """A plugin that names its traits, and scores one row of each cell."""

    def pre_score_cells(self, state: CycleState, rows: IntArray, cell_sizes: IntArray) -> bool:
        """PreScore for one row per cell, with the sizes of the cells; False to skip."""
        ...


@runtime_checkable
class RanksCells(Protocol, metaclass=AskedOnce):
    """The same in plain ints, for few cells."""

    def rank_cells(
        self, state: CycleState, rows: Sequence[int], cell_sizes: Sequence[int]
    ) -> list[int] | None:
        """PreScore, Score and NormalizeScore in one; None to skip.

        *rows* has one row per cell, *cell_sizes* the number of feasible rows of each cell.
        """
        ...


@runtime_checkable
class JudgesRow(Protocol, metaclass=AskedOnce):
    """A plugin that names its traits, and can filter a single row in plain ints."""

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether `filter` accepts *row*, after `look`."""
        ...


@dataclass(slots=True)
class ColumnFilter:
    """Any local filter as a RowFilter."""

    plugin: FilterPlugin
    state: CycleState

    def fits(self, rows: IntArray) -> BoolArray:
        """See RowFilter."""
        return self.plugin.filter(self.state, rows) == FITS

    def fits_row(self, row: int) -> bool:
        """See RowFilter."""
        return bool(self.fits(np.array([row], np.int64))[0])


@dataclass(slots=True)
class ColumnScore:
    """Any local score as a RowScore."""

    plugin: ScorePlugin
    state: CycleState

    def score(self, rows: IntArray) -> IntArray:
        """See RowScore."""
        return self.plugin.score(self.state, rows)

    def score_row(self, row: int) -> int:
        """See RowScore."""
        return int(self.score(np.array([row], np.int64))[0])
