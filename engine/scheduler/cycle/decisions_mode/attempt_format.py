"""One attempt in the format of decisions files, which docs/decisions.md describes."""

from __future__ import annotations

from typing import Any

from engine.framework import names
from engine.framework.arithmetic import Arithmetic
from engine.framework.framework import PodVolumes
from engine.framework.pods.pod_info import PodInfo
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import ERROR, ScheduleResult
from engine.scheduler.preemption.preemption import Preemption

Attempt = dict[str, Any]


class AttemptFormat:
    """Writes the results of one algorithm, with the verdicts and scores if *evidence* is wanted.

    With *arithmetic* each score has its terms, of the plugins that show them.
    """

    def __init__(
        self, algorithm: SchedulingAlgorithm, *, evidence: bool, arithmetic: bool = False
    ) -> None:
        self._algorithm = algorithm
        self._evidence = evidence
        self._arithmetic = arithmetic

    def written(self, result: ScheduleResult, number: int, plan: PodVolumes) -> Attempt:
        """The attempt with this *number*, which is 1 for the first."""
        attempt = _blank(result.pod, number)
        attempt.update(
            result=result.result,
            node=result.node,
            tied=sorted(self._algorithm.table.names(result.tied_rows.tolist())),
            single_feasible=result.feasible == 1,
            message=result.message,
            volumes={"bind": plan.bind, "provision": plan.provision},
        )
        search = None if self._failed_at_filter(result) else result.search
        if search is not None and not self._algorithm.profile.rules.uses_predicates:
            attempt["prefilter"] = _status_dict(search.status)
        if result.result != ERROR:
            attempt["preemption"] = self._preemption(result.preemption)
        if self._evidence:
            attempt["filters"] = self._filters(result)
            attempt["scores"] = self._scores(result)
            if self._arithmetic:
                attempt["arithmetic"] = self._terms(result)
        return attempt

    def _failed_at_filter(self, result: ScheduleResult) -> bool:
        """Whether an error ended the search, so that no node counts as examined."""
        uses_predicates = self._algorithm.profile.rules.uses_predicates
        return result.result == ERROR and result.scores is None and not uses_predicates

    def _filters(self, result: ScheduleResult) -> dict[str, Any]:
        search = result.search
        if search is None or self._failed_at_filter(result):
            return {}
        if result.took_nominated_node:
            search = self._algorithm.search_everywhere(result.pod)
        framework, table = self._algorithm.framework, self._algorithm.table
        filters: dict[str, Any] = {}
        for row, plugin, code in search.verdicts.each():
            verdict = None
            if plugin:
                status = framework.explain(search.state, plugin, code)
                is_extender = status.plugin == names.EXTENDER
                if is_extender and not status.reasons:
                    # The extender left it out without a word, so no plugin has a verdict on the node.
                    continue
                verdict = {
                    "plugin": "" if is_extender else status.plugin,
                    "reasons": list(status.reasons),
                }
                if not self._algorithm.profile.rules.uses_predicates:
                    verdict["code"] = status.code.value
            filters[table.name(row)] = verdict
        return dict(sorted(filters.items()))

    def _scores(self, result: ScheduleResult) -> dict[str, Any]:
        scores = result.scores
        if scores is None:
            return {}
        # The format of v1.16 has the reduced score, before it is weighted.
        columns = {
            score.name: (
                score.normalized
                if self._algorithm.profile.rules.uses_predicates
                else score.weighted
            ).tolist()
            for score in scores.plugins
        }
        totals = scores.total.tolist()
        return {
            self._algorithm.table.name(row): {
                "total": totals[place],
                "plugins": {name: column[place] for name, column in columns.items()},
            }
            for place, row in enumerate(scores.rows.tolist())
        }

    def _terms(self, result: ScheduleResult) -> dict[str, Any]:
        """By node and plugin, how the raw scores came about."""
        scores, search = result.scores, result.search
        if scores is None or search is None:
            return {}
        by_name = self._algorithm.framework.plugins.by_name
        plugins = [
            plugin
            for plugin in (by_name.get(score.name) for score in scores.plugins)
            if isinstance(plugin, Arithmetic)
        ]
        return {
            self._algorithm.table.name(row): {
                plugin.name: plugin.arithmetic(search.state, row).to_dict() for plugin in plugins
            }
            for row in scores.rows.tolist()
        }

    def _preemption(self, preemption: Preemption | None) -> dict[str, Any] | None:
        if preemption is None:
            return None
        chosen = preemption.chosen
        found: dict[str, Any] = {
            "node": chosen.node if chosen else None,
            "victims": [victim.key for victim in chosen.victims] if chosen else [],
        }
        if self._evidence:
            found["candidates"] = {
                candidate.node: {
                    "victims": [victim.key for victim in candidate.victims],
                    "pdb_violations": candidate.violations,
                }
                for candidate in preemption.candidates
            }
        return found


def gated_attempt(pod: PodInfo, number: int, message: str) -> Attempt:
    """The attempt of a pod that may not enter the queue."""
    return {**_blank(pod, number), "result": "gated", "message": message, "prefilter": {}}


def _blank(pod: PodInfo, number: int) -> Attempt:
    return {
        "pod": pod.key,
        "attempt": number,
        "priority": pod.priority,
        "result": "",
        "node": None,
        "tied": [],
        "single_feasible": False,
        "filters": {},
        "scores": {},
        "volumes": {"bind": {}, "provision": {}},
        "preemption": None,
        "message": "",
    }


def _status_dict(status: Any) -> dict[str, Any]:
    if status.is_success:
        return {"code": status.code.value}
    return {
        "code": status.code.value,
        "plugin": status.plugin,
        "reasons": list(status.reasons),
    }
