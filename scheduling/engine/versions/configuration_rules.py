"""What the configurations and Policies of a version may contain, and its default plugins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Weights = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPlugins:
    """The plugins of the default profile, in the order in which they are asked.

    The names are the engine's: `NodeResourcesLeastAllocated` of v1.20 is a strategy of
    NodeResourcesFit here. `arguments` are the settings by which a plugin follows this version; each
    is explained in `plugin_settings`.
    """

    pre_enqueues: tuple[str, ...]
    filters: tuple[str, ...]
    scores: Weights
    post_filters: tuple[str, ...]
    permits: tuple[str, ...]
    reserves: tuple[str, ...]
    pre_binds: tuple[str, ...]
    binds: tuple[str, ...]
    arguments: Mapping[str, Mapping[str, Any]]


class InTreePlugin(NamedTuple):
    """A plugin of the default `multiPoint`: its weight, and the points that it extends."""

    name: str
    weight: int
    points: tuple[str, ...]


class OldScore(NamedTuple):
    """A score that the engine has under another name, or as a strategy of another plugin.

    The weight is multiplied by `scale`.
    """

    plugin: str
    strategy: str = ""
    scale: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationRules:
    """What a KubeSchedulerConfiguration can say to one version."""

    multi_point: tuple[InTreePlugin, ...]
    """The default plugins of `multiPoint`; none where configurations have no `multiPoint`."""
    by_point: Mapping[str, Weights]
    """The default plugins of each extension point, where there is no `multiPoint`."""
    optional_plugins: tuple[InTreePlugin, ...]
    """Plugins that a configuration can enable and that are no default."""
    old_scores: Mapping[str, OldScore]
    """Scores that are now strategies of other plugins."""
    profile_percentage: bool
    """A profile can have a percentageOfNodesToScore of its own."""
    only_leases: bool
    """Leaders are elected by leases only."""
    checks_preparation: bool
    """A plugin whose PreFilter or PreScore is disabled is refused; otherwise it fails in every attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRules:
    """What a Policy can say to one version."""

    unknown: tuple[str, ...]
    """Predicates and priorities that this version does not have, or that have no name in it."""
    mandatory: tuple[str, ...]
    """Predicates that are asked under any Policy while TaintNodesByCondition is on."""
    limits_priority_by_default: bool
    """The gate ResourceLimitsPriorityFunction adds its priority to the default ones."""
    ratio_arguments: Mapping[str, Any]
    """The settings of RequestedToCapacityRatio in a Policy."""
    ratio_reads_resources: bool
    """RequestedToCapacityRatio can name resources with weights; otherwise it takes cpu and memory."""
