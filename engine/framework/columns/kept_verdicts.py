"""The answers of every plugin for every node, kept so that an attempt costs only what changed.

For each pod template there is a column of codes per local filter, and a column of raw scores per
local score. The same plugins compute rows that changed, by the node table's log, and the ledger
notes the earlier values. The explanation of an attempt is then a position in the ledger, and the
rows that were evaluated.

What depends on other nodes (spreading, pod affinity, volumes, room for nominated pods, extenders)
is computed in every attempt and put into columns as well; only the difference from the template's
last attempt takes memory. If a profile has a custom plugin, all its scores are handled this way.

The answers are those of `Framework.run_filters` and `Framework.score`; tests compare both. Only
explanations that are part of a result go into a checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.framework.columns.explanation import (
    Basis,
    Explanation,
    FilterColumns,
    LazyScores,
    LazyVerdicts,
    ScoreColumns,
    Statuses,
)
from engine.framework.columns.kept import Kept
from engine.framework.columns.ledger import Ledger
from engine.framework.columns.row_plugins import (
    ColumnFilter,
    ColumnScore,
    MakesRowFilter,
    MakesRowScore,
    MaySkip,
    RowFilter,
    RowScore,
)
from engine.framework.framework import (
    FITS,
    SUCCESS,
    Code,
    CycleState,
    FilterPlugin,
    NormalizeScorePlugin,
    PreScorePlugin,
    ScorePlugin,
    code_at,
)
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework, PluginScore, Scores, Search, Verdicts

# Up to this many changed rows are computed one by one.
_FEW_ROWS = 10
# How many templates have columns: those that were used last.
_MOST_TEMPLATES = 128
_NO_ROWS: IntArray = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class LocalFilter:
    """A filter that looks at one node only, and its place in the profile, from 1 on."""

    plugin: FilterPlugin
    place: int
    is_static: bool
    makes: MakesRowFilter | None


@dataclass(frozen=True, slots=True)
class LocalScore:
    """A score that looks at one node only."""

    plugin: ScorePlugin
    weight: int
    is_static: bool
    pre: PreScorePlugin | None
    normalizer: NormalizeScorePlugin | None
    makes: MakesRowScore | None


@dataclass(slots=True)
class MovingFilter:
    """A filter that depends on the pods of a node; `quick` only answers whether a node fits."""

    plugin: FilterPlugin
    column: int
    quick: RowFilter

    def code(self, state: CycleState, row: int) -> int:
        """The code of one row; usually it fits."""
        if self.quick.fits_row(row):
            return FITS
        return code_at(self.plugin, state, row)

    def codes(self, state: CycleState, rows: IntArray) -> IntArray:
        """The codes of *rows*."""
        codes = np.zeros(len(rows), np.int64)
        refused = np.flatnonzero(~self.quick.fits(rows))
        if len(refused):
            codes[refused] = self.plugin.filter(state, rows[refused])
        return codes


@dataclass(slots=True)
class History:
    """The columns of one pod template by name; those that depend on a node's pods are `moving`."""

    basis: Basis
    ledger: Ledger
    columns: dict[str, int] = field(default_factory=dict[str, int])
    kept: Kept = field(default_factory=Kept)
    filters: FilterColumns = ()
    scores: dict[str, ScoreColumns] = field(default_factory=dict[str, ScoreColumns])
    moving_filters: list[MovingFilter] = field(default_factory=list[MovingFilter])
    moving_scores: list[tuple[int, RowScore]] = field(default_factory=list[tuple[int, RowScore]])
    # Verdicts that an attempt shares with earlier ones are kept once.
    layouts: dict[tuple[str, ...], tuple[ScoreColumns, ...]] = field(
        default_factory=dict[tuple[str, ...], tuple[ScoreColumns, ...]]
    )
    statuses: Statuses = ()

    def column(self, name: str) -> int:
        """The number of the column called *name*, made when it is new."""
        number = self.columns.get(name)
        if number is None:
            number = self.columns[name] = self.ledger.add()
        return number

    def put(self, name: str, rows: IntArray, values: IntArray) -> int:
        """Put *values* into *rows* of the column called *name*; its number."""
        number = self.column(name)
        self.ledger.put(number, rows, values)
        return number

    def put_score(self, name: str, rows: IntArray, one: PluginScore) -> ScoreColumns:
        """Store a raw score and its normalised one."""
        raw = self.put(f"raw {name}", rows, one.raw)
        normalized = self.put(f"normalized {name}", rows, one.normalized)
        return ScoreColumns(one.name, one.weight, raw, normalized)


@dataclass(frozen=True, slots=True)
class WideScore:
    """A score that looks at several nodes."""

    plugin: ScorePlugin
    weight: int
    normalizer: NormalizeScorePlugin | None

    def of(self, state: CycleState, rows: IntArray) -> PluginScore:
        """The scores of *rows*."""
        raw = normalized = self.plugin.score(state, rows)
        if self.normalizer is not None:
            normalized = self.normalizer.normalize(state, rows, raw)
        return PluginScore(self.plugin.name, self.weight, raw, normalized)


@dataclass(slots=True)
class _Refusals:
    """For each row that was looked at, a filter that refused it and its code, as in Verdicts."""

    plugin: IntArray
    code: IntArray


class KeptVerdicts:
    """Keeps the columns of one scheduler profile, and explains its attempts by them.

    With *foreign* plugins, which may read the state of the attempt or fail, local scores are not
    kept: the caller stores the scores of each attempt with `keep_scores`.
    """

    def __init__(self, framework: Framework, *, foreign: bool = False) -> None:
        self._framework = framework
        self._keeps_scores = not foreign
        self._table = framework.handle.table
        self._histories: dict[int, History] = {}
        self._met: dict[int, None] = {}
        # The names of all rows, and the nodes in use when they were listed.
        self._names: list[str] = []
        self._named: IntArray | None = None
        # The order of the last search, and that order twice in a row, to begin anywhere in it.
        self._order: IntArray | None = None
        self._twice: IntArray = _NO_ROWS
        plugins = framework.plugins
        self._local_filters = _local_filters(framework)
        self._local_scores = _local_scores(framework)
        self._wide_filters = [
            (place, plugin) for place, plugin in enumerate(plugins.filter, 1) if not plugin.is_local
        ]
        self._wide_pre_scores = [
            (plugin, plugin if isinstance(plugin, MaySkip) and plugin.skips_score else None)
            for plugin in plugins.pre_score
            if plugin.name not in framework.local_names
        ]
        self._wide_scores = [
            WideScore(plugin, weight, plugin if isinstance(plugin, NormalizeScorePlugin) else None)
            for plugin, weight in plugins.score
            if not plugin.is_local
        ]

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept; it is computed again when it is needed."""
        lists = {"_histories": dict[int, History](), "_names": list[str]()}
        rows = {"_named": None, "_order": None, "_twice": _NO_ROWS}
        return {**self.__dict__, **lists, **rows}

    def has_met(self, pod: PodInfo) -> bool:
        """Whether the pod's template was seen before: columns pay off from the second pod on."""
        number = self._framework.handle.templates.of(pod).number
        if number in self._met:
            return True
        self._met[number] = None
        return False

    def rotated(self, order: IntArray, start: int) -> IntArray:
        """*order* from *start* on, around its end. Do not change the array."""
        start %= len(order)
        if start == 0:
            return order
        if self._order is not order:
            self._order, self._twice = order, np.concatenate((order, order))
        return self._twice[start : start + len(order)]

    # -- filters ---------------------------------------------------------------------------------

    def verdicts(self, state: CycleState, rows: IntArray) -> LazyVerdicts:
        """As Framework.run_filters, but read lazily. Call it after PreFilter."""
        explanation = self._begin(state, rows)
        verdicts = LazyVerdicts(explanation)
        asked = [one for one in self._wide_filters if one[1].name not in state.skip_filter]
        if asked:
            others = _Refusals(np.zeros(len(rows), np.int64), np.zeros(len(rows), np.int64))
            for place, plugin in asked:
                _ask(state, verdicts, others, place, plugin)
            self._keep_others(state, explanation, others)
        return verdicts

    def _begin(self, state: CycleState, rows: IntArray) -> Explanation:
        """An explanation with the answers of the local filters."""
        history = self._history_of(state)
        return Explanation(
            SUCCESS,
            rows,
            self._row_names(),
            history.basis,
            history.ledger,
            history.ledger.position,
            history.filters,
        )

    def settle(self, search: Search) -> Explanation:
        """Keep the final verdicts of *search*, including those of extenders."""
        verdicts = search.verdicts
        if not search.status.is_success:
            return Explanation(search.status, _NO_ROWS, self._row_names())
        if isinstance(verdicts, LazyVerdicts):
            explanation = verdicts.explanation
            explanation.rows, explanation.others = verdicts.rows, None
        else:
            explanation = self._begin(search.state, verdicts.rows)
        plugin, code = explanation.local_refusals()
        differs = (verdicts.plugin != plugin) | (verdicts.code != code)
        others = _Refusals(
            np.where(differs, verdicts.plugin, FITS), np.where(differs, verdicts.code, 0)
        )
        self._keep_others(search.state, explanation, others)
        return explanation

    def _keep_others(self, state: CycleState, explanation: Explanation, others: _Refusals) -> None:
        """Keep the refusals that are not those of local filters."""
        kinds = Verdicts(explanation.rows, others.plugin, others.code).kinds()
        if not kinds:
            return
        history = self._histories[state.template.number]
        explanation.others = (
            history.put("other filter", explanation.rows, others.plugin),
            history.put("other code", explanation.rows, others.code),
        )
        explanation.position = history.ledger.position
        statuses = tuple(
            (place, code, self._framework.explain(state, place, code)) for place, code, _ in kinds
        )
        if statuses != history.statuses:
            history.statuses = statuses
        explanation.statuses = history.statuses

    # -- scores ----------------------------------------------------------------------------------

    def score(self, search: Search, explanation: Explanation) -> Scores:
        """As Framework.score, over the rows that fit. Call `settle` first."""
        assert self._keeps_scores, "foreign plugins are scored by the caller"
        history = self._histories[search.state.template.number]
        rows, wide = self._score_wide(search)
        columns = {one.name: history.put_score(one.name, rows, one) for one in wide}
        asked = tuple(columns)
        layout = history.layouts.get(asked)
        if layout is None:
            layout = history.layouts[asked] = self._layout(history.scores | columns)
        explanation.score_columns = layout
        explanation.position = history.ledger.position
        return LazyScores(explanation)

    def _score_wide(self, search: Search) -> tuple[IntArray, list[PluginScore]]:
        """The scores that look at several nodes, and the rows that they score."""
        state = search.state
        state.skip_score.clear()
        for plugin, may_skip in self._wide_pre_scores:
            if may_skip is not None and not may_skip.concerns(state):
                state.skip_score.add(plugin.name)
        asked = [one for one in self._wide_scores if one.plugin.name not in state.skip_score]
        if not asked:
            return _NO_ROWS, []
        rows = search.feasible
        for plugin, _ in self._wide_pre_scores:
            if plugin.name in state.skip_score:
                continue
            if plugin.pre_score(state, rows).code is Code.SKIP:
                state.skip_score.add(plugin.name)
        return rows, [
            one.of(state, rows) for one in asked if one.plugin.name not in state.skip_score
        ]

    def _layout(self, found: dict[str, ScoreColumns]) -> tuple[ScoreColumns, ...]:
        """*found* in the order of the profile."""
        scores = self._framework.plugins.score
        return tuple(found[plugin.name] for plugin, _ in scores if plugin.name in found)

    def keep_scores(self, search: Search, explanation: Explanation, scores: Scores) -> None:
        """Keep *scores* that were computed elsewhere."""
        history = self._histories[search.state.template.number]
        named = {f"{place} {one.name}": one for place, one in enumerate(scores.plugins)}
        layout = tuple(history.put_score(name, scores.rows, one) for name, one in named.items())
        explanation.score_columns = history.layouts.setdefault(tuple(named), layout)
        explanation.position = history.ledger.position

    # -- columns ---------------------------------------------------------------------------------

    def _row_names(self) -> list[str]:
        table = self._table
        if self._named is not table.active:
            self._named = table.active
            self._names = [""] * table.capacity
            for name, row in table.rows.items():
                self._names[row] = name
        return self._names

    def _history_of(self, state: CycleState) -> History:
        """The columns of the state's template, brought up to date."""
        number = state.template.number
        history = self._histories.pop(number, None)
        if history is None:
            history = self._new_history(state)
        # Move it to the end, so that the first one is the least recently used.
        self._histories[number] = history
        if len(self._histories) > _MOST_TEMPLATES:
            del self._histories[next(iter(self._histories))]
        if history.ledger.is_full:
            history.ledger = history.ledger.turned()
        self._catch_up(history)
        return history

    def _new_history(self, state: CycleState) -> History:
        own = CycleState(state.pod, state.template)
        local = self._framework.local_names
        for plugin in self._framework.plugins.pre_filter:
            if plugin.name in local and plugin.pre_filter(own).status.code is Code.SKIP:
                own.skip_filter.add(plugin.name)
        return History(Basis(self._framework, own), Ledger(self._table.capacity))

    def _catch_up(self, history: History) -> None:
        table = self._table
        generation = (
            table.static_generation,
            table.images.generation,
            table.capacity,
            len(table.resource_names),
        )
        kept = history.kept
        if kept.generation != generation:
            history.kept = Kept(generation)
            history.kept.catch_up(table.log)
            self._work_out(history)
        elif not kept.is_current(table.log):
            changed = kept.catch_up(table.log)
            if changed is None:
                self._ask_again(history, table.active)
            else:
                self._ask_again_about(history, list(dict.fromkeys(changed)))

    def _work_out(self, history: History) -> None:
        """Compute everything from scratch: nodes were added, removed or changed."""
        history.ledger.grow(self._table.capacity)
        self._work_out_filters(history, self._table.active)
        history.scores, history.moving_scores = {}, []
        history.layouts.clear()
        if self._keeps_scores:
            self._work_out_scores(history, self._table.active)
        self._ask_again(history, self._table.active)

    def _work_out_filters(self, history: History, rows: IntArray) -> None:
        state, history.moving_filters = history.basis.state, []
        columns: list[tuple[int, int]] = []
        for one in self._local_filters:
            if one.plugin.name in state.skip_filter:
                continue
            column = history.column(f"filter {one.plugin.name}")
            columns.append((one.place, column))
            if one.is_static:
                history.ledger.put(column, rows, one.plugin.filter(state, rows))
                continue
            made = None if one.makes is None else one.makes.row_filter(state)
            quick = made or ColumnFilter(one.plugin, state)
            history.moving_filters.append(MovingFilter(one.plugin, column, quick))
        history.filters = tuple(columns)

    def _work_out_scores(self, history: History, rows: IntArray) -> None:
        state = history.basis.state
        for one in self._local_scores:
            if one.pre is not None and one.pre.pre_score(state, rows).code is Code.SKIP:
                continue
            name = one.plugin.name
            column = history.column(f"raw {name}")
            history.scores[name] = ScoreColumns(name, one.weight, column, None, one.normalizer)
            if one.is_static:
                history.ledger.put(column, rows, one.plugin.score(state, rows))
                continue
            made = None if one.makes is None else one.makes.row_score(state)
            history.moving_scores.append((column, made or ColumnScore(one.plugin, state)))

    def _ask_again(self, history: History, rows: IntArray) -> None:
        """Compute the moving columns for *rows*, all rows at once."""
        state, ledger = history.basis.state, history.ledger
        for moving in history.moving_filters:
            ledger.put(moving.column, rows, moving.codes(state, rows))
        for column, score in history.moving_scores:
            ledger.put(column, rows, score.score(rows))

    def _ask_again_about(self, history: History, rows: list[int]) -> None:
        if len(rows) > _FEW_ROWS:
            self._ask_again(history, np.array(rows, np.int64))
            return
        state, ledger = history.basis.state, history.ledger
        for row in rows:
            for moving in history.moving_filters:
                ledger.set(moving.column, row, moving.code(state, row))
            for column, score in history.moving_scores:
                ledger.set(column, row, score.score_row(row))


def _local_filters(framework: Framework) -> list[LocalFilter]:
    return [
        LocalFilter(
            plugin,
            place,
            plugin.name in framework.static_names,
            plugin if isinstance(plugin, MakesRowFilter) else None,
        )
        for place, plugin in enumerate(framework.plugins.filter, 1)
        if plugin.is_local
    ]


def _local_scores(framework: Framework) -> list[LocalScore]:
    return [
        LocalScore(
            plugin,
            weight,
            plugin.name in framework.static_names,
            plugin if isinstance(plugin, PreScorePlugin) else None,
            plugin if isinstance(plugin, NormalizeScorePlugin) else None,
            plugin if isinstance(plugin, MakesRowScore) else None,
        )
        for plugin, weight in framework.plugins.score
        if plugin.is_local
    ]


def _ask(
    state: CycleState, verdicts: Verdicts, others: _Refusals, place: int, plugin: FilterPlugin
) -> None:
    """Ask a filter that looks at several nodes about rows that no earlier filter refused."""
    left = np.flatnonzero((verdicts.plugin == FITS) | (verdicts.plugin > place))
    if len(left) == 0:
        return
    codes = plugin.filter(state, verdicts.rows[left])
    refused = np.flatnonzero(codes)
    left, codes = left[refused], codes[refused]
    for one in (verdicts, others):
        one.plugin[left] = place
        one.code[left] = codes
