"""The arguments of VolumeBinding.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateVolumeBindingArgsWithOptions().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META, check_shape


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    fields.only(*META, "bindTimeoutSeconds", "shape")
    fields.integer("bindTimeoutSeconds", 600, low=0)
    if fields.get("shape") is not None:
        check_shape(fields, "shape", 10)


def refuse_shape(fields: Fields) -> None:
    """Refuse the argument `shape`, which is there behind the feature gate StorageCapacityScoring only.

    Upstream: AllowStorageCapacityScoring.
    """
    if fields.get("shape") is not None:
        problem = "remove it or turn on the feature gate StorageCapacityScoring"
        raise fields.error("shape", f"unexpected field `shape`, {problem}")
