"""The arguments of NodeResourcesBalancedAllocation.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateNodeResourcesBalancedAllocationArgs().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META, resource_weights


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    resource_weights(fields.only(*META, "resources"), 1)
    seen: dict[str, None] = {}
    for resource in fields.items("resources"):
        name = resource.text("name")
        if name in seen:
            raise resource.error("name", f'Duplicate value: "{name}"')
        seen[name] = None
