"""Checks the scores of plugins that are not in-tree, as upstream checks every score plugin.

A plugin that fails at PreScore, Score or NormalizeScore, or whose final score is outside 0..100,
fails the attempt. In-tree plugins never do, so only the others are wrapped.

Upstream: framework/runtime/framework.go RunPreScorePlugins(), RunScorePlugins().
"""

from __future__ import annotations

from typing import ClassVar, Protocol, cast

from engine.framework.framework import (
    MAX_NODE_SCORE,
    Code,
    CycleState,
    NormalizeScorePlugin,
    Plugin,
    PreScorePlugin,
    ScorePlugin,
    Status,
    record_of,
)
from engine.framework.nodes.arrays import IntArray
from engine.kernel.errors import SimError


class ScoringFailed(SimError):
    """A plugin failed to score the feasible nodes; the text is the attempt's message."""


class CustomScorePlugin(Protocol):
    """A plugin at Score that is not in-tree: like a ScorePlugin, but it may fail."""

    name: ClassVar[str]
    is_local: ClassVar[bool]

    def score(self, state: CycleState, rows: IntArray) -> IntArray | Status:
        """A raw score per row, or a status that is not a success."""
        ...


class CustomNormalizePlugin(Protocol):
    """The same at NormalizeScore."""

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray | Status:
        """The normalised scores, or a status that is not a success."""
        ...


class CheckedPreScore:
    """A plugin at PreScore: any status but Success and Skip fails the attempt."""

    def __init__(self, plugin: Plugin) -> None:
        self.name = plugin.name
        self._plugin = plugin

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """As PreScorePlugin. Raises ScoringFailed."""
        said = cast("PreScorePlugin", self._plugin).pre_score(state, rows)
        status = Status(said.code, said.reasons, self.name)
        record_of(state).setdefault("PreScore", []).append(status.to_dict())
        if not status.is_success and status.code is not Code.SKIP:
            raise ScoringFailed(f'running PreScore plugin "{self.name}": {status.message}')
        return status


class CheckedScore:
    """A plugin at Score whose raw scores are its scores."""

    def __init__(self, plugin: Plugin) -> None:
        self.name = plugin.name
        self.is_local = plugin.is_local
        self._plugin = plugin

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """As ScorePlugin. Raises ScoringFailed."""
        return self._in_range(state, self._raw(state, rows))

    def _raw(self, state: CycleState, rows: IntArray) -> IntArray:
        answer = cast("CustomScorePlugin", self._plugin).score(state, rows)
        return self._scores(state, "Score", "running Score plugins", answer)

    def _scores(
        self, state: CycleState, point: str, doing: str, answer: IntArray | Status
    ) -> IntArray:
        if not isinstance(answer, Status):
            return answer
        failed = Status(answer.code, answer.reasons, self.name)
        record_of(state).setdefault(point, []).append(failed.to_dict())
        raise ScoringFailed(f'{doing}: plugin "{self.name}" failed with: {failed.message}')

    def _in_range(self, state: CycleState, scores: IntArray) -> IntArray:
        wrong = scores[(scores < 0) | (scores > MAX_NODE_SCORE)]
        if len(wrong):
            problem = (
                f'plugin "{self.name}" returns an invalid score {int(wrong[0])}, it should in the '
                f"range of [0, {MAX_NODE_SCORE}] after normalizing"
            )
            failed = Status(Code.ERROR, (problem,), self.name)
            record_of(state).setdefault("Score", []).append(failed.to_dict())
            raise ScoringFailed(f"applying score defaultWeights on Score plugins: {problem}")
        return scores


class CheckedNormalizedScore(CheckedScore):
    """A plugin at Score and NormalizeScore."""

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """As ScorePlugin. Raises ScoringFailed."""
        return self._raw(state, rows)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """As NormalizeScorePlugin. Raises ScoringFailed."""
        answer = cast("CustomNormalizePlugin", self._plugin).normalize(state, rows, scores)
        doing = "running Normalize on Score plugins"
        return self._in_range(state, self._scores(state, "NormalizeScore", doing, answer))


class CheckedPreparedScore(CheckedPreScore, CheckedScore):
    """A plugin at PreScore and Score."""

    def __init__(self, plugin: Plugin) -> None:
        """As CheckedScore's."""
        CheckedScore.__init__(self, plugin)


class CheckedPreparedNormalizedScore(CheckedPreScore, CheckedNormalizedScore):
    """A plugin at all three."""

    def __init__(self, plugin: Plugin) -> None:
        """As CheckedScore's."""
        CheckedScore.__init__(self, plugin)


def checked_score(plugin: Plugin, *, prepares: bool) -> ScorePlugin:
    """*plugin* at Score, and with *prepares* at PreScore, with its answers checked."""
    if isinstance(plugin, NormalizeScorePlugin):
        kind = CheckedPreparedNormalizedScore if prepares else CheckedNormalizedScore
    else:
        kind = CheckedPreparedScore if prepares else CheckedScore
    return cast("ScorePlugin", kind(plugin))


def checked_pre_score(plugin: Plugin) -> PreScorePlugin:
    """*plugin* at PreScore, with its answers checked."""
    return cast("PreScorePlugin", CheckedPreScore(plugin))
