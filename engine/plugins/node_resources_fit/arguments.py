"""The arguments of NodeResourcesFit.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateNodeResourcesFitArgs().
"""

from __future__ import annotations

from engine.input.reading import ConfigurationError, Fields
from engine.plugins.arguments import META, check_shape, label_names, resource_weights
from engine.plugins.node_resources_fit.score import REQUESTED_TO_CAPACITY_RATIO, STRATEGIES


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    fields.only(*META, "ignoredResources", "ignoredResourceGroups", "scoringStrategy")
    label_names(fields, "ignoredResources")
    for place, group in enumerate(fields.texts("ignoredResourceGroups")):
        if "/" in group:
            path = f"{fields.at('ignoredResourceGroups')}[{place}]"
            raise ConfigurationError(path, group, "resource group name can't contain '/'")
    label_names(fields, "ignoredResourceGroups")
    strategy = fields.mapping("scoringStrategy")
    if strategy is None:
        return
    strategy.only("type", "resources", "requestedToCapacityRatio")
    # Upstream: SetDefaults_NodeResourcesFitArgs() gives a strategy that is there no type.
    kind = strategy.one_of("type", STRATEGIES, "")
    resource_weights(strategy, 100)
    ratio = strategy.mapping("requestedToCapacityRatio")
    if ratio is not None:
        check_shape(ratio.only("shape"), "shape", 10)
    elif kind == REQUESTED_TO_CAPACITY_RATIO:
        raise strategy.error("requestedToCapacityRatio", "is missing; it holds the shape")


def check_allocated_arguments(fields: Fields) -> None:
    """The same for NodeResourcesLeastAllocated and NodeResourcesMostAllocated, until v1.22."""
    resource_weights(fields.only(*META, "resources"), 100)
