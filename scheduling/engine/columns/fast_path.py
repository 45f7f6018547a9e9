"""Finds the best rows for a pod by what is kept per template, at the cost of what changed since.

What plugins say of one node only is kept (see `kept_totals`). Filters and scores that depend on
other nodes (spreading, pod affinity) are asked about one row of each cell (see `cells`); where that
will not do, about all rows that are left, every time. The answers are those of the full path; tests
hold the two against each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from scheduling.engine.columns.cells import Cell, Ties, Trait
from scheduling.engine.columns.kept_totals import Kept, KeptTotals
from scheduling.engine.columns.row_plugins import (
    JudgesRow,
    MaySkip,
    RanksSpeakers,
    ScoresSpeakers,
    TellsApart,
)
from scheduling.engine.framework.framework import (
    FITS,
    Code,
    CycleState,
    FilterPlugin,
    NormalizeScorePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduling.engine.framework.runtime import Framework
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.nodes.node_table import NodeTable

# Up to so many rows are judged one by one.
_FEW_ROWS = 16


@dataclass(slots=True)
class GlobalPlugin:
    """A plugin that depends on more than its node, by the extension points it takes part in."""

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
    # Some of these where it tells rows apart.
    judges_row: JudgesRow | None
    scores_speakers: ScoresSpeakers | None
    ranks_speakers: RanksSpeakers | None

    def fitting(self, state: CycleState, rows: list[int]) -> list[int]:
        """The places in *rows* of those that its filter accepts, after `look`."""
        judge = self.judges_row
        if judge is not None and len(rows) <= _FEW_ROWS:
            return [place for place, row in enumerate(rows) if judge.fits_row(state, row)]
        assert self.filter is not None
        codes: list[int] = self.filter.filter(state, np.array(rows, np.int64)).tolist()
        return [place for place, code in enumerate(codes) if code == FITS]

    def scores(self, state: CycleState, rows: list[int], speak_for: list[int]) -> list[int] | None:
        """The normalised scores of *rows*, that stand for so many; None when they do not differ."""
        if self.ranks_speakers is not None:
            return self.ranks_speakers.rank_speakers(state, rows, speak_for)
        assert self.scores_speakers is not None
        looked_at, counts = np.array(rows, np.int64), np.array(speak_for, np.int64)
        if not self.scores_speakers.pre_score_speakers(state, looked_at, counts):
            return None
        return self.normalized(state, looked_at).tolist()

    def normalized(self, state: CycleState, rows: IntArray) -> IntArray:
        """Score and NormalizeScore of *rows*."""
        assert self.score is not None
        scores = self.score.score(state, rows)
        return scores if self.normalize is None else self.normalize.normalize(state, rows, scores)


# The rows with the highest total, how many fitted, how many were looked at.
FastChoice = tuple[IntArray | Ties, int, int]


class FastPath:
    """Finds the best rows for a pod without keeping why the others are worse.

    With *by_name* the smallest name among the best is wanted, without any of them by chance.
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
        """Without what is kept: columns are views of the table's, and soon worked out."""
        kept = KeptTotals(self._framework, self._table, self._kept.by_name)
        return {**self.__dict__, "_kept": kept, "_order": None, "_twice": self._twice[:0]}

    def choose(
        self, state: CycleState, order: IntArray, start: int, wanted: int
    ) -> FastChoice | None:
        """The best rows, or None when the full path has to say why there are none.

        *order* is looked at from *start* on, round and round, until *wanted* rows were found.
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
        return self._choose_by_rows(state, kept, totals, concerned, order, start, wanted)

    def _concerned(self, state: CycleState) -> list[GlobalPlugin]:
        """The global plugins that may have something to say."""
        asked = self._globals if state.pod.pod.volumes else self._without_volumes
        return [one for one in asked if one.may_skip is None or one.may_skip.concerns(state)]

    def _skip_others(self, state: CycleState, concerned: list[GlobalPlugin]) -> None:
        """Note down, as PreFilter does, who has nothing to say; forget what was noted before."""
        state.skip_filter.clear()
        state.skip_filter.update(self._names)
        for one in concerned:
            state.skip_filter.discard(one.name)

    # -- one row for many ------------------------------------------------------------------------

    def _choose_by_cells(
        self, state: CycleState, kept: Kept, concerned: list[GlobalPlugin]
    ) -> FastChoice | None:
        """Every row is looked at through the one that speaks for its cell."""
        self._skip_others(state, concerned)
        traits = self._traits(state, kept, concerned)
        cells = None if traits is None else self._kept.cells(kept, traits)
        if cells is None:
            return None
        speakers, rows = cells.speakers()
        for one in concerned:
            if one.filter is None or one.name in state.skip_filter:
                continue
            places = one.fitting(state, rows)
            if len(places) < len(rows):
                speakers = [speakers[place] for place in places]
                rows = [rows[place] for place in places]
                if not rows:
                    return None
        if not rows:
            return None
        total = self._rank_speakers(state, kept, concerned, speakers, rows)
        highest = max(total)
        best = [cell for cell, one in zip(speakers, total, strict=True) if one == highest]
        feasible = sum([cell.count for cell in speakers])
        return cells.ties(best), feasible, len(self._table)

    def _traits(
        self, state: CycleState, kept: Kept, concerned: list[GlobalPlugin]
    ) -> list[Trait] | None:
        """All by which rows are told apart; None where somebody cannot say."""
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

    def _rank_speakers(
        self,
        state: CycleState,
        kept: Kept,
        concerned: list[GlobalPlugin],
        speakers: list[Cell],
        rows: list[int],
    ) -> list[int]:
        """The total of each, as far as they differ."""
        total = [cell.best for cell in speakers]
        if len(speakers) == 1:
            return total
        if kept.varying:
            looked_at = np.array(rows, np.int64)
            for one in kept.varying:
                scores = one.plugin.normalize(state, looked_at, one.raw[looked_at])
                _add(total, scores.tolist(), one.weight)
        speak_for = [cell.count for cell in speakers]
        for one in concerned:
            if one.score is not None:
                scores = one.scores(state, rows, speak_for)
                if scores is not None:
                    _add(total, scores, one.weight)
        return total

    # -- row by row ------------------------------------------------------------------------------

    def _choose_by_rows(
        self,
        state: CycleState,
        kept: Kept,
        totals: IntArray,
        concerned: list[GlobalPlugin],
        order: IntArray,
        start: int,
        wanted: int,
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
        feasible, evaluated = self._search(state, totals, filters, order, start, wanted)
        if len(feasible) == 0:
            return None
        total = totals[feasible]
        if concerned or kept.varying:
            total = self._add_rest(state, kept, concerned, feasible, total)
        tied = feasible[total == total.max()]
        if wanted < len(order) or len(order) < len(self._table):
            tied.sort()
        return tied, len(feasible), evaluated

    def _sample(
        self, totals: IntArray, order: IntArray, start: int, wanted: int, *, all_fit: bool
    ) -> FastChoice | None:
        """The best of the first *wanted* feasible rows, if all looked at are feasible; else None.

        Upstream stops when it meets one more than it wants, which it then leaves aside.
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
        order: IntArray,
        start: int,
        wanted: int,
    ) -> tuple[IntArray, int]:
        """The first *wanted* feasible rows of *order* from *start*, and how many were looked at."""
        count = len(order)
        if wanted >= count:
            if count == len(self._table):
                rows = np.flatnonzero(totals >= 0)
            else:
                rows = order[totals.take(order) >= 0]
            return self._narrow(state, filters, rows), count
        # Upstream stops when it meets one more than it wants, which it then leaves aside.
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
        kept: Kept,
        concerned: list[GlobalPlugin],
        rows: IntArray,
        total: IntArray,
    ) -> IntArray:
        """Add what is normalised over the feasible rows."""
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
    # Somebody else's score is wrapped, to be checked: that is not to be got round.
    if isinstance(itself, TellsApart) and (
        score is None
        or (cast("object", score) is itself and isinstance(itself, (ScoresSpeakers, RanksSpeakers)))
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
        scores_speakers=tells_apart if isinstance(tells_apart, ScoresSpeakers) else None,
        ranks_speakers=tells_apart if isinstance(tells_apart, RanksSpeakers) else None,
    )
