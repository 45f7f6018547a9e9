"""Why no node fits: the status of each node, and the message of the attempt.

Upstream: framework/types.go Diagnosis, FitError.
"""

from __future__ import annotations

from engine.framework.framework import Code, Status
from engine.framework.messages import aggregate, fit_error
from engine.framework.runtime import Framework, Search
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.decision.extender_rounds import LEFT_OUT
from engine.scheduler.cycle.decision.result import ERROR, UNSCHEDULABLE, ScheduleResult


class FitErrors:
    """Turns searches without a feasible node into results, statuses and messages."""

    def __init__(self, profile: Profile, framework: Framework) -> None:
        self._rules = profile.rules
        self._framework = framework
        self._table = framework.handle.table

    def rejected(self, search: Search) -> ScheduleResult:
        """The result if PreFilter rejected the pod."""
        status, pod = search.status, search.state.pod
        if status.code is Code.ERROR:
            prefix = ""
            if self._rules.names_extension_points:
                prefix = f'running PreFilter plugin "{status.plugin}": '
            return ScheduleResult(pod, ERROR, message=prefix + status.message, search=search)
        count = len(self._table)
        if self._rules.counts_pre_filter_rejections:
            message = fit_error(count, dict.fromkeys(status.reasons, count))
        else:
            message = fit_error(count, {}, pre_filter=status.message)
        return ScheduleResult(pod, UNSCHEDULABLE, message=message, search=search)

    def failed(self, search: Search) -> ScheduleResult | None:
        """The result if a filter failed on some node, which fails the whole attempt."""
        kinds = self._kinds(search)
        if self._rules.names_extension_points:
            failed = next((one for one, _ in kinds if one.code is Code.ERROR), None)
            if failed is None:
                return None
            message = f'running "{failed.plugin}" filter plugin: {failed.message}'
            return ScheduleResult(search.state.pod, ERROR, message=message, search=search)
        errors = [
            status.message
            for status, count in kinds
            if status.code is Code.ERROR
            for _ in range(count)
        ]
        if not errors:
            return None
        return ScheduleResult(
            search.state.pod,
            ERROR,
            message=aggregate(errors),
            search=search,
            statuses=[status for status, _ in kinds],
            evaluated=len(search.verdicts.rows),
        )

    def unschedulable(self, search: Search) -> ScheduleResult:
        """The result if no node fits."""
        search.refusals = self._kinds(search)
        return ScheduleResult(
            search.state.pod,
            UNSCHEDULABLE,
            evaluated=len(search.verdicts.rows),
            message=self.message(search),
            search=search,
            statuses=[status for status, _ in search.refusals],
        )

    def status_by_node(self, search: Search) -> dict[str, Status]:
        """The status of every refused node; a rejection at PreFilter is that of all nodes."""
        if not search.status.is_success:
            return dict.fromkeys(self._table.rows, search.status)
        return {
            self._table.name(row): self._framework.explain(search.state, plugin, code)
            for row, plugin, code in search.verdicts.each()
            if plugin
        }

    def message(self, search: Search, post_filter: str = "") -> str:
        """The message of the attempt; *post_filter* is what the post-filters answered."""
        reasons = self._reasons(search)
        if not reasons and self._rules.ends_empty_reasons:
            # Extenders left nodes out without a reason; the old versions then print an empty list.
            return f"{fit_error(len(self._table), {})} ."
        return fit_error(
            len(self._table), reasons, pre_filter=search.status.message, post_filter=post_filter
        )

    def _reasons(self, search: Search) -> dict[str, int]:
        """How many nodes gave each reason."""
        reasons: dict[str, int] = {}
        absent = search.absent
        refusals = self._kinds(search) if search.refusals is None else search.refusals
        for status, count in refusals:
            # A node that an extender left out without a reason counts as not evaluated.
            absent += count if status == LEFT_OUT else 0
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        if absent and search.narrowed_by:
            plugins = " ".join(search.narrowed_by)
            reason = f"node(s) didn't satisfy plugin(s) [{plugins}]"
            reasons[reason] = reasons.get(reason, 0) + absent
        return reasons

    def _kinds(self, search: Search) -> list[tuple[Status, int]]:
        """The distinct statuses of refused nodes, and how many nodes have each."""
        return [
            (self._framework.explain(search.state, plugin, code), count)
            for plugin, code, count in search.verdicts.kinds()
        ]
