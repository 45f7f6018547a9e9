"""In-tree plugins of v1.34 whose PreFilter or PreScore is disabled by the configuration.

At Filter or Score most plugins read what they wrote at those points. Without it they return an
error, which fails every attempt that reaches them. NodeAffinity, NodeVolumeLimits and VolumeZone at
Filter, and NodeAffinity and the two resource plugins at Score, compute it again. Upstream:
CycleState.Read() in getPreFilterState(), getPreScoreState() and getStateData() of each plugin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from engine.framework.framework import (
    Code,
    CycleState,
    Detail,
    FilterPlugin,
    NormalizeScorePlugin,
    Plugin,
    ScorePlugin,
    Status,
)
from engine.framework.nodes.arrays import IntArray
from engine.framework.scoring import CheckedScore, ScoringFailed
from engine.kernel.sentences import say


@dataclass(frozen=True, slots=True)
class Unprepared:
    """The errors of an in-tree plugin at later points without its PreFilter or PreScore.

    It manages without where the error is "". With `reports_itself` its own filter gives the error.
    """

    filter: str = ""
    score: str = ""
    reserve: str = ""
    post_filter: str = ""
    reports_itself: bool = False

    @property
    def fails_at_filter(self) -> bool:
        """Whether attempts fail at Filter without its PreFilter."""
        return bool(self.filter) or self.reports_itself


class UnpreparedFilter:
    """Fails on every node."""

    is_local = False

    def __init__(self, name: str, error: str) -> None:
        self.name = name
        self._error = error

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for every row."""
        return np.ones(len(rows), np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The error: what could not be read."""
        return Status(Code.ERROR, (self._error,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Says that PreFilter is disabled."""
        return Detail(text=say("{name} takes no part at PreFilter", name=self.name))


class UnpreparedScore(CheckedScore):
    """Fails as soon as there are two nodes to be scored."""

    def __init__(self, plugin: Plugin, error: str) -> None:
        super().__init__(plugin)
        self._error = error

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Raises ScoringFailed."""
        raise ScoringFailed(
            f'running Score plugins: plugin "{self.name}" failed with: {self._error}'
        )


class UnpreparedPlainScore:
    """A score that does not need its disabled PreScore; it runs for every pod."""

    def __init__(self, plugin: Plugin) -> None:
        self.name = plugin.name
        self.is_local = plugin.is_local
        self._plugin = plugin

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """As ScorePlugin."""
        return cast("ScorePlugin", self._plugin).score(state, rows)


class UnpreparedNormalizedScore(UnpreparedPlainScore):
    """The same with NormalizeScore."""

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """As NormalizeScorePlugin."""
        return cast("NormalizeScorePlugin", self._plugin).normalize(state, rows, scores)


def unprepared_filter(name: str, error: str) -> FilterPlugin:
    """In-tree plugin *name* at Filter without its PreFilter: it fails with *error*."""
    return cast("FilterPlugin", UnpreparedFilter(name, error))


def unprepared_score(plugin: Plugin, error: str) -> ScorePlugin:
    """In-tree *plugin* at Score without its PreScore; it manages without if *error* is ""."""
    if error:
        return cast("ScorePlugin", UnpreparedScore(plugin, error))
    kind = (
        UnpreparedNormalizedScore
        if isinstance(plugin, NormalizeScorePlugin)
        else UnpreparedPlainScore
    )
    return cast("ScorePlugin", kind(plugin))
