"""In-tree plugins of v1.34 whose PreFilter or PreScore is disabled by the configuration.

At Filter or Score most plugins read what they wrote at those points. Without it they return an
error, which fails every attempt that reaches them. NodeAffinity, NodeVolumeLimits and VolumeZone at
Filter, and NodeAffinity and the two resource plugins at Score, compute it again. Upstream:
CycleState.Read() in getPreFilterState(), getPreScoreState() and getStateData() of each plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from engine.framework import names
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

# VolumeRestrictions examines disks first, and reports the error itself.
FILTER_ERRORS: Mapping[str, str] = {
    names.NODE_PORTS: 'reading "PreFilterNodePorts" from cycleState: not found',
    names.NODE_RESOURCES_FIT: (
        'error reading "PreFilterNodeResourcesFit" from cycleState: not found'
    ),
    names.VOLUME_BINDING: "not found",
    names.POD_TOPOLOGY_SPREAD: 'reading "PreFilterPodTopologySpread" from cycleState: not found',
    names.INTER_POD_AFFINITY: 'error reading "PreFilterInterPodAffinity" from cycleState: not found',
    names.DYNAMIC_RESOURCES: "not found",
}
FAILING_FILTERS = frozenset((*FILTER_ERRORS, names.VOLUME_RESTRICTIONS))
SCORE_ERRORS: Mapping[str, str] = {
    names.TAINT_TOLERATION: 'failed to read "PreScoreTaintToleration" from cycleState: not found',
    names.POD_TOPOLOGY_SPREAD: (
        'error reading "PreScorePodTopologySpread" from cycleState: not found'
    ),
    names.INTER_POD_AFFINITY: (
        'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    ),
}
RESERVE_ERRORS: Mapping[str, str] = {
    name: f'running Reserve plugin "{name}": not found'
    for name in (names.VOLUME_BINDING, names.DYNAMIC_RESOURCES)
}


class UnpreparedFilter:
    """Fails on every node."""

    is_local = False

    def __init__(self, name: str) -> None:
        self.name = name

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for every row."""
        return np.ones(len(rows), np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The error: what could not be read."""
        return Status(Code.ERROR, (FILTER_ERRORS[self.name],), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Says that PreFilter is disabled."""
        return Detail(text=f"{self.name} takes no part at PreFilter")


class UnpreparedScore(CheckedScore):
    """Fails as soon as there are two nodes to be scored."""

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Raises ScoringFailed."""
        error = SCORE_ERRORS[self.name]
        raise ScoringFailed(f'running Score plugins: plugin "{self.name}" failed with: {error}')


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


def unprepared_filter(name: str) -> FilterPlugin:
    """In-tree plugin *name*, one of FILTER_ERRORS, at Filter without its PreFilter."""
    return cast("FilterPlugin", UnpreparedFilter(name))


def unprepared_score(plugin: Plugin) -> ScorePlugin:
    """In-tree *plugin* at Score without its PreScore."""
    if plugin.name in SCORE_ERRORS:
        kind: type[CheckedScore | UnpreparedPlainScore] = UnpreparedScore
    elif isinstance(plugin, NormalizeScorePlugin):
        kind = UnpreparedNormalizedScore
    else:
        kind = UnpreparedPlainScore
    return cast("ScorePlugin", kind(plugin))
