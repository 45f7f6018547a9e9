"""Policy JSON and algorithm providers of v1.16, to a SchedulerSetup.

A Policy replaces the default set: a list that is there, even an empty one, is all there is; one
that is absent stands for DefaultProvider's. Unknown fields ("order") are ignored with a warning.
Upstream: v1.16 pkg/scheduler/{plugins,factory}.go, api/validation, algorithmprovider/defaults.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.framework import names
from engine.input.reading import Fields
from engine.plugins.arguments import check_shape
from engine.scheduler.configuration.extenders import ExtenderSettings, read_extenders
from engine.scheduler.configuration.profiles import Profile, default_profile
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.versions.configuration_rules import PolicyRules
from engine.versions.kubernetes_version import KubernetesVersion

TAINT_NODES_BY_CONDITION = "TaintNodesByCondition"
# Alpha in v1.11, and gone with it.
DYNAMIC_PROVISIONING = "DynamicProvisioningScheduling"
EVEN_PODS_SPREAD = "EvenPodsSpread"
RESOURCE_LIMITS = "ResourceLimitsPriorityFunction"

# The order in which predicates are asked; one that is not in it never is. Upstream: Ordering().
ORDERING = (
    names.CHECK_NODE_CONDITION,
    names.CHECK_NODE_UNSCHEDULABLE,
    names.GENERAL_PREDICATES,
    names.HOST_NAME,
    names.POD_FITS_HOST_PORTS,
    names.MATCH_NODE_SELECTOR,
    names.POD_FITS_RESOURCES,
    names.NO_DISK_CONFLICT,
    names.POD_TOLERATES_NODE_TAINTS,
    names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS,
    names.CHECK_NODE_LABEL_PRESENCE,
    names.CHECK_SERVICE_AFFINITY,
    names.MAX_EBS_VOLUME_COUNT,
    names.MAX_GCE_PD_VOLUME_COUNT,
    names.MAX_CSI_VOLUME_COUNT,
    names.MAX_AZURE_DISK_VOLUME_COUNT,
    names.MAX_CINDER_VOLUME_COUNT,
    names.CHECK_VOLUME_BINDING,
    names.NO_VOLUME_ZONE_CONFLICT,
    names.CHECK_NODE_MEMORY_PRESSURE,
    names.CHECK_NODE_PID_PRESSURE,
    names.CHECK_NODE_DISK_PRESSURE,
    names.EVEN_PODS_SPREAD,
    names.MATCH_INTER_POD_AFFINITY,
)
_BY_CONDITION = (
    names.CHECK_NODE_CONDITION,
    names.CHECK_NODE_MEMORY_PRESSURE,
    names.CHECK_NODE_PID_PRESSURE,
    names.CHECK_NODE_DISK_PRESSURE,
)
# These two need an argument, and go by whatever name the Policy gives them; the third has a place in
# the order, and is registered nowhere.
_NOT_BY_NAME = (
    names.CHECK_NODE_LABEL_PRESENCE,
    names.CHECK_SERVICE_AFFINITY,
    names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS,
)
_PREDICATES = frozenset(
    (*(name for name in ORDERING if name not in _NOT_BY_NAME), names.POD_FITS_PORTS)
)
_PRIORITIES = frozenset(
    (
        names.SELECTOR_SPREAD_PRIORITY,
        names.SERVICE_SPREADING_PRIORITY,
        names.INTER_POD_AFFINITY_PRIORITY,
        names.LEAST_REQUESTED_PRIORITY,
        names.MOST_REQUESTED_PRIORITY,
        names.BALANCED_RESOURCE_ALLOCATION,
        names.NODE_PREFER_AVOID_PODS_PRIORITY,
        names.NODE_AFFINITY_PRIORITY,
        names.TAINT_TOLERATION_PRIORITY,
        names.IMAGE_LOCALITY_PRIORITY,
        names.EQUAL_PRIORITY,
        names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY,
        names.RESOURCE_LIMITS_PRIORITY,
        names.EVEN_PODS_SPREAD_PRIORITY,
    )
)
_MAX_TOTAL = (1 << 63) - 1
_MAX_WEIGHT = _MAX_TOTAL // 10
# The form of a name that a Policy makes up. Upstream: plugins.go validName.
_NAME = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])", re.ASCII)
_NAME_FAULT = (
    'Algorithm name {} does not match the name validation regexp "^[a-zA-Z0-9]'
    '([-a-zA-Z0-9]*[a-zA-Z0-9])$".'
)
_POLICY_FIELDS = (
    "kind",
    "apiVersion",
    "metadata",
    "predicates",
    "priorities",
    "extenders",
    "hardPodAffinitySymmetricWeight",
    "alwaysCheckAllPredicates",
    "featureGates",
)


def provider(version: KubernetesVersion, name: str, gates: Any = None) -> SchedulerSetup:
    """DefaultProvider or ClusterAutoscalerProvider. Raises KeyError for any other."""
    profile = _default_profile(version, _read_gates(gates, version))
    if name == "ClusterAutoscalerProvider":
        scores = tuple(
            (names.MOST_REQUESTED_PRIORITY if one == names.LEAST_REQUESTED_PRIORITY else one, w)
            for one, w in profile.scores
        )
        profile = replace(profile, scores=scores)
    elif name != "DefaultProvider":
        raise KeyError(name)
    return SchedulerSetup(profiles=(profile,))


def parse_policy(
    document: Any, version: KubernetesVersion, path: str = "", *, hard_weight: int = 1
) -> SchedulerSetup:
    """The setup of a Policy under *version*. Raises ConfigurationError.

    *hard_weight* is the hardPodAffinitySymmetricWeight of a Policy that does not say.
    """
    fields = Fields(document, path)
    gates = _read_gates(fields.get("featureGates"), version)
    profile = _default_profile(version, gates)
    warnings = [
        f'{fields.at(name)}: ignored, a Policy has no field "{name}"'
        for name in fields.raw
        if name not in _POLICY_FIELDS
    ]
    if fields.get("predicates") is not None:
        profile = _with_predicates(profile, fields, gates, warnings)
    extenders = read_extenders(fields, legacy=True)
    if fields.get("priorities") is not None:
        profile = _with_priorities(profile, fields, gates, warnings, extenders)
    weight = fields.integer("hardPodAffinitySymmetricWeight", 0) or hard_weight
    if not 1 <= weight <= 100:
        problem = f"invalid hardPodAffinitySymmetricWeight: {weight}, must be in the range 1-100"
        raise fields.error("hardPodAffinitySymmetricWeight", problem)
    arguments: dict[str, Mapping[str, Any]] = dict(profile.arguments)
    _add(arguments, names.INTER_POD_AFFINITY_PRIORITY, "hardPodAffinitySymmetricWeight", weight)
    ignored = [name for extender in extenders for name in extender.ignored_resources]
    if ignored:
        for name in (names.GENERAL_PREDICATES, names.POD_FITS_RESOURCES):
            _add(arguments, name, "ignoredResources", ignored)
    profile = replace(
        profile,
        arguments=arguments,
        checks_all=fields.boolean("alwaysCheckAllPredicates"),
    )
    return SchedulerSetup(profiles=(profile,), extenders=extenders, warnings=tuple(warnings))


def _add(arguments: dict[str, Mapping[str, Any]], name: str, key: str, value: Any) -> None:
    """Add a setting to the arguments that a Policy may have given the plugin."""
    arguments[name] = {**arguments.get(name, {}), key: value}


def _read_gates(value: Any, version: KubernetesVersion) -> dict[str, bool]:
    """The feature gates; kscope's stand-in for the --feature-gates flag."""
    gates = version.feature_gates
    fields = Fields(value or {}, "featureGates").only(*gates)
    return {name: fields.boolean(name, default=gate.default) for name, gate in gates.items()}


def _default_profile(version: KubernetesVersion, gates: Mapping[str, bool]) -> Profile:
    """DefaultProvider under *gates*. Upstream: defaults.go, ApplyFeatureGates()."""
    profile = default_profile(version)
    filters, scores = list(profile.filters), list(profile.scores)
    if gates[TAINT_NODES_BY_CONDITION]:
        filters = [name for name in filters if name not in _BY_CONDITION]
    else:
        filters = [name for name in filters if name != names.CHECK_NODE_UNSCHEDULABLE]
        filters += _BY_CONDITION
    if gates.get(EVEN_PODS_SPREAD):
        filters.append(names.EVEN_PODS_SPREAD)
        scores.append((names.EVEN_PODS_SPREAD_PRIORITY, 1))
    if gates[RESOURCE_LIMITS] and _rules(version).limits_priority_by_default:
        scores.append((names.RESOURCE_LIMITS_PRIORITY, 1))
    arguments: dict[str, Mapping[str, Any]] = dict(profile.arguments)
    if gates.get(DYNAMIC_PROVISIONING):
        _add(arguments, names.CHECK_VOLUME_BINDING, "provisions", True)
    return replace(profile, filters=_ordered(filters), scores=tuple(scores), arguments=arguments)


def _ordered(filters: list[str]) -> tuple[str, ...]:
    """The basic checks first, then in predicates.Ordering(); what is not in it is left out."""
    return (names.POD_PASSES_BASIC_CHECKS, *(name for name in ORDERING if name in filters))


# -- predicates ----------------------------------------------------------------------------------


def _with_predicates(
    profile: Profile, fields: Fields, gates: Mapping[str, bool], warnings: list[str]
) -> Profile:
    chosen: list[str] = list(_mandatory(profile.kubernetes, gates))
    kinds: dict[str, str] = dict(profile.kinds)
    arguments: dict[str, Mapping[str, Any]] = dict(profile.arguments)
    made_up: dict[str, str] = {}
    for item in fields.items("predicates"):
        name = item.text("name")
        custom = _custom_predicate(item, name)
        if custom is not None:
            made_up[name], arguments[name] = custom
        elif name not in made_up:
            kind = _registered_predicate(item, name, gates, profile.kubernetes)
            if kind != name:
                kinds[name] = kind
        warnings += _ignored(item)
        if name not in ORDERING:
            warnings.append(
                f"{item.at('name')}: {name} is never asked: it is not in predicates.Ordering()"
            )
        chosen.append(name)
    kinds |= made_up
    return replace(profile, filters=_ordered(chosen), kinds=kinds, arguments=arguments)


def _rules(version: KubernetesVersion) -> PolicyRules:
    assert version.policy is not None
    return version.policy


def _mandatory(version: KubernetesVersion, gates: Mapping[str, bool]) -> tuple[str, ...]:
    """In force under any Policy. Upstream: RegisterMandatoryFitPredicate(), ApplyFeatureGates()."""
    if not gates[TAINT_NODES_BY_CONDITION]:
        return (names.CHECK_NODE_CONDITION,)
    return _rules(version).mandatory


def _is_known(name: str, registered: frozenset[str], version: KubernetesVersion) -> bool:
    return name in registered and name not in _rules(version).unknown


def _ignored(item: Fields) -> list[str]:
    known = ("name", "weight", "argument")
    return [
        f'{item.at(name)}: ignored, there is no field "{name}"'
        for name in item.raw
        if name not in known
    ]


def _custom_predicate(item: Fields, name: str) -> tuple[str, Mapping[str, Any]] | None:
    """The plugin behind a predicate with an argument. Upstream: RegisterCustomFitPredicate()."""
    argument = item.mapping("argument")
    if argument is None:
        return None
    affinity = argument.mapping("serviceAffinity")
    presence = argument.mapping("labelsPresence")
    _check_argument(item, "Predicate", name, (affinity, presence))
    if affinity is not None:
        return names.CHECK_SERVICE_AFFINITY, {"labels": affinity.texts("labels")}
    assert presence is not None
    arguments = {"labels": presence.texts("labels"), "presence": presence.boolean("presence")}
    return names.CHECK_NODE_LABEL_PRESENCE, arguments


def _check_argument(item: Fields, kind: str, name: str, choices: Sequence[Fields | None]) -> None:
    """One of the choices is given, and the name is in order.

    Upstream: validatePredicateOrDie(), validatePriorityOrDie(), validateAlgorithmNameOrDie().
    """
    count = sum(choice is not None for choice in choices)
    if count != 1:
        required = f"Exactly 1 {kind.lower()} argument is required"
        raise item.error("argument", f"{required}, numArgs: {count}, {kind}: {name}")
    if not _NAME.fullmatch(name):
        raise item.error("name", _NAME_FAULT.format(name))


def _registered_predicate(
    item: Fields, name: str, gates: Mapping[str, bool], version: KubernetesVersion
) -> str:
    """The plugin behind a predicate that goes by its own name."""
    problem = f"Invalid configuration: Predicate type not found for {name}"
    gated = dict.fromkeys(_BY_CONDITION, (TAINT_NODES_BY_CONDITION, False)) | {
        names.CHECK_NODE_UNSCHEDULABLE: (TAINT_NODES_BY_CONDITION, True),
        names.EVEN_PODS_SPREAD: (EVEN_PODS_SPREAD, True),
    }
    if not _is_known(name, _PREDICATES, version):
        raise item.error("name", problem)
    gate, needed = gated.get(name, ("", False))
    if gate and gates[gate] is not needed:
        state = "off" if needed else "on"
        raise item.error("name", f"{problem}: feature gate {gate} is {state}")
    return names.POD_FITS_HOST_PORTS if name == names.POD_FITS_PORTS else name


# -- priorities ----------------------------------------------------------------------------------


def _with_priorities(
    profile: Profile,
    fields: Fields,
    gates: Mapping[str, bool],
    warnings: list[str],
    extenders: tuple[ExtenderSettings, ...],
) -> Profile:
    scores: dict[str, int] = {}
    kinds: dict[str, str] = dict(profile.kinds)
    arguments: dict[str, Mapping[str, Any]] = dict(profile.arguments)
    made_up: dict[str, str] = {}
    for item in fields.items("priorities"):
        name = item.text("name")
        weight = item.integer("weight", 0)
        if not 0 < weight < _MAX_WEIGHT:
            raise item.error(
                "weight",
                f"Priority {name} should have a positive weight applied to it or it has overflown",
            )
        custom = _custom_priority(item, name, profile.kubernetes)
        if custom is not None:
            made_up[name], arguments[name] = custom
        elif name not in made_up:
            _check_priority(item, name, gates, profile.kubernetes)
        warnings += _ignored(item)
        scores[name] = weight
    if sum(scores.values()) * 10 > _MAX_TOTAL:
        raise fields.error("priorities", "total priority of priority functions has overflown")
    if not scores and not extenders:
        # Upstream: PrioritizeNodes() then scores by EqualPriority.
        scores[names.EQUAL_PRIORITY] = 1
    kinds |= made_up
    return replace(profile, scores=tuple(scores.items()), kinds=kinds, arguments=arguments)


def _custom_priority(
    item: Fields, name: str, version: KubernetesVersion
) -> tuple[str, Mapping[str, Any]] | None:
    """The plugin behind a priority with an argument. Upstream: RegisterCustomPriorityFunction()."""
    argument = item.mapping("argument")
    if argument is None:
        return None
    anti = argument.mapping("serviceAntiAffinity")
    preference = argument.mapping("labelPreference")
    ratio = argument.mapping("requestedToCapacityRatioArguments")
    _check_argument(item, "Priority", name, (anti, preference, ratio))
    if anti is not None:
        return names.SERVICE_ANTI_AFFINITY_PRIORITY, {"label": anti.text("label")}
    if preference is not None:
        label_arguments = {
            "label": preference.text("label"),
            "presence": preference.boolean("presence"),
        }
        return names.NODE_LABEL_PRIORITY, label_arguments
    assert ratio is not None
    return names.REQUESTED_TO_CAPACITY_RATIO_PRIORITY, _ratio(ratio, version)


def _ratio(fields: Fields, version: KubernetesVersion) -> Mapping[str, Any]:
    """The shape and, where the version reads them, the resources with their weights."""
    check_shape(fields, "shape", 10)
    rules = _rules(version)
    arguments: dict[str, Any] = {"shape": fields.values("shape"), **rules.ratio_arguments}
    if not rules.ratio_reads_resources:
        return arguments
    for resource in fields.items("resources"):
        resource.text("name")
        resource.integer("weight", 0)
    return {**arguments, "resources": fields.values("resources")}


def _check_priority(
    item: Fields, name: str, gates: Mapping[str, bool], version: KubernetesVersion
) -> None:
    """Raise ConfigurationError unless there is a priority that goes by this name of its own."""
    problem = f"Invalid configuration: Priority type not found for {name}"
    for priority, gate in (
        (names.EVEN_PODS_SPREAD_PRIORITY, EVEN_PODS_SPREAD),
        (names.RESOURCE_LIMITS_PRIORITY, RESOURCE_LIMITS),
    ):
        if name == priority and gates.get(gate) is False:
            raise item.error("name", f"{problem}: feature gate {gate} is off")
    if not _is_known(name, _PRIORITIES, version):
        raise item.error("name", problem)
