"""The arguments of DynamicResources.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateDynamicResourcesArgs().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    timeout = fields.only(*META, "filterTimeout").duration("filterTimeout", 0)
    if timeout < 0:
        # Upstream: EnableDRASchedulerFilterTimeout.
        raise fields.error("filterTimeout", "must be zero or positive")
