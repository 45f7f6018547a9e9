"""KubeSchedulerConfiguration to a SchedulerSetup, for v1 and the older versions of the format.

Upstream: pkg/scheduler/apis/config (defaults, validation) and framework/runtime/framework.go
(expandMultiPointPlugins). Every refusal is a ConfigurationError with the path and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kscope.sim.units import SECOND
from scheduling.engine import names
from scheduling.engine.extenders import read_extenders
from scheduling.engine.plugin_arguments import check_arguments
from scheduling.engine.policy import parse_policy, provider
from scheduling.engine.profiles import MODERN, PROFILES, Profile
from scheduling.engine.reading import ConfigurationError, Fields
from scheduling.engine.registry import IN_TREE, UnknownPlugin, factory_of
from scheduling.engine.setup import LeaderElection, SchedulerSetup, default_setup

GROUP = "kubescheduler.config.k8s.io"
KIND = "KubeSchedulerConfiguration"
POLICY = "Policy"
_MODERN_VERSIONS = ("v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha2")
_CLASSIC_VERSION = "v1alpha1"

_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
_MULTI_POINT = "multiPoint"
# What a plugin class has at each point.
_METHODS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "sort_key",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}
# In-tree plugins, in the order of the default multiPoint, with their weights and points.
_DEFAULTS: tuple[tuple[str, int, tuple[str, ...]], ...] = (
    (names.SCHEDULING_GATES, 0, ("preEnqueue",)),
    (names.PRIORITY_SORT, 0, ("queueSort",)),
    (names.NODE_UNSCHEDULABLE, 0, ("filter",)),
    (names.NODE_NAME, 0, ("filter",)),
    (names.TAINT_TOLERATION, 3, ("filter", "preScore", "score")),
    (names.NODE_AFFINITY, 2, ("preFilter", "filter", "preScore", "score")),
    (names.NODE_PORTS, 0, ("preFilter", "filter")),
    (names.NODE_RESOURCES_FIT, 1, ("preFilter", "filter", "preScore", "score")),
    (names.VOLUME_RESTRICTIONS, 0, ("preFilter", "filter")),
    (names.NODE_VOLUME_LIMITS, 0, ("preFilter", "filter")),
    (
        names.VOLUME_BINDING,
        0,
        ("preFilter", "filter", "reserve", "preBind", "preScore", "score"),
    ),
    (names.VOLUME_ZONE, 0, ("preFilter", "filter")),
    (names.POD_TOPOLOGY_SPREAD, 2, ("preFilter", "filter", "preScore", "score")),
    (names.INTER_POD_AFFINITY, 2, ("preFilter", "filter", "preScore", "score")),
    (
        names.DYNAMIC_RESOURCES,
        0,
        ("preEnqueue", "preFilter", "filter", "postFilter", "reserve", "preBind"),
    ),
    (names.DEFAULT_PREEMPTION, 0, ("postFilter",)),
    (names.NODE_RESOURCES_BALANCED_ALLOCATION, 1, ("preScore", "score")),
    (names.IMAGE_LOCALITY, 1, ("score",)),
    (names.DEFAULT_BINDER, 0, ("bind",)),
)
_IN_TREE_POINTS = {name: points for name, _, points in _DEFAULTS}
# Of these the engine has no class: what they do is the scheduler's own business here.
_BUILT_IN = frozenset(
    (
        names.SCHEDULING_GATES,
        names.PRIORITY_SORT,
        names.DYNAMIC_RESOURCES,
        names.DEFAULT_PREEMPTION,
        names.DEFAULT_BINDER,
    )
)
_TOP_FIELDS = (
    "kind",
    "apiVersion",
    "metadata",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "healthzBindAddress",
    "metricsBindAddress",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
    "featureGates",
)
_CLASSIC_FIELDS = (
    "kind",
    "apiVersion",
    "metadata",
    "schedulerName",
    "algorithmSource",
    "hardPodAffinitySymmetricWeight",
    "leaderElection",
    "clientConnection",
    "healthzBindAddress",
    "metricsBindAddress",
    "enableProfiling",
    "enableContentionProfiling",
    "disablePreemption",
    "percentageOfNodesToScore",
    "bindTimeoutSeconds",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "featureGates",
)


def read_setup(document: Any, version: str) -> SchedulerSetup:
    """The setup that *document*, a KubeSchedulerConfiguration or a Policy, gives to *version*.

    Raises ConfigurationError.
    """
    fields = Fields(document)
    kind = fields.text("kind", KIND)
    if kind == POLICY:
        _only_for(fields, version, "v1.16", "v1.11")
        return parse_policy(document, version)
    if kind != KIND:
        raise fields.error("kind", f'"{kind}" is not {KIND} or {POLICY}')
    group, _, format_version = fields.text("apiVersion").partition("/")
    if group != GROUP or format_version not in (*_MODERN_VERSIONS, _CLASSIC_VERSION):
        known = ", ".join(f"{GROUP}/{one}" for one in (*_MODERN_VERSIONS, _CLASSIC_VERSION))
        raise fields.error("apiVersion", f'"{fields.text("apiVersion")}" is not one of {known}')
    if format_version == _CLASSIC_VERSION:
        _only_for(fields, version, "v1.16", "v1.11")
        return _parse_classic(fields.only(*_CLASSIC_FIELDS), version)
    _only_for(fields, version, "v1.34")
    return _parse_modern(fields.only(*_TOP_FIELDS), version)


def _only_for(fields: Fields, version: str, *versions: str) -> None:
    if version not in versions:
        what = fields.text("apiVersion") or fields.text("kind")
        told = f"{what} is for {' and '.join(versions)}; the scheduler's profile is {version}"
        raise fields.error("apiVersion", told)


# -- v1 ------------------------------------------------------------------------------------------


def _parse_modern(fields: Fields, version: str) -> SchedulerSetup:
    initial = fields.integer("podInitialBackoffSeconds", 1, low=1)
    longest = fields.integer("podMaxBackoffSeconds", 10)
    if longest < initial:
        problem = f"{longest} is less than podInitialBackoffSeconds, {initial}"
        raise fields.error("podMaxBackoffSeconds", problem)
    percentage = fields.integer("percentageOfNodesToScore", 0, low=0, high=100)
    extenders = read_extenders(fields, legacy=False)
    ignored = tuple(name for extender in extenders for name in extender.ignored_resources)
    profiles: list[Profile] = []
    timeouts: list[int] = []
    for item in fields.items("profiles") or [Fields({}, "profiles[0]")]:
        parsed = _parse_profile(item, percentage, version)
        profile = parsed.profile
        if any(profile.name == other.name for other in profiles):
            raise item.error("schedulerName", f'duplicate schedulerName "{profile.name}"')
        if profiles and profile.queue_sort != profiles[0].queue_sort:
            path = item.at("plugins.queueSort")
            problem = f"different queue sort plugins for profiles: {profiles[0].queue_sort}"
            raise ConfigurationError(path, profile.queue_sort, f"{problem}, {profile.queue_sort}")
        profiles.append(_with_ignored(profile, names.NODE_RESOURCES_FIT, ignored))
        timeouts.append(parsed.bind_timeout)
    return SchedulerSetup(
        profiles=tuple(profiles),
        initial_backoff=initial * SECOND,
        max_backoff=longest * SECOND,
        bind_timeout=timeouts[0],
        extenders=extenders,
        leader_election=_leader_election(fields),
    )


def _with_ignored(profile: Profile, plugin: str, ignored: tuple[str, ...]) -> Profile:
    """The resources that extenders manage alone are left out of the resource check."""
    if not ignored:
        return profile
    own = dict(profile.arguments.get(plugin) or {})
    own["ignoredResources"] = [*(own.get("ignoredResources") or ()), *ignored]
    return replace(profile, arguments={**profile.arguments, plugin: own})


@dataclass(slots=True)
class _Parsed:
    profile: Profile
    bind_timeout: int


def _parse_profile(fields: Fields, percentage: int, version: str) -> _Parsed:
    fields.only("schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig")
    sets = _plugin_sets(fields.mapping("plugins"))
    arguments = _plugin_config(fields)
    for point in ("queueSort", "bind"):
        if not sets.of(point):
            problem = f"at least one {point} plugin is needed"
            raise ConfigurationError(fields.at(f"plugins.{point}"), None, problem)
    if len(sets.of("queueSort")) > 1:
        found = ", ".join(sets.of("queueSort"))
        problem = f"only one queue sort plugin can be enabled, not {found}"
        raise ConfigurationError(fields.at("plugins.queueSort"), found, problem)
    for before, after in (("preFilter", "filter"), ("preScore", "score")):
        for name in sets.of(after):
            if before in sets.points_of(name) and name not in sets.of(before):
                path = fields.at(f"plugins.{before}.disabled")
                raise ConfigurationError(
                    path, name, f"{name} takes part at {after}, which needs its {before}"
                )
    binding = arguments.get(names.VOLUME_BINDING) or {}
    told = binding.get("bindTimeoutSeconds")
    evictions: Mapping[str, Any] = arguments.get(names.DEFAULT_PREEMPTION) or {}
    defaults = MODERN.preemption
    profile = replace(
        PROFILES[version],
        name=fields.text("schedulerName") or "default-scheduler",
        percentage=fields.integer("percentageOfNodesToScore", percentage, low=0, high=100),
        filters=_without_built_in(sets.of("filter"), sets.of("preFilter")),
        scores=tuple(
            (name, sets.weight(name))
            for name in _without_built_in(sets.of("score"))
            # VolumeBinding scores behind a feature gate only, which is off.
            if name != names.VOLUME_BINDING
        ),
        arguments=arguments,
        pre_enqueues=tuple(n for n in sets.of("preEnqueue") if n != names.DYNAMIC_RESOURCES),
        queue_sort=sets.of("queueSort")[0],
        post_filters=sets.of("postFilter"),
        others=_without_built_in(
            *(sets.of(p) for p in ("reserve", "permit", "preBind", "postBind"))
        ),
        preemption=replace(
            defaults,
            candidate_percentage=evictions.get(
                "minCandidateNodesPercentage", defaults.candidate_percentage
            ),
            min_candidates=evictions.get("minCandidateNodesAbsolute", defaults.min_candidates),
        ),
    )
    return _Parsed(profile, (600 if told is None else told) * SECOND)


def _without_built_in(*lists: Iterable[str]) -> tuple[str, ...]:
    """The plugins that have a class, in order, each once."""
    merged = dict.fromkeys(name for one in lists for name in one)
    return tuple(name for name in merged if name not in _BUILT_IN)


@dataclass(slots=True)
class _PluginSets:
    """The plugins that take part at each extension point, in order."""

    points: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    weights: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, point: str) -> tuple[str, ...]:
        return self.points.get(point, ())

    def weight(self, name: str) -> int:
        return self.weights.get(name) or 1

    def points_of(self, name: str) -> tuple[str, ...]:
        return _points_of(name)


@dataclass(slots=True)
class _Choice:
    """What one extension point enables (name → weight) and disables."""

    enabled: dict[str, int] = field(default_factory=dict[str, int])
    disabled: frozenset[str] = frozenset()


def _plugin_sets(fields: Fields | None) -> _PluginSets:
    """Upstream: mergePlugins() with the defaults, then expandMultiPointPlugins()."""
    choices = {point: _Choice() for point in (_MULTI_POINT, *_POINTS)}
    if fields is not None:
        fields.only(_MULTI_POINT, *_POINTS)
        for point in choices:
            chosen = fields.mapping(point)
            if chosen is not None:
                choices[point] = _choice(chosen.only("enabled", "disabled"), point)
    multi = _merged(choices[_MULTI_POINT])
    sets = _PluginSets()
    for point in _POINTS:
        choice = choices[point]
        # First what is enabled here and by multiPoint, then multiPoint's others, then the rest.
        implementing = [name for name in multi if point in _points_of(name)]
        both = [name for name in choice.enabled if name in implementing]
        inherited = (
            []
            if "*" in choice.disabled
            else [
                name
                for name in implementing
                if name not in choice.disabled and name not in choice.enabled
            ]
        )
        if "*" in choice.disabled:
            both = []
        rest = [name for name in choice.enabled if name not in both]
        sets.points[point] = (*both, *inherited, *rest)
    for name in sets.of("score"):
        sets.weights[name] = choices["score"].enabled.get(name, multi.get(name, 0)) or 1
    return sets


def _merged(custom: _Choice) -> dict[str, int]:
    """The default multiPoint with what is enabled and disabled laid over it."""
    merged: dict[str, int] = {}
    if "*" not in custom.disabled:
        for name, weight, _ in _DEFAULTS:
            if name not in custom.disabled:
                merged[name] = custom.enabled.get(name, weight)
    for name, weight in custom.enabled.items():
        merged.setdefault(name, weight)
    return merged


def _choice(fields: Fields, point: str) -> _Choice:
    choice = _Choice()
    disabled: list[str] = []
    for item in fields.items("disabled"):
        name = item.only("name", "weight").text("name")
        # Upstream does not mind the name of a plugin that it does not have here.
        disabled.append(name)
    for item in fields.items("enabled"):
        name = item.only("name", "weight").text("name")
        _check_plugin(item, name, "" if point == _MULTI_POINT else point)
        if name in choice.enabled:
            raise item.error("name", f'plugin "{name}" already registered')
        choice.enabled[name] = item.integer("weight", 0, low=0, high=(1 << 31) - 1)
    choice.disabled = frozenset(disabled)
    return choice


def _check_plugin(item: Fields, name: str, point: str) -> None:
    try:
        points = _points_of(name)
    except UnknownPlugin as unknown:
        raise item.error("name", str(unknown)) from unknown
    if point and point not in points:
        raise item.error("name", f'plugin "{name}" does not extend {point} plugin')


def _points_of(name: str) -> tuple[str, ...]:
    """The extension points that plugin *name* takes part at. Raises UnknownPlugin."""
    points = _IN_TREE_POINTS.get(name)
    if points is not None:
        return points
    if name in IN_TREE:
        # A predicate or priority of v1.16, which this format cannot name.
        known = ", ".join(_IN_TREE_POINTS)
        raise UnknownPlugin(f"there is no plugin {name!r} in v1.34; known are {known}")
    factory = factory_of(name)
    return tuple(point for point in _POINTS if hasattr(factory, _METHODS[point]))


def _plugin_config(fields: Fields) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for item in fields.items("pluginConfig"):
        name = item.only("name", "args").text("name")
        _check_plugin(item, name, "")
        if name in found:
            raise item.error("name", f'repeated config for plugin "{name}"')
        arguments = item.mapping("args")
        if arguments is not None:
            check_arguments(name, arguments)
        found[name] = {} if arguments is None else dict(arguments.raw)
    return found


# -- v1alpha1 ------------------------------------------------------------------------------------


def _parse_classic(fields: Fields, version: str) -> SchedulerSetup:
    """The configuration of v1.16's time: one scheduler, by a provider or an inline Policy."""
    setup = _algorithm_source(fields, version)
    profile = setup.profiles[0]
    profile = replace(
        profile,
        name=fields.text("schedulerName") or "default-scheduler",
        percentage=fields.integer("percentageOfNodesToScore", 0, low=0, high=100),
    )
    if fields.boolean("disablePreemption"):
        profile = replace(profile, post_filters=())
    weight = fields.integer("hardPodAffinitySymmetricWeight", 1, low=0, high=100)
    affinity = names.INTER_POD_AFFINITY_PRIORITY
    if affinity not in profile.arguments:
        told = {affinity: {"hardPodAffinitySymmetricWeight": weight}}
        profile = replace(profile, arguments={**profile.arguments, **told})
    initial = fields.integer("podInitialBackoffSeconds", 1, low=1)
    longest = fields.integer("podMaxBackoffSeconds", 10, low=initial)
    return replace(
        setup,
        profiles=(profile,),
        initial_backoff=initial * SECOND,
        max_backoff=longest * SECOND,
        bind_timeout=fields.integer("bindTimeoutSeconds", 600, low=0) * SECOND,
        leader_election=_leader_election(fields),
    )


def _algorithm_source(fields: Fields, version: str) -> SchedulerSetup:
    source = fields.mapping("algorithmSource")
    gates = fields.get("featureGates")
    if source is None:
        return provider(version, "DefaultProvider", gates)
    source.only("provider", "policy")
    if source.get("policy") is not None:
        policy = source.mapping("policy")
        assert policy is not None
        if policy.get("file") is not None or policy.get("configMap") is not None:
            raise source.error(
                "policy", "a file or ConfigMap is not read; hand the Policy in as a document"
            )
        return parse_policy({"featureGates": gates, **policy.raw}, version, policy.path)
    name = source.text("provider", "DefaultProvider")
    try:
        return provider(version, name, gates)
    except KeyError as unknown:
        known = "DefaultProvider, ClusterAutoscalerProvider"
        raise source.error("provider", f'"{name}" is not one of {known}') from unknown


def _leader_election(fields: Fields) -> LeaderElection:
    """Upstream: component-base/config/validation ValidateLeaderElectionConfiguration()."""
    told = fields.mapping("leaderElection")
    defaults = LeaderElection()
    if told is None:
        return defaults
    told.only(
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
    )
    election = LeaderElection(
        lease_duration=told.duration("leaseDuration", defaults.lease_duration),
        renew_deadline=told.duration("renewDeadline", defaults.renew_deadline),
        retry_period=told.duration("retryPeriod", defaults.retry_period),
        resource_namespace=told.text("resourceNamespace") or defaults.resource_namespace,
        resource_name=told.text("resourceName") or defaults.resource_name,
    )
    if election.retry_period <= 0:
        raise told.error("retryPeriod", "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        raise told.error("leaseDuration", "LeaseDuration must be greater than RenewDeadline")
    if election.renew_deadline <= election.retry_period:
        raise told.error("renewDeadline", "RenewDeadline must be greater than RetryPeriod")
    return election


# -- a scenario's schedulers -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSpec:
    """One scheduler of a scenario: its setup, and how many replicas of it there are."""

    setup: SchedulerSetup
    replicas: int = 1


def read_schedulers(
    entries: Iterable[Any], configuration: Any, version: str
) -> tuple[SchedulerSpec, ...]:
    """The schedulers of a scenario.

    *entries* are `{name, profile, configuration, replicas}`; without any there is one scheduler,
    as *configuration* says, or as the version comes. Raises ConfigurationError.
    """
    items = [Fields(entry, f"schedulers[{place}]") for place, entry in enumerate(entries)]
    if not items:
        setup = (
            default_setup(version) if configuration is None else read_setup(configuration, version)
        )
        return (SchedulerSpec(setup=setup),)
    found: list[SchedulerSpec] = []
    taken: dict[str, None] = {}
    for item in items:
        spec = _read_scheduler(item, version)
        for name in spec.setup.names:
            if name in taken:
                raise item.error("name", f'two schedulers answer to schedulerName "{name}"')
            taken[name] = None
        found.append(spec)
    return tuple(found)


def _read_scheduler(item: Fields, version: str) -> SchedulerSpec:
    item.only("name", "profile", "configuration", "replicas")
    version = item.text("profile", version)
    if version not in PROFILES:
        raise item.error("profile", f'"{version}" is not one of {", ".join(PROFILES)}')
    told = item.get("configuration")
    setup = default_setup(version)
    if told is not None:
        try:
            setup = read_setup(told, version)
        except ConfigurationError as fault:
            path = f"{item.at('configuration')}.{fault.path}".rstrip(".")
            raise ConfigurationError(path, fault.value, fault.problem) from fault
    name = item.text("name")
    if name and name not in setup.names:
        if len(setup.profiles) > 1:
            raise item.error("name", f"is not among {', '.join(setup.names)}")
        setup = setup.named(name)
    return SchedulerSpec(setup=setup, replicas=item.integer("replicas", 1, low=1, high=9))
