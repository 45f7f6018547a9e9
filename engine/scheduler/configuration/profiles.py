"""A profile: which plugins run, in which order and with which weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from engine.framework import names
from engine.framework.framework import (
    FilterPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
)
from engine.framework.handle import Handle
from engine.framework.messages import combined
from engine.framework.pods.pod_template import Unreadable
from engine.framework.rules.preemption import PreemptionRules
from engine.framework.runtime import Framework, PluginSet
from engine.framework.scoring import checked_pre_score, checked_score
from engine.framework.unprepared import unprepared_filter, unprepared_score
from engine.objects.objects import Pod
from engine.objects.pods.pod_resources import ResourceRules
from engine.objects.unmodelled import unmodelled_need
from engine.plugins.all_predicates.plugin import AllPredicates
from engine.plugins.scheduling_gates.plugin import SchedulingGates
from engine.scheduler.configuration.registry import IN_TREE, factory_of, unprepared_of
from engine.storage.binding.binder import DEFAULT_BIND_TIMEOUT
from engine.versions.cycle_rules import CycleRules
from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.registry import VERSIONS

# The scheduler itself does what these do beside Filter and Score; they have no class for it.
_BUILT_IN = frozenset(
    (
        names.PRIORITY_SORT,
        names.DYNAMIC_RESOURCES,
        names.DEFAULT_PREEMPTION,
        names.VOLUME_BINDING,
        names.DEFAULT_BINDER,
        names.GANG_SCHEDULING,
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The plugins that decide on the pods that name it in their schedulerName.

    `filters` are in the order in which they are asked, `scores` maps plugins to weights;
    `post_filters` to `post_binds` name the plugins at these points, in order. `kinds` says which
    plugin stands behind a name that a Policy has made up. `percentage` is percentageOfNodesToScore;
    0 means adaptive. `checks_all` asks every filter about every node (alwaysCheckAllPredicates).
    `bind_timeout` is bindTimeoutSeconds in ns.
    """

    name: str
    kubernetes: KubernetesVersion
    preemption: PreemptionRules
    filters: tuple[str, ...]
    scores: tuple[tuple[str, int], ...]
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    percentage: int = 0
    pre_enqueues: tuple[str, ...] = ()
    queue_sort: str = names.PRIORITY_SORT
    # The order at PreFilter, where it is not that of the filters.
    pre_filters: tuple[str, ...] = ()
    bind_timeout: int = DEFAULT_BIND_TIMEOUT
    # VolumeBinding is among the scores of the configuration, even if its feature gate is off and it
    # scores nothing.
    scores_volumes: bool = False
    # The plugins at PreScore that are not in-tree, in order; the in-tree ones never fail there.
    pre_scores: tuple[str, ...] = ()
    # (plugin, point): the points from PreFilter to Score that a plugin has a method for and is
    # disabled at, while it takes part at another point.
    left_out: frozenset[tuple[str, str]] = frozenset()
    post_filters: tuple[str, ...] = ()
    reserves: tuple[str, ...] = ()
    permits: tuple[str, ...] = ()
    pre_binds: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    post_binds: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    checks_all: bool = False

    @property
    def version(self) -> str:
        """The name of the version of Kubernetes that the profile follows."""
        return self.kubernetes.name

    @property
    def rules(self) -> CycleRules:
        """How the version schedules and binds."""
        return self.kubernetes.cycle

    @property
    def resource_rules(self) -> ResourceRules:
        """How requests are added up."""
        return self.kubernetes.resources

    @property
    def preempts(self) -> bool:
        """Whether pods are evicted for a pod that fits nowhere."""
        return names.DEFAULT_PREEMPTION in self.post_filters

    @property
    def custom_plugins(self) -> tuple[str, ...]:
        """All plugins that are not in-tree, each once."""
        return tuple(name for name in self._asked if self._is_custom(name))

    @property
    def _asked(self) -> tuple[str, ...]:
        """All plugins that are asked before a node is chosen, each once, and custom ones."""
        asked = (*self.filters, *dict(self.scores), *self.pre_enqueues, *self._later)
        return tuple(dict.fromkeys(asked))

    @property
    def allocates_devices(self) -> bool:
        """Whether pods get the devices that they claim."""
        return self.rules.allocates_devices and names.DYNAMIC_RESOURCES in self._asked

    def unmodelled_need(self, pod: Pod) -> str:
        """Why kscope does not schedule *pod* although a real cluster might; "" if it does."""
        return unmodelled_need(pod, allocates_devices=self.allocates_devices)

    def _is_custom(self, name: str) -> bool:
        own = name in _BUILT_IN or name == names.SCHEDULING_GATES
        return not (own or name in IN_TREE or name in self.kinds)

    @property
    def takes_first_fit(self) -> bool:
        """Whether the search may end with the first node that fits."""
        return self.rules.stops_at_first_without_scores and not (self.scores or self.scores_volumes)

    @property
    def heeds_gates(self) -> bool:
        """Whether a pod with scheduling gates waits outside of the queue."""
        return names.SCHEDULING_GATES in self.pre_enqueues

    @property
    def fails_unprepared(self) -> bool:
        """Whether some in-tree plugin is asked at Filter or Score that cannot do so; unprepared.py."""
        failing = (name for name in self.filters if unprepared_of(name).fails_at_filter)
        filters = {(name, "preFilter") for name in failing}
        scoring = any(self._fails_to_score(name) for name, _ in self.scores)
        return scoring or not self.left_out.isdisjoint(filters)

    @property
    def fails_at_reserve(self) -> str:
        """What every pod that fits somewhere fails with at Reserve, or ""."""
        for name in self.reserves:
            error = unprepared_of(name).reserve
            if error and not self.prepares(name):
                return f'running Reserve plugin "{name}": {error}'
        return ""

    def unreadable(self, preferences: Sequence[Unreadable]) -> str:
        """The error for a pod with unreadable node preferences; "" where no plugin reads them.

        Upstream: nodeaffinity.NewPreferredSchedulingTerms(), labels.NewRequirement().
        """
        problem = preferences[0].alone
        name, scores = names.NODE_AFFINITY, dict(self.scores)
        if self.rules.uses_predicates:
            name = names.NODE_AFFINITY_PRIORITY
            # A Policy may give its name to another priority.
            return problem if name in scores and name not in self.kinds else ""
        if self.rules.checks_preferences_in_pre_score:
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
        return bool(unprepared_of(name).score) and not self._takes_part(name, "preScore")

    def prepares(self, name: str) -> bool:
        """Whether plugin *name* takes part at PreFilter, so that later points find what it wrote."""
        return self._takes_part(name, "preFilter")

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
        for name in self._asked:
            if name == names.DYNAMIC_RESOURCES and not self.rules.allocates_devices:
                # It is asked only where it fails.
                plugins.filter.append(unprepared_filter(name, unprepared_of(name).filter))
                continue
            plugin = plugins.by_name[name] = self._make(name, handle)
            if name in self.filters:
                self._add_filter(plugins, plugin)
            if name in weights:
                self._add_score(plugins, plugin, weights[name])
            if name in self.pre_enqueues and isinstance(plugin, PreEnqueuePlugin):
                plugins.pre_enqueue.append(plugin)
        # The error names the first of two profiles that fail.
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
            wording=self.kubernetes.wording,
            narrows=self.rules.narrows_in_pre_filter,
            late=frozenset(self.rules.plugins_without_pre_filter),
        )

    def _takes_part(self, name: str, point: str) -> bool:
        return (name, point) not in self.left_out

    def _add_filter(self, plugins: PluginSet, plugin: Plugin) -> None:
        name = plugin.name
        prepares = self.prepares(name)
        if isinstance(plugin, PreFilterPlugin) and prepares:
            plugins.pre_filter.append(plugin)
        if isinstance(plugin, FilterPlugin) and self._takes_part(name, "filter"):
            error = "" if prepares else unprepared_of(name).filter
            plugins.filter.append(unprepared_filter(name, error) if error else plugin)

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
                score = unprepared_score(plugin, unprepared_of(name).score)
            plugins.score.append((score, weight))

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
    return tuple(name for name in plugins if name not in _BUILT_IN)


def default_profile(version: KubernetesVersion) -> Profile:
    """The profile of a scheduler of *version* without a configuration."""
    plugins = version.plugins
    return Profile(
        name="default-scheduler",
        kubernetes=version,
        preemption=version.preemption,
        filters=plugins.filters,
        scores=plugins.scores,
        arguments=plugins.arguments,
        pre_enqueues=plugins.pre_enqueues,
        post_filters=plugins.post_filters,
        reserves=plugins.reserves,
        permits=plugins.permits,
        pre_binds=plugins.pre_binds,
        binds=plugins.binds,
    )


# The default profile of each version, the newest first.
PROFILES: Mapping[str, Profile] = {
    name: default_profile(version) for name, version in VERSIONS.items()
}
