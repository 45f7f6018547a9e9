"""What is kept per pod template, so that a decision costs only what changed since the last one.

For each template: which rows pass the filters that look at one node only, and the sum of the
weighted scores that need no normalisation, with -1 where the pod does not fit. Changed rows come
from the node table's log; one or a few of them are worked out in plain ints, many as columns.
Filters and scores that depend on other nodes (spreading, pod affinity, volumes) run on top, every
time. The answers are those of the full path; tests hold the two against each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np

from scheduling.engine.framework import (
    FITS,
    BoolArray,
    Code,
    CycleState,
    FilterPlugin,
    IntArray,
    NormalizeScorePlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduling.engine.node_table import NodeTable
from scheduling.engine.runtime import Framework

# Up to this many changed rows are worked out one by one.
_FEW_ROWS = 10
_NOT_FEASIBLE = -1


@runtime_checkable
class RowFilter(Protocol):
    """A local filter that can also answer without reasons, and for a single row in plain ints."""

    def fits(self, state: CycleState, rows: IntArray) -> BoolArray:
        """Which of *rows* can take the pod; as `filter`."""
        ...

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether the node at *row* can take the pod; as `filter`."""
        ...


@runtime_checkable
class RowScore(Protocol):
    """A local score that can also answer for a single row in plain ints."""

    def score_row(self, state: CycleState, row: int) -> int:
        """The raw score of *row*; as `score`."""
        ...


@runtime_checkable
class MaySkip(Protocol):
    """A score plugin that can tell cheaply that it would make no difference."""

    def has_nothing_to_score(self, state: CycleState) -> bool:
        """Whether every node would get the same."""
        ...


@dataclass(slots=True)
class GlobalScore:
    """A score that depends on more than its node, by the extension points it takes part in."""

    plugin: ScorePlugin
    weight: int
    pre: PreScorePlugin | None
    normalize: NormalizeScorePlugin | None
    may_skip: MaySkip | None


@dataclass(slots=True)
class Kept:
    """The columns of one template. `masked` is the local total, -1 for rows that do not fit."""

    state: CycleState
    generation: tuple[int, ...]
    position: int
    static_fits: BoolArray
    static_total: IntArray
    masked: IntArray
    # Normalised scores that differ between nodes: (plugin, weight, raw scores).
    varying: list[tuple[NormalizeScorePlugin, int, IntArray]]
    filters: list[FilterPlugin] = field(default_factory=list[FilterPlugin])
    row_filters: list[RowFilter] = field(default_factory=list[RowFilter])
    scores: list[tuple[ScorePlugin, int]] = field(default_factory=list[tuple[ScorePlugin, int]])
    row_scores: list[tuple[RowScore, int]] = field(default_factory=list[tuple[RowScore, int]])
    feasible: int = 0

    @property
    def by_row(self) -> bool:
        """Whether every plugin that is asked again can answer for a single row."""
        return not self.filters and len(self.row_scores) == len(self.scores)


@dataclass(slots=True)
class Caches:
    """The kept columns of all templates of one scheduler profile."""

    framework: Framework
    kept: dict[int, Kept] = field(default_factory=dict[int, Kept])

    def of(self, state: CycleState) -> Kept:
        """The columns of the state's template, brought up to date."""
        table = self.framework.handle.table
        generation = (table.static_generation, table.image_generation, table.capacity)
        number = state.template.number
        kept = self.kept.get(number)
        if kept is None or kept.generation != generation:
            kept = self.kept[number] = self._build(state, generation)
        elif kept.position != table.log_end:
            changed = table.changed_since(kept.position)
            if changed is None:
                self._recompute(kept, table.active)
            elif len(changed) == 1:
                self._renew(kept, changed)
            else:
                self._renew(kept, list(dict.fromkeys(changed)))
            kept.position = table.log_end
        return kept

    def _build(self, state: CycleState, generation: tuple[int, ...]) -> Kept:
        table, plugins = self.framework.handle.table, self.framework.plugins
        rows = table.active
        state = CycleState(state.pod, state.template, {}, set(), set())
        for plugin in plugins.pre_filter:
            if plugin.name in self.framework.local_names and (
                plugin.pre_filter(state).status.code is Code.SKIP
            ):
                state.skip_filter.add(plugin.name)
        kept = Kept(
            state=state,
            generation=generation,
            position=table.log_end,
            static_fits=np.zeros(table.capacity, np.bool_),
            static_total=np.zeros(table.capacity, np.int64),
            masked=np.full(table.capacity, _NOT_FEASIBLE, np.int64),
            varying=[],
        )
        self._sort_filters(kept, rows)
        self._sort_scores(kept, rows)
        self._recompute(kept, rows)
        return kept

    def _sort_filters(self, kept: Kept, rows: IntArray) -> None:
        """Work static filters out for good; the others are asked again about changed rows."""
        fits = np.ones(len(rows), np.bool_)
        for plugin in self.framework.plugins.filter:
            if not plugin.is_local or plugin.name in kept.state.skip_filter:
                continue
            if plugin.name in self.framework.static_names:
                fits &= plugin.filter(kept.state, rows) == FITS
            elif isinstance(plugin, RowFilter):
                kept.row_filters.append(plugin)
            else:
                kept.filters.append(plugin)
        kept.static_fits[rows] = fits

    def _sort_scores(self, kept: Kept, rows: IntArray) -> None:
        for plugin, weight in self.framework.plugins.score:
            if not plugin.is_local:
                continue
            if isinstance(plugin, PreScorePlugin) and (
                plugin.pre_score(kept.state, rows).code is Code.SKIP
            ):
                continue
            if plugin.name not in self.framework.static_names:
                kept.scores.append((plugin, weight))
                if isinstance(plugin, RowScore):
                    kept.row_scores.append((plugin, weight))
                continue
            raw = plugin.score(kept.state, rows)
            if not isinstance(plugin, NormalizeScorePlugin):
                kept.static_total[rows] += raw * weight
            elif raw.any():
                column = np.zeros(len(kept.masked), np.int64)
                column[rows] = raw
                kept.varying.append((plugin, weight, column))
            elif len(rows):
                # All zero: so is every subset, and its normalised score is the same everywhere.
                same = plugin.normalize(kept.state, rows[:1], raw[:1])
                kept.static_total[rows] += int(same[0]) * weight

    def _recompute(self, kept: Kept, rows: IntArray) -> None:
        """All of *rows* as columns."""
        fits = kept.static_fits.take(rows)
        for row_filter in kept.row_filters:
            fits &= row_filter.fits(kept.state, rows)
        for plugin in kept.filters:
            fits &= plugin.filter(kept.state, rows) == FITS
        total = kept.static_total.take(rows)
        for plugin, weight in kept.scores:
            scores = plugin.score(kept.state, rows)
            total += scores if weight == 1 else scores * weight
        before = int(np.count_nonzero(kept.masked.take(rows) >= 0))
        total[~fits] = _NOT_FEASIBLE
        kept.masked[rows] = total
        kept.feasible += int(np.count_nonzero(fits)) - before

    def _renew(self, kept: Kept, rows: list[int]) -> None:
        if not kept.by_row or len(rows) > _FEW_ROWS:
            # Rows of nodes that are gone are not among them: that changes the generation.
            self._recompute(kept, np.array(rows, np.int64))
            return
        for row in rows:
            score = self._row(kept, row)
            kept.feasible += (score >= 0) - (int(kept.masked[row]) >= 0)
            kept.masked[row] = score

    def _row(self, kept: Kept, row: int) -> int:
        """The masked total of one row in plain ints."""
        if not kept.static_fits[row]:
            return _NOT_FEASIBLE
        state = kept.state
        for row_filter in kept.row_filters:
            if not row_filter.fits_row(state, row):
                return _NOT_FEASIBLE
        total = kept.static_total.item(row)
        for row_score, weight in kept.row_scores:
            total += row_score.score_row(state, row) * weight
        return total


@dataclass(slots=True)
class FastChoice:
    """The rows with the highest total, how many fitted, how many were looked at."""

    tied: IntArray
    feasible: int
    evaluated: int


class FastPath:
    """Finds the best rows for a pod without keeping why the others are worse."""

    def __init__(self, framework: Framework, table: NodeTable) -> None:
        self._framework = framework
        self._table = table
        self._caches = Caches(framework)
        # The order of the last sample, and the same twice in a row: a sample may begin anywhere.
        self._order: IntArray | None = None
        self._twice: IntArray = np.zeros(0, np.int64)
        plugins = framework.plugins
        self._global_filters = [plugin for plugin in plugins.filter if not plugin.is_local]
        self._global_pre_filters = [
            plugin for plugin in plugins.pre_filter if plugin.name not in framework.local_names
        ]
        self._without_volumes = [
            plugin
            for plugin in self._global_pre_filters
            if plugin.name not in framework.volume_names
        ]
        self._global_scores = [
            GlobalScore(
                plugin,
                weight,
                plugin if isinstance(plugin, PreScorePlugin) else None,
                plugin if isinstance(plugin, NormalizeScorePlugin) else None,
                plugin if isinstance(plugin, MaySkip) else None,
            )
            for plugin, weight in plugins.score
            if not plugin.is_local
        ]

    def choose(
        self, state: CycleState, order: IntArray, start: int, wanted: int
    ) -> FastChoice | None:
        """The best rows, or None when the full path has to say why there are none.

        *order* is looked at from *start* on, round and round, until *wanted* rows were found.
        """
        pre_filters = self._global_pre_filters
        if not state.pod.pod.volumes:
            pre_filters = self._without_volumes
            state.skip_filter |= self._framework.volume_names
        for plugin in pre_filters:
            code = plugin.pre_filter(state).status.code
            if code is Code.SKIP:
                state.skip_filter.add(plugin.name)
            elif code is not Code.SUCCESS:
                return None
        kept = self._caches.of(state)
        if kept.feasible == 0:
            return None
        filters = [p for p in self._global_filters if p.name not in state.skip_filter]
        if state.template.named_nodes is not None:
            return None
        simple = not filters and not kept.varying and not self._has_global_scores(state)
        if simple and kept.feasible <= wanted and len(order) == len(self._table):
            masked = kept.masked
            return FastChoice((masked == masked.max()).nonzero()[0], kept.feasible, len(order))
        if simple and wanted < len(order):
            sampled = self._sample(kept, order, start, wanted)
            if sampled is not None:
                return sampled
        feasible, evaluated = self._search(state, kept, filters, order, start, wanted)
        if len(feasible) == 0:
            return None
        total = kept.masked[feasible]
        if not simple:
            total = self._add_rest(state, kept, feasible, total)
        tied = feasible[total == total.max()]
        if wanted < len(order) or len(order) < len(self._table):
            tied.sort()
        return FastChoice(tied, len(feasible), evaluated)

    def _has_global_scores(self, state: CycleState) -> bool:
        """Whether any global score might differ; asked cheaply, answered for sure later."""
        for score in self._global_scores:
            if score.may_skip is None or not score.may_skip.has_nothing_to_score(state):
                return True
        return False

    def _sample(self, kept: Kept, order: IntArray, start: int, wanted: int) -> FastChoice | None:
        """The best of the first *wanted* feasible rows, if all looked at are feasible; else None.

        Upstream stops when it meets one more than it wants, which it then leaves aside.
        """
        if self._order is not order:
            self._order, self._twice = order, np.concatenate((order, order))
        start %= len(order)
        rows = self._twice[start : start + wanted + 1]
        totals = kept.masked.take(rows)
        if kept.feasible < len(self._table) and np.minimum.reduce(totals) < 0:
            return None
        totals = totals[:-1]
        tied = rows[:-1][totals == np.maximum.reduce(totals)]
        tied.sort()
        return FastChoice(tied, wanted, wanted)

    def _search(
        self,
        state: CycleState,
        kept: Kept,
        filters: list[FilterPlugin],
        order: IntArray,
        start: int,
        wanted: int,
    ) -> tuple[IntArray, int]:
        """The first *wanted* feasible rows of *order* from *start*, and how many were looked at."""
        count = len(order)
        if wanted >= count:
            if count == len(self._table):
                rows = np.flatnonzero(kept.masked >= 0)
            else:
                rows = order[kept.masked.take(order) >= 0]
            return self._narrow(state, filters, rows), count
        # Upstream stops when it meets one more than it wants, which it then leaves aside.
        found: list[IntArray] = []
        missing, seen = wanted + 1, 0
        while missing and seen < count:
            step = min(max(missing, 64), count - seen)
            places = np.arange(start + seen, start + seen + step) % count
            looked_at = order[places]
            rows = self._passing(state, kept, filters, looked_at)
            if len(rows) >= missing:
                seen += int(np.flatnonzero(looked_at == rows[missing - 1])[0])
                rows, missing = rows[: missing - 1], 0
            else:
                missing -= len(rows)
                seen += step
            found.append(rows)
        return np.concatenate(found), seen

    def _passing(
        self, state: CycleState, kept: Kept, filters: list[FilterPlugin], rows: IntArray
    ) -> IntArray:
        return self._narrow(state, filters, rows[kept.masked.take(rows) >= 0])

    def _narrow(self, state: CycleState, filters: list[FilterPlugin], rows: IntArray) -> IntArray:
        for plugin in filters:
            if len(rows) == 0:
                break
            fits = plugin.filter(state, rows) == FITS
            if not fits.all():
                rows = rows[fits]
        return rows

    def _add_rest(self, state: CycleState, kept: Kept, rows: IntArray, total: IntArray) -> IntArray:
        """Add what is normalised over the feasible rows."""
        for plugin, weight, raw in kept.varying:
            total = total + plugin.normalize(state, rows, raw[rows]) * weight
        for one in self._global_scores:
            if one.pre is not None and one.pre.pre_score(state, rows).code is Code.SKIP:
                continue
            scores = one.plugin.score(state, rows)
            if one.normalize is not None:
                scores = one.normalize.normalize(state, rows, scores)
            total = total + scores * one.weight
        return total
