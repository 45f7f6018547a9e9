"""Feature gates that a run can turn on or off, and what each changes in a version.

A version lists its gates with their defaults; `with_gates` returns the version under other values.
A gate changes a setting of a plugin, a rule, or adds a plugin, and is a row in one table below.

Upstream: component-base/featuregate/feature_gate.go, pkg/features/kube_features.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kscope.sim.input.reading import ConfigurationError
from scheduling.engine import names
from scheduling.engine.versions.configuration_rules import InTreePlugin
from scheduling.engine.versions.gate_names import SENTENCES
from scheduling.engine.versions.kubernetes_version import KubernetesVersion

# gate: the settings that say the same, each (plugin, its setting).
_SETTINGS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "DRAExtendedResource": (
        (names.NODE_RESOURCES_FIT, "delegates_to_devices"),
        (names.DYNAMIC_RESOURCES, "provides_extended"),
    ),
    "StorageCapacityScoring": ((names.VOLUME_BINDING, "scores_capacity"),),
    "DRAPartitionableDevices": ((names.DYNAMIC_RESOURCES, "partitions_devices"),),
    "DRAConsumableCapacity": ((names.DYNAMIC_RESOURCES, "shares_capacity"),),
    "DRADeviceTaints": ((names.DYNAMIC_RESOURCES, "taints_devices"),),
    "DRADeviceBindingConditions": ((names.DYNAMIC_RESOURCES, "awaits_conditions"),),
    "VolumeLimitScaling": ((names.NODE_VOLUME_LIMITS, "needs_driver"),),
}
# gate: the rules that say the same, each (field of KubernetesVersion, its rule).
_RULES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "NominatedNodeNameForExpectation": (("cycle", "nominates_before_pre_bind"),),
    "DRADeviceTaints": (("workloads", "evicts_by_device_taints"),),
    "GenericWorkload": (("cycle", "schedules_groups"),),
    "NodeDeclaredFeatures": (("queue", "sees_declared_features"),),
    "InPlacePodLevelResourcesVerticalScaling": (("resources", "resizes_whole_pods"),),
    "OpportunisticBatching": (("cycle", "batches_pods"),),
    "SchedulerPopFromBackoffQ": (("queue", "pops_from_backoff"),),
    "TaintTolerationComparisonOperators": (
        ("resources", "compares_tolerations"),
        ("workloads", "compares_tolerations"),
    ),
}
# gate: the plugin that it adds, after all others.
_PLUGINS: Final[Mapping[str, InTreePlugin]] = {
    "NodeDeclaredFeatures": InTreePlugin(names.NODE_DECLARED_FEATURES, 0, ("preFilter", "filter")),
    "GangScheduling": InTreePlugin(names.GANG_SCHEDULING, 0, ("preEnqueue", "permit")),
}
# gate: the plugin that scores nodes with it, after all others, with its weight.
_SCORES: Final[Mapping[str, tuple[str, int]]] = {
    "StorageCapacityScoring": (names.VOLUME_BINDING, 1),
}
# gate: the gate that has to be on as well.
_NEEDS: Final[Mapping[str, str]] = {"GangScheduling": "GenericWorkload"}
# The default plugins at a point, in DefaultPlugins.
_AT_POINT: Final[Mapping[str, str]] = {
    "preEnqueue": "pre_enqueues",
    "filter": "filters",
    "permit": "permits",
}


def with_gates(
    version: KubernetesVersion, gates: Mapping[str, Any], path: str = "featureGates"
) -> KubernetesVersion:
    """*version* with these gates on or off; *version* itself if nothing differs.

    Raises ConfigurationError naming a gate that the version does not have or that cannot be set.
    """
    chosen = {name: _checked(version, name, value, path) for name, value in gates.items()}
    changed = {name: on for name, on in chosen.items() if on != version.feature_gates[name].default}
    if not changed:
        return version
    known = version.feature_gates
    known = {
        name: gate._replace(default=changed.get(name, gate.default)) for name, gate in known.items()
    }
    for name, needed in _NEEDS.items():
        if name in known and known[name].default and not known[needed].default:
            problem = f"feature gate {name} requires {needed} to be on"
            raise ConfigurationError(f"{path}.{name}", True, problem)
    for name, on in changed.items():
        version = _switched(version, name, on)
    return replace(version, feature_gates=known)


def _checked(version: KubernetesVersion, name: str, value: Any, path: str) -> bool:
    where = f"{path}.{name}"
    gate = version.feature_gates.get(name)
    if gate is None:
        known = ", ".join(version.feature_gates) or "none"
        if name in SENTENCES:
            problem = f"{version.name} does not have this feature gate"
        else:
            problem = "unrecognized feature gate"
        raise ConfigurationError(where, value, f"{problem}; kscope has for {version.name}: {known}")
    if not isinstance(value, bool):
        raise ConfigurationError(where, value, "expected true or false")
    if gate.is_locked and value != gate.default:
        locked = f"feature is locked to {str(gate.default).lower()}"
        problem = f"cannot set feature gate {name} to {str(value).lower()}, {locked}"
        raise ConfigurationError(where, value, problem)
    return value


def _switched(version: KubernetesVersion, gate: str, on: bool) -> KubernetesVersion:
    for plugin, setting in _SETTINGS.get(gate, ()):
        own = {**version.plugins.arguments[plugin], setting: on}
        arguments = {**version.plugins.arguments, plugin: own}
        version = replace(version, plugins=replace(version.plugins, arguments=arguments))
    for attribute, rule in _RULES.get(gate, ()):
        rules = replace(getattr(version, attribute), **{rule: on})
        version = replace(version, **{attribute: rules})
    if gate in _SCORES:
        others = tuple(one for one in version.plugins.scores if one != _SCORES[gate])
        scores = (*others, _SCORES[gate]) if on else others
        version = replace(version, plugins=replace(version.plugins, scores=scores))
    if gate in _PLUGINS:
        version = _with_plugin(version, _PLUGINS[gate], on=on)
    # The queue and the cache read pods by the same rules.
    resources = version.resources
    return replace(
        version,
        queue=replace(version.queue, resources=resources),
        cache=replace(version.cache, resources=resources),
    )


def _with_plugin(
    version: KubernetesVersion, plugin: InTreePlugin, *, on: bool
) -> KubernetesVersion:
    configuration = version.configuration
    assert configuration is not None
    others = tuple(one for one in configuration.multi_point if one.name != plugin.name)
    changed: dict[str, tuple[str, ...]] = {}
    for point in plugin.points:
        if point in _AT_POINT:
            field = _AT_POINT[point]
            left: tuple[str, ...] = getattr(version.plugins, field)
            left = tuple(one for one in left if one != plugin.name)
            changed[field] = (*left, plugin.name) if on else left
    return replace(
        version,
        plugins=replace(version.plugins, **changed),
        configuration=replace(configuration, multi_point=(*others, plugin) if on else others),
    )
