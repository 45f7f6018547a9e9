"""Adds to a result what every plugin answered, from columns that are kept per pod template."""

from __future__ import annotations

from engine.framework.columns.explanation import LazyVerdicts
from engine.framework.columns.kept_verdicts import KeptVerdicts
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Framework, Search
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult


class Explanations:
    """Explains the decisions of one profile.

    With *asks_once* every plugin is asked exactly once in an attempt: custom plugins, and those
    that can only fail. Then nothing can be explained after the decision.
    """

    def __init__(self, framework: Framework, nominated: Nominated, *, asks_once: bool) -> None:
        self.kept = KeptVerdicts(framework, foreign=asks_once)
        self._framework = framework
        self._nominated = nominated
        self._asks_once = asks_once

    def allow_fast_path(self, pod: PodInfo, *, explain: bool, by_columns: bool) -> bool:
        """Whether the pod's decision can be explained after the fast path, at less cost."""
        if self._asks_once:
            return False
        return self.kept.has_met(pod) if explain and by_columns else not explain

    def add(
        self, result: ScheduleResult, evaluated: IntArray, *, explain: bool, keep: bool
    ) -> None:
        """Explain a *result* of the fast path, which *evaluated* these rows.

        With *explain* as search and scores, with *keep* as an explanation.
        """
        search = self._framework.find_feasible(result.pod, evaluated, self._nominated, self.kept)
        verdicts = search.verdicts
        is_kept = isinstance(verdicts, LazyVerdicts)
        explanation = verdicts.explanation if is_kept else self.kept.settle(search)
        scores = self.kept.score(search, explanation)
        if explain:
            result.search, result.scores = search, scores
        if keep:
            result.explanation = explanation

    def keep(self, result: ScheduleResult, search: Search) -> None:
        """Give *result* an explanation made of *search* and of its scores."""
        explanation = result.explanation = self.kept.settle(search)
        if result.scores is not None:
            self.kept.keep_scores(search, explanation, result.scores)
        elif result.result == SCHEDULED:
            self.kept.score(search, explanation)
