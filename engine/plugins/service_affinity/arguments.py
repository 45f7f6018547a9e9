"""The arguments of ServiceAffinity.

Upstream: pkg/scheduler/apis/config ServiceAffinityArgs (v1.20).
"""

from __future__ import annotations

from engine.input.reading import Fields
from engine.plugins.arguments import META


def check_arguments(fields: Fields) -> None:
    """Raise ConfigurationError where they are not what the plugin takes."""
    labels = ("affinityLabels", "antiAffinityLabelsPreference")
    fields.only(*META, *labels)
    for name in labels:
        fields.texts(name)
