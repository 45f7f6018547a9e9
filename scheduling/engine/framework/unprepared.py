"""In-tree plugins of v1.34 whose PreFilter or PreScore a configuration switches off.

Most read at Filter or Score what they would have written there, and find nothing: that is an error,
which fails every attempt that comes so far. NodeAffinity, NodeVolumeLimits and VolumeZone at
Filter, NodeAffinity and the two resource plugins at Score find it out anew. Upstream:
CycleState.Read() in getPreFilterState(), getPreScoreState() and getStateData() of each plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from scheduling.engine import names
from scheduling.engine.framework.framework import (
    Code,
    CycleState,
    Detail,
    FilterPlugin,
    NormalizeScorePlugin,
    Plugin,
    ScorePlugin,
    Status,
)
from scheduling.engine.framework.scoring import CheckedScore, ScoringFailed
from scheduling.engine.nodes.arrays import IntArray

# VolumeRestrictions looks at disks first, so it says so itself.
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
    """Fails on every node that it is asked about."""

    is_local = False

    def __init__(self, name: str) -> None:
        self.name = name

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 everywhere."""
        return np.ones(len(rows), np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """What could not be read."""
        return Status(Code.ERROR, (FILTER_ERRORS[self.name],), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Its preparation is switched off."""
        return Detail(text=f"{self.name} takes no part at PreFilter")


class UnpreparedScore(CheckedScore):
    """Fails as soon as there are two nodes to be scored."""

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """Raises ScoringFailed."""
        error = SCORE_ERRORS[self.name]
        raise ScoringFailed(f'running Score plugins: plugin "{self.name}" failed with: {error}')


class UnpreparedPlainScore:
    """A score that needs no PreScore, without it: it is not left out for any pod."""

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
    """What in-tree plugin *name*, one of FILTER_ERRORS, does at Filter without its PreFilter."""
    return cast("FilterPlugin", UnpreparedFilter(name))


def unprepared_score(plugin: Plugin) -> ScorePlugin:
    """What in-tree *plugin* does at Score without its PreScore."""
    if plugin.name in SCORE_ERRORS:
        kind: type[CheckedScore | UnpreparedPlainScore] = UnpreparedScore
    elif isinstance(plugin, NormalizeScorePlugin):
        kind = UnpreparedNormalizedScore
    else:
        kind = UnpreparedPlainScore
    return cast("ScorePlugin", kind(plugin))
