"""PostFilter: makes room for a pod that fits nowhere.

The first plugin that answers with Success, UnschedulableAndUnresolvable or an error ends the round;
otherwise the reasons of all are joined. Upstream: framework/runtime/framework.go
RunPostFilterPlugins().
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from engine.framework import names
from engine.framework.framework import (
    SUCCESS,
    Code,
    PostFilterPlugin,
    PostFilterResult,
    Status,
    record_of,
)
from engine.framework.nodes.nominated import Nominated
from engine.framework.runtime import Framework, Search
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.configuration.registry import IN_TREE, idle_answer_of, unprepared_of
from engine.scheduler.cycle.decision.extender_rounds import ExtenderRounds
from engine.scheduler.preemption.dry_run import Candidate
from engine.scheduler.preemption.preemption import Evaluator, Preemption

StatusByNode = Callable[[Search], Mapping[str, Status]]


class PostFilters:
    """The post-filters of one profile, in order."""

    def __init__(
        self,
        profile: Profile,
        framework: Framework,
        evaluator: Evaluator,
        nominated: Nominated,
        extenders: ExtenderRounds | None,
    ) -> None:
        self._profile = profile
        self._rules = profile.rules
        self._table = framework.handle.table
        self._plugins = framework.plugins.by_name
        self._evaluator = evaluator
        self._nominated = nominated
        self._extenders = extenders

    def run(self, search: Search, statuses: StatusByNode) -> tuple[Preemption | None, str]:
        """What the post-filters did, and the text that they add to the pod's message.

        None where the profile has none. *statuses* returns the status of each refused node.
        """
        if self._profile.custom_post_filters:
            return self._run_custom(search, statuses(search))
        if self._rules.post_filter == "silent":
            return (self._preempt(search) if self._profile.preempts else None), ""
        return self._run_in_tree(search)

    def _run_in_tree(self, search: Search) -> tuple[Preemption, str]:
        """The same round without asking, for in-tree plugins that come before DefaultPreemption."""
        others = [name for name in self._profile.post_filters if name in IN_TREE]
        if not search.status.is_success and self._rules.post_filter == "absent":
            return Preemption(), ""
        answers: list[str] = []
        for name in others:
            status = self._ask_in_tree(name, search)
            if status.code is Code.ERROR:
                return Preemption(), status.message
            answers.append(status.message)
        if not self._profile.preempts:
            # Nominations stay as they are. Upstream: schedulingCycle(), no nominatingInfo.
            return Preemption(), ", ".join(answers)
        preemption = self._preempt(search)
        reports = self._rules.post_filter == "reported"
        if preemption.chosen is not None:
            return preemption, self._place_found(preemption)
        if not preemption.message or not reports:
            return preemption, ""
        if preemption.failed:
            # An error ends the round, and its message is the only one.
            answers = []
        return preemption, ", ".join((*answers, f"preemption: {preemption.message}"))

    def _ask_in_tree(self, name: str, search: Search) -> Status:
        """The answer of a plugin that changes no cluster here; DefaultPreemption is not among them."""
        error = unprepared_of(name).post_filter
        if error and not ran_pre_filter(name, search, self._profile):
            # Its PostFilter finds no state of its PreFilter, and that error ends the round.
            return Status(Code.ERROR, (error,), name)
        plugin = self._plugins.get(name)
        if isinstance(plugin, PostFilterPlugin):
            return plugin.post_filter(search.state, {}).status
        return Status(Code.UNSCHEDULABLE, (idle_answer_of(name),), name)

    def _preempt(self, search: Search) -> Preemption:
        """Find victims, and let the extenders take some away."""
        pod = search.state.pod
        preemption = self._evaluator.preempt(search, self._nominated, pod.pod.nominated_node_name)
        if preemption.chosen is not None and self._extenders is not None:
            self._extenders.preempt(pod, preemption, self._evaluator)
        return preemption

    def _run_custom(self, search: Search, statuses: Mapping[str, Status]) -> tuple[Preemption, str]:
        """A round in which some plugins are not in-tree."""
        found = Preemption()
        reasons: list[str] = []
        answers = record_of(search.state).setdefault("PostFilter", [])
        for name in self._profile.post_filters:
            outcome, status = self._ask(name, search, statuses)
            answers.append(status.to_dict())
            found = _later(found, outcome)
            if status.code is Code.UNSCHEDULABLE or status.code is Code.PENDING:
                reasons += status.reasons
                continue
            if status.code is Code.SUCCESS or status.code is Code.UNRESOLVABLE:
                return outcome, status.message
            return _without_nomination(found), status.message
        return found, ", ".join(reasons)

    def _ask(
        self, name: str, search: Search, statuses: Mapping[str, Status]
    ) -> tuple[Preemption, Status]:
        if name in IN_TREE:
            return Preemption(), self._ask_in_tree(name, search)
        if name == names.DEFAULT_PREEMPTION:
            return self._default_preemption(search)
        plugin = cast("PostFilterPlugin", self._plugins[name])
        result = plugin.post_filter(search.state, statuses)
        status = Status(result.status.code, result.status.reasons, name)
        return self._outcome(result), status

    def _default_preemption(self, search: Search) -> tuple[Preemption, Status]:
        name = names.DEFAULT_PREEMPTION
        preemption = self._preempt(search)
        if preemption.chosen is not None:
            where = self._place_found(preemption)
            return preemption, Status(SUCCESS.code, (where,) if where else (), name)
        reasons = (f"preemption: {preemption.message}",) if preemption.message else ()
        code = Code.ERROR if preemption.failed else Code.UNSCHEDULABLE
        return preemption, Status(code, reasons, name)

    def _place_found(self, preemption: Preemption) -> str:
        """Upstream: v1.37 plugins/defaultpreemption, PostFilter() (#140180)."""
        found = preemption.chosen
        if found is None or not self._profile.preemption.says_where:
            return ""
        return (
            f"preemption: found a potential placement for pod on node {found.node}, preempting "
            f"{len(found.victims)} victims"
        )

    def _outcome(self, result: PostFilterResult) -> Preemption:
        row = self._table.rows.get(result.node) if result.node else None
        if row is None:
            return Preemption()
        chosen = Candidate(row, result.node, list(result.victims), [], 0)
        return Preemption(candidates=[chosen], chosen=chosen)


def ran_pre_filter(name: str, search: Search, profile: Profile) -> bool:
    """Whether PreFilter of in-tree plugin *name* ran, so that its PostFilter finds a state.

    A plugin with a PostFilter comes after all other in-tree plugins, and before custom ones.
    """
    if not profile.prepares(name):
        return False
    status = search.status
    refuses_at_once = not (status.is_success or status.code is Code.UNSCHEDULABLE)
    return not (refuses_at_once and (status.plugin in IN_TREE or not status.plugin))


def _later(one: Preemption, other: Preemption) -> Preemption:
    """The last plugin that nominates or clears counts; otherwise the last that explains itself."""
    explains = bool(other.candidates or other.message)
    if other.chosen is not None or other.clears or (one.chosen is None and explains):
        return other
    return one


def _without_nomination(found: Preemption) -> Preemption:
    """After an error: what an earlier plugin did to the nomination does not count."""
    found.clears = False
    return Preemption() if found.chosen is not None else found
