"""The steps of PreScore, Score and the choice of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.framework.arithmetic import Arithmetic, Terms
from engine.framework.framework import CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.runtime import Framework, PluginScore, Scores
from engine.kernel.trace import Trace

# On more feasible nodes only so many of the best have their terms.
_TERMS_OF_ALL = 100
_TERMS_OF_BEST = 20


@dataclass(frozen=True, slots=True)
class PreScoreAnswer:
    """Whether a plugin takes part in scoring this pod, or was left out by PreScore."""

    plugin: str
    skips: bool


@dataclass(frozen=True, slots=True)
class ScoringPlugin:
    """A plugin that scored: its weight, the range of its raw scores, and how it normalises them.

    `normalizes` is the formula in terms of raw, lowest and highest; "" where raw scores are final.
    """

    plugin: str
    weight: int
    lowest: int
    highest: int
    normalizes: str


@dataclass(frozen=True, slots=True)
class NodeScore:
    """One plugin's score of one node: terms → raw → normalised → × weight.

    `shown` are the terms, by the code that scores; None where the plugin shows none, or where the
    node is not among the best of many.
    """

    raw: int
    normalized: int
    weighted: int
    shown: Terms | None


@dataclass(frozen=True, slots=True)
class ScoredNode:
    """A feasible node: its scores in the order of the plugins, and their sum."""

    node: str
    total: int
    scores: tuple[NodeScore, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """The scores of all feasible nodes; with a single one upstream scores nothing (`is_compared`)."""

    is_compared: bool
    pre_score: tuple[PreScoreAnswer, ...]
    plugins: tuple[ScoringPlugin, ...]
    not_scored: tuple[str, ...]
    nodes: tuple[ScoredNode, ...]


@dataclass(frozen=True, slots=True)
class HostChosen:
    """The node that was taken, of those with the highest total.

    With `way` "random" the draw gave place `drawn` of `tied`; in "turn" (v1.11) they are taken one
    after the other by name, with "name" the smallest name wins.
    """

    node: str
    total: int
    way: str
    tied: tuple[str, ...]
    drawn: int


def tell_scores(trace: Trace, framework: Framework, state: CycleState, scores: Scores) -> None:
    """Write the scores of the pod of *state* to *trace*."""
    trace.add(state.pod.pod.id, scored(framework, state, scores))


def scored(framework: Framework, state: CycleState, scores: Scores) -> Scored:
    """The step of *scores*, with the terms by the code that scores."""
    names = framework.handle.table.names(scores.rows.tolist())
    if len(scores.rows) == 1:
        return Scored(False, (), (), (), (ScoredNode(names[0], 0, ()),))
    with_terms = _best(scores.total)
    columns = [_column(framework, state, one, scores.rows, with_terms) for one in scores.plugins]
    known = {one.name for one in scores.plugins}
    return Scored(
        True,
        tuple(
            PreScoreAnswer(plugin.name, plugin.name in state.skip_score)
            for plugin in framework.plugins.pre_score
        ),
        tuple(_plugin(framework, one) for one in scores.plugins),
        tuple(plugin.name for plugin, _ in framework.plugins.score if plugin.name not in known),
        tuple(
            ScoredNode(name, total, tuple(column[place] for column in columns))
            for place, (name, total) in enumerate(zip(names, scores.total.tolist(), strict=True))
        ),
    )


def _best(total: IntArray) -> frozenset[int]:
    """The places whose terms are written down."""
    order = np.argsort(-total, kind="stable")
    return frozenset(
        order[: len(order) if len(order) <= _TERMS_OF_ALL else _TERMS_OF_BEST].tolist()
    )


def _plugin(framework: Framework, score: PluginScore) -> ScoringPlugin:
    plugin = framework.plugins.by_name.get(score.name)
    formula = "" if plugin is None else plugin.formula
    return ScoringPlugin(
        score.name, score.weight, int(score.raw.min()), int(score.raw.max()), formula
    )


def _column(
    framework: Framework,
    state: CycleState,
    score: PluginScore,
    rows: IntArray,
    with_terms: frozenset[int],
) -> Sequence[NodeScore]:
    plugin = framework.plugins.by_name.get(score.name)
    raw, normalized = score.raw.tolist(), score.normalized.tolist()
    weighted = score.weighted.tolist()
    found: list[NodeScore] = []
    for place, row in enumerate(rows.tolist()):
        shown: Terms | None = None
        if place in with_terms and isinstance(plugin, Arithmetic):
            shown = plugin.arithmetic(state, row)
        found.append(NodeScore(raw[place], normalized[place], weighted[place], shown))
    return found
