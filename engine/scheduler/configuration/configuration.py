"""KubeSchedulerConfiguration to a SchedulerSetup, for v1 and the older versions of the format.

Upstream: pkg/scheduler/apis/config (defaults, validation) and framework/runtime/framework.go
(expandMultiPointPlugins). Every refusal is a ConfigurationError with the path and the value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from engine.framework import names
from engine.input.reading import ConfigurationError, Fields
from engine.kernel.units import SECOND
from engine.plugins.volume_binding.arguments import refuse_shape
from engine.scheduler.configuration.extenders import read_extenders
from engine.scheduler.configuration.formats import (
    ADDRESSES,
    COMPONENT_CONFIG,
    FORMATS,
    KIND,
    POLICY,
    WITHOUT_PROFILES,
    as_text,
    converted,
    served_by,
)
from engine.scheduler.configuration.plugin_sets import BUILT_IN, Catalogue, PluginSets, plugin_sets
from engine.scheduler.configuration.policy import parse_policy, provider
from engine.scheduler.configuration.profiles import Profile, default_profile
from engine.scheduler.configuration.registry import IN_TREE, UnknownPlugin, check_arguments
from engine.scheduler.configuration.setup import LeaderElection, SchedulerSetup
from engine.storage.binding.binder import DEFAULT_BIND_TIMEOUT
from engine.versions.cycle_rules import CycleRules
from engine.versions.kubernetes_version import KubernetesVersion, with_gates
from engine.versions.registry import VERSIONS

# Plugins that the format v1 no longer has. Upstream: invalidPluginsByVersion.
_TAKEN_OUT = frozenset(("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"))

_TOP_FIELDS = (
    "kind",
    "apiVersion",
    "metadata",
    "parallelism",
    "leaderElection",
    "clientConnection",
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
_FIELDS_BEFORE_PROFILES = (
    "kind",
    "apiVersion",
    "metadata",
    "schedulerName",
    "algorithmSource",
    "hardPodAffinitySymmetricWeight",
    "leaderElection",
    "clientConnection",
    *ADDRESSES,
    "enableProfiling",
    "enableContentionProfiling",
    "disablePreemption",
    "percentageOfNodesToScore",
    "bindTimeoutSeconds",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "featureGates",
)


def read_setup(document: Any, version: str | KubernetesVersion) -> SchedulerSetup:
    """The setup that *document*, a KubeSchedulerConfiguration or a Policy, gives to *version*.

    Raises ConfigurationError.
    """
    fields = Fields(document)
    kubernetes = VERSIONS[version] if isinstance(version, str) else version
    kind = fields.text("kind", KIND)
    if kind == POLICY:
        _check_format(fields, POLICY, kubernetes)
        return parse_policy(document, kubernetes)
    if kind != KIND:
        raise fields.error("kind", f'"{kind}" is not {KIND} or {POLICY}')
    api_version = fields.text("apiVersion")
    if api_version not in FORMATS:
        raise fields.error("apiVersion", f'"{api_version}" is not one of {", ".join(FORMATS)}')
    format_ = FORMATS[api_version]
    _check_format(fields, format_, kubernetes)
    if format_ in WITHOUT_PROFILES:
        domains = ("failureDomains",) if format_ == COMPONENT_CONFIG else ()
        _check_unused(fields.only(*_FIELDS_BEFORE_PROFILES, *domains))
        return _read_without_profiles(fields, kubernetes)
    _check_unused(fields.only(*_TOP_FIELDS, *(() if format_ == "v1" else ADDRESSES)))
    gates = fields.mapping("featureGates")
    if gates is not None:
        kubernetes = with_gates(kubernetes, gates.raw)
    return _read_profiles(fields, kubernetes)


def _check_unused(fields: Fields) -> None:
    """Check fields that change nothing in a simulation but have to be valid.

    Upstream: component-base/config/validation ValidateClientConnectionConfiguration().
    """
    for name in ("enableProfiling", "enableContentionProfiling", "delayCacheUntilActive"):
        fields.boolean(name)
    for name in ADDRESSES:
        fields.text(name)
    client = fields.mapping("clientConnection")
    if client is None:
        return
    texts = ("kubeconfig", "acceptContentTypes", "contentType")
    client.only(*texts, "qps", "burst")
    for name in texts:
        client.text(name)
    client.number("qps")
    if client.integer("burst", 0, low=-(1 << 31), high=(1 << 31) - 1) < 0:
        raise client.error("burst", "must be non-negative")


def _check_format(fields: Fields, format_: str, kubernetes: KubernetesVersion) -> None:
    """Raise ConfigurationError where *kubernetes* does not read the format of the document.

    The error offers the same document in the format that is read.
    """
    if format_ in kubernetes.formats:
        return
    document = fields.text("apiVersion") if format_ != POLICY else POLICY
    target = kubernetes.formats[0]
    problem = (
        f"{document} was served by Kubernetes {served_by(format_)}; "
        f"the scheduler's profile is {kubernetes.name}, "
        f"which reads {' and '.join(kubernetes.formats)}"
    )
    raise fields.error("apiVersion", problem + _offer(fields, format_, target, kubernetes))


def _offer(fields: Fields, format_: str, target: str, kubernetes: KubernetesVersion) -> str:
    """What a refusal says of the same document as *target*."""
    try:
        document = converted(fields, format_, target)
    except ConfigurationError as fault:
        return f". It cannot be converted: {fault}"
    if document is None:
        return f", as which it cannot be written: {target} has no such choice of plugins"
    try:
        read_setup(document, kubernetes)
    except ConfigurationError as fault:
        return f". As {target} it would be refused, too: {fault}"
    text = as_text(document)
    if text is None:
        return f". It can be converted to {target}, but is too long to be shown here"
    return f". The same configuration as {target}:\n{text}"


# -- v1 ------------------------------------------------------------------------------------------


def _backoffs(fields: Fields, kubernetes: KubernetesVersion) -> tuple[int, int]:
    """The first and the longest backoff, in ns: those of the version where the file names none."""
    first, longest = kubernetes.queue.initial_backoff, kubernetes.queue.max_backoff
    if fields.get("podInitialBackoffSeconds") is not None:
        first = fields.integer("podInitialBackoffSeconds", 1, low=1) * SECOND
    if fields.get("podMaxBackoffSeconds") is not None:
        longest = fields.integer("podMaxBackoffSeconds", 1) * SECOND
    if longest < first:
        problem = "must be greater than or equal to PodInitialBackoffSeconds"
        raise fields.error("podMaxBackoffSeconds", problem)
    return first, longest


def _read_profiles(fields: Fields, kubernetes: KubernetesVersion) -> SchedulerSetup:
    initial, longest = _backoffs(fields, kubernetes)
    rules = kubernetes.configuration
    assert rules is not None
    percentage = fields.integer("percentageOfNodesToScore", 0, low=0, high=100)
    fields.integer("parallelism", 16, low=1, high=(1 << 31) - 1)
    extenders = read_extenders(fields, legacy=False)
    ignored = tuple(name for extender in extenders for name in extender.ignored_resources)
    profiles: list[Profile] = []
    warnings: list[str] = []
    items = fields.items("profiles") or [Fields({}, "profiles[0]")]
    for item in items:
        parsed = _read_profile(item, percentage, kubernetes)
        # Upstream: SetDefaults_KubeSchedulerConfiguration() names one that is alone.
        is_unnamed = item.get("schedulerName") is None and len(items) > 1
        if is_unnamed or item.get("schedulerName") == "":
            raise item.error("schedulerName", "Required value")
        profile = parsed.profile
        _check_queue_sorts(items[0], item)
        if any(profile.name == other.name for other in profiles):
            raise item.error("schedulerName", f'duplicate schedulerName "{profile.name}"')
        if profiles and profile.queue_sort != profiles[0].queue_sort:
            path = item.at("plugins.queueSort")
            problem = f"different queue sort plugins for profiles: {profiles[0].queue_sort}"
            raise ConfigurationError(path, profile.queue_sort, f"{problem}, {profile.queue_sort}")
        profiles.append(_with_ignored(profile, names.NODE_RESOURCES_FIT, ignored))
        warnings += parsed.warnings
    return SchedulerSetup(
        profiles=tuple(profiles),
        initial_backoff=initial,
        max_backoff=longest,
        extenders=extenders,
        leader_election=_leader_election(fields, only_leases=rules.only_leases),
        warnings=tuple(warnings),
    )


def _check_queue_sorts(first: Fields, other: Fields) -> None:
    """All profiles must configure queueSort in the same words, even where the effect is equal.

    Upstream: validateCommonQueueSort().
    """
    found, expected = _queue_sort_of(other), _queue_sort_of(first)
    if found != expected:
        path = other.at("plugins.queueSort")
        raise ConfigurationError(path, found, "must be the same for all profiles")


def _queue_sort_of(profile: Fields) -> dict[str, list[Any]]:
    """Upstream: mergePluginSet() keeps only the names of disabled plugins."""
    plugins = profile.mapping("plugins")
    queue_sort = None if plugins is None else plugins.mapping("queueSort")
    if queue_sort is None:
        return {"enabled": [], "disabled": []}
    return {
        "enabled": [
            (one.text("name"), one.integer("weight", 0)) for one in queue_sort.items("enabled")
        ],
        "disabled": [one.text("name") for one in queue_sort.items("disabled")],
    }


def _with_ignored(profile: Profile, plugin: str, ignored: tuple[str, ...]) -> Profile:
    """Leave the resources that only extenders manage out of the resource check.

    They replace the ignoredResources of the plugin's arguments. Upstream: buildExtenders().
    """
    if not ignored:
        return profile
    own = {**(profile.arguments.get(plugin) or {}), "ignoredResources": list(ignored)}
    return replace(profile, arguments={**profile.arguments, plugin: own})


@dataclass(slots=True)
class _Parsed:
    profile: Profile
    warnings: list[str]


def _read_profile(fields: Fields, percentage: int, kubernetes: KubernetesVersion) -> _Parsed:
    rules = kubernetes.configuration
    assert rules is not None
    share = ("percentageOfNodesToScore",) if rules.profile_percentage else ()
    fields.only("schedulerName", *share, "plugins", "pluginConfig")
    catalogue = Catalogue(kubernetes)
    sets = plugin_sets(fields.mapping("plugins"), catalogue)
    warnings: list[str] = []
    shaped = _scores_capacity(kubernetes)
    arguments = _plugin_config(fields, catalogue, warnings, takes_shape=shaped)
    profile_name = fields.object_name("schedulerName") or "default-scheduler"
    sorts = sets.of("queueSort")
    whose = f'for profile with scheduler name "{profile_name}"'
    if len(sorts) != 1:
        problem = f"only one queue sort plugin required {whose}, but got {len(sorts)}"
        found = ", ".join(sorts) or None
        raise ConfigurationError(fields.at("plugins.queueSort"), found, problem)
    if not sets.of("bind"):
        problem = f"at least one bind plugin is needed {whose}"
        raise ConfigurationError(fields.at("plugins.bind"), None, problem)
    if rules.checks_preparation:
        _check_prepared(fields, sets, catalogue)
    binding = arguments.get(names.VOLUME_BINDING) or {}
    timeout_seconds = binding.get("bindTimeoutSeconds")
    evictions = {
        key: value
        for key, value in (arguments.get(names.DEFAULT_PREEMPTION) or {}).items()
        if value is not None
    }
    base = default_profile(kubernetes)
    defaults = base.preemption
    scores, arguments = _scores(fields, sets, arguments, kubernetes)
    profile = replace(
        base,
        name=profile_name,
        percentage=fields.integer("percentageOfNodesToScore", percentage, low=0, high=100),
        filters=_filters(sets, base.rules),
        pre_filters=sets.of("preFilter"),
        scores=scores,
        scores_volumes=names.VOLUME_BINDING in sets.of("score"),
        bind_timeout=DEFAULT_BIND_TIMEOUT if timeout_seconds is None else timeout_seconds * SECOND,
        arguments=arguments,
        pre_enqueues=tuple(
            name
            for name in sets.of("preEnqueue")
            if name != names.DYNAMIC_RESOURCES or base.rules.allocates_devices
        ),
        queue_sort=sorts[0],
        pre_scores=tuple(n for n in sets.of("preScore") if n not in catalogue.in_tree),
        left_out=_left_out(sets, catalogue),
        post_filters=sets.of("postFilter"),
        reserves=sets.of("reserve"),
        permits=sets.of("permit"),
        pre_binds=sets.of("preBind"),
        binds=sets.of("bind"),
        post_binds=sets.of("postBind"),
        preemption=replace(
            defaults,
            candidate_percentage=evictions.get(
                "minCandidateNodesPercentage", defaults.candidate_percentage
            ),
            min_candidates=evictions.get("minCandidateNodesAbsolute", defaults.min_candidates),
        ),
    )
    return _Parsed(profile, warnings)


def _check_prepared(fields: Fields, sets: PluginSets, catalogue: Catalogue) -> None:
    """Refuse in-tree plugins that would fail in every attempt; compare unprepared.py."""
    for before, after in (("preFilter", "filter"), ("preScore", "score")):
        for name in sets.of(after):
            if name not in catalogue.in_tree:
                continue  # A plugin that is not in-tree may do without.
            if before in catalogue.points_of(name) and name not in sets.of(before):
                path = fields.at(f"plugins.{before}.disabled")
                raise ConfigurationError(
                    path, name, f"{name} takes part at {after}, which needs its {before}"
                )


def _filters(sets: PluginSets, rules: CycleRules) -> tuple[str, ...]:
    """The plugins at Filter in order, then those at PreFilter only.

    Where devices are not allocated, DynamicResources is among them only if it fails.
    """
    dynamic = names.DYNAMIC_RESOURCES
    unprepared = dynamic in sets.of("filter") and dynamic not in sets.of("preFilter")
    merged = dict.fromkeys((*sets.of("filter"), *sets.of("preFilter")))
    return tuple(
        name
        for name in merged
        if name not in BUILT_IN or (name == dynamic and (unprepared or rules.allocates_devices))
    )


def _left_out(sets: PluginSets, catalogue: Catalogue) -> frozenset[tuple[str, str]]:
    """The points that plugins have a method for and are not enabled at."""
    points = ("preFilter", "filter", "preScore", "score")
    chosen = dict.fromkeys(name for point in catalogue.points for name in sets.of(point))
    return frozenset(
        (name, point)
        for name in chosen
        for point in points
        if point in catalogue.points_of(name) and name not in sets.of(point)
    )


def _scores(
    fields: Fields,
    sets: PluginSets,
    arguments: dict[str, dict[str, Any]],
    kubernetes: KubernetesVersion,
) -> tuple[tuple[tuple[str, int], ...], dict[str, dict[str, Any]]]:
    """The scores with their weights, and the arguments of all plugins, by the engine's names."""
    old_scores = kubernetes.plugins.old_scores
    scores: dict[str, int] = {}
    for name in _without_built_in(sets.of("score")):
        if name == names.VOLUME_BINDING and not _scores_capacity(kubernetes):
            continue
        known = old_scores.get(name)
        if known is None:
            scores[name] = sets.weight(name)
            continue
        if known.plugin in scores:
            problem = f"{name} cannot be enabled beside another strategy for the same resources"
            raise ConfigurationError(fields.at("plugins.score.enabled"), name, problem)
        scores[known.plugin] = sets.weight(name) * known.scale
        if known.strategy:
            strategy: dict[str, Any] = {"type": known.strategy, **arguments.pop(name, {})}
            own = arguments.get(known.plugin, {})
            arguments[known.plugin] = {**own, "scoringStrategy": strategy}
    merged = {name: dict(one) for name, one in kubernetes.plugins.arguments.items()}
    for name, one in arguments.items():
        merged[name] = {**merged.get(name, {}), **one}
    return tuple(scores.items()), merged


def _scores_capacity(kubernetes: KubernetesVersion) -> bool:
    """Whether VolumeBinding scores nodes: behind the feature gate StorageCapacityScoring."""
    own = kubernetes.plugins.arguments.get(names.VOLUME_BINDING) or {}
    return bool(own.get("scores_capacity"))


def _without_built_in(*lists: Iterable[str]) -> tuple[str, ...]:
    """The plugins that have a class, in order, each once."""
    merged = dict.fromkeys(name for one in lists for name in one)
    # DynamicResources has one where devices are allocated, and scores only there.
    return tuple(name for name in merged if name not in BUILT_IN - {names.DYNAMIC_RESOURCES})


def _plugin_config(
    fields: Fields, catalogue: Catalogue, warnings: list[str], *, takes_shape: bool
) -> dict[str, dict[str, Any]]:
    """The arguments of each plugin. Those of a plugin that does not exist are not used.

    With *takes_shape* VolumeBinding may have the argument `shape`.

    Upstream: decodeNestedObjects(), and validatePluginConfig() of those that were taken out.
    """
    found: dict[str, dict[str, Any]] = {}
    for item in fields.items("pluginConfig"):
        name = item.only("name", "args").text("name")
        if name in found:
            raise item.error("name", f'repeated config for plugin "{name}"')
        try:
            catalogue.points_of(name)
        except UnknownPlugin as unknown:
            if name in IN_TREE or name in _TAKEN_OUT:
                raise item.error("name", str(unknown)) from unknown
            warnings.append(f"{item.at('name')} is not used: {unknown}")
            found[name] = {}
            continue
        arguments = item.mapping("args")
        if arguments is not None:
            check_arguments(name, arguments)
            if name == names.VOLUME_BINDING and not takes_shape:
                refuse_shape(arguments)
        found[name] = {} if arguments is None else dict(arguments.raw)
    return found


# -- v1alpha1 ------------------------------------------------------------------------------------


def _read_without_profiles(fields: Fields, kubernetes: KubernetesVersion) -> SchedulerSetup:
    """One scheduler, by a provider or an inline Policy."""
    # Upstream: SetDefaults_KubeSchedulerConfiguration() takes 0 for what is not said.
    weight = fields.integer("hardPodAffinitySymmetricWeight", 1, low=0, high=100) or 1
    setup = _algorithm_source(fields, kubernetes, weight)
    profile = setup.profiles[0]
    profile = replace(
        profile,
        name=fields.object_name("schedulerName") or "default-scheduler",
        percentage=fields.integer("percentageOfNodesToScore", 0, low=0, high=100),
    )
    if fields.boolean("disablePreemption"):
        profile = replace(profile, post_filters=())
    affinity = names.INTER_POD_AFFINITY_PRIORITY
    if affinity not in profile.arguments:
        added = {affinity: {"hardPodAffinitySymmetricWeight": weight}}
        profile = replace(profile, arguments={**profile.arguments, **added})
    timeout = fields.integer("bindTimeoutSeconds", DEFAULT_BIND_TIMEOUT // SECOND, low=0)
    profile = replace(profile, bind_timeout=timeout * SECOND)
    initial, longest = _backoffs(fields, kubernetes)
    return replace(
        setup,
        profiles=(profile,),
        initial_backoff=initial,
        max_backoff=longest,
        leader_election=_leader_election(fields, names_lock=True),
    )


def _algorithm_source(
    fields: Fields, kubernetes: KubernetesVersion, hard_weight: int
) -> SchedulerSetup:
    source = fields.mapping("algorithmSource")
    gates = fields.get("featureGates")
    if source is None:
        return provider(kubernetes, "DefaultProvider", gates)
    source.only("provider", "policy")
    if source.get("policy") is not None:
        policy = source.mapping("policy")
        assert policy is not None
        if policy.get("file") is not None or policy.get("configMap") is not None:
            raise source.error(
                "policy", "a file or ConfigMap is not read; hand the Policy in as a document"
            )
        with_gates = {"featureGates": gates, **policy.raw}
        return parse_policy(with_gates, kubernetes, policy.path, hard_weight=hard_weight)
    name = source.text("provider", "DefaultProvider")
    try:
        return provider(kubernetes, name, gates)
    except KeyError as unknown:
        known = "DefaultProvider, ClusterAutoscalerProvider"
        raise source.error("provider", f'"{name}" is not one of {known}') from unknown


def _leader_election(
    fields: Fields, *, names_lock: bool = False, only_leases: bool = False
) -> LeaderElection:
    """A duration that is 0 or absent is the default.

    With *names_lock* the Lease may also be named as the object of a lock, as before Kubernetes 1.18.
    Upstream: component-base/config/validation ValidateLeaderElectionConfiguration().
    """
    settings = fields.mapping("leaderElection")
    defaults = LeaderElection()
    if settings is None:
        return defaults
    settings.only(
        "leaderElect",
        "leaseDuration",
        "renewDeadline",
        "retryPeriod",
        "resourceLock",
        "resourceName",
        "resourceNamespace",
        *(("lockObjectName", "lockObjectNamespace") if names_lock else ()),
    )
    election = LeaderElection(
        lease_duration=settings.duration("leaseDuration", 0) or defaults.lease_duration,
        renew_deadline=settings.duration("renewDeadline", 0) or defaults.renew_deadline,
        retry_period=settings.duration("retryPeriod", 0) or defaults.retry_period,
        resource_namespace=settings.text("lockObjectNamespace")
        or settings.text("resourceNamespace")
        or defaults.resource_namespace,
        resource_name=settings.text("lockObjectName")
        or settings.text("resourceName")
        or defaults.resource_name,
    )
    lock = settings.text("resourceLock") or "leases"
    if only_leases and settings.boolean("leaderElect", default=True) and lock != "leases":
        raise settings.error("resourceLock", 'resourceLock value must be "leases"')
    if election.retry_period <= 0:
        raise settings.error("retryPeriod", "must be greater than zero")
    if election.lease_duration <= election.renew_deadline:
        raise settings.error("leaseDuration", "must be greater than `RenewDeadline`")
    if election.renew_deadline <= election.retry_period:
        raise settings.error("renewDeadline", "RenewDeadline must be greater than RetryPeriod")
    return election
