"""How many nodes a search evaluates. Upstream: schedule_one.go findNodesThatPassFilters()."""

from __future__ import annotations

import numpy as np

from engine.framework.runtime import Verdicts

_MIN_FEASIBLE = 100
_MIN_PERCENTAGE = 5


def nodes_to_find(node_count: int, percentage: int) -> int:
    """After how many feasible nodes the search stops. Upstream: numFeasibleNodesToFind()."""
    if node_count < _MIN_FEASIBLE or percentage >= 100:
        return node_count
    if percentage <= 0:
        percentage = max(50 - node_count // 125, _MIN_PERCENTAGE)
    return max(node_count * percentage // 100, _MIN_FEASIBLE)


def stop_after(verdicts: Verdicts, wanted: int) -> None:
    """Drop the verdicts after the first *wanted* feasible nodes, as if the search stopped there."""
    found = np.flatnonzero(verdicts.fits) if verdicts.counted is None else ()
    if len(found) > wanted:
        # Upstream stops at the next feasible node, which it does not count as evaluated.
        end = int(found[wanted])
        verdicts.rows = verdicts.rows[:end]
        verdicts.plugin = verdicts.plugin[:end]
        verdicts.code = verdicts.code[:end]
