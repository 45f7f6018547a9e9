"""Runs the plugins of one profile over the node table: filters, scores, and the choice.

Upstream: pkg/scheduler/schedule_one.go schedulePod() and framework/runtime/framework.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from engine.framework.explaining.keeps import Keeps, pre_filter_answer
from engine.framework.framework import (
    FITS,
    PRE_FILTER_SKIP,
    SUCCESS,
    Code,
    CodesRow,
    CycleState,
    Detail,
    FilterPlugin,
    NormalizeScorePlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    RoomFilter,
    ScorePlugin,
    Status,
    VolumePlanner,
    code_at,
    fork_state,
)
from engine.framework.handle import Handle
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.scoring import CheckedPreScore, CheckedScore
from engine.framework.trace_steps.filters import NominatedPutOn, PreFilterAnswer
from engine.framework.wording import Wording
from engine.kernel.trace import Trace

FEW_ROWS = 64
"""Up to so many, numpy takes longer than a loop to count refusals."""
FEW_ROWS_OF_A_FILTER = 8
"""Up to so many, a filter over columns takes longer than one in plain ints."""


@dataclass(slots=True)
class Verdicts:
    """For each row that was looked at, the first filter that refused it and that filter's code.

    `plugin` holds 1 + the filter's place in the profile, 0 for a node that fits.
    """

    rows: IntArray
    plugin: IntArray
    code: IntArray
    # The result of `kinds` when it is known already, and no row fits.
    counted: list[tuple[int, int, int]] | None = None

    @property
    def fits(self) -> BoolArray:
        """Which of `rows` can take the pod."""
        return self.plugin == FITS

    def each(self) -> Iterator[tuple[int, int, int]]:
        """(row, plugin, code) of every row that was looked at."""
        return zip(self.rows.tolist(), self.plugin.tolist(), self.code.tolist(), strict=True)

    def kinds(self) -> list[tuple[int, int, int]]:
        """The distinct refusals as (plugin, code, number of rows), in order."""
        if self.counted is not None:
            return self.counted
        if len(self.plugin) <= FEW_ROWS:
            counts = Counter(zip(self.plugin.tolist(), self.code.tolist(), strict=True))
            return sorted((*kind, count) for kind, count in counts.items() if kind[0] != FITS)
        found: list[tuple[int, int, int]] = []
        for plugin in np.flatnonzero(np.bincount(self.plugin)).tolist():
            if plugin == FITS:
                continue
            codes = self.code[self.plugin == plugin]
            if codes.min() == codes.max():
                found.append((plugin, int(codes[0]), len(codes)))
                continue
            unique, counts = np.unique(codes, return_counts=True)
            found.extend(
                (plugin, code, count)
                for code, count in zip(unique.tolist(), counts.tolist(), strict=True)
            )
        return found

    def rows_of(self, plugin: int, code: int) -> IntArray:
        """The rows that *plugin* refused with *code*."""
        return self.rows[(self.plugin == plugin) & (self.code == code)]


@dataclass(slots=True)
class PluginScore:
    """One plugin's raw and normalised scores of the feasible rows, and its weight."""

    name: str
    weight: int
    raw: IntArray
    normalized: IntArray

    @property
    def weighted(self) -> IntArray:
        """What is added to the total."""
        return self.normalized * self.weight


@dataclass(slots=True)
class Scores:
    """All plugins' scores of the feasible rows."""

    rows: IntArray
    plugins: list[PluginScore]
    total: IntArray


@dataclass(slots=True)
class Search:
    """What the filters found: the state of the cycle, and either a rejection or verdicts."""

    state: CycleState
    status: Status
    verdicts: Verdicts
    # Plugins that narrowed the search at PreFilter, for the message about the nodes left out.
    narrowed_by: tuple[str, ...] = ()
    absent: int = 0
    # An extender has sent back the feasible nodes, as objects.
    is_sent_back: bool = False
    # The distinct statuses of refused nodes with their numbers, once all have had their say.
    refusals: list[tuple[Status, int]] | None = None

    @property
    def feasible(self) -> IntArray:
        """The rows that fit."""
        if self.verdicts.counted is not None:
            return _NO_ROWS
        return self.verdicts.rows[self.verdicts.fits]


@dataclass(slots=True)
class PluginSet:
    """The plugins of a profile, by extension point, in order."""

    pre_filter: list[PreFilterPlugin] = field(default_factory=list[PreFilterPlugin])
    filter: list[FilterPlugin] = field(default_factory=list[FilterPlugin])
    pre_score: list[PreScorePlugin] = field(default_factory=list[PreScorePlugin])
    score: list[tuple[ScorePlugin, int]] = field(default_factory=list[tuple[ScorePlugin, int]])
    by_name: dict[str, Plugin] = field(default_factory=dict[str, Plugin])
    pre_enqueue: list[PreEnqueuePlugin] = field(default_factory=list[PreEnqueuePlugin])


class KnownVerdicts(Protocol):
    """A store of verdicts from earlier cycles."""

    def verdicts(self, state: CycleState, rows: IntArray) -> Verdicts | None:
        """The verdicts on *rows* after PreFilter, which the caller may change; None: not known."""
        ...


class Framework:
    """The plugins of one profile, ready to run.

    Without *narrows* PreFilter cannot name the only nodes to look at (before v1.24). A refusal at
    PreFilter by a plugin in *late* is ignored: in that version the plugin had no PreFilter, and an
    earlier filter refuses all nodes for the same reason.
    """

    def __init__(
        self,
        handle: Handle,
        plugins: PluginSet,
        *,
        wording: Wording | None = None,
        narrows: bool = True,
        late: frozenset[str] = frozenset(),
    ) -> None:
        self.handle = handle
        self.plugins = plugins
        self._wording = wording
        self._narrows = narrows
        self._late = late
        # The trace of the decision that is being made; the algorithm sets it.
        self.trace: Trace | None = None
        everything = plugins.by_name.values()
        self.local_names = frozenset(p.name for p in everything if p.is_local)
        self.volume_names = frozenset(p.name for p in everything if p.needs_volumes)
        self.static_names = frozenset(p.name for p in everything if p.is_static)
        filters = frozenset(p.name for p in plugins.filter)
        self._varying_filters = filters - self.static_names
        self._room_filters = frozenset(p.name for p in plugins.filter if isinstance(p, RoomFilter))
        # The plugin that plans the binding of volumes, if the profile has one.
        self.volume_binding: VolumePlanner | None = next(
            (plugin for plugin in plugins.filter if isinstance(plugin, VolumePlanner)), None
        )
        self._normalizers: dict[str, NormalizeScorePlugin] = {
            plugin.name: plugin
            for plugin, _ in plugins.score
            if isinstance(plugin, NormalizeScorePlugin)
        }
        # Plugins that are not in-tree: their scores are checked, and may fail.
        self._checked_names = frozenset(
            plugin.name
            for plugin in (*plugins.pre_score, *(plugin for plugin, _ in plugins.score))
            if isinstance(plugin, CheckedPreScore | CheckedScore)
        )
        self._extensions: list[PreFilterExtensions] = [
            plugin for plugin in plugins.pre_filter if isinstance(plugin, PreFilterExtensions)
        ]

    # -- filters ---------------------------------------------------------------------------------

    def new_state(self, pod: PodInfo) -> CycleState:
        """An empty state for a cycle of *pod*."""
        return CycleState(pod, self.handle.templates.of(pod), {}, set(), set())

    def find_feasible(
        self,
        pod: PodInfo,
        rows: IntArray,
        nominated: Nominated | None = None,
        known: KnownVerdicts | None = None,
        promised: int = -1,
    ) -> Search:
        """Run PreFilter and Filter over *rows*; verdicts that are *known* are not computed again.

        The *promised* row is examined even if PreFilter excludes it. Upstream tries the nominated
        node before it applies PreFilter's nodes, and keeps its refusal in the diagnosis. Upstream:
        findNodesThatFitPod(), evaluateNominatedNode().
        """
        state = self.new_state(pod)
        status, names, narrowed_by = self.run_pre_filters(state)
        if not status.is_success:
            return Search(state, status, no_verdicts(), narrowed_by)
        if known is not None and names is None:
            verdicts = known.verdicts(state, rows)
            if verdicts is not None:
                return Search(state, SUCCESS, verdicts, narrowed_by)
        kept = rows
        if names is not None:
            wanted = [self.handle.table.rows[n] for n in names if n in self.handle.table.rows]
            kept = rows[np.isin(rows, np.array([*wanted, promised], np.int64))]
        verdicts = self.run_filters(state, kept)
        if nominated is not None:
            self._reconsider_nominated(state, verdicts, nominated)
        return Search(state, SUCCESS, verdicts, narrowed_by, len(rows) - len(kept))

    def run_pre_filters(
        self, state: CycleState
    ) -> tuple[Status, frozenset[str] | None, tuple[str, ...]]:
        """Run PreFilter of every plugin; returns the status, the nodes left and who narrowed them.

        Upstream: RunPreFilterPlugins().
        """
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        refusal = SUCCESS
        trace, has_volumes = self.trace, bool(state.pod.pod.volumes)
        for plugin in self.plugins.pre_filter:
            if plugin.name in self.volume_names and not has_volumes:
                state.skip_filter.add(plugin.name)
                if trace is not None:
                    self._tell_pre_filter(trace, state, plugin, PRE_FILTER_SKIP)
                continue
            result = plugin.pre_filter(state)
            if trace is not None:
                self._tell_pre_filter(trace, state, plugin, result)
            refused = not result.status.is_success
            if result.status.code is Code.SKIP or (refused and plugin.name in self._late):
                state.skip_filter.add(plugin.name)
                continue
            if refused:
                refusal = self._worded(_of_pre_filter(result.status, plugin.name))
                if refusal.code is Code.UNSCHEDULABLE and self._narrows:
                    # Evictions may help, and they need what the other plugins prepare.
                    continue
                return refusal, None, ()
            if result.node_names is None or not self._narrows:
                continue
            narrowed.append(plugin.name)
            names = result.node_names if names is None else names & result.node_names
            if not names:
                return _nothing_left(narrowed), names, tuple(sorted(narrowed))
        if trace is not None:
            self._tell_kept(trace, state)
        return refusal, names, tuple(sorted(narrowed))

    def _tell_kept(self, trace: Trace, state: CycleState) -> None:
        """What filters keep that upstream prepares at PreFilter, and here `filter` itself."""
        for plugin in self.plugins.filter:
            if not isinstance(plugin, PreFilterPlugin) and isinstance(plugin, Keeps):
                kept = tuple(plugin.kept(state))
                step = PreFilterAnswer(plugin.name, "goes on", Code.SUCCESS.value, keeps=kept)
                trace.add(state.pod.pod.id, step)

    def _tell_pre_filter(
        self, trace: Trace, state: CycleState, plugin: PreFilterPlugin, result: PreFilterResult
    ) -> None:
        late = plugin.name in self._late and not result.status.is_success
        step = pre_filter_answer(state, plugin, PRE_FILTER_SKIP if late else result)
        trace.add(state.pod.pod.id, step)

    def run_filters(self, state: CycleState, rows: IntArray, first: int = 1) -> Verdicts:
        """The first refusal of each row, in the profile's order, from the *first* filter on."""
        plugin_of = np.zeros(len(rows), np.int64)
        code_of = np.zeros(len(rows), np.int64)
        left = np.arange(len(rows))
        for place, plugin in enumerate(self.plugins.filter[first - 1 :], first):
            if plugin.name in state.skip_filter or len(left) == 0:
                continue
            codes = _codes(plugin, state, rows[left])
            refused = codes != FITS
            if refused.any():
                plugin_of[left[refused]] = place
                code_of[left[refused]] = codes[refused]
                left = left[~refused]
        return Verdicts(rows, plugin_of, code_of)

    def run_all_filters(self, state: CycleState, rows: IntArray) -> dict[str, IntArray]:
        """The codes of every filter for every row, even after a refusal: the verdict matrix."""
        return {
            plugin.name: plugin.filter(state, rows)
            for plugin in self.plugins.filter
            if plugin.name not in state.skip_filter
        }

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Update the plugins' state: a pod was added (1) or removed (-1) on trial."""
        for plugin in self._extensions:
            if plugin.name not in state.skip_filter:
                plugin.update_state(state, other, row, delta)

    def fork(self, state: CycleState) -> CycleState:
        """A state that can be changed without changing *state*."""
        return fork_state(state, self._extensions)

    def _reconsider_nominated(
        self, state: CycleState, verdicts: Verdicts, nominated: Nominated
    ) -> None:
        """Filter again the nodes to which pods of at least this priority are nominated.

        Those pods are put there on trial: the pod must fit with and without them. Upstream:
        RunFilterPluginsWithNominatedPods().
        """
        for row, pods in nominated.on_rows(state.pod, verdicts.rows):
            place = int(np.flatnonzero(verdicts.rows == row)[0])
            with_them = self.filter_one_with(state, row, pods)
            if self.trace is not None:
                refusing = self.plugins.filter[with_them[0] - 1].name if with_them[0] else ""
                keys = tuple(pod.key for pod in pods)
                step = NominatedPutOn(self.handle.table.name(row), keys, refusing)
                self.trace.add(state.pod.pod.id, step)
            if with_them[0] != FITS:
                verdicts.plugin[place], verdicts.code[place] = with_them

    def only_room_varies(self, state: CycleState) -> bool:
        """Whether other pods affect this one only through the room that they take on their node."""
        asked = self._varying_filters - state.skip_filter
        return bool(asked) and asked == self._room_filters

    def filter_one_with(
        self, state: CycleState, row: int, pods: Sequence[PodInfo]
    ) -> tuple[int, int]:
        """The verdict on one row while *pods* are also on it."""
        table = self.handle.table
        ports = table.ports.at(row)
        for pod in pods:
            table.add_pod(row, pod)
            self.update_state(state, pod, row, 1)
        verdict = self.filter_one(state, row)
        for pod in pods:
            table.remove_pod(row, pod.key)
            self.update_state(state, pod, row, -1)
        table.ports.reset(row, ports)
        return verdict

    def filter_one(self, state: CycleState, row: int) -> tuple[int, int]:
        """The verdict on one row: (1 + the plugin's place, or 0; code)."""
        for place, plugin in enumerate(self.plugins.filter, 1):
            if plugin.name in state.skip_filter:
                continue
            code = code_at(plugin, state, row)
            if code != FITS:
                return place, code
        return 0, FITS

    def explain(self, state: CycleState, plugin: int, code: int) -> Status:
        """The status behind one verdict."""
        asked = self.plugins.filter[plugin - 1]
        status = asked.explain(state, code)
        if not status.plugin:
            status = Status(status.code, status.reasons, asked.name)
        return self._worded(status)

    def _worded(self, status: Status) -> Status:
        return status if self._wording is None else self._wording.of(status)

    def detail(self, state: CycleState, row: int, plugin: int, code: int) -> Detail:
        """The numbers behind one verdict; the row must not have changed since the verdict."""
        return self.plugins.filter[plugin - 1].detail(state, row, code)

    # -- scores ----------------------------------------------------------------------------------

    def score(self, state: CycleState, rows: IntArray) -> Scores:
        """PreScore, Score, NormalizeScore and weights over the feasible *rows*."""
        state.skip_score.clear()
        if len(rows) == 1:
            # With a single node upstream scores nothing, so no score can fail.
            state.skip_score |= self._checked_names
        for plugin in self.plugins.pre_score:
            if plugin.name in state.skip_score:
                continue
            if plugin.pre_score(state, rows).code is Code.SKIP:
                state.skip_score.add(plugin.name)
        total = np.zeros(len(rows), np.int64)
        scored: list[PluginScore] = []
        for plugin, weight in self.plugins.score:
            if plugin.name in state.skip_score:
                continue
            raw = plugin.score(state, rows)
            normalizer = self._normalizers.get(plugin.name)
            normalized = raw if normalizer is None else normalizer.normalize(state, rows, raw)
            scored.append(PluginScore(plugin.name, weight, raw, normalized))
            total = total + normalized * weight
        return Scores(rows, scored, total)


_NO_ROWS: IntArray = np.zeros(0, np.int64)


def _codes(plugin: FilterPlugin, state: CycleState, rows: IntArray) -> IntArray:
    """What *plugin* says of *rows*, one by one where they are few."""
    if len(rows) <= FEW_ROWS_OF_A_FILTER and isinstance(plugin, CodesRow):
        return np.array([plugin.code_at(state, row) for row in rows.tolist()], np.int64)
    return plugin.filter(state, rows)


def no_verdicts() -> Verdicts:
    """Verdicts on no rows."""
    return Verdicts(_NO_ROWS, _NO_ROWS, _NO_ROWS)


def _of_pre_filter(status: Status, plugin: str) -> Status:
    """*status* in the name of *plugin*; a status that is not a refusal becomes an error."""
    refuses = status.code is Code.UNSCHEDULABLE or status.code is Code.UNRESOLVABLE
    code = status.code if refuses else Code.ERROR
    return Status(code, status.reasons, status.plugin or plugin)


def _nothing_left(narrowed: list[str]) -> Status:
    plugins = sorted(narrowed)
    if len(plugins) == 1:
        reason = f"node(s) didn't satisfy plugin {plugins[0]}"
    else:
        reason = f"node(s) didn't satisfy plugin(s) [{' '.join(plugins)}] simultaneously"
    return Status(Code.UNRESOLVABLE, (reason,))
