"""The totals that are kept per pod template: which rows it fits, and the sum of their scores.

For each template: which rows pass the filters that look at one node only, and the sum of the
weighted scores that need no normalisation, or -1 if the pod does not fit. If all of them depend
only on capacity and usage, each class of rows has one total (see `row_classes`). Otherwise changed
rows come from the node table's log: a few of them are computed in plain ints, more by their
classes, many as columns. The rows are sorted into cells (see `cells`), which follow the totals.

None of this goes into a checkpoint; computed anew it is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from engine.framework.columns.cells import Cells, Trait, cells_by
from engine.framework.columns.kept import Kept
from engine.framework.columns.row_classes import NOT_FEASIBLE, ClassTotals, RowClasses
from engine.framework.columns.row_plugins import (
    ColumnFilter,
    ColumnScore,
    GoesBySums,
    MakesRowFilter,
    MakesRowScore,
    RowFilter,
    RowScore,
)
from engine.framework.framework import (
    FITS,
    Code,
    CycleState,
    NormalizeScorePlugin,
    Plugin,
    PreScorePlugin,
)
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.runtime import Framework

# Up to how many changed rows are computed one by one, and by their classes.
_FEW_ROWS = 6
_MANY_ROWS = 400
# Sorting this many rows into classes costs as much as one decision; it is done once nothing static
# has changed for enough decisions.
_ROWS_PER_DECISION = 40
# How many templates are kept: the newest.
_MOST_TEMPLATES = 512
# How many sets of traits are kept per template.
_MOST_GROUPS = 4


@dataclass(slots=True)
class Varying:
    """Static scores that are normalised over the nodes that fit."""

    plugin: NormalizeScorePlugin
    weight: int
    raw: IntArray
    trait: Trait | None


@dataclass(slots=True)
class Group:
    """The rows of a template by one set of traits; the `cells` are made at the second use."""

    traits: list[Trait]
    cells: Cells | None = None
    has_too_many: bool = False


@dataclass(slots=True)
class TemplateTotals:
    """The columns of one template. `masked` is the local total, -1 for rows that do not fit."""

    state: CycleState
    # Of `masked` and `feasible`, in the node table's log.
    kept: Kept
    static_fits: BoolArray
    static_total: IntArray
    masked: IntArray
    # The same columns; single values are read several times faster through a memoryview.
    row_fits: memoryview = field(init=False)
    row_total: memoryview = field(init=False)
    row_masked: memoryview = field(init=False)
    # Normalised scores that differ between nodes.
    varying: list[Varying] = field(default_factory=list[Varying])
    filters: list[RowFilter] = field(default_factory=list[RowFilter])
    scores: list[tuple[RowScore, int]] = field(default_factory=list[tuple[RowScore, int]])
    # Whether they all depend on capacity and usage alone; then, later, their totals per class.
    by_sums: bool = False
    by_class: ClassTotals | None = None
    feasible: int = 0
    # All rows as one cell, made when it is first asked for.
    plain: Cells | None = None
    groups: list[Group] = field(default_factory=list[Group])

    def __post_init__(self) -> None:
        self.row_fits = self.static_fits.data
        self.row_total = self.static_total.data
        self.row_masked = self.masked.data

    def total_of(self, row: int) -> int:
        """The local total of one row, computed in plain ints; -1 if the pod does not fit."""
        if not self.row_fits[row]:
            return NOT_FEASIBLE
        for one in self.filters:
            if not one.fits_row(row):
                return NOT_FEASIBLE
        total: int = self.row_total[row]
        for score, weight in self.scores:
            total += score.score_row(row) * weight
        return total

    def totals_of(self, rows: IntArray) -> IntArray:
        """The same for many rows, as columns."""
        total = self.static_total.take(rows)
        for score, weight in self.scores:
            scores = score.score(rows)
            total += scores if weight == 1 else scores * weight
        fits = self.static_fits.take(rows)
        for one in self.filters:
            fits &= one.fits(rows)
        total[~fits] = NOT_FEASIBLE
        return total

    def group(self, traits: list[Trait]) -> Group | None:
        """The group of *traits*; None at their first use."""
        for group in self.groups:
            known = group.traits
            # Usually they are identical objects, which list comparison finds fastest.
            if known == traits or (
                len(known) == len(traits) and all(map(Trait.is_same, known, traits))
            ):
                return group
        if len(self.groups) == _MOST_GROUPS:
            del self.groups[0]
        self.groups.append(Group(traits))
        return None


@dataclass(slots=True)
class KeptTotals:
    """The kept columns of all templates of one scheduler profile."""

    framework: Framework
    table: NodeTable
    by_name: bool
    kept: dict[int, TemplateTotals] = field(default_factory=dict[int, TemplateTotals])
    # For how many decisions this generation has lasted.
    generation: tuple[int, ...] = ()
    decisions: int = 0
    # Shared by all templates.
    classes: RowClasses | None = None

    def of(self, state: CycleState) -> TemplateTotals:
        """What is kept of the state's template; call `catch_up` before reading `masked`."""
        table = self.table
        # More rows come with more nodes, which count as static.
        generation = (
            table.static_generation,
            table.images.generation,
            len(table.resource_names),
        )
        if self.generation != generation:
            self.generation, self.decisions, self.classes = generation, 0, None
        self.decisions += 1
        number = state.template.number
        kept = self.kept.get(number)
        if kept is None or kept.kept.generation != generation:
            if kept is None and len(self.kept) >= _MOST_TEMPLATES:
                del self.kept[next(iter(self.kept))]
            kept = self.kept[number] = self._build(state, generation)
        if kept.by_sums and kept.by_class is None:
            self._classify(kept)
        return kept

    def _classify(self, kept: TemplateTotals) -> None:
        """Use classes from now on, if that is likely to be cheaper."""
        if self.decisions * _ROWS_PER_DECISION < len(self.table):
            return
        if self.classes is None:
            self.classes = RowClasses(self.table, by_name=self.by_name)
        if self.classes.distinguish(kept.static_fits, kept.static_total):
            kept.by_class = ClassTotals(self.classes, kept)
        else:
            kept.by_sums = False

    def catch_up(self, kept: TemplateTotals) -> None:
        """Bring `masked` and `feasible` up to date, and the cells."""
        table, log = self.table, self.table.log
        changed = kept.kept.catch_up(log)
        if changed is None:
            self._renew_many(kept, table.active, kept.totals_of(table.active))
        elif not changed:
            return
        elif len(changed) <= _FEW_ROWS:
            # Rows of nodes that are gone are not among them: that changes the generation.
            self._renew_few(kept, changed if len(changed) == 1 else [*dict.fromkeys(changed)])
        else:
            rows = np.array(list(dict.fromkeys(changed)), np.int64)
            by_class = kept.by_class if len(rows) <= _MANY_ROWS else None
            if by_class is None:
                totals = kept.totals_of(rows)
            else:
                by_class.catch_up()
                totals = by_class.totals_of(rows)
            self._renew_many(kept, rows, totals)

    def plain(self, kept: TemplateTotals) -> Cells:
        """All rows as one cell."""
        if kept.plain is None:
            kept.plain = cells_by(self.table, (), kept.masked, by_name=self.by_name)
        assert kept.plain is not None, "a single cell is never too many"
        return kept.plain

    def cells(self, kept: TemplateTotals, traits: list[Trait]) -> Cells | None:
        """The rows by *traits*; None if there are too many cells, or at the first use."""
        group = kept.group(traits)
        if group is None or group.has_too_many:
            return None
        if group.cells is None or group.cells.too_many:
            group.cells = cells_by(self.table, traits, kept.masked, by_name=self.by_name)
            group.has_too_many = group.cells is None
        return group.cells

    def _build(self, state: CycleState, generation: tuple[int, ...]) -> TemplateTotals:
        table, plugins = self.table, self.framework.plugins
        rows = table.active
        state = CycleState(state.pod, state.template, {}, set(), set())
        narrows = False
        for plugin in plugins.pre_filter:
            if plugin.name not in self.framework.local_names:
                continue
            found = plugin.pre_filter(state)
            if found.status.code is Code.SKIP:
                state.skip_filter.add(plugin.name)
            else:
                narrows |= not found.status.is_success or found.node_names is not None
        kept = TemplateTotals(
            state=state,
            kept=Kept(generation),
            static_fits=np.zeros(table.capacity, np.bool_),
            static_total=np.zeros(table.capacity, np.int64),
            masked=np.full(table.capacity, NOT_FEASIBLE, np.int64),
        )
        self._sort_filters(kept, rows)
        if narrows:
            # If PreFilter leaves few nodes, or none, the decision needs the full path.
            kept.static_fits[:] = False
        self._sort_scores(kept, rows)
        asked = (*kept.filters, *(score for score, _ in kept.scores))
        kept.by_sums = all(isinstance(one, GoesBySums) for one in asked)
        return kept

    def _sort_filters(self, kept: TemplateTotals, rows: IntArray) -> None:
        """Compute static filters once; the others are asked again about changed rows."""
        fits = np.ones(len(rows), np.bool_)
        for plugin in self.framework.plugins.filter:
            if not plugin.is_local or plugin.name in kept.state.skip_filter:
                continue
            if plugin.name in self.framework.static_names:
                fits &= plugin.filter(kept.state, rows) == FITS
                continue
            made = plugin.row_filter(kept.state) if isinstance(plugin, MakesRowFilter) else None
            kept.filters.append(made or ColumnFilter(plugin, kept.state))
        kept.static_fits[rows] = fits

    def _sort_scores(self, kept: TemplateTotals, rows: IntArray) -> None:
        for plugin, weight in self.framework.plugins.score:
            if not plugin.is_local:
                continue
            if isinstance(plugin, PreScorePlugin) and (
                plugin.pre_score(kept.state, rows).code is Code.SKIP
            ):
                continue
            if plugin.name not in self.framework.static_names:
                made = plugin.row_score(kept.state) if isinstance(plugin, MakesRowScore) else None
                kept.scores.append((made or ColumnScore(plugin, kept.state), weight))
                continue
            raw = plugin.score(kept.state, rows)
            if not isinstance(plugin, NormalizeScorePlugin):
                kept.static_total[rows] += raw * weight
            elif raw.any():
                column = np.zeros(len(kept.masked), np.int64)
                column[rows] = raw
                by_range = isinstance(plugin, Plugin) and plugin.normalizes_by_range
                trait = Trait(column=column) if by_range else None
                kept.varying.append(Varying(plugin, weight, column, trait))
            elif len(rows):
                # All zero: so is every subset, and its normalised score is the same everywhere.
                same = plugin.normalize(kept.state, rows[:1], raw[:1])
                kept.static_total[rows] += int(same[0]) * weight

    @staticmethod
    def _renew_many(kept: TemplateTotals, rows: IntArray, totals: IntArray) -> None:
        """Store the *totals* of *rows*."""
        before = np.count_nonzero(kept.masked.take(rows) >= 0)
        kept.feasible += int(np.count_nonzero(totals >= 0) - before)
        kept.masked[rows] = totals
        if kept.plain is not None:
            kept.plain.renew_many(rows)
        for group in kept.groups:
            if group.cells is not None:
                group.cells.renew_many(rows)

    @staticmethod
    def _renew_few(kept: TemplateTotals, rows: Sequence[int]) -> None:
        """Compute *rows* one by one."""
        masked = kept.row_masked
        for row in rows:
            total = kept.total_of(row)
            if (total < 0) != (masked[row] < 0):
                kept.feasible += 1 if total >= 0 else -1
            masked[row] = total
        if kept.plain is not None:
            kept.plain.renew_few(rows)
        for group in kept.groups:
            if group.cells is not None:
                group.cells.renew_few(rows)
