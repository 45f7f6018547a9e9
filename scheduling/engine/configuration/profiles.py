"""Which plugins run in which order with which weights: the default profiles, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from kscope.sim.objects.pod_resources import RESOURCE_RULES, ResourceRules
from scheduling.engine import names
from scheduling.engine.configuration.registry import IN_TREE, factory_of
from scheduling.engine.framework.framework import (
    FilterPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from scheduling.engine.framework.handle import Handle
from scheduling.engine.framework.messages import combined
from scheduling.engine.framework.runtime import Framework, PluginSet
from scheduling.engine.framework.scoring import checked_pre_score, checked_score
from scheduling.engine.framework.unprepared import (
    FAILING_FILTERS,
    FILTER_ERRORS,
    RESERVE_ERRORS,
    SCORE_ERRORS,
    unprepared_filter,
    unprepared_score,
)
from scheduling.engine.framework.wording import WORDING_1_20, Wording
from scheduling.engine.plugins.classic.all_predicates import AllPredicates
from scheduling.engine.plugins.scheduling_gates import SchedulingGates
from scheduling.engine.pods.pod_template import Unreadable
from scheduling.engine.preemption.preemption import PreemptionRules
from volumes.engine.binding.binder import DEFAULT_BIND_TIMEOUT

V1_34 = "v1.34"
V1_20 = "v1.20"
V1_16 = "v1.16"
V1_11 = "v1.11"


# What these do outside of filters and scores is the scheduler's own business, not a class's.
_OWN_BUSINESS = frozenset(
    (
        names.PRIORITY_SORT,
        names.DYNAMIC_RESOURCES,
        names.DEFAULT_PREEMPTION,
        names.VOLUME_BINDING,
        names.DEFAULT_BINDER,
    )
)
# What the in-tree post-filters say for themselves; see SchedulingAlgorithm.preempt().
_MODERN_POST_FILTERS = (names.DYNAMIC_RESOURCES, names.DEFAULT_PREEMPTION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One set of plugins; pods choose it by its name, the schedulerName.

    `filters` are in the order in which they are asked, `scores` maps plugins to weights;
    `post_filters` to `post_binds` name the plugins at these points, in order. `kinds` says which
    plugin stands behind a name that a Policy made up. `percentage` is percentageOfNodesToScore;
    0 means adaptive. `checks_all` asks every filter about every node (alwaysCheckAllPredicates).
    """

    name: str
    version: str
    filters: tuple[str, ...]
    scores: tuple[tuple[str, int], ...]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    percentage: int = 0
    preemption: PreemptionRules = field(default_factory=PreemptionRules)
    # v1.16 speaks of predicates: errors end the cycle, and messages are put together differently.
    is_classic: bool = False
    # v1.20: a refusal before any node was looked at counts as every node's, PreFilter narrows
    # nothing, and messages do not speak of preemption.
    refuses_per_node: bool = False
    # v1.20: the scheduler's own write of the condition wakes the pod (see QueueRules), a deleted
    # pod that was waiting gets an Event, and a failed binding wakes nobody else.
    status_wakes: bool = False
    wording: Wording | None = None
    pre_enqueues: tuple[str, ...] = (names.SCHEDULING_GATES,)
    queue_sort: str = names.PRIORITY_SORT
    # The order at PreFilter, where it is not that of the filters.
    pre_filters: tuple[str, ...] = ()
    # How long a binding waits for its volumes, in ns. Upstream: bindTimeoutSeconds.
    bind_timeout: int = DEFAULT_BIND_TIMEOUT
    # VolumeBinding is among the scores. Its feature gate is off: it only counts as one.
    scores_volumes: bool = False
    # Of somebody else's plugins those at PreScore, in order; the in-tree ones never fail there.
    pre_scores: tuple[str, ...] = ()
    # The points among PreFilter, Filter, PreScore and Score that a plugin has a method for, but
    # takes no part at, although it does so at another point.
    left_out: frozenset[tuple[str, str]] = frozenset()
    post_filters: tuple[str, ...] = _MODERN_POST_FILTERS
    reserves: tuple[str, ...] = (names.VOLUME_BINDING,)
    permits: tuple[str, ...] = ()
    pre_binds: tuple[str, ...] = (names.VOLUME_BINDING,)
    binds: tuple[str, ...] = (names.DEFAULT_BINDER,)
    post_binds: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    checks_all: bool = False
    # v1.11: a worker binds the volumes and sends the pod round again until all are bound.
    binds_in_rounds: bool = False

    @property
    def resource_rules(self) -> ResourceRules:
        """How requests are added up."""
        return RESOURCE_RULES[self.version]

    @property
    def is_current(self) -> bool:
        """Whether the profile follows v1.34, and no version before it."""
        return not (self.is_classic or self.refuses_per_node)

    @property
    def counts_attachments(self) -> bool:
        """Whether NodeVolumeLimits looks at VolumeAttachments, too (since v1.33)."""
        return self.is_current

    @property
    def preempts(self) -> bool:
        """Whether room is made by evictions."""
        return names.DEFAULT_PREEMPTION in self.post_filters

    @property
    def custom_plugins(self) -> tuple[str, ...]:
        """All plugins of somebody else's, each once."""
        asked = (*self.filters, *dict(self.scores), *self._enqueuing, *self._later)
        return tuple(name for name in dict.fromkeys(asked) if self._is_custom(name))

    def _is_custom(self, name: str) -> bool:
        own = name in _OWN_BUSINESS or name == names.SCHEDULING_GATES
        return not (own or name in IN_TREE or name in self.kinds)

    @property
    def takes_first_fit(self) -> bool:
        """Whether the search may end with the first node that fits (since v1.30)."""
        return self.is_current and not (self.scores or self.scores_volumes)

    @property
    def looks_at_all_nodes(self) -> bool:
        """Whether no search ends before the last node, whatever `percentage` says (before v1.12)."""
        return self.version == V1_11

    @property
    def has_budgets_counted(self) -> bool:
        """Whether the reference decisions count the pods of a budget that has no status."""
        return self.version != V1_11

    @property
    def tries_nominated_first(self) -> bool:
        """Whether the node that a pod is nominated to is tried before all others (since v1.22)."""
        return self.is_current

    @property
    def has_hints(self) -> bool:
        """Whether plugins say which events help the pods that they turned away (since v1.32)."""
        return self.is_current

    @property
    def scores_sent_back(self) -> bool:
        """Whether nodes that an extender sends back are scored as they are, without their pods.

        Upstream: extender.go HTTPExtender.Filter(), kubernetes#141781.
        """
        return self.is_current

    @property
    def marks_victims(self) -> bool:
        """Whether pods that are evicted for others say so in condition DisruptionTarget (1.26)."""
        return self.is_current

    @property
    def heeds_gates(self) -> bool:
        """Whether a pod with scheduling gates waits outside of the queue (since v1.26)."""
        return names.SCHEDULING_GATES in self._enqueuing

    @property
    def fails_unprepared(self) -> bool:
        """Whether some in-tree plugin is asked at Filter or Score that cannot do so; unprepared.py."""
        filters = {(name, "preFilter") for name in self.filters if name in FAILING_FILTERS}
        scoring = any(self._fails_to_score(name) for name, _ in self.scores)
        return scoring or not self.left_out.isdisjoint(filters)

    @property
    def fails_at_reserve(self) -> str:
        """What every pod that fits somewhere fails with at Reserve, or ""."""
        unprepared = (name for name in self.reserves if not self._takes_part(name, "preFilter"))
        return next((RESERVE_ERRORS[name] for name in unprepared if name in RESERVE_ERRORS), "")

    def unreadable(self, preferences: Sequence[Unreadable]) -> str:
        """What a pod fails with that prefers nodes by such values; "" where nobody reads them.

        Upstream: nodeaffinity.NewPreferredSchedulingTerms(), labels.NewRequirement().
        """
        problem = preferences[0].alone
        name, scores = names.NODE_AFFINITY, dict(self.scores)
        if self.is_classic:
            name = names.NODE_AFFINITY_PRIORITY
            # A Policy may give its name to another priority.
            return problem if name in scores and name not in self.kinds else ""
        if not self.refuses_per_node:
            problem = combined(one.with_path for one in preferences)
            # It is asked there whether it scores or not.
            is_enabled = name in scores or (name, "score") in self.left_out
            if is_enabled and self._takes_part(name, "preScore"):
                return f'running PreScore plugin "{name}": {problem}'
        failing = (one for one in scores if one == name or self._fails_to_score(one))
        if next(failing, "") != name:
            return ""
        return f'running Score plugins: plugin "{name}" failed with: {problem}'

    def _fails_to_score(self, name: str) -> bool:
        return name in SCORE_ERRORS and not self._takes_part(name, "preScore")

    @property
    def prepares_dynamic_resources(self) -> bool:
        """Whether PostFilter of DynamicResources finds what its PreFilter wrote."""
        return self._takes_part(names.DYNAMIC_RESOURCES, "preFilter")

    @property
    def prepares_alone(self) -> bool:
        """Whether some plugin takes part at PreScore and has no score."""
        weights = dict(self.scores)
        return any(name not in weights for name in self.pre_scores)

    @property
    def _later(self) -> tuple[str, ...]:
        """The plugins with a class of their own that are asked beside filters and scores."""
        sort = _custom((self.queue_sort,))
        return (*self.pre_scores, *self.custom_post_filters, *sort, *self.custom_placing)

    @property
    def custom_post_filters(self) -> tuple[str, ...]:
        """The post-filters that are not the scheduler's own."""
        return _custom(self.post_filters)

    @property
    def custom_queue_sort(self) -> str:
        """The plugin that orders the active queue, or "" where it is ordered by priority."""
        return next(iter(_custom((self.queue_sort,))), "")

    @property
    def custom_placing(self) -> tuple[str, ...]:
        """The plugins from Reserve to PostBind that are not the scheduler's own, each once."""
        points = (self.reserves, self.permits, self.pre_binds, self.binds, self.post_binds)
        return tuple(dict.fromkeys(name for one in points for name in _custom(one)))

    def build(self, handle: Handle) -> Framework:
        """The plugins, ready to run.

        Raises:
            UnknownPlugin: the profile names a plugin that does not exist.
        """
        plugins = PluginSet()
        weights = dict(self.scores)
        for name in dict.fromkeys((*self.filters, *weights, *self._enqueuing, *self._later)):
            if name == names.DYNAMIC_RESOURCES:
                # It is asked only where it fails.
                plugins.filter.append(unprepared_filter(name))
                continue
            plugin = plugins.by_name[name] = self._make(name, handle)
            if name in self.filters:
                self._add_filter(plugins, plugin)
            if name in weights:
                self._add_score(plugins, plugin, weights[name])
            if name in self.pre_enqueues and isinstance(plugin, PreEnqueuePlugin):
                plugins.pre_enqueue.append(plugin)
        # Of two that fail the first is named.
        order = {name: place for place, name in enumerate(weights)}
        plugins.score.sort(key=lambda score: order[score[0].name])
        if self.pre_filters:
            # Some have a PreFilter here that v1.20 does without: no refusal may keep them from it.
            order = {name: place for place, name in enumerate(self.pre_filters)}
            plugins.pre_filter.sort(key=lambda plugin: order.get(plugin.name, -1))
        plugins.pre_score += [checked_pre_score(plugins.by_name[name]) for name in self.pre_scores]
        if self.checks_all:
            plugins.filter = [AllPredicates(plugins.filter)]
        return Framework(
            handle,
            plugins,
            wording=self.wording,
            narrows=not self.refuses_per_node,
            late=frozenset({names.VOLUME_ZONE}) if self.refuses_per_node else frozenset(),
        )

    def _takes_part(self, name: str, point: str) -> bool:
        return (name, point) not in self.left_out

    def _add_filter(self, plugins: PluginSet, plugin: Plugin) -> None:
        name = plugin.name
        prepares = self._takes_part(name, "preFilter")
        if isinstance(plugin, PreFilterPlugin) and prepares:
            plugins.pre_filter.append(plugin)
        if isinstance(plugin, FilterPlugin) and self._takes_part(name, "filter"):
            needs = not prepares and name in FILTER_ERRORS
            plugins.filter.append(unprepared_filter(name) if needs else plugin)

    def _add_score(self, plugins: PluginSet, plugin: Plugin, weight: int) -> None:
        name = plugin.name
        is_custom = self._is_custom(name)
        prepares = isinstance(plugin, PreScorePlugin) and self._takes_part(name, "preScore")
        if prepares and name not in self.pre_scores:
            prepared = cast("PreScorePlugin", plugin)
            plugins.pre_score.append(checked_pre_score(plugin) if is_custom else prepared)
        if isinstance(plugin, ScorePlugin):
            score: ScorePlugin = plugin
            if is_custom:
                score = checked_score(plugin, prepares=prepares)
            elif not self._takes_part(name, "preScore"):
                score = unprepared_score(plugin)
            plugins.score.append((score, weight))

    @property
    def _enqueuing(self) -> tuple[str, ...]:
        return () if self.is_classic else self.pre_enqueues

    def _make(self, name: str, handle: Handle) -> Plugin:
        if name == names.SCHEDULING_GATES:
            return SchedulingGates()
        kind = self.kinds.get(name, name)
        plugin = factory_of(kind)(self.arguments.get(name) or {}, handle)
        if kind != name:
            # The class's name is that of its kind; this one goes by the name in the Policy.
            setattr(plugin, "name", name)  # noqa: B010
        return plugin


def _custom(plugins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in plugins if name not in _OWN_BUSINESS)


MODERN = Profile(
    name="default-scheduler",
    version=V1_34,
    filters=(
        names.NODE_UNSCHEDULABLE,
        names.NODE_NAME,
        names.TAINT_TOLERATION,
        names.NODE_AFFINITY,
        names.NODE_PORTS,
        names.NODE_RESOURCES_FIT,
        names.VOLUME_RESTRICTIONS,
        names.NODE_VOLUME_LIMITS,
        names.VOLUME_BINDING,
        names.VOLUME_ZONE,
        names.POD_TOPOLOGY_SPREAD,
        names.INTER_POD_AFFINITY,
    ),
    scores=(
        (names.TAINT_TOLERATION, 3),
        (names.NODE_AFFINITY, 2),
        (names.NODE_RESOURCES_FIT, 1),
        (names.POD_TOPOLOGY_SPREAD, 2),
        (names.INTER_POD_AFFINITY, 2),
        (names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
        (names.IMAGE_LOCALITY, 1),
    ),
)

# The framework with its defaults of that version; NodeResourcesLeastAllocated is what
# NodeResourcesFit scores, NodePreferAvoidPods gives 10 of 10 here and 100 of 100 there.
# Upstream: pkg/scheduler/algorithmprovider/registry.go getDefaultConfig().
FRAMEWORK_1_20 = replace(
    MODERN,
    version=V1_20,
    scores=(
        (names.NODE_RESOURCES_BALANCED_ALLOCATION, 1),
        (names.IMAGE_LOCALITY, 1),
        (names.INTER_POD_AFFINITY, 1),
        (names.NODE_RESOURCES_FIT, 1),
        (names.NODE_AFFINITY, 1),
        (names.NODE_PREFER_AVOID_PODS_PRIORITY, 100_000),
        (names.POD_TOPOLOGY_SPREAD, 2),
        (names.TAINT_TOLERATION, 1),
    ),
    arguments={
        names.NODE_RESOURCES_FIT: {"gives_up_too_small": False, "compares_all": True},
        names.NODE_RESOURCES_BALANCED_ALLOCATION: {"counts_defaults": True},
        names.IMAGE_LOCALITY: {"counts_as_reported": True},
        names.POD_TOPOLOGY_SPREAD: {"rounds": False, "defaults_need_all_labels": True},
        names.INTER_POD_AFFINITY: {"skips_early": False},
        names.VOLUME_BINDING: {
            "knows_lost_claims": False,
            "awaits_own_claims": False,
            "translates": False,
        },
        names.NODE_VOLUME_LIMITS: {"is_modern": False},
        names.VOLUME_RESTRICTIONS: {"looks_at_claims": False},
    },
    preemption=PreemptionRules(
        limits_candidates=False,
        sorts_victims=False,
        errors_fail=False,
        clears_without_candidates=False,
        trusts_unseen=True,
        knows_its_victims=False,
        needs_evictions=False,
        spares_the_leaving=False,
    ),
    pre_enqueues=(),
    refuses_per_node=True,
    status_wakes=True,
    wording=WORDING_1_20,
)

_CLASSIC_RULES = PreemptionRules(
    budgets_count_down=False,
    needs_victims=False,
    limits_candidates=False,
    sorts_victims=False,
    checks_policy=False,
    errors_fail=False,
    clears_without_candidates=False,
    gives_hopeless_up=False,
    trusts_unseen=True,
    knows_its_victims=False,
    needs_evictions=False,
    spares_the_leaving=False,
)

# DefaultProvider with TaintNodesByCondition on. Upstream: algorithmprovider/defaults.
CLASSIC = Profile(
    name="default-scheduler",
    version=V1_16,
    filters=(
        names.POD_PASSES_BASIC_CHECKS,
        names.CHECK_NODE_UNSCHEDULABLE,
        names.GENERAL_PREDICATES,
        names.NO_DISK_CONFLICT,
        names.POD_TOLERATES_NODE_TAINTS,
        names.MAX_EBS_VOLUME_COUNT,
        names.MAX_GCE_PD_VOLUME_COUNT,
        names.MAX_CSI_VOLUME_COUNT,
        names.MAX_AZURE_DISK_VOLUME_COUNT,
        names.CHECK_VOLUME_BINDING,
        names.NO_VOLUME_ZONE_CONFLICT,
        names.MATCH_INTER_POD_AFFINITY,
    ),
    scores=(
        (names.SELECTOR_SPREAD_PRIORITY, 1),
        (names.INTER_POD_AFFINITY_PRIORITY, 1),
        (names.LEAST_REQUESTED_PRIORITY, 1),
        (names.BALANCED_RESOURCE_ALLOCATION, 1),
        (names.NODE_PREFER_AVOID_PODS_PRIORITY, 10_000),
        (names.NODE_AFFINITY_PRIORITY, 1),
        (names.TAINT_TOLERATION_PRIORITY, 1),
        (names.IMAGE_LOCALITY_PRIORITY, 1),
    ),
    preemption=_CLASSIC_RULES,
    is_classic=True,
    post_filters=(names.DEFAULT_PREEMPTION,),
)

# How RequestedToCapacityRatioPriority takes its mean there.
RATIO_1_11 = {"averages_all": True}

# DefaultProvider of v1.11, asked in the same order. TaintNodesByCondition is off by default, so that
# nodes are looked at by their conditions; CSI volumes are not counted yet; ImageLocalityPriority is
# there, but not by default. Its volumes are bound in rounds, and nothing is provisioned for a chosen
# node while the feature gate DynamicProvisioningScheduling is off, as it is by default.
# Upstream: v1.11 pkg/scheduler/algorithmprovider/defaults/defaults.go.
OLDEST = replace(
    CLASSIC,
    version=V1_11,
    filters=(
        names.POD_PASSES_BASIC_CHECKS,
        names.CHECK_NODE_CONDITION,
        names.GENERAL_PREDICATES,
        names.NO_DISK_CONFLICT,
        names.POD_TOLERATES_NODE_TAINTS,
        names.MAX_EBS_VOLUME_COUNT,
        names.MAX_GCE_PD_VOLUME_COUNT,
        names.MAX_AZURE_DISK_VOLUME_COUNT,
        names.CHECK_VOLUME_BINDING,
        names.NO_VOLUME_ZONE_CONFLICT,
        names.CHECK_NODE_MEMORY_PRESSURE,
        names.CHECK_NODE_PID_PRESSURE,
        names.CHECK_NODE_DISK_PRESSURE,
        names.MATCH_INTER_POD_AFFINITY,
    ),
    scores=tuple(
        (name, weight) for name, weight in CLASSIC.scores if name != names.IMAGE_LOCALITY_PRIORITY
    ),
    preemption=replace(_CLASSIC_RULES, goes_by_start=False),
    binds_in_rounds=True,
    arguments={
        names.CHECK_VOLUME_BINDING: {"in_rounds": True, "provisions": False},
        names.CHECK_NODE_CONDITION: {"knows_out_of_disk": True},
        names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY: RATIO_1_11,
        # The gate AttachVolumeLimit is off: what a node says of itself is not read.
        names.MAX_EBS_VOLUME_COUNT: {"reads_allocatable": False},
        names.MAX_GCE_PD_VOLUME_COUNT: {"reads_allocatable": False},
        names.MAX_AZURE_DISK_VOLUME_COUNT: {"reads_allocatable": False},
    },
)

PROFILES: Mapping[str, Profile] = {
    V1_34: MODERN,
    V1_20: FRAMEWORK_1_20,
    V1_16: CLASSIC,
    V1_11: OLDEST,
}
