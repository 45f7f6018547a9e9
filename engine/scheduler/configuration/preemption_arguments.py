"""The arguments of DefaultPreemption, which the scheduler itself does.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go ValidateDefaultPreemptionArgs().
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META


def check_preemption_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    fields.only(*META, "minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    percentage = fields.integer("minCandidateNodesPercentage", 10, low=0, high=100)
    absolute = fields.integer("minCandidateNodesAbsolute", 100, low=0)
    if percentage == 0 and absolute == 0:
        raise fields.error(
            "minCandidateNodesAbsolute",
            "cannot be zero at the same time as minCandidateNodesPercentage",
        )
