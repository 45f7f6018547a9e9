"""The answers of every plugin in one attempt, as a position in a ledger; computed when read.

`KeptVerdicts` makes them. The first refusal of each node, the normalised and weighted scores and
the totals follow from columns of codes and raw scores, in the very form in which `Framework` would
have given them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.framework.columns.ledger import Ledger
from engine.framework.framework import FITS, CycleState, NormalizeScorePlugin, Status
from engine.framework.nodes.arrays import IntArray
from engine.framework.runtime import Framework, PluginScore, Scores, Verdicts

# (1 + place of the filter in the profile, number of its column).
FilterColumns = tuple[tuple[int, int], ...]
# (1 + place of the filter in the profile, code, what that means).
Statuses = tuple[tuple[int, int, Status], ...]


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """The columns of one plugin's scores; without `normalized` they are normalised when read."""

    name: str
    weight: int
    raw: int
    normalized: int | None = None
    normalizer: NormalizeScorePlugin | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """What the explanations of one template share.

    Local plugins need one `state` for all pods of the template.
    """

    framework: Framework
    state: CycleState


@dataclass(slots=True)
class Explanation:
    """The answers of every plugin in one attempt; it stays readable however the cluster changes.

    `status` is that of PreFilter. `rows` are the evaluated nodes in order, `names` the names of all
    rows at that time. It takes a few hundred bytes besides its share of the ledger.
    """

    status: Status
    rows: IntArray
    names: list[str]
    # Both None if PreFilter rejected the pod.
    basis: Basis | None = None
    ledger: Ledger | None = None
    position: int = 0
    filters: FilterColumns = ()
    # None if nothing was scored.
    score_columns: tuple[ScoreColumns, ...] | None = None
    # Refusals that are not those of local filters: their columns, and what they mean.
    others: tuple[int, int] | None = None
    statuses: Statuses = ()

    def verdicts(self) -> Verdicts:
        """For each row the first filter that refused it, and its code."""
        plugin, code = self.local_refusals()
        if self.others is not None:
            places, codes = (self._read(number, self.rows) for number in self.others)
            refused = places != FITS
            np.copyto(plugin, places, where=refused)
            np.copyto(code, codes, where=refused)
        return Verdicts(self.rows, plugin, code)

    def local_refusals(self) -> tuple[IntArray, IntArray]:
        """The first refusals by filters that look at one node only: plugins and codes."""
        plugin, code = np.zeros(len(self.rows), np.int64), np.zeros(len(self.rows), np.int64)
        for place, number in reversed(self.filters):
            column = self._column(number)
            if column is not None:
                codes = column.take(self.rows)
                refused = codes != FITS
                np.copyto(plugin, place, where=refused)
                np.copyto(code, codes, where=refused)
        return plugin, code

    def codes(self) -> dict[str, IntArray]:
        """The codes of each local filter for each row, also after the first refusal."""
        if self.basis is None:
            return {}
        plugins = self.basis.framework.plugins.filter
        return {
            plugins[place - 1].name: self._read(number, self.rows) for place, number in self.filters
        }

    def feasible(self) -> IntArray:
        """The rows that fit."""
        return self.rows[self.verdicts().fits]

    def scores(self) -> Scores | None:
        """Each plugin's scores of the rows that fit, or None if nothing was scored."""
        if self.score_columns is None:
            return None
        rows = self.feasible()
        plugins = [self._scores_of(one, rows) for one in self.score_columns]
        total = np.zeros(len(rows), np.int64)
        for one in plugins:
            total += one.weighted
        return Scores(rows, plugins, total)

    def _scores_of(self, one: ScoreColumns, rows: IntArray) -> PluginScore:
        raw = normalized = self._read(one.raw, rows)
        if one.normalized is not None:
            normalized = self._read(one.normalized, rows)
        elif one.normalizer is not None:
            assert self.basis is not None, "no node was evaluated"
            normalized = one.normalizer.normalize(self.basis.state, rows, raw)
        return PluginScore(one.name, one.weight, raw, normalized)

    def refused(self) -> dict[str, Status]:
        """The status of every node that was refused, by its name."""
        verdicts = self.verdicts()
        known = {
            (plugin, code): self.status_of(plugin, code) for plugin, code, _ in verdicts.kinds()
        }
        return {
            self.names[row]: known[plugin, code] for row, plugin, code in verdicts.each() if plugin
        }

    def status_of(self, plugin: int, code: int) -> Status:
        """The status behind one verdict."""
        for place, number, status in self.statuses:
            if (place, number) == (plugin, code):
                return status
        assert self.basis is not None, "no node was evaluated"
        return self.basis.framework.explain(self.basis.state, plugin, code)

    def _column(self, number: int) -> IntArray | None:
        assert self.ledger is not None, "no node was evaluated"
        return self.ledger.at(number, self.position)

    def _read(self, number: int, rows: IntArray) -> IntArray:
        column = self._column(number)
        return np.zeros(len(rows), np.int64) if column is None else column.take(rows)


class LazyVerdicts(Verdicts):
    """Verdicts that are computed when they are read."""

    __slots__ = ("explanation",)

    def __init__(self, explanation: Explanation) -> None:
        self.rows = explanation.rows
        self.counted = None
        self.explanation = explanation

    def __getattr__(self, name: str) -> Any:
        if name not in ("plugin", "code"):
            raise AttributeError(name)
        read = self.explanation.verdicts()
        self.plugin, self.code = read.plugin, read.code
        return getattr(self, name)


class LazyScores(Scores):
    """Scores that are computed when they are read."""

    __slots__ = ("explanation",)

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    def __getattr__(self, name: str) -> Any:
        if name not in ("rows", "plugins", "total"):
            raise AttributeError(name)
        read = self.explanation.scores()
        assert read is not None, "nothing was scored"
        self.rows, self.plugins, self.total = read.rows, read.plugins, read.total
        return getattr(self, name)
