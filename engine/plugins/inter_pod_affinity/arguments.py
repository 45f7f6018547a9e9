"""The arguments of InterPodAffinity.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateInterPodAffinityArgs().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    fields.only(*META, "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
    fields.integer("hardPodAffinityWeight", 1, low=0, high=100)
    fields.boolean("ignorePreferredTermsOfExistingPods")
