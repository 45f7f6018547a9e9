"""PostFilter where a profile has plugins of its own there, among or instead of the in-tree ones.

Upstream: framework/runtime/framework.go RunPostFilterPlugins(): the first plugin that answers with
Success, UnschedulableAndUnresolvable or an error ends the round; what the others say is put
together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from scheduling.engine import names
from scheduling.engine.configuration.profiles import Profile
from scheduling.engine.configuration.registry import IN_TREE
from scheduling.engine.framework.framework import (
    SUCCESS,
    Code,
    PostFilterPlugin,
    PostFilterResult,
    Status,
    record_of,
)
from scheduling.engine.framework.runtime import Framework, Search
from scheduling.engine.preemption.preemption import Candidate, Preemption


class PostFilters:
    """The post-filters of one profile, in order."""

    def __init__(self, profile: Profile, framework: Framework) -> None:
        self._profile = profile
        self._table = framework.handle.table
        self._plugins = framework.plugins.by_name

    def run(
        self, search: Search, statuses: Mapping[str, Status], evict: Callable[[], Preemption]
    ) -> tuple[Preemption, str]:
        """What came of them, and the text that stands behind the pod's message.

        *statuses* are those of the nodes that were refused; *evict* runs DefaultPreemption.
        """
        found = Preemption()
        reasons: list[str] = []
        said = record_of(search.state).setdefault("PostFilter", [])
        for name in self._profile.post_filters:
            outcome, status = self._ask(name, search, statuses, evict)
            said.append(status.to_dict())
            found = _later(found, outcome)
            if status.code is Code.UNSCHEDULABLE or status.code is Code.PENDING:
                reasons += status.reasons
                continue
            if status.code is Code.SUCCESS or status.code is Code.UNRESOLVABLE:
                return outcome, status.message
            return _empty(found), status.message
        return found, ", ".join(reasons)

    def _ask(
        self,
        name: str,
        search: Search,
        statuses: Mapping[str, Status],
        evict: Callable[[], Preemption],
    ) -> tuple[Preemption, Status]:
        if name == names.DYNAMIC_RESOURCES:
            return Preemption(), _dynamic_resources(search, self._profile)
        if name == names.DEFAULT_PREEMPTION:
            return self._default_preemption(evict)
        plugin = cast("PostFilterPlugin", self._plugins[name])
        result = plugin.post_filter(search.state, statuses)
        status = Status(result.status.code, result.status.reasons, name)
        return self._outcome(result), status

    def _default_preemption(self, evict: Callable[[], Preemption]) -> tuple[Preemption, Status]:
        name = names.DEFAULT_PREEMPTION
        preemption = evict()
        if preemption.chosen is not None:
            return preemption, Status(SUCCESS.code, (), name)
        reasons = (f"preemption: {preemption.message}",) if preemption.message else ()
        code = Code.ERROR if preemption.failed else Code.UNSCHEDULABLE
        return preemption, Status(code, reasons, name)

    def _outcome(self, result: PostFilterResult) -> Preemption:
        row = self._table.rows.get(result.node) if result.node else None
        if row is None:
            return Preemption()
        chosen = Candidate(row, result.node, list(result.victims), [], 0)
        return Preemption(candidates=[chosen], chosen=chosen)


def dynamic_resources_ran(search: Search, profile: Profile) -> bool:
    """Whether PreFilter has come as far as DynamicResources, so that its PostFilter has a state.

    It stands behind all others that are in-tree, and before those that are not.
    """
    if not profile.prepares_dynamic_resources:
        return False
    status = search.status
    refuses_at_once = not (status.is_success or status.code is Code.UNSCHEDULABLE)
    return not (refuses_at_once and (status.plugin in IN_TREE or not status.plugin))


def _dynamic_resources(search: Search, profile: Profile) -> Status:
    """No pod here has resource claims."""
    name = names.DYNAMIC_RESOURCES
    if dynamic_resources_ran(search, profile):
        return Status(Code.UNSCHEDULABLE, ("no new claims to deallocate",), name)
    return Status(Code.ERROR, ("not found",), name)


def _later(one: Preemption, other: Preemption) -> Preemption:
    """The last nomination counts, be it that there is none; else whatever is there to explain."""
    tells = bool(other.candidates or other.message)
    if other.chosen is not None or other.clears or (one.chosen is None and tells):
        return other
    return one


def _empty(found: Preemption) -> Preemption:
    """An error takes back what an earlier plugin has made of the nomination."""
    found.clears = False
    return Preemption() if found.chosen is not None else found
