"""The formats of a scheduler's configuration: who served each, and a file in the format of another.

Upstream: pkg/scheduler/apis/config/scheme, and the CHANGELOG of the releases. Nothing upstream
converts files; what is offered here is read again before it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import yaml

from engine.framework import names
from engine.input.reading import Fields

GROUP: Final = "kubescheduler.config.k8s.io"
KIND: Final = "KubeSchedulerConfiguration"
POLICY: Final = "Policy"
# The format of the time before profiles: one scheduler, by a provider or a Policy.
BEFORE_PROFILES: Final = "v1alpha1"
# The same in the group that all components shared before.
COMPONENT_CONFIG: Final = "componentconfig/v1alpha1"
# Those with one scheduler, which no profile names.
WITHOUT_PROFILES: Final = (BEFORE_PROFILES, COMPONENT_CONFIG)
# The first and the last minor release of Kubernetes 1 that served a format.
_SERVED: Final[Mapping[str, tuple[int, int | None]]] = {
    "v1": (25, None),
    "v1beta3": (23, 28),
    "v1beta2": (22, 27),
    "v1beta1": (19, 22),
    "v1alpha2": (18, 19),
    "v1alpha1": (12, 18),
    COMPONENT_CONFIG: (9, 11),
    POLICY: (2, 22),
}
# By apiVersion of a KubeSchedulerConfiguration.
FORMATS: Final[Mapping[str, str]] = {
    one if one == COMPONENT_CONFIG else f"{GROUP}/{one}": one for one in _SERVED if one != POLICY
}
# Fields that the format v1 no longer has.
ADDRESSES: Final = ("healthzBindAddress", "metricsBindAddress")
# A longer document is not shown in a message.
_LONGEST: Final = 6000
_STRATEGIES: Final = {
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
_OLD_NAMES: Final = {strategy: name for name, strategy in _STRATEGIES.items()}
_DEFAULT_SCORE: Final = "NodeResourcesLeastAllocated"
# Plugins that v1 does not have: to disable them there is nothing to do.
_GONE: Final = (
    *("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits", "NodeLabel"),
    *("NodePreferAvoidPods", "SelectorSpread", "DefaultPodTopologySpread", names.SERVICE_AFFINITY),
)
_POINTS_1_20: Final = (
    *("queueSort", "preFilter", "filter", "postFilter", "preScore", "score"),
    *("reserve", "permit", "preBind", "bind", "postBind"),
)


def served_by(format_: str) -> str:
    """The releases of Kubernetes that served *format_*: "1.22 to 1.27"."""
    first, last = _SERVED[format_]
    return f"1.{first} and later" if last is None else f"1.{first} to 1.{last}"


def as_text(document: Mapping[str, Any]) -> str | None:
    """*document* as YAML; None where it is too long for a message."""
    text = yaml.dump(dict(document), Dumper=_Dumper, sort_keys=False)
    return text if len(text) <= _LONGEST else None


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """A list that stands at two places is written twice."""
        return True


def converted(fields: Fields, format_: str, target: str) -> dict[str, Any] | None:
    """The configuration *fields*, which is in *format_*, as *target*.

    None where there is none: a Policy, or a source of the algorithm that no profile can name. What
    *target* cannot say at all is left in where it is a choice, so that reading it names it. Raises
    ConfigurationError where *fields* is not of the shape that it should have.
    """
    if format_ == POLICY or target == POLICY:
        return None
    has_profiles = format_ not in WITHOUT_PROFILES
    current = dict(fields.raw) if has_profiles else _without_profiles(fields)
    if current is None:
        return None
    current = _as_v1(Fields(current))
    if target == BEFORE_PROFILES:
        current = _as_v1alpha1(Fields(current))
        if current is None:
            return None
    elif target != "v1":
        profiles = [_old_profile(one, target) for one in Fields(current).items("profiles")]
        current = {**current, "profiles": profiles} if profiles else current
        current.pop("delayCacheUntilActive", None)
    return {**current, "apiVersion": f"{GROUP}/{target}", "kind": KIND}


# -- to v1 ---------------------------------------------------------------------------------------


def _without_profiles(fields: Fields) -> dict[str, Any] | None:
    """v1alpha1 with a profile in place of its one scheduler."""
    source = fields.mapping("algorithmSource")
    provider = "DefaultProvider" if source is None else source.text("provider")
    if provider not in ("DefaultProvider", "ClusterAutoscalerProvider"):
        return None
    profile: dict[str, Any] = {}
    if fields.text("schedulerName"):
        profile["schedulerName"] = fields.text("schedulerName")
    config: list[dict[str, Any]] = []
    if provider == "ClusterAutoscalerProvider":
        config.append(_config(names.NODE_RESOURCES_FIT, scoringStrategy={"type": "MostAllocated"}))
    weight = fields.get("hardPodAffinitySymmetricWeight")
    if weight:
        config.append(_config(names.INTER_POD_AFFINITY, hardPodAffinityWeight=weight))
    if config:
        profile["pluginConfig"] = config
    gone = ("schedulerName", "algorithmSource", "hardPodAffinitySymmetricWeight", "failureDomains")
    return {**_except(fields.raw, gone), "profiles": [profile]}


def _as_v1(fields: Fields) -> dict[str, Any]:
    gone = (*ADDRESSES, "disablePreemption", "bindTimeoutSeconds")
    result = {key: one for key, one in _except(fields.raw, gone).items() if one is not None}
    election = fields.mapping("leaderElection")
    if election is not None and election.text("resourceLock", "leases") != "leases":
        result["leaderElection"] = {**election.raw, "resourceLock": "leases"}
    profiles = fields.items("profiles")
    if not profiles and any(fields.get(name) for name in gone[len(ADDRESSES) :]):
        profiles = [Fields({}, "profiles[0]")]
    if profiles:
        result["profiles"] = [_new_profile(one, fields) for one in profiles]
    return result


def _new_profile(profile: Fields, top: Fields) -> dict[str, Any]:
    """A profile with the names of plugins that v1 has, and what was said for all profiles."""
    plugins = profile.mapping("plugins") or Fields({}, profile.at("plugins"))
    points = {
        point: _without_gone(plugins.mapping(point), point)
        for point in plugins.raw
        if point != "unreserve" and plugins.get(point) is not None
    }
    config = {one.text("name"): dict(one.raw.get("args") or {}) for one in _configs(profile)}
    strategy = _resource_strategy(points)
    if strategy:
        given = config.pop(_OLD_NAMES[strategy], {})
        own = _except(given, ("apiVersion", "kind"))
        if "shape" in own:
            own["requestedToCapacityRatio"] = {"shape": own.pop("shape")}
        fit = config.get(names.NODE_RESOURCES_FIT, {})
        if strategy != "LeastAllocated" or own:
            strategies = {"scoringStrategy": {"type": strategy, **own}}
            config[names.NODE_RESOURCES_FIT] = {**fit, **strategies}
    if top.boolean("disablePreemption"):
        points["postFilter"] = {"disabled": [{"name": names.DEFAULT_PREEMPTION}]}
    if top.get("bindTimeoutSeconds") is not None:
        timeout = {"bindTimeoutSeconds": top.get("bindTimeoutSeconds")}
        config[names.VOLUME_BINDING] = {**timeout, **config.get(names.VOLUME_BINDING, {})}
    return _profile(profile, points, config, "v1")


def _without_gone(plugin_set: Fields | None, point: str) -> dict[str, Any]:
    if plugin_set is None:
        return {}
    disabled = plugin_set.items("disabled")
    for one in (*disabled, *plugin_set.items("enabled")):
        one.text("name")
    kept = [dict(one.raw) for one in disabled if one.text("name") not in _GONE]
    result = dict(plugin_set.raw)
    if "disabled" in result:
        result["disabled"] = kept
    return _without_empty(result)


def _resource_strategy(points: dict[str, dict[str, Any]]) -> str:
    """Put NodeResourcesFit in place of the score that `points` enables; its strategy.

    "" where nothing is said, or where two strategies are enabled beside each other, which v1 cannot
    say.
    """
    score = points.get("score", {})
    disabled: list[dict[str, Any]] = list(score.get("disabled", ()))
    enabled: list[dict[str, Any]] = list(score.get("enabled", ()))
    chosen = [one for one in enabled if one.get("name") in _STRATEGIES]
    without = {one.get("name") for one in disabled}
    keeps_default = not without & {"*", _DEFAULT_SCORE, names.NODE_RESOURCES_FIT}
    if len(chosen) > 1 or (chosen and keeps_default and chosen[0].get("name") != _DEFAULT_SCORE):
        return ""
    rest = [one for one in disabled if one.get("name") not in _STRATEGIES]
    if not chosen:
        if _DEFAULT_SCORE in without:
            rest.append({"name": names.NODE_RESOURCES_FIT})
            points["score"] = _without_empty({**score, "disabled": rest})
        return "LeastAllocated" if keeps_default else ""
    renamed = [
        {**one, "name": names.NODE_RESOURCES_FIT} if one is chosen[0] else one for one in enabled
    ]
    points["score"] = _without_empty({**score, "disabled": rest, "enabled": renamed})
    return _STRATEGIES[chosen[0]["name"]]


# -- from v1 -------------------------------------------------------------------------------------


def _old_profile(profile: Fields, target: str) -> dict[str, Any]:
    """A profile as v1beta1 has it: no multiPoint, and a score for each strategy."""
    plugins = profile.mapping("plugins") or Fields({}, profile.at("plugins"))
    points: dict[str, dict[str, Any]] = {
        point: dict(one.raw)
        for point in plugins.raw
        if point != "preEnqueue" and (one := plugins.mapping(point)) is not None
    }
    every = points.get("multiPoint", {})
    if every.get("disabled") and not every.get("enabled"):
        # A plugin is disabled at each point; whether it has been there makes no difference.
        del points["multiPoint"]
        for point in _POINTS_1_20:
            own = points.setdefault(point, {})
            own["disabled"] = [*every["disabled"], *own.get("disabled", ())]
    config = {one.text("name"): dict(one.raw.get("args") or {}) for one in _configs(profile)}
    fit = config.get(names.NODE_RESOURCES_FIT, {})
    strategy = Fields(fit.pop("scoringStrategy", None) or {}, "scoringStrategy")
    if names.NODE_RESOURCES_FIT in config and not fit:
        del config[names.NODE_RESOURCES_FIT]
    name = _OLD_NAMES.get(strategy.text("type"), _DEFAULT_SCORE)
    own = _except(strategy.raw, ("type", "requestedToCapacityRatio"))
    ratio = strategy.mapping("requestedToCapacityRatio")
    own |= {} if ratio is None else dict(ratio.raw)
    if own:
        config[name] = own
    _rename_score(points, name)
    return _profile(profile, points, config, target)


def _rename_score(points: dict[str, dict[str, Any]], name: str) -> None:
    score = points.get("score", {})
    fit = names.NODE_RESOURCES_FIT
    enabled = [{**one, "name": name} if one.get("name") == fit else one for one in _on(score)]
    disabled = [
        {**one, "name": _DEFAULT_SCORE} if one.get("name") == fit else one
        for one in score.get("disabled", ())
    ]
    without = {one.get("name") for one in disabled}
    is_enabled = any(one.get("name") == name for one in enabled)
    if name != _DEFAULT_SCORE and not is_enabled and not without & {"*", _DEFAULT_SCORE}:
        enabled.append({"name": name, "weight": 1})
        is_enabled = True
    # In v1beta1 a plugin has to be disabled before it is enabled with another weight.
    if is_enabled and not without & {"*", _DEFAULT_SCORE}:
        disabled.append({"name": _DEFAULT_SCORE})
    if enabled or disabled:
        points["score"] = _without_empty({**score, "disabled": disabled, "enabled": enabled})


def _on(plugin_set: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    return plugin_set.get("enabled") or ()


def _as_v1alpha1(fields: Fields) -> dict[str, Any] | None:
    """One scheduler without a profile; None where the profiles say more than its name."""
    profiles = fields.items("profiles") or [Fields({})]
    if len(profiles) != 1 or not profiles[0].raw.keys() <= {"schedulerName"}:
        return None
    result = _except(fields.raw, ("delayCacheUntilActive", "parallelism", "profiles"))
    return {**result, **profiles[0].raw}


# -- shared --------------------------------------------------------------------------------------


def _configs(profile: Fields) -> list[Fields]:
    found = profile.items("pluginConfig")
    for one in found:
        one.mapping("args")
    return found


def _profile(
    profile: Fields,
    points: Mapping[str, Mapping[str, Any]],
    config: Mapping[str, Mapping[str, Any]],
    target: str,
) -> dict[str, Any]:
    result = dict(profile.raw)
    if target != "v1":
        result.pop("percentageOfNodesToScore", None)
    for name in ("plugins", "pluginConfig"):
        result.pop(name, None)
    chosen = {point: one for point, one in points.items() if one}
    if chosen:
        result["plugins"] = chosen
    if config:
        result["pluginConfig"] = [
            _config(name, **_retyped(arguments, target)) for name, arguments in config.items()
        ]
    return result


def _retyped(arguments: Mapping[str, Any], target: str) -> dict[str, Any]:
    """Arguments that name their format name *target*."""
    if str(arguments.get("apiVersion") or "").startswith(f"{GROUP}/"):
        return {**arguments, "apiVersion": f"{GROUP}/{target}"}
    return dict(arguments)


def _config(plugin: str, **arguments: Any) -> dict[str, Any]:
    return {"name": plugin, "args": arguments}


def _except(mapping: Mapping[str, Any], gone: Iterable[str]) -> dict[str, Any]:
    left_out = tuple(gone)
    return {key: value for key, value in mapping.items() if key not in left_out}


def _without_empty(mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if value}
