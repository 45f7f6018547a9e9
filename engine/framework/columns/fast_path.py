"""Finds the best rows for a pod from what is kept per template; only changes cost anything.

The answers of plugins that look at one node only are kept (see `kept_totals`). Filters and scores
that depend on other nodes (spreading, pod affinity) are asked about one row of each cell (see
`cells`), or, if that is not possible, about all rows that are left. The decisions are those of the
full path; tests compare both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from engine.framework.columns.cells import Cell, Ties, Trait
from engine.framework.columns.kept_totals import KeptTotals, TemplateTotals
from engine.framework.columns.row_plugins import (
    JudgesRow,
    MaySkip,
    RanksCells,
    ScoresCells,
    TellsApart,
)
from engine.framework.framework import (
    FITS,
    Code,
    CycleState,
    FilterPlugin,
    NormalizeScorePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.runtime import Framework

# Up to this many rows are filtered one by one.
_FEW_ROWS = 16


@dataclass(slots=True)
class GlobalPlugin:
    """A plugin that looks at more than one node, by the extension points that it implements."""

    name: str
    needs_volumes: bool
    filter: FilterPlugin | None
    pre_filter: PreFilterPlugin | None
    score: ScorePlugin | None
    weight: int
    pre_score: PreScorePlugin | None
    normalize: NormalizeScorePlugin | None
    may_skip: MaySkip | None
    tells_apart: TellsApart | None
    # Some of these are set if `tells_apart` is.
    judges_row: JudgesRow | None
    scores_cells: ScoresCells | None
    ranks_cells: RanksCells | None

    def fitting(self, state: CycleState, rows: list[int]) -> list[int]:
        """The places in *rows* of those that its filter accepts. Call it after `look`."""
        judge = self.judges_row
        if judge is not None and len(rows) <= _FEW_ROWS:
            return [place for place, row in enumerate(rows) if judge.fits_row(state, row)]
        assert self.filter is not None
        codes: list[int] = self.filter.filter(state, np.array(rows, np.int64)).tolist()
        return [place for place, code in enumerate(codes) if code == FITS]

    def scores(self, state: CycleState, rows: list[int], cell_sizes: list[int]) -> list[int] | None:
        """The normalised scores of *rows*, one row per cell; None if they are all equal."""
        if self.ranks_cells is not None:
            return self.ranks_cells.rank_cells(state, rows, cell_sizes)
        assert self.scores_cells is not None
        looked_at, counts = np.array(rows, np.int64), np.array(cell_sizes, np.int64)
        if not self.scores_cells.pre_score_cells(state, looked_at, counts):
            return None
        return self.normalized(state, looked_at).tolist()

    def normalized(self, state: CycleState, rows: IntArray) -> IntArray:
        """Score and NormalizeScore of *rows*."""
        assert self.score is not None
        scores = self.score.score(state, rows)
        return scores if self.normalize is None else self.normalize.normalize(state, rows, scores)


# The rows with the highest total, how many fitted, how many were looked at.
FastChoice = tuple[IntArray | Ties, int, int]


@dataclass(frozen=True, slots=True)
class Sample:
    """Which rows a search evaluates: *order* from *start* on, until *wanted* rows fit."""

    order: IntArray
    start: int
    wanted: int


class FastPath:
    """Finds the best rows for a pod, without the reasons why others are worse.

    With *by_name* the smallest name among the best wins; otherwise the caller draws one.
    """

    def __init__(self, framework: Framework, table: NodeTable, *, by_name: bool) -> None:
        self._framework = framework
        self._table = table
        self._kept = KeptTotals(framework, table, by_name)
        # The order of the last sample, and the same twice in a row: a sample may begin anywhere.
        self._order: IntArray | None = None
        self._twice: IntArray = np.zeros(0, np.int64)
        self._globals = _global_plugins(framework)
        self._names = frozenset(one.name for one in self._globals)
        self._without_volumes = [one for one in self._globals if not one.needs_volumes]

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept: its columns are views of the table's."""
        kept = KeptTotals(self._framework, self._table, self._kept.by_name)
        return {**self.__dict__, "_kept": kept, "_order": None, "_twice": self._twice[:0]}

    def choose(
        self, state: CycleState, order: IntArray, start: int, wanted: int
    ) -> FastChoice | None:
        """The best rows; None if every node must be evaluated in full.

        The search goes through *order* from *start* on, around its end, until *wanted* rows fit.
        """
        concerned = self._concerned(state)
        if state.template.named_nodes is not None:
            return None
        kept = self._kept.of(state)
        is_plain = not (concerned or kept.varying)
        by_class = kept.by_class if is_plain else None
        if by_class is None:
            self._kept.catch_up(kept)
            feasible = kept.feasible
        else:
            by_class.catch_up()
            feasible = by_class.feasible
        if feasible == 0:
            return None
        sees_all = feasible <= wanted and len(order) == len(self._table.rows)
        if sees_all and is_plain:
            best = (by_class or self._kept.plain(kept)).best()
            return best, feasible, len(order)
        if sees_all:
            choice = self._choose_by_cells(state, kept, concerned)
            if choice is not None:
                return choice
        totals = kept.masked if by_class is None else by_class.column
        if is_plain and wanted < len(order):
            all_fit = feasible == len(self._table)
            sampled = self._sample(totals, order, start, wanted, all_fit=all_fit)
            if sampled is not None:
                return sampled
        return self._choose_by_rows(state, kept, totals, concerned, Sample(order, start, wanted))

    def _concerned(self, state: CycleState) -> list[GlobalPlugin]:
        """The global plugins that may affect this pod."""
        asked = self._globals if state.pod.pod.volumes else self._without_volumes
        return [one for one in asked if one.may_skip is None or one.may_skip.concerns(state)]

    def _skip_others(self, state: CycleState, concerned: list[GlobalPlugin]) -> None:
        """Mark the other global plugins as skipped, as PreFilter does."""
        state.skip_filter.clear()
        state.skip_filter.update(self._names)
        for one in concerned:
            state.skip_filter.discard(one.name)

    # -- one row per cell ------------------------------------------------------------------------

    def _choose_by_cells(
        self, state: CycleState, kept: TemplateTotals, concerned: list[GlobalPlugin]
    ) -> FastChoice | None:
        """Evaluate one row of each cell for all its rows."""
        self._skip_others(state, concerned)
        traits = self._traits(state, kept, concerned)
        cells = None if traits is None else self._kept.cells(kept, traits)
        if cells is None:
            return None
        representatives, rows = cells.representatives()
        for one in concerned:
            if one.filter is None or one.name in state.skip_filter:
                continue
            places = one.fitting(state, rows)
            if len(places) < len(rows):
                representatives = [representatives[place] for place in places]
                rows = [rows[place] for place in places]
                if not rows:
                    return None
        if not rows:
            return None
        total = self._rank_cells(state, kept, concerned, representatives, rows)
        highest = max(total)
        best = [cell for cell, one in zip(representatives, total, strict=True) if one == highest]
        feasible = sum([cell.count for cell in representatives])
        return cells.ties(best), feasible, len(self._table)

    def _traits(
        self, state: CycleState, kept: TemplateTotals, concerned: list[GlobalPlugin]
    ) -> list[Trait] | None:
        """All traits that distinguish rows; None if a plugin cannot name its traits."""
        traits: list[Trait] = []
        for varying in kept.varying:
            if varying.trait is None:
                return None
            traits.append(varying.trait)
        for one in concerned:
            found = None if one.tells_apart is None else one.tells_apart.look(state)
            if found is None:
                return None
            traits.extend(found)
        return traits

    def _rank_cells(
        self,
        state: CycleState,
        kept: TemplateTotals,
        concerned: list[GlobalPlugin],
        representatives: list[Cell],
        rows: list[int],
    ) -> list[int]:
        """The total of each row, without scores that are equal for all."""
        total = [cell.best for cell in representatives]
        if len(representatives) == 1:
            return total
        if kept.varying:
            looked_at = np.array(rows, np.int64)
            for one in kept.varying:
                scores = one.plugin.normalize(state, looked_at, one.raw[looked_at])
                _add(total, scores.tolist(), one.weight)
        cell_sizes = [cell.count for cell in representatives]
        for one in concerned:
            if one.score is not None:
                scores = one.scores(state, rows, cell_sizes)
                if scores is not None:
                    _add(total, scores, one.weight)
        return total

    # -- row by row ------------------------------------------------------------------------------

    def _choose_by_rows(
        self,
        state: CycleState,
        kept: TemplateTotals,
        totals: IntArray,
        concerned: list[GlobalPlugin],
        sample: Sample,
    ) -> FastChoice | None:
        filters: list[FilterPlugin] = []
        self._skip_others(state, concerned)
        for one in concerned:
            if one.pre_filter is not None:
                found = one.pre_filter.pre_filter(state)
                if found.status.code is Code.SKIP:
                    state.skip_filter.add(one.name)
                elif not found.status.is_success or found.node_names is not None:
                    return None
            if one.filter is not None and one.name not in state.skip_filter:
                filters.append(one.filter)
        feasible, evaluated = self._search(state, totals, filters, sample)
        if len(feasible) == 0:
            return None
        total = totals[feasible]
        if concerned or kept.varying:
            total = self._add_rest(state, kept, concerned, feasible, total)
        tied = feasible[total == total.max()]
        count = len(sample.order)
        if sample.wanted < count or count < len(self._table):
            tied.sort()
        return tied, len(feasible), evaluated

    def _sample(
        self, totals: IntArray, order: IntArray, start: int, wanted: int, *, all_fit: bool
    ) -> FastChoice | None:
        """The best of the first *wanted* feasible rows, if all evaluated rows are; else None.

        Upstream stops at the next feasible node, which it does not count as evaluated.
        """
        if self._order is not order:
            self._order, self._twice = order, np.concatenate((order, order))
        start %= len(order)
        rows = self._twice[start : start + wanted + 1]
        found = totals.take(rows)
        if not all_fit and np.minimum.reduce(found) < 0:
            return None
        found = found[:-1]
        tied = rows[:-1][found == np.maximum.reduce(found)]
        tied.sort()
        return tied, wanted, wanted

    def _search(
        self,
        state: CycleState,
        totals: IntArray,
        filters: list[FilterPlugin],
        sample: Sample,
    ) -> tuple[IntArray, int]:
        """The feasible rows of *sample*, and how many rows were evaluated."""
        order, start, wanted = sample.order, sample.start, sample.wanted
        count = len(order)
        if wanted >= count:
            if count == len(self._table):
                rows = np.flatnonzero(totals >= 0)
            else:
                rows = order[totals.take(order) >= 0]
            return self._narrow(state, filters, rows), count
        # Upstream stops at the next feasible node, which it does not count as evaluated.
        found: list[IntArray] = []
        missing, seen = wanted + 1, 0
        while missing and seen < count:
            step = min(max(missing, 64), count - seen)
            places = np.arange(start + seen, start + seen + step) % count
            looked_at = order[places]
            rows = self._passing(state, totals, filters, looked_at)
            if len(rows) >= missing:
                seen += int(np.flatnonzero(looked_at == rows[missing - 1])[0])
                rows, missing = rows[: missing - 1], 0
            else:
                missing -= len(rows)
                seen += step
            found.append(rows)
        return np.concatenate(found), seen

    def _passing(
        self, state: CycleState, totals: IntArray, filters: list[FilterPlugin], rows: IntArray
    ) -> IntArray:
        return self._narrow(state, filters, rows[totals.take(rows) >= 0])

    def _narrow(self, state: CycleState, filters: list[FilterPlugin], rows: IntArray) -> IntArray:
        for plugin in filters:
            if len(rows) == 0:
                break
            fits = plugin.filter(state, rows) == FITS
            if not fits.all():
                rows = rows[fits]
        return rows

    def _add_rest(
        self,
        state: CycleState,
        kept: TemplateTotals,
        concerned: list[GlobalPlugin],
        rows: IntArray,
        total: IntArray,
    ) -> IntArray:
        """Add the scores that are normalised over the feasible rows."""
        for varying in kept.varying:
            scores = varying.plugin.normalize(state, rows, varying.raw[rows])
            total = total + scores * varying.weight
        for one in concerned:
            if one.pre_score is not None and one.pre_score.pre_score(state, rows).code is Code.SKIP:
                continue
            if one.score is not None:
                total = total + one.normalized(state, rows) * one.weight
        return total


def _add(total: list[int], scores: Sequence[int], weight: int) -> None:
    for place, score in enumerate(scores):
        total[place] += score * weight


def _global_plugins(framework: Framework) -> list[GlobalPlugin]:
    """The plugins that are not local, in the profile's order of filters, then of scores."""
    plugins = framework.plugins
    pre_filters = {
        plugin.name: plugin
        for plugin in plugins.pre_filter
        if plugin.name not in framework.local_names
    }
    filters = {plugin.name: plugin for plugin in plugins.filter if not plugin.is_local}
    scores = {plugin.name: (plugin, weight) for plugin, weight in plugins.score}
    scores = {name: one for name, one in scores.items() if not one[0].is_local}
    return [
        _global_plugin(framework, name, pre_filters.get(name), filters.get(name), scores.get(name))
        for name in dict.fromkeys((*pre_filters, *filters, *scores))
    ]


def _global_plugin(
    framework: Framework,
    name: str,
    pre_filter: PreFilterPlugin | None,
    filter_plugin: FilterPlugin | None,
    scored: tuple[ScorePlugin, int] | None,
) -> GlobalPlugin:
    score, weight = (None, 0) if scored is None else scored
    itself = framework.plugins.by_name.get(name)
    tells_apart: TellsApart | None = None
    # The score of a custom plugin is wrapped in a check, which must not be bypassed.
    if isinstance(itself, TellsApart) and (
        score is None
        or (cast("object", score) is itself and isinstance(itself, (ScoresCells, RanksCells)))
    ):
        tells_apart = itself
    return GlobalPlugin(
        name=name,
        needs_volumes=name in framework.volume_names,
        filter=filter_plugin,
        pre_filter=pre_filter,
        score=score,
        weight=weight,
        pre_score=score if isinstance(score, PreScorePlugin) else None,
        normalize=score if isinstance(score, NormalizeScorePlugin) else None,
        may_skip=itself if isinstance(itself, MaySkip) else None,
        tells_apart=tells_apart,
        judges_row=tells_apart if isinstance(tells_apart, JudgesRow) else None,
        scores_cells=tells_apart if isinstance(tells_apart, ScoresCells) else None,
        ranks_cells=tells_apart if isinstance(tells_apart, RanksCells) else None,
    )
