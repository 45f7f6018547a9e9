"""What the configurations and Policies of a version may contain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.versions.default_plugins import InTreePlugin


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationRules:
    """What a KubeSchedulerConfiguration can say to one version, beside its plugins."""

    optional_plugins: tuple[InTreePlugin, ...] = ()
    """Plugins that a configuration can enable and that are no default."""
    profile_percentage: bool = False
    """A profile can have a percentageOfNodesToScore of its own."""
    only_leases: bool = False
    """Leaders are elected by leases only."""
    checks_preparation: bool = False
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
